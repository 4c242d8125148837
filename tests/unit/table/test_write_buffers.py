"""However rows come and files roll, what is read is what was written.

The oracle is a dict: the last row of a key wins.
"""

from __future__ import annotations

import datetime as dt
import random
import re
import uuid
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError
from table_core.ondisk.binary_row import decode_row
from table_core.storage.spill import Spill
from table_core.table.metadata.access import TableAccess
from table_core.table.write.buffering import BufferLimits
from tests.tables import new_catalog, write_rows

ROWS = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        ("v", pa.int64()),
        ("text", pa.string()),
    ]
)


@pytest.fixture
def catalog() -> tc.Catalog:
    return new_catalog()


def rows_of(table: tc.Table) -> list[dict[str, Any]]:
    return sorted(table.read().to_arrow().to_pylist(), key=repr)


def live(table: tc.Table) -> list[Any]:
    access: TableAccess = table.access
    return access.live_entries(table.latest_snapshot())


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"write-buffer-size": "2 kb"},
        {"write-buffer-size": "2 kb", "target-file-size": "1 kb"},
        {
            "write-buffer-size": "2 kb",
            "read.batch-size": "3",
            "num-sorted-run.compaction-trigger": "3",
        },
    ],
)
def test_many_partitions_and_buckets_in_many_flushes(
    catalog: tc.Catalog, options: dict[str, str], compact: bool
) -> None:
    draw = random.Random(5)
    given = {"bucket": "3", "write-only": str(not compact).lower(), **options}
    table = catalog.create_table(
        "d.t", ROWS, primary_key=("dt", "k"), partition_by=("dt",), options=given
    )
    model: dict[tuple[str, int], dict[str, Any]] = {}
    for commit in range(2):
        with table.write() as writer:
            for batch in range(12):
                rows = [
                    {
                        "dt": f"2026-01-0{draw.randint(1, 5)}",
                        "k": draw.randint(0, 40),
                        "v": commit * 100 + batch,
                        "text": "x" * draw.randint(0, 20),
                    }
                    for _ in range(25)
                ]
                writer.write(pa.Table.from_pylist(rows, schema=ROWS))
                model.update({(row["dt"], row["k"]): row for row in rows})
            writer.commit()
    assert rows_of(table) == sorted(model.values(), key=repr)
    if not compact:
        per_bucket: dict[tuple[bytes, int], list[tuple[int, int]]] = {}
        for entry in live(table):
            span = entry.file.min_sequence_number, entry.file.max_sequence_number
            per_bucket.setdefault((entry.partition, entry.bucket), []).append(span)
        if "target-file-size" not in options:
            for spans in per_bucket.values():
                spans.sort()
                assert all(a[1] < b[0] for a, b in pairwise(spans)), spans
        assert len(live(table)) > len(per_bucket)


def test_small_slices_of_one_big_table_are_gathered_into_few_files(catalog: tc.Catalog) -> None:
    """A slice holds on to the buffers of the whole table and must not count for them."""
    table = catalog.create_table(
        "d.t",
        pa.schema([pa.field("k", pa.int64(), nullable=False)]),
        primary_key=("k",),
        options={"bucket": "1", "write-only": "true", "write-buffer-size": "256 kb"},
    )
    whole = pa.table({"k": pa.array(range(40_000))})
    with table.write() as writer:
        for batch in whole.to_batches(max_chunksize=500):
            writer.write(batch)
        assert writer.commit().files_added < 4


def test_a_file_rolls_at_its_target_size(catalog: tc.Catalog) -> None:
    table = catalog.create_table(
        "d.t",
        pa.schema([("v", pa.string())]),
        options={"target-file-size": "100 kb", "file.block-size": "20 kb"},
    )
    draw = random.Random(1)
    with table.write() as writer:
        for _ in range(20):
            writer.write(
                pa.table({"v": [str(uuid.UUID(int=draw.getrandbits(128))) for _ in range(700)]})
            )
        done = writer.commit()
    sizes = [entry.file.file_size for entry in live(table)]
    assert 3 <= done.files_added == len(sizes) <= 10
    assert max(sizes) < 200_000
    assert table.read().to_arrow().num_rows == 14_000


@pytest.mark.parametrize("dense", ["true", "false"])
def test_sixty_columns_with_nulls_keep_their_stats(catalog: tc.Catalog, dense: str) -> None:
    """More than 56 columns: the null bits of a statistics row take 16 bytes."""
    names = [f"c{n}" for n in range(60)]
    schema = pa.schema(
        [pa.field("k", pa.int32(), nullable=False), *((name, pa.int32()) for name in names)]
    )
    table = catalog.create_table(
        "d.wide",
        schema,
        primary_key=("k",),
        options={"bucket": "1", "metadata.stats-dense-store": dense},
    )
    values = {name: [None, at, None if at % 3 else at * 2] for at, name in enumerate(names)}
    rows = pa.table({"k": [1, 2, 3], **values}, schema=schema)
    write_rows(table, rows)
    assert table.read().to_arrow().equals(rows)
    assert table.read(where="c59 = 59").to_arrow()["k"].to_pylist() == [2]
    assert table.read(where="c58 IS NULL AND c57 = 114").to_arrow()["k"].to_pylist() == [3]
    (entry,) = live(table)
    types = [field.type for field in table.definition.fields]
    stats = entry.file.value_stats
    if entry.file.value_stats_cols is None:
        low = decode_row(types, stats.min_values)
        assert low[:4] == (1, 0, 1, 2)
        assert list(stats.null_counts[:4]) == [0, 1, 2, 2]


KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "tinyint": (pa.int8(), [-128, 0, 127]),
    "smallint": (pa.int16(), [-1, 5]),
    "int": (pa.int32(), [2**31 - 1, -(2**31)]),
    "bigint": (pa.int64(), [2**63 - 1, -(2**63)]),
    "float": (pa.float32(), [-0.5, 1.5]),
    "double": (pa.float64(), [-1e300, 2.5]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.25"), Decimal("-7.00")]),
    "long decimal": (pa.decimal128(38, 4), [Decimal("123456789012345678901234567890.1234")]),
    "text": (pa.string(), ["", "é", "a rather long key of many bytes"]),
    "bytes": (pa.binary(), [b"", b"\x00\xff", b"123456789"]),
    "date": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
    "timestamp": (
        pa.timestamp("us"),
        [dt.datetime(1969, 1, 1, 1, 1, 1, 7), dt.datetime(2026, 1, 1)],
    ),
    "instant": (pa.timestamp("us", tz="UTC"), [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_any_type_is_found_again_in_its_bucket(catalog: tc.Catalog, kind: str) -> None:
    type_, values = KEYS[kind]
    schema = pa.schema([pa.field("k", type_, nullable=False), ("v", pa.int32())])
    table = catalog.create_table("d.k", schema, primary_key=("k",), options={"bucket": "4"})
    for round_ in range(2):
        with table.write() as writer:
            given = {"k": pa.array(values, type_), "v": [round_] * len(values)}
            writer.write(pa.table(given, schema=schema))
            writer.commit()
    table.compact()
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == sorted(values)
    assert set(table.read().to_arrow()["v"].to_pylist()) == {1}
    for value in values:
        found = table.read(where=tc.col("k") == value).to_arrow()
        assert found.to_pylist() == [{"k": value, "v": 1}]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_rows_that_are_too_wide_are_refused_also_where_several_come_at_once(rows: int) -> None:
    """And the value that the message names is enough."""
    wide = pa.table({"v": ["x" * (54 << 20)] * rows})

    def taken(megabytes: int) -> int:
        limits = BufferLimits(megabytes << 20, "write-buffer-size", spills=True, threads=1)
        return sum(piece.num_rows for piece in limits.pieces([wide]))

    with pytest.raises(
        OptionError, match=r"write-buffer-size=.* is too small for one row"
    ) as caught:
        taken(256)
    assert caught.value.facts["option"] == "write-buffer-size"
    enough = re.search(r"Set write-buffer-size to '(\d+) mb' or more", str(caught.value))
    assert enough is not None
    assert taken(int(enough[1])) == rows
    with pytest.raises(OptionError):
        taken(int(enough[1]) - 1)


def test_of_wide_rows_fewer_buckets_are_written_at_once() -> None:
    limits = BufferLimits(256 << 20, "write-buffer-size", spills=True, threads=4)
    assert limits.threads_for(0) == limits.threads_for(1 << 20) == 4
    assert limits.threads_for(20 << 20) == 2
    assert limits.threads_for(50 << 20) == 1


@pytest.mark.parametrize("where", ["file.format", "changelog-file.format"])
def test_a_row_that_becomes_orc_has_to_be_less_wide(catalog: tc.Catalog, where: str) -> None:
    def copies(**options: str) -> int:
        given = {"bucket": "1", **options}
        table = catalog.create_table(
            f"d.c{len(options)}", ROWS, primary_key=("k", "dt"), options=given
        )
        return BufferLimits.of(table.access.options).copies

    assert copies(**{where: "orc"}) > copies()


def test_wide_rows_do_not_make_the_buffer_larger_than_it_may_be(
    catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six rows of 5 MB, and 10.7 MB of buffer: two wait at a time."""
    table = catalog.create_table(
        "d.t",
        ROWS,
        primary_key=("k", "dt"),
        options={"bucket": "1", "write-only": "true", "write-buffer-size": "32 mb"},
    )
    put, spilled = Spill.put, []
    monkeypatch.setattr(
        Spill, "put", lambda self, rows: spilled.append(rows.num_rows) or put(self, rows)
    )
    wide = [{"dt": "d", "k": k, "v": k, "text": chr(97 + k) * (5 << 20)} for k in range(6)]
    with table.write() as writer:
        for row in wide:
            writer.write(pa.Table.from_pylist([row], schema=ROWS))
        writer.commit()
    assert spilled == [2, 2, 2]
    assert table.read().to_arrow().sort_by("k").to_pylist() == wide
