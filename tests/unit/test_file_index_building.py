"""What is put into a file index is found in it; what the options ask for is written or refused."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.datatypes.domain import domain_values
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.ondisk.bloom_filter import decode_bloom_filter, hash_of
from table_core.ondisk.file_index import decode_file_index
from table_core.ondisk.index_builder import IndexBuilder
from table_core.ondisk.value_hashes import hashes_of
from table_core.ondisk.value_index import decode_bit_slices, decode_bitmap_index
from table_core.table.metadata.access import TableAccess
from tests.tables import new_catalog, write_rows

DAY = dt.date(2026, 1, 1)
NOON = dt.datetime(2026, 1, 1, 12)
COLUMNS = {
    "INT": (pa.int32(), [3, -4, 3, None, 2**31 - 1, -(2**31)]),
    "BIGINT": (pa.int64(), [3, -4, 3, None, 2**62]),
    "SMALLINT": (pa.int16(), [1, None, 2]),
    "DATE": (pa.date32(), [DAY, None, DAY - dt.timedelta(30_000)]),
    "TIMESTAMP(3)": (pa.timestamp("ms"), [NOON, None, dt.datetime(1969, 1, 1)]),
    "TIMESTAMP(6)": (pa.timestamp("us"), [NOON, NOON + dt.timedelta(microseconds=1)]),
    "STRING": (pa.string(), ["a", "", None, "a", "é" * 40, "b" * 33]),
    "BOOLEAN": (pa.bool_(), [True, None, False, True]),
    "DOUBLE": (pa.float64(), [0.5, None, -2.0]),
    "DECIMAL(5, 2)": (pa.decimal128(5, 2), [Decimal("1.50"), None, Decimal("-999.99")]),
}
DECODERS = {"bitmap": decode_bitmap_index, "bsi": decode_bit_slices}


@given(st.lists(st.text(max_size=70)), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_a_column_hashes_as_its_values_do(texts: list[str], numbers: list[int]) -> None:
    for type_, values in (("STRING", texts), ("BIGINT", numbers)):
        kind = parse_type(type_)
        array = pa.array([None, *values], pa.string() if type_ == "STRING" else pa.int64())
        found = hashes_of(array.slice(1), kind)
        assert found is not None
        assert set(found.tolist()) == {hash_of(value, kind) for value in values}


@pytest.mark.parametrize("kind", ["bloom-filter", "bitmap", "bsi"])
@pytest.mark.parametrize("type_", COLUMNS)
def test_every_value_is_in_the_index(kind: str, type_: str) -> None:
    arrow, values = COLUMNS[type_]
    field = Field(0, "c", parse_type(type_))
    try:
        builder = IndexBuilder.of({f"file-index.{kind}.columns": "c"}, [field])
    except tc.errors.UnsupportedFeatureError as error:
        assert (kind, type_) in {
            ("bloom-filter", "BOOLEAN"),
            ("bloom-filter", "DECIMAL(5, 2)"),
            ("bitmap", "DECIMAL(5, 2)"),
            ("bsi", "STRING"),
            ("bsi", "BOOLEAN"),
            ("bsi", "DOUBLE"),
        }
        assert "'c'" in str(error)
        return
    assert builder is not None
    whole = pa.array([None, *values, *values], arrow).slice(1)
    for part in (whole.slice(0, 2), whole.slice(2)):
        builder.add(pa.table({"c": part}))
    container = builder.container()
    (index,) = decode_file_index(container, path="x")
    body = container[index.start :]
    assert (index.column, index.index_type, index.length) == ("c", kind, len(body))
    if kind == "bloom-filter":
        bloom = decode_bloom_filter(body)
        hashes = hashes_of(whole, field.type)
        assert hashes is not None
        assert all(bloom.may_hold(int(each)) for each in hashes)
        return
    held = DECODERS[kind](body, field.type)
    assert held is not None
    assert held.rows == len(whole)
    assert set(held.values) == set(domain_values(whole.drop_null(), field.type))
    assert held.has_null == bool(whole.null_count)


def test_many_values_in_many_rows_and_none() -> None:
    draw = random.Random(1)
    field = Field(0, "c", parse_type("INT"))
    for values in ([draw.choice([None, *range(300)]) for _ in range(70_000)], [None, None], []):
        for kind, decode in DECODERS.items():
            builder = IndexBuilder.of({f"file-index.{kind}.columns": "c"}, [field])
            assert builder is not None
            builder.add(pa.table({"c": pa.array(values, pa.int32())}))
            container = builder.container()
            (index,) = decode_file_index(container, path="x")
            held = decode(container[index.start :], field.type)
            assert held is not None
            assert (held.rows, set(held.values)) == (len(values), set(values) - {None})
            assert held.has_null == (None in values)


@pytest.mark.parametrize("key", [("id",), ()])
@pytest.mark.parametrize("threshold", ["1 b", "1 mb"])
def test_files_and_what_compaction_makes_of_them_have_indexes(
    tmp_path: Path, key: tuple[str, ...], threshold: str
) -> None:
    catalog = new_catalog(f"memory://{tmp_path}")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    table = catalog.create_table(
        "d.t",
        schema,
        primary_key=key,
        options={
            "bucket": "1" if key else "-1",
            "metadata.stats-mode": "none",
            "file-index.bloom-filter.columns": "s,id",
            "file-index.bloom-filter.s.items": "100",
            "file-index.bloom-filter.id.items": "100",
            "file-index.bitmap.columns": "s",
            "file-index.in-manifest-threshold": threshold,
        },
    )
    for start in range(6):
        write_rows(table, pa.table({"id": [start, start + 10], "s": [f"s{start}", "all"]}))
    assert table.read(where="s = 's3'").to_arrow()["id"].to_pylist() == [3]
    if not key:
        assert table.read(where="s = 's3'").explain().pruned_by_index == 5
    table.compact()
    files = [file for split in table.read().splits() for file in split.files]
    for file in files:
        assert (file.embedded_index is None) == bool(file.extra_files) == (threshold == "1 b")
    assert table.read(where="s = 'nowhere'").explain().pruned_by_index == len(files)
    assert _stray(table.access) == set()


def _stray(access: TableAccess) -> set[str]:
    """Index files that belong to no data file."""
    found = {info.path.rpartition("/")[2] for info in access.storage.walk("")}
    return {name for name in found if name.endswith(".index") and name[:-6] not in found}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"file-index.bitmap.columns": "nope"}, "no such column"),
        ({"file-index.bloom-filter.columns": "c", "file-index.bloom-filter.c.fpp": "x"}, "fpp"),
        ({"file-index.range-bitmap.columns": "c"}, "range-bitmap"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(options: dict[str, str], says: str) -> None:
    with pytest.raises((tc.errors.OptionError, tc.errors.UnsupportedFeatureError), match=says):
        IndexBuilder.of(options, [Field(0, "c", parse_type("INT"))])
