"""Goal: Spark broadcasts no large table of ours for a small one, and goes on to broadcast small ones.

Method: joins of tables that tasks of ours read, by each way in which they are planned, with a threshold between the
small and the large one.  What Spark does is read from its plan, over Connect too.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.spark.session import plan_size, tasks
from table_core.spark.verbs import merge_into
from tests.tables import write_rows

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
BROADCAST_MOST = "spark.sql.maxBroadcastTableSize"
LARGE, SMALL, MOST = 20_000, 10, "100000"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
LAYOUTS: dict[str, dict[str, Any]] = {
    "append": {"options": {"bucket": "-1", "file.format": "avro"}},
    "planned by tasks": {
        "primary_key": ("id",),
        "options": {"bucket": "2", "scan.distributed-planning.min-manifests": "1"},
    },
    "key": {"primary_key": ("id",), "options": {"bucket": "2", "file.format": "avro"}},
}
UPSERT = [tc.MatchedUpsert(), tc.NotMatchedInsert()]


@pytest.fixture
def threshold(spark: Any) -> Iterator[None]:
    before = spark.conf.get(THRESHOLD)
    spark.conf.set(THRESHOLD, MOST)
    yield
    spark.conf.set(THRESHOLD, before)


def plan_of(frame: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        frame.explain()
    return shown.getvalue()


def table_of(catalog: tc.Catalog, rows: int, **layout: Any) -> tc.Table:
    table = catalog.create_table(f"d.t{rows}", SCHEMA, **layout)
    write_rows(table, pa.table({"id": range(rows), "v": ["v"] * rows}, schema=SCHEMA))
    return table


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize("layout", ["append", "planned by tasks"])
def test_the_small_side_of_a_join_is_the_small_table(
    spark: Any, catalog: tc.Catalog, layout: str
) -> None:
    large = tcs.read(spark, table_of(catalog, LARGE, **LAYOUTS[layout]))
    small = tcs.read(spark, table_of(catalog, SMALL, **LAYOUTS[layout]))
    numbers = spark.range(LARGE * 2)
    assert "Broadcast" not in plan_of(numbers.join(large, "id"))
    assert "Broadcast" in plan_of(numbers.join(small, "id"))
    assert numbers.join(large, "id").count() == LARGE


@pytest.mark.usefixtures("threshold", "adaptive")
@pytest.mark.parametrize("shipped", [0, 4 << 20])
def test_nor_when_spark_plans_anew_behind_a_shuffle(
    spark: Any, catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch, shipped: int
) -> None:
    monkeypatch.setattr(tasks, "_SHIPPED_MAX", shipped)
    large = tcs.read(spark, table_of(catalog, LARGE, **LAYOUTS["key"]))
    joined = spark.range(LARGE * 2).join(large, "id")
    assert joined.count() == LARGE
    assert "Broadcast" not in plan_of(joined)


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize("rows", [SMALL, LARGE])
def test_a_merge_broadcasts_its_target_only_if_it_is_small(
    spark: Any, catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    plans = []
    there = merge_into.map_batches

    def map_batches(frame: Any, *more: Any) -> Any:
        plans.append(plan_of(frame))
        return there(frame, *more)

    monkeypatch.setattr(merge_into, "map_batches", map_batches)
    target = table_of(catalog, rows, options={"bucket": "-1"})
    source = spark.range(LARGE * 2).selectExpr("id", "'w' v").where("id < 15")
    tcs.merge_into(spark, target, source, ["id"], UPSERT)
    assert ("Broadcast" in plans[0]) is (rows == SMALL)
    found = target.read().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(max(rows, 15)))
    assert found["v"].to_pylist()[:15] == ["w"] * 15


def test_want_of_memory_is_no_reason_to_try_again(spark: Any, catalog: tc.Catalog) -> None:
    target = table_of(catalog, SMALL, options={"bucket": "-1"})
    source = spark.range(LARGE).selectExpr("id", "'w' v").hint("broadcast")
    spark.conf.set(BROADCAST_MOST, "1k")
    try:
        with pytest.raises(tc.errors.ArgumentError, match=f"memory.*{THRESHOLD}=-1") as caught:
            tcs.merge_into(spark, target, source, ["id"], [tc.MatchedUpsert()])
    finally:
        spark.conf.unset(BROADCAST_MOST)
    assert caught.value.kind is tc.errors.ErrorKind.INVALID
    assert target.read().to_arrow()["v"].to_pylist() == ["v"] * SMALL


@pytest.mark.parametrize(("count", "rows"), [(1, 0), (3, 0), (3, 7), (5, 10**9)])
def test_each_task_has_its_number(spark: Any, count: int, rows: int) -> None:
    numbers = plan_size.numbers(spark, count, rows)
    found = numbers.selectExpr("spark_partition_id() p", "id").collect()
    assert sorted((row.p, row.id) for row in found) == [(n, n) for n in range(count)]
