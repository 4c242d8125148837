"""Goal: a task that Spark runs twice at once brings its rows once, whichever of the two ends first.

Method: the Python of one executor stands still in the middle of a verb, as on a machine that hangs, so that Spark runs
its tasks on the other host; when the verb has ended it goes on.  What it then still writes nothing refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
UPSERT = [tc.MatchedUpsert(), tc.NotMatchedInsert()]


def frame(spark: Any, turn: int) -> Any:
    found = spark.range(turn * 100, COUNT + turn * 100, 1, 24)
    return found.selectExpr("id", "CAST(id % 40 AS STRING) part", f"concat('{turn}-', id) v")


def by_write(spark: Any, table: tc.Table) -> None:
    tcs.write(frame(spark, 1), table)


def by_format(spark: Any, table: tc.Table) -> None:
    register(spark)
    frame(spark, 1).write.format("paimon").mode("append").save(table.uri)


VERBS: dict[str, tuple[int, Callable[[Any, tc.Table], None]]] = {
    "write": (2, by_write),
    "format": (1, by_format),
}
"""The stage that is struck, and the verb by tasks."""


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
    stage, by_tasks = VERBS[verb]
    for turn in range(TRIES):
        table, twin = (loaded(catalog, f"d.{n}{turn}", 1, **LAYOUTS["key"]) for n in ("t", "twin"))
        twin.merge_into(rows(1), ["id"], UPSERT)
        with paused(spark, cluster, stage) as strike:
            by_tasks(spark, table)
        exact(table, twin.read().to_arrow())
        eventually(lambda table=table: unknown_files(table) == [], "late files are taken away")
        exact(table, twin.read().to_arrow())
        if strike.hit and copies(spark, strike):
            return
    raise AssertionError("no task ran twice")
