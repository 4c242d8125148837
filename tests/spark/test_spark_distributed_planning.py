"""Goal: a large table is planned by tasks: the driver makes no plan and holds no split, and the rows are the same.

Method: tables of many small manifests, with the option that says from how many on set to 1; the driver's own
planner is made to fail.  What a plan contains is the subject of ``tests/property/test_distributed_plan.py``.
"""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import table_core as tc
import table_core.spark as tcs
from table_core.spark.reading.planned import planned_in_tasks
from table_core.spark.writing import compaction
from table_core.table.read.state_plan import StatePlanner
from tests.spark.job_counts import counting
from tests.tables import write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.int32(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("v", pa.string()),
    ]
)
OPTIONS = {"bucket": "2", "scan.distributed-planning.min-manifests": "1"}
KINDS: dict[str, dict[str, Any]] = {
    "key": {"primary_key": ("p", "id"), "options": OPTIONS},
    "vectors": {
        "primary_key": ("p", "id"),
        "options": {**OPTIONS, "deletion-vectors.enabled": "true"},
    },
    "append": {"options": {**OPTIONS, "bucket": "-1"}},
}


def rows(first: int) -> pa.Table:
    ids = list(range(first, first + 60))
    return pa.table([[id % 5 for id in ids], ids, [f"x{id}-{first}" for id in ids]], schema=SCHEMA)


@pytest.fixture(params=sorted(KINDS))
def table(request: pytest.FixtureRequest, catalog: tc.Catalog) -> tc.Table:
    made = catalog.create_table("d.t", SCHEMA, partition_by=("p",), **KINDS[request.param])
    for first in (0, 30, 90):
        write_rows(made, rows(first))
    made.delete("id > 40 AND id < 50")
    return made


def in_order(rows: Any) -> list[Any]:
    return sorted(map(tuple, rows))


def read_here(table: tc.Table, **how: Any) -> list[Any]:
    return in_order(row.values() for row in table.read(**how).to_arrow().to_pylist())


def test_the_rows_are_those_of_the_drivers_plan(
    spark: Any, table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, old = read_here(table), read_here(table, snapshot=2)
    assert 0 < len(old) != len(whole)

    def plan(*_: object) -> None:
        raise AssertionError("the driver plans")

    monkeypatch.setattr(StatePlanner, "plan", plan)
    frame = tcs.read(spark, table)
    assert in_order(frame.collect()) == whole
    assert frame.where("p = 3").count() == sum(row[0] == 3 for row in whole)
    pruned = tcs.read(spark, table, columns=["v", "id"], where="p = 3 AND id < 100")
    expected = [(v, id) for p, id, v in whole if p == 3 and id < 100]
    assert in_order(pruned.collect()) == sorted(expected)
    assert in_order(tcs.read(spark, table, snapshot=2).collect()) == old
    counted = tcs.aggregate(spark, table, ["p"], {"n": ("count", "*"), "last": ("max", "id")})
    wanted = frame.groupBy("p").agg(f.count("*"), f.max("id"))
    assert in_order(counted.collect()) == in_order(wanted.collect())


def test_the_splits_are_those_of_the_drivers_plan(spark: Any, table: tc.Table) -> None:
    scan = table.read(where="id < 100")
    planned = planned_in_tasks(spark, scan)
    assert planned is not None
    splits = [split for row in planned[0].collect() for split in pickle.loads(row["items"])]

    def order(split: Any) -> Any:
        return split.partition, split.bucket, split.files[0].file_name

    assert sorted(splits, key=order) == sorted(scan.splits(), key=order)


def test_a_table_of_few_manifests_is_planned_by_the_driver(spark: Any, table: tc.Table) -> None:
    few = tc.open_table(table.uri, options={"scan.distributed-planning.min-manifests": "2"})
    assert planned_in_tasks(spark, few.read()) is None
    assert in_order(tcs.read(spark, few).collect()) == in_order(tcs.read(spark, table).collect())


@pytest.mark.skipif(
    os.environ.get("SPARK_TESTS_ON") == "connect", reason="a client has no status tracker"
)
def test_nothing_runs_before_rows_are_asked_for(spark: Any, table: tc.Table) -> None:
    with counting(spark) as made:
        frame = tcs.read(spark, table)
    assert (made.jobs, made.tasks) == (0, 0)
    with counting(spark) as read:
        frame.collect()
    assert read.stages == 3, "manifests, shares, rows"


def test_the_number_of_tasks_that_read_is_that_which_was_asked_for(
    spark: Any, table: tc.Table
) -> None:
    asked = tc.open_table(table.uri, options={"scan.parallelism": "5"})
    numbers = tcs.read(spark, asked).select(f.spark_partition_id()).distinct().collect()
    assert {row[0] for row in numbers} <= set(range(5))


def test_a_manifest_that_is_gone_is_our_error(spark: Any, table: tc.Table) -> None:
    frame = tcs.read(spark, table)
    snapshot = table.latest_snapshot()
    meta = table.access.metadata.data_manifests(snapshot)[-1]  # files of all levels
    table.access.storage.delete([f"manifest/{meta.file_name}"])
    with pytest.raises(Exception, match=meta.file_name):
        frame.collect()


def files_of(table: tc.Table) -> list[tuple[Any, ...]]:
    """Of each partition and bucket how many files, on which levels."""
    entries = table.access.live_entries(table.latest_snapshot())
    return sorted((e.partition, e.bucket, e.file.level, e.file.row_count) for e in entries)


@pytest.mark.parametrize("order_by", [None, ["v"]])
@pytest.mark.parametrize("partitions", [None, [{"p": 3}]])
def test_a_compaction_whose_buckets_tasks_choose_does_what_the_driver_would(
    spark: Any,
    table: tc.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partitions: Any,
    order_by: Any,
) -> None:
    if order_by and table.definition.primary_keys:
        pytest.skip("rows of a key table have an order")
    shutil.copytree(table.uri.removeprefix("file://"), tmp_path / "twin")
    few = {"scan.distributed-planning.min-manifests": "1000"}
    twin = tc.open_table((tmp_path / "twin").as_uri(), options=few)
    before, how = read_here(table), {"partitions": partitions, "order_by": order_by}
    expected = tcs.compact(spark, twin, **how)

    def chosen(*_: object) -> None:
        raise AssertionError("the driver chooses")

    with monkeypatch.context() as patched:
        patched.setattr(compaction, "choose", chosen)
        done = tcs.compact(spark, table, **how)
    assert files_of(table) == files_of(twin)
    for fact in ("files_before", "files_after", "files_deleted", "rows_written", "details"):
        assert getattr(done, fact) == getattr(expected, fact)
    assert read_here(table) == before
    if not order_by:
        again = tcs.compact(spark, table, **how)
        assert again.snapshot_after == done.snapshot_after
