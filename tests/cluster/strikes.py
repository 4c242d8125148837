"""What happens to the executors of a cluster while a verb runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psutil

from tests.spark_servers import Standalone

__all__ = ["Strike", "killed", "python_paused"]


def killed(cluster: Standalone) -> list[psutil.Process]:
    """Kill all executors with -9."""
    hit = cluster.executors()
    for executor in hit:
        executor.kill()
    return hit


def python_paused(cluster: Standalone) -> list[psutil.Process]:
    """Let the Python of one executor stand still, as on a machine that hangs; its JVM still hands out rows."""
    for executor in cluster.executors():
        hit = executor.children(recursive=True)
        if len(hit) > 1:  # the one that forks, and a worker
            for process in hit:
                process.suspend()
            return hit
    return []


class Strike(threading.Thread):
    """Does ``act`` once a stage, the ``stage``-th from now, has tasks that have ended and tasks that run."""

    def __init__(
        self,
        spark: Any,
        cluster: Standalone,
        act: Callable[[Standalone], list[psutil.Process]],
        stage: int,
    ) -> None:
        super().__init__(daemon=True)
        self.status = spark.sparkContext.statusTracker()
        self.cluster, self.act, self.stage = cluster, act, stage
        self.hit: list[psutil.Process] = []
        self.stages: list[int] = []
        """Those that were seen at work, up to the strike."""
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.01) and not self.hit:
            found = (self.status.getStageInfo(id) for id in self.status.getActiveStageIds())
            for stage in found:
                if stage is None:
                    continue
                if stage.stageId not in self.stages:
                    self.stages.append(stage.stageId)
                begun = stage.numCompletedTasks and stage.numActiveTasks
                if begun and len(self.stages) >= self.stage:
                    self.hit = self.act(self.cluster)
                    break
