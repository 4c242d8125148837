"""Goal: after a column has changed its type, a condition still finds exactly the rows that match.

Method: write rows, change the type of a column, write more, and so on; then demand of each condition
what the same condition keeps of the complete read.  The column is the bucket key, has a file index, or
is plain: each is another way to rule files out.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import table_core as tc
from table_core.predicate.to_arrow import mask
from table_core.table.read.scan import bound_where
from tests.tables import altered_elsewhere, new_catalog, write_rows

CHAINS: dict[str, tuple[tuple[str, pa.DataType], ...]] = {
    "wider": (("INT", pa.int32()), ("BIGINT", pa.int64())),
    "narrower": (("BIGINT", pa.int64()), ("INT", pa.int32())),
    "text": (("INT", pa.int32()), ("STRING", pa.string())),
    "number of text": (("STRING", pa.string()), ("INT", pa.int32())),
    "there and back": (("INT", pa.int32()), ("STRING", pa.string()), ("INT", pa.int32())),
    "scale": (("DECIMAL(10, 2)", pa.decimal128(10, 2)), ("DECIMAL(12, 1)", pa.decimal128(12, 1))),
    "long decimal": (
        ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
        ("DECIMAL(30, 4)", pa.decimal128(30, 4)),
    ),
    "day to time": (("DATE", pa.date32()), ("TIMESTAMP(3)", pa.timestamp("ms"))),
    "time to day": (("TIMESTAMP(3)", pa.timestamp("ms")), ("DATE", pa.date32())),
}
SHAPES: dict[str, dict[str, str]] = {
    "bucket key": {"bucket": "7", "bucket-key": "k"},
    "bloom filter": {"bucket": "-1", "file-index.bloom-filter.columns": "k"},
    "bitmap": {"bucket": "-1", "file-index.bitmap.columns": "k"},
    "plain": {"bucket": "-1"},
}
NOT_INDEXED = {"bloom filter": ("DECIMAL", "DATE", "TIMESTAMP"), "bitmap": ("DECIMAL",)}
"""Types that this release writes no such index of."""
CASES = [
    (shape, chain)
    for shape in SHAPES
    for chain, types in CHAINS.items()
    if not any(sql.startswith(NOT_INDEXED.get(shape, ())) for sql, _ in types)
]
_names = itertools.count()


def _value(n: int, type_: pa.DataType) -> Any:
    if pa.types.is_integer(type_):
        return n
    if pa.types.is_string(type_):
        return str(n)
    if pa.types.is_decimal(type_):
        return Decimal(n).scaleb(-1)
    day = dt.date(2026, 1, 15) + dt.timedelta(days=n)
    return day if pa.types.is_date(type_) else dt.datetime.combine(day, dt.time(6))


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int | Decimal) else f"'{value}'"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return new_catalog(tmp_path_factory.mktemp("retyped").as_uri())


@pytest.mark.parametrize(("shape", "chain"), CASES)
@settings(
    max_examples=max(2, settings.default.max_examples // 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_condition_finds_what_matches_whatever_type_the_column_had(
    catalog: Any, shape: str, chain: str, data: st.DataObject
) -> None:
    name = f"d.t{next(_names)}"
    first = CHAINS[chain][0][1]
    catalog.create_table(name, pa.schema([("k", first), ("v", pa.int32())]), options=SHAPES[shape])
    numbers = st.lists(st.none() | st.integers(-12, 12), min_size=1, max_size=6)
    for at, (sql, type_) in enumerate(CHAINS[chain]):
        if at:
            altered_elsewhere(catalog, name, tc.UpdateColumnType("k", sql))
        drawn = data.draw(numbers)
        keys = [None if n is None else _value(n, type_) for n in drawn]
        rows = pa.table({"k": pa.array(keys, type_), "v": pa.array(range(len(keys)), pa.int32())})
        write_rows(catalog.table(name), rows)
    table = catalog.table(name)
    everything = table.read().to_arrow()
    present = [v for v in everything["k"].to_pylist() if v is not None]
    wanted = data.draw(st.sampled_from(present)) if present else _value(1, CHAINS[chain][-1][1])
    for where in (f"k = {_literal(wanted)}", f"k >= {_literal(wanted)}", "k IS NULL"):
        condition = bound_where(table.definition, where)
        batches = everything.combine_chunks().to_batches() or []
        expected = [row for b in batches for row in b.filter(mask(condition, b)).to_pylist()]
        found = table.read(where=where).to_arrow().to_pylist()
        assert _counted(found) == _counted(expected), where


def _counted(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in rows)


def test_a_handle_of_before_finds_rows_written_after_the_bucket_key_changed_its_type(
    catalog: Any,
) -> None:
    name = f"d.t{next(_names)}"
    catalog.create_table(name, pa.schema([("k", pa.int32())]), options=SHAPES["bucket key"])
    before = catalog.table(name)
    catalog.alter_table(name, [tc.UpdateColumnType("k", "STRING")])
    for number in range(20):
        write_rows(catalog.table(name), pa.table({"k": [str(number)]}))
    for number in range(20):
        assert before.read(where=f"k = {number}").to_arrow()["k"].to_pylist() == [number]


def test_a_column_that_an_option_names_is_not_dropped_although_it_comes_back_in_the_same_call(
    catalog: Any,
) -> None:
    name = f"d.t{next(_names)}"
    catalog.create_table(
        name, pa.schema([("k", pa.int32()), ("v", pa.int32())]), options=SHAPES["bucket key"]
    )
    with pytest.raises(tc.errors.SchemaError, match="bucket-key"):
        catalog.alter_table(name, [tc.DropColumn("k"), tc.AddColumn("k", "INT")])
    assert catalog.table(name).definition.id == 0
