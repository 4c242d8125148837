"""What Spark was asked to do meanwhile: jobs, stages that ran, and their tasks, by its status tracker."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Counts:
    """Of one stretch of a test; known when its ``with`` statement has ended."""

    jobs: int = 0
    stages: int = 0
    tasks: int = 0


@contextmanager
def counting(spark: Any) -> Iterator[Counts]:
    """Count what this thread asks of ``spark``; skipped stages do not count."""
    context, found, group = spark.sparkContext, Counts(), str(uuid.uuid4())
    context.setJobGroup(group, "counted")
    try:
        yield found
    finally:
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(key, None)
    context._jsc.sc().listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    jobs = tracker.getJobIdsForGroup(group)
    stages = {number for job in jobs for number in tracker.getJobInfo(job).stageIds}
    told = [info for number in stages if (info := tracker.getStageInfo(number)) is not None]
    ran = [info for info in told if info.numCompletedTasks]
    found.jobs, found.stages = len(jobs), len(ran)
    found.tasks = sum(info.numCompletedTasks for info in ran)
