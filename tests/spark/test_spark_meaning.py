"""Spark sees in a table what the table says: names, zeros, NULLs, types, keys."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from tests.tables import write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    tcs.register(spark)


def put(table: tc.Table, rows: dict[str, Any]) -> None:
    write_rows(table, pa.table(rows, schema=table.arrow_schema))


KEYED = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])


@pytest.mark.parametrize("prefix", ["_d-", ".d-", "_", "d-"])
@pytest.mark.parametrize("keyed", [True, False], ids=["key", "append"])
def test_files_of_any_name_are_read_and_kept_by_a_rescale(
    spark: SparkSession, catalog: tc.Catalog, prefix: str, keyed: bool
) -> None:
    options = {"bucket": "2", "bucket-key": "k", "data-file.prefix": prefix}
    key = ("k",) if keyed else ()
    table = catalog.create_table("d.t", KEYED, primary_key=key, options=options)
    put(table, {"k": list(range(10)), "v": ["x"] * 10})
    table.compact(strategy="full")
    assert tcs.read(spark, table).count() == 10
    tcs.rescale(spark, table, buckets=3)
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == list(range(10))


OLD_DAYS = [(1, 1, 1), (1400, 1, 1), (1582, 10, 4), (1582, 10, 10), (1582, 10, 15), (2026, 1, 1)]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_days_before_the_calendar_changed_are_those_days(
    spark: SparkSession, catalog: tc.Catalog, format: str
) -> None:
    days = [dt.date(*day) for day in OLD_DAYS]
    schema = pa.schema([("d", pa.date32()), ("k", pa.int64())])
    table = catalog.create_table("d.t", schema, options={"file.format": format})
    put(table, {"d": days, "k": list(range(len(days)))})
    assert sorted(row.d for row in tcs.read(spark, table).collect()) == days
    for day in days:
        rows = tcs.read(spark, table, where=f"d = DATE '{day.isoformat()}'").collect()
        assert [row.d for row in rows] == [day]


NUMBERS = [-0.0, 0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, None]
WHERES = [
    "d = 0", "d >= 0", "d > 0", "d <= 0", "d < 0", "d <=> 0", "d IN (0)", "d IN (0, 1.5)",
    "d NOT IN (0)", "d <> 0", "d = -0.0", "d >= -0.0", "d > 1.5", "d >= 2", "d = 'NaN'",
    "d IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)", "d IS NULL", "NOT d < 0",
]  # fmt: skip


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_zeros_and_nan_are_found_as_the_table_finds_them(
    spark: SparkSession, catalog: tc.Catalog, type_: pa.DataType, format: str
) -> None:
    schema = pa.schema([("id", pa.int32()), ("d", type_)])
    table = catalog.create_table("d.t", schema, options={"file.format": format})
    for number, value in enumerate(NUMBERS):  # a file each, so that statistics may rule it out
        put(table, {"id": [number], "d": [value]})
    put(table, {"id": [100, 101, 102], "d": [-0.0, math.nan, -3.0]})
    for where in WHERES:
        expected = sorted(table.read(where=where).to_arrow()["id"].to_pylist())
        found = [row.id for row in tcs.read(spark, table, where=where).collect()]
        assert sorted(found) == expected, where


@pytest.mark.parametrize("on_spark", [True, False], ids=["spark", "embedded"])
@pytest.mark.parametrize("keyed", [True, False], ids=["key", "append"])
def test_a_rescale_leaves_nulls_what_they_are(
    spark: SparkSession, catalog: tc.Catalog, on_spark: bool, keyed: bool
) -> None:
    options = {"bucket": "2", "bucket-key": "k"}
    key = ("k",) if keyed else ()
    table = catalog.create_table("d.t", KEYED, primary_key=key, options=options)
    put(table, {"k": [1, 2], "v": [None, "x"]})
    table = catalog.alter_table("d.t", [tc.UpdateColumnDefault("v", "dflt")])
    if on_spark:
        tcs.rescale(spark, table, buckets=3)
    else:
        table.rescale(buckets=3)
    rows = table.read().to_arrow()
    assert dict(zip(rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True)) == {1: None, 2: "x"}


def test_rows_that_wait_for_a_bucket_keep_their_nulls(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.t", KEYED, primary_key=("k",), options={"bucket": "-2"})
    put(table, {"k": [1], "v": [None]})
    table = catalog.alter_table("d.t", [tc.UpdateColumnDefault("v", "dflt")])
    table.compact(strategy="full")
    assert table.read().to_arrow()["v"].to_pylist() == [None]


def test_a_schema_of_other_types_than_the_table_has_is_refused(
    spark: SparkSession, catalog: tc.Catalog
) -> None:
    schema = pa.schema(
        [("dec", pa.decimal128(10, 2)), ("ts", pa.timestamp("us", "UTC")), ("i", pa.int64())]
    )
    table = catalog.create_table("d.t", schema)
    put(table, {"dec": [Decimal("1.05")], "ts": [0], "i": [1]})
    for asked in ("dec DECIMAL(5, 1)", "ts TIMESTAMP_NTZ", "i INT", "i STRING"):
        with pytest.raises(Exception, match="ask for the table's type"):
            spark.read.format("paimon").schema(asked).load(table.uri).collect()
    row = spark.read.format("paimon").schema("i BIGINT, dec DECIMAL(10, 2)").load(table.uri).first()
    assert (row.i, row.dec) == (1, Decimal("1.05"))


def test_a_second_frame_of_a_batch_needs_a_name_of_its_own(
    spark: SparkSession, catalog: tc.Catalog
) -> None:
    table = catalog.create_table("d.t", KEYED, primary_key=("k",), options={"bucket": "1"})
    one = spark.createDataFrame([(1, "a")], "k bigint, v string")
    two = spark.createDataFrame([(2, "b")], "k bigint, v string")
    tcs.write_batch(one, table, 7, name="s")
    with pytest.raises(tc.errors.ArgumentError, match="its own name"):
        tcs.write_batch(two, table, 7, name="s")
    tcs.write_batch(two, table, 7, name="s-two")
    tcs.write_batch(two, table, 8, name="s")
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == [1, 2]


MERGES = [
    (pa.int64(), [7, 8], "string", [("7", "a"), ("07", "b")], None),
    (pa.int64(), [7, 8], "string", [("7", "a")], None),
    (pa.float64(), [2.0**53], "bigint", [(2**53, "a"), (2**53 + 1, "b")], None),
    (pa.int64(), [1, 2**53 + 1], "double", [(1.0, "a"), (2.0**53, "b")], [1, 2**53, 2**53 + 1]),
    (pa.float32(), [0.5], "double", [(0.5, "a")], [0.5]),
    (pa.int32(), [1], "bigint", [(1, "a"), (2, "b")], [1, 2]),
    (pa.int32(), [1], "bigint", [(2**40, "a")], None),
    (
        pa.decimal128(10, 2),
        [Decimal("1.50")],
        "decimal(12,4)",
        [(Decimal("1.5"), "a")],
        [Decimal("1.50")],
    ),
    (pa.string(), ["7"], "bigint", [(7, "a")], None),
]


@pytest.mark.parametrize("case", MERGES, ids=lambda case: f"{case[0]} with {case[2]}: {case[3]}")
@pytest.mark.parametrize("keyed", [True, False], ids=["key", "append"])
def test_a_merge_takes_keys_as_the_tables_type_or_refuses_them(
    spark: SparkSession, catalog: tc.Catalog, case: Any, keyed: bool
) -> None:
    type_, there, given, rows, expected = case
    schema = pa.schema([pa.field("id", type_, nullable=False), ("v", pa.string())])
    key = ("id",) if keyed else ()
    table = catalog.create_table(
        "d.t", schema, primary_key=key, options={"bucket": "1", "bucket-key": "id"}
    )
    put(table, {"id": there, "v": ["old"] * len(there)})
    source = spark.createDataFrame(rows, f"id {given}, v string")
    when = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
    if expected is None:
        with pytest.raises(tc.errors.TableError):
            tcs.merge_into(spark, table, source, on=["id"], when=when)
        assert table.read().to_arrow()["v"].to_pylist() == ["old"] * len(there)
        return
    tcs.merge_into(spark, table, source, on=["id"], when=when)
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == sorted(expected)


def test_names_of_a_merge_are_alike_in_any_case(spark: SparkSession, catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.t", KEYED, primary_key=("k",), options={"bucket": "1"})
    put(table, {"k": [1], "v": ["old"]})
    source = spark.createDataFrame([(1, "new")], "Id bigint, V string")
    when = [tc.MatchedUpsert()]
    tcs.merge_into(spark, table, source, on={"K": "id"}, when=when)
    assert table.read().to_arrow()["v"].to_pylist() == ["new"]
    tcs.merge_into(spark, table, source.withColumnRenamed("Id", "K"), on=["K"], when=when)
    assert table.read().to_arrow().num_rows == 1
