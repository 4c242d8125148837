"""How far tasks are is told while they run, on every kind of session; on a classic one, how far files are."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.spark.session import tasks
from table_core.spark.session.files_done import files_now, files_planned
from table_core.spark.session.progress import TaskProgress
from tests.tables import write_rows

PATIENCE_S = 120


def test_tasks_are_told_while_they_run(spark: Any) -> None:
    told: list[dict[str, int]] = []
    heard = threading.Event()

    def tell(stage: str, **facts: int) -> None:
        told.append({**facts, "is_tasks": stage == "tasks"})
        heard.set()

    def slow(batches: Any) -> Any:
        for batch in batches:
            time.sleep(0.5)
            yield batch

    watch = TaskProgress(spark, tell)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not heard.is_set():  # a job may end between two looks
            assert time.monotonic() < deadline, "nothing was told"
            spark.range(0, 6, 1, 6).mapInArrow(slow, "id long").count()
    finally:
        watch.stop()
    assert all(each["is_tasks"] and 0 <= each["done"] <= each["total"] for each in told)
    after = len(told)
    spark.range(0, 4, 1, 4).mapInArrow(slow, "id long").count()
    assert len(told) == after


def test_ten_thousand_tasks_are_told_in_a_hundred_lines(spark: Any) -> None:
    told: list[tuple[str, dict[str, int]]] = []
    watch = TaskProgress(spark, lambda stage, **facts: told.append((stage, facts)))
    watch.stop()
    for done in range(10_001):
        watch._say([(done, 10_000)])
    assert 50 <= len(told) <= 102
    assert told[-1] == ("tasks", {"done": 10_000, "total": 10_000, "stages": 1})


classic = pytest.mark.skipif(
    os.environ.get("SPARK_TESTS_ON") == "connect", reason="a client hears nothing of tasks"
)


@classic
def test_files_are_done_once_however_often_a_piece_is_tried(spark: Any) -> None:
    context = spark.sparkContext

    def run(batches: Any) -> Any:
        for batch in batches:
            for piece in batch.column(0).to_pylist():
                ended(piece)
            yield batch

    with files_planned(spark, [3, 1, 2_000]) as ended:
        assert context.getLocalProperty("spark.job.description") == "2,004 files"
        assert files_now(context) == (0, 2_004)
        for _ in range(2):
            spark.range(0, 2, 1, 2).mapInArrow(run, "id long").count()
            assert files_now(context) == (4, 2_004)
    assert files_now(context) == (0, 0)
    assert context.getLocalProperty("spark.job.description") is None


@classic
@pytest.mark.parametrize("keys", [("id",), ()])
def test_verbs_tell_their_files(
    spark: Any, catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    options = {"bucket": "2" if keys else "-1", "write-only": "true"}
    table = catalog.create_table("d.t", schema, primary_key=keys, options=options)
    for turn in range(3):
        write_rows(table, pa.table({"id": range(20), "n": [turn] * 20}, schema=schema))
    files = len(table.access.live_entries(table.latest_snapshot()))
    context, heard, there = spark.sparkContext, [], tasks.unpacked

    def unpacked(frame: Any) -> list[Any]:
        results = there(frame)
        heard.append((context.getLocalProperty("spark.job.description"), files_now(context)))
        return results

    monkeypatch.setattr(tasks, "unpacked", unpacked)
    tcs.compact(spark, table)
    assert heard == [(f"compact d.t, {files} files", (files, files))]
    tcs.delete(spark, table, "id = 1")
    text, (done, planned) = heard[1]
    assert text == f"delete d.t, {planned} files"
    assert 0 < done == planned < files
