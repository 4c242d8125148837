"""Goal: file indexes leave files out and never a row, also when they are damaged.

Method: the tables with indexes that Paimon wrote; each condition with and without them; then their
containers cut, flipped and mixed up.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import corpus

import table_core as tc
from table_core.predicate.bind import bind
from table_core.predicate.sql import parse_where
from table_core.scan.by_index import IndexTest

CASES = ("file-index-bitmap", "file-index-bloom")


@pytest.fixture(scope="module", params=CASES)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    case = corpus.unpack(request.param, tmp_path_factory.mktemp("indexed"))
    catalog = tc.open_catalog((case.folder / "warehouse").as_uri())
    return lambda **options: catalog.table(case.about["table"], options=options)


def bodies(table: tc.Table) -> list[tuple[Any, bytes]]:
    """Each data file with the container beside it."""
    found = []
    for entry in table.access.live_entries(table.latest_snapshot()):
        folder = "bucket-0/"
        (name,) = entry.file.extra_files
        found.append((entry, table.access.storage.read(folder + name)))
    return found


def test_we_write_the_filters_that_paimon_wrote(table: Any) -> None:
    from table_core.ondisk.file_index import decode_file_index
    from table_core.ondisk.index_builder import IndexBuilder
    from table_core.storage.formats import format_for

    handle = table()
    for entry, body in bodies(handle):
        indexes = decode_file_index(body, path="x")
        if any(index.index_type != "bloom-filter" for index in indexes):
            return  # bitmaps: we write version 1, Paimon wrote version 2
        fields = handle.definition.fields
        builder = IndexBuilder.of(handle.options, fields)
        assert builder is not None
        path = f"bucket-0/{entry.file.file_name}"
        storage = handle.access.storage
        for batch in format_for("parquet").read(storage, path, None, fields, batch_rows=100):
            builder.add(pa.Table.from_batches([batch]))
        assert builder.container() == body


def test_a_value_is_found_in_the_one_file_that_has_it(table: Any) -> None:
    with_indexes = table()
    without = table(**{"file-index.read.enabled": "false"})
    texts = with_indexes.read(columns=["s"], where="s IS NOT NULL", limit=30).to_arrow()
    for text in texts["s"].to_pylist():
        scan = with_indexes.read(where=tc.col("s") == text)
        rows = scan.to_arrow()
        assert rows.num_rows > 0
        assert rows.equals(without.read(where=tc.col("s") == text).to_arrow())
        explain = scan.explain()
        assert explain.pruned_by_index + explain.pruned_by_value + explain.files_read == 3
    pruned = with_indexes.read(where="s = 'key-2856' OR s = 'key-30'").explain().pruned_by_index
    assert pruned > 0
    assert without.read(where="s = 'key-30'").explain().pruned_by_index == 0


def test_a_damaged_index_is_not_believed(table: Any) -> None:
    handle = table()
    chance = random.Random(7)
    schema = handle.definition
    for entry, body in bodies(handle):
        rows = entry.file.row_count
        found = handle.read(columns=["s"], where="s IS NOT NULL").to_arrow()["s"].to_pylist()
        for text in chance.sample(found, 5):
            test = IndexTest.of(bind(parse_where(f"s = '{text}'"), schema.fields), schema)
            assert test is not None
            answer = test.may_match(body, schema, rows)
            for tenth in range(10):
                assert test.may_match(body[: len(body) * tenth // 10], schema, rows)
            for _ in range(40):  # whatever it answers, it answers
                flipped = bytearray(body)
                for _ in range(chance.choice([1, 1, 4])):
                    flipped[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
                test.may_match(bytes(flipped), schema, rows)
            assert test.may_match(body, schema, rows) is answer


def test_an_index_of_another_kind_version_or_file_is_not_believed(table: Any) -> None:
    handle = table()
    schema = handle.definition
    wanted = bind(parse_where("s = 'key-missing'"), schema.fields)
    test = IndexTest.of(wanted, schema)
    assert test is not None
    _, body = bodies(handle)[0]
    assert not test.may_match(body, schema, 60)
    assert test.may_match(
        body.replace(b"bitmap", b"mapbit").replace(b"bloom", b"lbmoo"), schema, 60
    )
    later = body[:11] + b"\x02" + body[12:]
    assert test.may_match(later, schema, 60)
    if b"bitmap" in body:
        assert test.may_match(body, schema, 61)


def test_a_missing_index_file_loses_nothing(table: Any) -> None:
    handle = table()
    storage = handle.access.storage
    storage.delete([info.path for info in storage.walk("") if info.path.endswith(".index")])
    scan = table().read(where="s = 'key-30' OR s = 'key-2856'")
    assert scan.to_arrow().num_rows >= 1
    assert scan.explain().pruned_by_index == 0
