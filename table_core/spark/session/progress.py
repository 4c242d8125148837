"""How far the tasks of a session are, told while they run.

A classic session is asked every second; a Spark Connect server says it by itself.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from table_core.spark.session.create import context_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

__all__ = ["TaskProgress"]

_PAUSE_S: Final = 1.0


class TaskProgress:
    """Tells ``("tasks", done=…, total=…, stages=…)`` whenever they have changed, until it is stopped."""

    def __init__(self, session: SparkSession, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._told: tuple[int, int, int] | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        context = context_of(session)
        if context is not None:
            status = context.statusTracker()
            self._thread = threading.Thread(target=self._ask, args=(status,), daemon=True)
            self._thread.start()
        else:
            session.registerProgressHandler(self._hear)

    def stop(self) -> None:
        """Tell no more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _ask(self, status: Any) -> None:
        while not self._over.wait(_PAUSE_S):
            infos = [status.getStageInfo(id) for id in status.getActiveStageIds()]
            stages = [stage for stage in infos if stage is not None]
            self._say([(stage.numCompletedTasks, stage.numTasks) for stage in stages])

    def _hear(self, stages: Any, **_: object) -> None:
        if not self._over.is_set():
            self._say([(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()])

    def _say(self, stages: list[tuple[int, int]]) -> None:
        """Pairs of tasks that are done and all tasks, a stage each."""
        state = sum(done for done, _ in stages), sum(total for _, total in stages), len(stages)
        if stages and state != self._told:
            self._told = state
            done, total, running = state
            self._tell("tasks", done=done, total=total, stages=running)
