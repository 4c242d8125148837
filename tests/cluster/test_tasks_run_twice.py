"""Goal: a task that Spark runs twice at once brings its rows once, whichever of the two ends first.

Method: the Python of one executor stands still in the middle of a verb, as on a machine that hangs, so that Spark runs
its tasks on the other host; when the verb has ended it goes on.  What it then still writes nothing refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.spark import register
from tests.cluster.exact_jobs import COUNT, LAYOUTS, exact, loaded, rows, unknown_files
from tests.cluster.strikes import Strike, python_paused
from tests.eventually import eventually
from tests.spark_servers import Standalone

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(1200)]

TRIES = 5
"""A pause may hit an executor that has no task left: then there is nothing to run twice."""
NAMES = ("t", "twin")
UPSERT = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
THIRD = "id % 3 = 0"


def frame(spark: Any) -> Any:
    found = spark.range(200, COUNT + 200, 1, 24)
    return found.selectExpr("id", "CAST(id % 40 AS STRING) part", "concat('2-', id) v")


def by_write(spark: Any, table: tc.Table) -> None:
    tcs.write(frame(spark), table)


def by_format(spark: Any, table: tc.Table) -> None:
    register(spark)
    frame(spark).write.format("paimon").mode("append").save(table.uri)


def by_merge(spark: Any, table: tc.Table) -> None:
    tcs.merge_into(spark, table, frame(spark), ["id"], UPSERT)


def by_delete(spark: Any, table: tc.Table) -> None:
    tcs.delete(spark, table, THIRD)


def by_compact(spark: Any, table: tc.Table) -> None:
    tcs.compact(spark, table)


def by_sort(spark: Any, table: tc.Table) -> None:
    tcs.compact(spark, table, order_by=["zorder(id, v)"])


def upserted(twin: tc.Table) -> None:
    twin.merge_into(rows(2), ["id"], UPSERT)


def deleted(twin: tc.Table) -> None:
    twin.delete(THIRD)


def compacted(twin: tc.Table) -> None:
    twin.compact()


@dataclass(frozen=True)
class Verb:
    """What is done by tasks, the stage of it that is struck, and the same by a handle."""

    by_tasks: Callable[[Any, tc.Table], None]
    by_handle: Callable[[tc.Table], None]
    layout: str = "key"
    stage: int = 1


VERBS = {
    "write": Verb(by_write, upserted, stage=2),
    "format": Verb(by_format, upserted),
    "merge": Verb(by_merge, upserted, stage=3),
    "merge into an append table": Verb(by_merge, upserted, "append by bucket", stage=3),
    "delete": Verb(by_delete, deleted),
    "delete from an append table": Verb(by_delete, deleted, "append by bucket"),
    "compact": Verb(by_compact, compacted),
    "compact an append table": Verb(by_compact, compacted, "append by partition"),
    "sort": Verb(by_sort, compacted, "append by partition"),
}


@contextmanager
def paused(spark: Any, cluster: Standalone, stage: int) -> Iterator[Strike]:
    strike = Strike(spark, cluster, python_paused, stage)
    strike.start()
    try:
        yield strike
    finally:
        strike.over.set()
        strike.join()
        for process in strike.hit:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def copies(spark: Any, strike: Strike) -> int:
    """How many tasks Spark ran a second time, of those stages."""
    store = spark.sparkContext._jsc.sc().statusStore()
    found = (store.speculationSummary(number, 0) for number in strike.stages)
    return sum(summary.get().numTasks() for summary in found if summary.isDefined())


@pytest.mark.parametrize("verb", VERBS)
def test_a_task_that_runs_twice_brings_its_rows_once(
    spark: Any, cluster: Standalone, catalog: tc.Catalog, verb: str
) -> None:
    struck = VERBS[verb]
    for turn in range(TRIES):
        table, twin = (loaded(catalog, f"d.{n}{turn}", **LAYOUTS[struck.layout]) for n in NAMES)
        struck.by_handle(twin)
        with paused(spark, cluster, struck.stage) as strike:
            struck.by_tasks(spark, table)
        exact(table, twin.read().to_arrow())
        eventually(lambda table=table: unknown_files(table) == [], "late files are taken away")
        exact(table, twin.read().to_arrow())
        if strike.hit and copies(spark, strike):
            return
    raise AssertionError("no task ran twice")
