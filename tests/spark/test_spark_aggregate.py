"""Goal: ``tcs.aggregate`` gives what Spark's ``groupBy`` gives over the same rows.

Method: random groups and functions over tables whose files overlap, need no merge, or are both; what Arrow
computes otherwise than Spark (sums that overflow, NaN at the ends) one by one.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as f
from pyspark.sql import types as spark_types

import table_core as tc
import table_core.spark as tcs
from table_core.spark.reading import aggregate as aggregating
from table_core.spark.reading.frames import shown_fields
from tests.lanes import budget
from tests.tables import write_rows

SCHEMA = pa.schema(
    [
        *[pa.field("id", pa.int64(), nullable=False), ("small", pa.int16()), ("text", pa.string())],
        *[("price", pa.decimal128(12, 2)), ("wide", pa.decimal128(38, 2)), ("x", pa.float64())],
        *[
            ("day", pa.date32()),
            ("at", pa.timestamp("us")),
            ("yes", pa.bool_()),
            ("big", pa.int64()),
        ],
    ]
)
SPARK = {"count": f.count, "sum": f.sum, "min": f.min, "max": f.max}


def rows(chance: random.Random, ids: range) -> pa.Table:
    def drawn(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    columns = {
        "id": list(ids),
        "small": [drawn(chance.randint(-3, 3)) for _ in ids],
        "text": [drawn(chance.choice(["", "a", "é", "Z"])) for _ in ids],
        "price": [drawn(Decimal(chance.randint(-(10**11), 10**11)).scaleb(-2)) for _ in ids],
        "wide": [drawn(Decimal(chance.randint(-(10**20), 10**20)).scaleb(-2)) for _ in ids],
        "x": [drawn(chance.choice([0.5, -0.0, 0.0, 2.0, float("nan")])) for _ in ids],
        "day": [drawn(chance.randint(-400_000, 20_000)) for _ in ids],
        "at": [drawn(chance.randint(-(10**15), 10**15)) for _ in ids],
        "yes": [drawn(chance.random() < 0.5) for _ in ids],
        "big": [drawn(chance.randint(-(2**40), 2**40)) for _ in ids],
    }
    return pa.table({f.name: pa.array(columns[f.name], f.type) for f in SCHEMA}, schema=SCHEMA)


@pytest.fixture
def table(catalog: tc.Catalog) -> tc.Table:
    """Files that overlap and one that overlaps nothing, in two buckets."""
    chance = random.Random(7)
    options = {"bucket": "2", "write-only": "true", "read.batch-size": "64"}
    found = catalog.create_table("d.t", SCHEMA, primary_key=("id",), options=options)
    for ids in (range(300), range(100, 400), range(5000, 5100)):
        write_rows(found, rows(chance, ids))
    return found


def asked(frame: Any, by: list[str], values: dict[str, tuple[str, str]]) -> list[str]:
    columns = [
        SPARK[function](f.lit(1) if column == "*" else f.col(column)).alias(name)
        for name, (function, column) in values.items()
    ]
    return shown(frame.groupBy(*by).agg(*columns))


def shown(frame: Any) -> list[str]:
    types = [(each.name, each.dataType.simpleString()) for each in frame.schema]
    return [str(types), *sorted(str(tuple(row)) for row in frame.collect())]


@pytest.mark.parametrize("seed", range(budget("AGGREGATES", ci=3, nightly=60)))
def test_it_is_what_spark_says(spark: Any, table: tc.Table, seed: int) -> None:
    chance = random.Random(seed)
    names = [name for name in SCHEMA.names if name != "id"]
    by = chance.sample(["small", "text", "day", "yes", "x"], chance.randint(0, 2))
    numbers = ["small", "price", "wide", "x", "big"]
    values: dict[str, tuple[str, str]] = {"rows": ("count", "*")}
    for number in range(chance.randint(1, 4)):
        function = chance.choice(list(SPARK))
        column = chance.choice(numbers if function == "sum" else names)
        values[f"v{number}"] = (function, column)
    where = chance.choice([None, "id < 150 OR id > 5050", "small = 2"])
    found = tcs.aggregate(spark, table, by, values, where=where)
    assert shown(found) == asked(tcs.read(spark, table, where=where), by, values)


def test_few_rows_leave_the_reading_task(table: tc.Table) -> None:
    scan, values = table.read(columns=["small", "price"]), {"sum": ("sum", "price")}
    measures = aggregating._measures(SCHEMA.names, ["small"], values)
    shape = spark_types.StructType(
        [
            spark_types.StructField("small", spark_types.ShortType()),
            spark_types.StructField("sum", spark_types.DecimalType(22, 2)),
        ]
    )
    fields = shown_fields(scan, "refuse")
    work = aggregating._grouping(scan.reader, fields, ["small"], measures, shape)
    parts = pa.Table.from_batches(work(scan.splits()))
    assert parts.num_rows == 8
    assert pc.sum(parts["sum"]).as_py() == pc.sum(scan.to_arrow()["price"]).as_py()


def test_a_sum_that_overflows_is_an_error_or_null_as_in_spark(
    spark: Any, catalog: tc.Catalog
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("d.t", schema, primary_key=("id",), options=options)
    most = 2**63 - 1
    for n in (most, most - 1):
        write_rows(table, pa.table({"id": [1, 2, 3], "n": [n, 1, -1]}, schema=schema))
    values = {"n": ("sum", "n")}
    assert tcs.aggregate(spark, table, [], values).collect()[0][0] == most - 1
    write_rows(table, pa.table({"id": [2, 3], "n": [most, most]}, schema=schema))
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        tcs.aggregate(spark, table, [], values).collect()


def test_a_group_may_be_called_as_arrow_calls_a_sum(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("n_sum", pa.string()), ("v", pa.int64())]
    )
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("d.named", schema, primary_key=("id",), options=options)
    for v in (1, 2):
        write_rows(table, pa.table({"id": [1, 2], "n_sum": ["a", "b"], "v": [v, v]}, schema=schema))
    values = {"n": ("sum", "v"), "0": ("count", "*")}
    found = tcs.aggregate(spark, table, ["n_sum"], values)
    assert sorted(map(tuple, found.collect())) == [("a", 2, 1), ("b", 2, 1)]


def test_what_is_asked_wrongly_is_refused(spark: Any, table: tc.Table) -> None:
    with pytest.raises(tc.errors.ArgumentError, match="use one of count, sum, min, max"):
        tcs.aggregate(spark, table, [], {"v": ("median", "x")})
    with pytest.raises(tc.errors.ArgumentError, match="two columns"):
        tcs.aggregate(spark, table, ["x"], {"X": ("count", "*")})
    with pytest.raises(tc.errors.SchemaError, match="no columns"):
        tcs.aggregate(spark, table, ["nope"], {"v": ("count", "*")})


def test_append_tables_and_system_tables_are_spark_s_own_work(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = catalog.create_table("d.a", SCHEMA, options={"bucket": "-1"})
    assert tcs.aggregate(spark, table, [], {"n": ("count", "*")}).collect()[0][0] == 0
    assert tcs.aggregate(spark, table, ["yes"], {"n": ("count", "*")}).collect() == []
    write_rows(table, rows(random.Random(1), range(50)))
    values = {"n": ("count", "*"), "x": ("max", "x"), "s": ("sum", "price")}
    found = tcs.aggregate(spark, table, ["yes"], values)
    assert shown(found) == asked(tcs.read(spark, table), ["yes"], values)
    snapshots = catalog.table("d.a$snapshots")
    assert tcs.aggregate(spark, snapshots, [], {"n": ("count", "*")}).collect()[0][0] == 1
