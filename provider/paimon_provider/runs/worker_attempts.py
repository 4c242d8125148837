"""Whether an earlier attempt of this task run was killed while it worked inside the worker.

A worker that runs out of memory is killed and cannot say so.  What is noted before the work and taken back
after it is still there then: with ``engine="auto"`` the next attempt goes to Spark.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import task_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["WorkerAttempts"]

_KEY: Final = "paimon_in_worker"


class WorkerAttempts:
    """The note of one task run in Airflow's task state.

    Args:
        context: the running task's.
        user: the commit user of the task run: a cleared task is another run, which begins without a note.
    """

    def __init__(self, context: Mapping[str, Any] | Any, user: str) -> None:
        self._store: Any = task_state(context)
        self._user = user
        self._try = context["ti"].try_number

    @property
    def was_killed(self) -> bool:
        """Whether an earlier attempt did not come to say how it ended."""
        noted = None if self._store is None else self._store.get(_KEY)
        return (
            isinstance(noted, dict)
            and noted.get("user") == self._user
            and noted.get("try") != self._try
        )

    @contextmanager
    def noted(self) -> Iterator[None]:
        """While this block runs, a death of the process leaves the note."""
        if self._store is not None:
            self._store.set(_KEY, {"user": self._user, "try": self._try})
        try:
            yield
        finally:
            if self._store is not None:
                self._store.delete(_KEY)
