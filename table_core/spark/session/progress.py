"""How far the tasks of a session are, and the files of its verbs, told while they run.

A classic session is asked every second; a Spark Connect server says it by itself.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from table_core.spark.session.create import context_of
from table_core.spark.session.files_done import files_now

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

__all__ = ["TaskProgress"]

_PAUSE_S: Final = 1.0
_LINES: Final = 100
"""Of one set of stages: the next is told when this part of its tasks has ended."""


class TaskProgress:
    """Tells ``("tasks", done=…, total=…, stages=…)`` when they have changed, until it is stopped.

    Of one set of stages it tells about a hundred times, however many tasks there are.  Where a verb knows its
    files, ``files_done`` and ``files`` are told too.
    """

    def __init__(self, session: SparkSession, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._told = (0, 0, 0)
        self._context = context_of(session)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if self._context is not None:
            status = self._context.statusTracker()
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
        if not stages:
            return
        done, total = sum(done for done, _ in stages), sum(total for _, total in stages)
        told, told_total, told_stages = self._told
        same = (total, len(stages)) == (told_total, told_stages)
        if same and (done == told or (done < total and abs(done - told) * _LINES < total)):
            return
        self._told = done, total, len(stages)
        files_done, files = (0, 0) if self._context is None else files_now(self._context)
        more = {"files_done": files_done, "files": files} if files else {}
        self._tell("tasks", done=done, total=total, stages=len(stages), **more)
