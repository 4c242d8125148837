"""How a table spells its partitions is how they can be asked for, whatever the type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import ArgumentError, SchemaError
from table_core.table.api.table import Table
from tests.tables import new_catalog, write_rows

MOMENT = dt.datetime(2026, 1, 1, 5, 0, 1, 500_000)
UTC_MOMENT = MOMENT.replace(tzinfo=dt.UTC)
UTC_US = pa.timestamp("us", "UTC")


def one_of(type_: pa.DataType, value: Any) -> Table:
    catalog = new_catalog()
    schema = pa.schema([("p", type_), ("n", pa.int64())])
    table = catalog.create_table("d.t", schema, partition_by=("p",), options={"bucket": "-1"})
    write_rows(table, pa.table({"p": pa.array([value], type_), "n": [1]}, schema=schema))
    return table


@pytest.mark.parametrize(
    ("type_", "value", "others"),
    [
        (pa.string(), "a/b=c", ()),
        (pa.bool_(), True, ("TRUE",)),
        (pa.int32(), -5, ("-5",)),
        (pa.date32(), dt.date(2026, 1, 1), ("20454",)),
        (pa.decimal128(10, 2), Decimal("1.50"), ("1.5",)),
        (pa.float64(), 1e20, ("1e20",)),
        (pa.float64(), float("nan"), ("NaN", "nan")),
        (pa.float32(), float("-inf"), ("-Infinity",)),
        (pa.time32("ms"), dt.time(5, 0), ("05:00", "05:00:00", "05:00:00.000")),
        (pa.time32("ms"), dt.time(5, 0, 1, 500_000), ("05:00:01.5",)),
        (pa.timestamp("us"), MOMENT, ("2026-01-01T05:00:01.5",)),
        (pa.timestamp("ns"), MOMENT, ("2026-01-01 05:00:01.500000000",)),
        (UTC_US, UTC_MOMENT, ("2026-01-01 05:00:01.5", "2026-01-01T06:00:01.5+01:00")),
    ],
)
def test_what_a_table_calls_its_partition_finds_it(
    type_: pa.DataType, value: Any, others: tuple[str, ...]
) -> None:
    table = one_of(type_, value)
    live = table.live_partitions()
    assert table.touched_partitions([1], limit=10) == live
    for spelt in (live[0]["p"], value, *others):
        found = table.partition({"p": spelt})
        assert found is not None, spelt
        assert found.rows == 1
    assert table.mark_done(live).details["keys"] == [table.partition_key(live[0])]
    assert [values for values, _ in table.done_partitions(0)] == live
    table.drop_partitions(live)
    assert table.live_partitions() == []


def floats(table: Table) -> list[tuple[str, int]]:
    return sorted((str(row["p"]), row["n"]) for row in table.read().to_arrow().to_pylist())


@pytest.mark.parametrize("value", [0.0, -0.0, float("nan")])
def test_the_zeros_and_nan_are_partitions_of_their_own(value: float) -> None:
    table = one_of(pa.float64(), 0.0)
    write_rows(table, pa.table({"p": [-0.0, float("nan")], "n": [2, 3]}))
    before = floats(table)
    write_rows(table, pa.table({"p": [value], "n": [9]}), overwrite={"p": value})
    others = [row for row in before if row[0] != str(value)]
    assert floats(table) == sorted([*others, (str(value), 9)])
    table.drop_partitions([{"p": value}])
    assert floats(table) == others


@pytest.mark.parametrize("type_", [pa.binary(), pa.binary(2)])
def test_a_table_whose_folders_would_have_no_name_is_not_made(type_: pa.DataType) -> None:
    schema = pa.schema([("p", type_), ("n", pa.int64())])
    catalog = new_catalog()
    with pytest.raises(SchemaError, match=r"partition\.legacy-name is true"):
        catalog.create_table("d.t", schema, partition_by=("p",))
    options = {"partition.legacy-name": "false"}
    table = catalog.create_table("d.t", schema, partition_by=("p",), options=options)
    write_rows(table, pa.table({"p": pa.array([b"ab"], type_), "n": [1]}))
    assert table.read(where="n = 1").to_arrow().num_rows == 1


@pytest.mark.parametrize(("type_", "value"), [(pa.time32("ms"), dt.time(5)), (UTC_US, UTC_MOMENT)])
@pytest.mark.parametrize("text", ["", "x", "5", "25:00:00", "2026-13-01 05:00:00"])
def test_text_that_is_no_time_is_refused(type_: pa.DataType, value: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match="does not fit"):
        one_of(type_, value).partition({"p": text})


def test_folders_that_each_process_would_name_by_its_zone_are_refused() -> None:
    schema = pa.schema([("p", pa.timestamp("us", tz="UTC")), ("n", pa.int64())])
    catalog = new_catalog()
    options = {"partition.legacy-name": "false"}
    with pytest.raises(SchemaError, match="by the zone of each process"):
        catalog.create_table("d.t", schema, partition_by=("p",), options=options)
    table = catalog.create_table("d.t", schema, partition_by=("p",))
    write_rows(table, pa.table({"p": pa.array([UTC_MOMENT], schema.field("p").type), "n": [1]}))
    assert table.read(where="n = 1").to_arrow()["p"].to_pylist() == [UTC_MOMENT]
