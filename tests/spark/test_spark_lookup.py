"""Goal: a lookup join on Spark gives what the embedded one gives, in batches and in streams.

Method: the same rows through both; the embedded join is tested against a loop (``test_lookup_join``).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, DataError
from table_core.spark import lookup_join, register
from table_core.spark.session.failures import translated
from tests.tables import write_rows

PATIENCE_S = 300
ITEMS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("price", pa.decimal128(38, 18)),
        ("seen", pa.timestamp("us")),
        ("tags", pa.list_(pa.string())),
    ]
)


def items(catalog: tc.Catalog) -> tc.Table:
    table = catalog.create_table("d.items", ITEMS, primary_key=("id",), options={"bucket": "2"})
    put(table, range(0, 40, 2))
    return table


def put(table: tc.Table, ids: Any) -> None:
    seen = datetime(2026, 1, 1)
    rows = [{"id": i, "price": Decimal(i) / 4, "seen": seen, "tags": [str(i), None]} for i in ids]
    write_rows(table, pa.Table.from_pylist(rows, schema=ITEMS))


def test_batches_get_what_the_embedded_engine_gives(spark: Any, catalog: tc.Catalog) -> None:
    table = items(catalog)
    rows = spark.range(60).selectExpr("id AS n", "CASE WHEN id < 50 THEN id END AS item")
    expected = tc.lookup_join(rows.toArrow(), table, {"item": "id"})
    joined = lookup_join(rows.repartition(3), table, {"item": "id"}).orderBy("n").toArrow()
    assert joined.to_pylist() == expected.to_pylist()
    old = lookup_join(rows, table, {"item": "id"}, as_of=1, columns=["price"])
    put(table, [1, 3])
    assert old.where("price IS NOT NULL").count() == 20
    with pytest.raises(DataError, match="no row for"), translated():
        lookup_join(rows, table, {"item": "id"}, missing="fail").collect()
    with pytest.raises(ArgumentError, match="both the rows"):
        lookup_join(rows.withColumnRenamed("n", "price"), table, {"item": "id"})


def test_a_missing_row_is_waited_for(spark: Any, catalog: tc.Catalog) -> None:
    table = items(catalog)
    rows = spark.sql("SELECT 5 AS item")
    waiting = lookup_join(rows, table, {"item": "id"}, missing="wait")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(waiting.collect)
        put(table, [5])
        assert found.result(PATIENCE_S)[0].price == Decimal("1.25")
    rows = spark.sql("SELECT 7 AS item")
    with pytest.raises(DataError, match="no row for"), translated():
        lookup_join(rows, table, {"item": "id"}, missing="wait", wait_seconds=0).collect()


def test_streams_see_the_newest_state(spark: Any, catalog: tc.Catalog, tmp_path: Any) -> None:
    register(spark)
    table = items(catalog)
    events = catalog.create_table("d.events", pa.schema([("id", pa.int32())]))
    write_rows(events, pa.table({"id": pa.array([2, 3], pa.int32())}))
    stream = spark.readStream.format("paimon").load(events.uri)
    joined = lookup_join(stream, table, ["id"], columns=["price"])
    put(table, [3])
    query = joined.writeStream.format("memory").queryName("joined_events")
    started = query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    assert started.start().awaitTermination(PATIENCE_S)
    assert spark.table("joined_events").where("price IS NULL").count() == 0
