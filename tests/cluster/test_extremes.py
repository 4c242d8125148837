"""Goal: what is extreme on a cluster is exact, and what tasks tell the driver is about their files and no more.

Method: 2,000 partitions in one write by each way in, a write of 10,000 tasks by each way that tasks write (by day of
200), and rows of 10 MB, on a real cluster.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.spark import register
from table_core.spark.session import tasks
from table_core.spark.writing import frames, native
from table_core.spark.writing.source_writing import Written
from table_core.table.commit_io.prepared import WriteResult
from tests.cluster.exact_jobs import unknown_files
from tests.lanes import budget

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(3600)]

TASKS = budget("TASKS", ci=200, nightly=10_000)
PARTITIONS, ROWS, WIDE = 2_000, 24_000, 10 << 20
REPORT_MOST, GROWN_MOST = 1024, 256 << 20
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("part", pa.string()), ("v", pa.string())]
)
LAYOUTS: dict[str, dict[str, Any]] = {
    "by Spark": {"options": {"bucket": "-1"}},
    "by Python": {"options": {"bucket": "-1", "file.format": "orc"}},
    "key": {"primary_key": ("part", "id"), "options": {"bucket": "1"}},
}


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of what each task told the driver."""
    sizes: list[int] = []
    for module in (tasks, frames, native):
        there: Callable[[Any], list[Any]] = module.unpacked

        def unpacked(frame: Any, there: Callable[[Any], list[Any]] = there) -> list[Any]:
            results = there(frame)
            sizes.extend(len(pickle.dumps(result)) for result in results)
            return results

        monkeypatch.setattr(module, "unpacked", unpacked)
    return sizes


def write(spark: Any, frame: Any, table: tc.Table, door: str) -> None:
    if door == "verb":
        tcs.write(frame, table)
    else:
        register(spark)
        frame.write.format("paimon").mode("append").save(table.uri)


@pytest.mark.parametrize("door", ["verb", "format"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_thousand_partitions_in_one_write(
    spark: Any, catalog: tc.Catalog, reports: list[int], layout: str, door: str
) -> None:
    table = catalog.create_table("d.t", SCHEMA, partition_by=("part",), **LAYOUTS[layout])
    rows = spark.range(0, ROWS, 1, 4).selectExpr(
        "id", f"CAST(id % {PARTITIONS} AS STRING) part", "concat('v', id) v"
    )
    write(spark, rows, table, door)
    entries = table.access.live_entries(table.latest_snapshot())
    assert len({entry.partition for entry in entries}) == PARTITIONS
    found = table.read().to_arrow()
    assert found.num_rows == ROWS
    assert pc.sum(found["id"]).as_py() == sum(range(ROWS))
    assert unknown_files(table) == []
    assert sum(reports) <= REPORT_MOST * len(entries)


OF_MANY_TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "by Spark": ("verb", LAYOUTS["by Spark"]),
    "by Python": (
        "verb",
        {
            "primary_key": ("id",),
            "options": {
                "bucket": str(TASKS),
                "sink.parallelism": str(TASKS),
                "write.one-task.max-size": "0 b",  # else the driver takes so few rows
            },
        },
    ),
    "by the format": ("format", LAYOUTS["by Python"]),
}
"""Way in and layout: each task writes a file."""


@pytest.mark.parametrize("way", OF_MANY_TASKS)
def test_ten_thousand_tasks(spark: Any, catalog: tc.Catalog, reports: list[int], way: str) -> None:
    """Spark itself bounds the driver's JVM, at 600 MB; here what Python takes beside it is measured."""
    door, layout = OF_MANY_TASKS[way]
    table = catalog.create_table("d.t", SCHEMA, **layout)
    if door == "format":  # processes that plan and commit are there, with what they import
        few = spark.range(0, 4, 1, 1).selectExpr("id", "'p' part", "'v' v")
        write(spark, few, catalog.create_table("d.first", SCHEMA, **layout), door)
    count = 4 * TASKS  # of ids in a row: few buckets stay empty
    rows = spark.range(0, count, 1, TASKS).selectExpr("id", "'p' part", "concat('v', id) v")
    with peak_of_python(spark) as peak:
        write(spark, rows, table, door)
    entries = table.access.live_entries(table.latest_snapshot())
    sizes = [len(pickle.dumps(entry)) for entry in entries]
    print(
        f"{way}: {len(entries)} files, reports {reports and max(reports)} B, {peak[0] >> 20} MiB more"
    )
    assert peak[0] <= GROWN_MOST
    assert len(entries) >= 0.9 * TASKS
    if way == "by Python":
        assert len(reports) == TASKS
        assert max(reports) <= REPORT_MOST
    elif way == "by Spark":  # a task tells of several files that Spark wrote
        assert sum(reports) <= REPORT_MOST * len(entries)
    else:  # its reports go to a process of their own
        assert max(sizes) + len(pickle.dumps(Written(WriteResult(), "0" * 36))) <= REPORT_MOST
    assert pc.sum(table.read().to_arrow()["id"]).as_py() == sum(range(count))
    if way == "by Spark":
        tcs.compact(spark, table)
        assert pc.sum(table.read().to_arrow()["id"]).as_py() == sum(range(count))


@contextmanager
def peak_of_python(spark: Any) -> Iterator[list[int]]:
    """By how many bytes the Python of the driver, this process and those of its JVM, has grown at most.

    Memory that a fork shares counts once.  The cluster's processes are children of this one too, and do not count.
    """
    own, jvm = psutil.Process(), psutil.Process(spark.sparkContext._gateway.proc.pid)

    def taken() -> int:
        found = 0
        for process in (own, *jvm.children(recursive=True)):
            try:
                if "python" in process.name():
                    found += process.memory_full_info().uss
            except psutil.Error:  # it has ended
                continue
        return found

    before, peak, over = taken(), [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], taken() - before)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield peak
    finally:
        over.set()
        watching.join()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_ten_megabytes(spark: Any, catalog: tc.Catalog, layout: str) -> None:
    table = catalog.create_table("d.t", SCHEMA, **LAYOUTS[layout])
    rows = spark.range(0, 24, 1, 2).selectExpr(
        "id", "'p' part", f"rpad(concat('v', id), {WIDE}, 'x') v"
    )
    tcs.write(rows, table)
    ids = set(range(24))
    told = tcs.read(spark, table).selectExpr("id", "length(v) n", "left(v, 4) v").collect()
    assert {row.id for row in told} == ids
    assert {row.n for row in told} == {WIDE}
    assert all(row.v.rstrip("x") == f"v{row.id}" for row in told)
    tcs.delete(spark, table, "id % 3 = 0")
    tcs.compact(spark, table)
    left = tcs.read(spark, table).selectExpr("id", "length(v) n").collect()
    assert {row.id for row in left} == {i for i in ids if i % 3}
    assert {row.n for row in left} == {WIDE}
