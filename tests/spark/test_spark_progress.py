"""How far tasks are is told while they run, on every kind of session."""

from __future__ import annotations

import threading
import time
from typing import Any

from table_core.spark.session.progress import TaskProgress

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
