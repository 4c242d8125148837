"""Jobs that outlive the attempt that submitted them: found again by the next one."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import task_state
from paimon_provider.launchers.standalone import ACTIVE, StandaloneLauncher, Submission
from table_core.errors import ErrorKind, TableError, error_from_document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paimon_provider._compat import Context
    from table_core.jobs.job_spec import JobSpec

__all__ = ["ClusterJobs", "remaining_time"]

_KEY: Final = "paimon_job"
"""Never change it: a retry that spans an upgrade looks for it."""
_log = logging.getLogger(__name__)


def remaining_time(limit: timedelta | None, context: Context) -> timedelta | None:
    """What is left of ``execution_timeout`` for the wait in the triggerer; None: there is no limit."""
    if limit is None:
        return None
    begun = getattr(context["ti"], "start_date", None)
    passed = timedelta() if begun is None else datetime.now(UTC) - begun
    return max(limit - passed, timedelta(seconds=1))


class ClusterJobs:
    """The job of one task run, whichever attempt has submitted it.

    Airflow's task state keeps the submission between attempts, with the commit user: a cleared task
    is another run and submits anew.  An attempt that dies between submitting and keeping leaves a
    job that nobody waits for; it commits under the same name, so the next one finds its commit.  So
    it does where an attempt has taken the result and died: the job is submitted again.

    Args:
        launcher: the cluster.
        context: the running task's.
        user: the commit user of the task run.
        action: which of several jobs of the task; None: it has one.
    """

    def __init__(
        self,
        launcher: StandaloneLauncher,
        context: Context,
        user: str,
        *,
        action: str | None = None,
    ) -> None:
        self.launcher = launcher
        self.user = user
        self._key = _KEY if action is None else f"{_KEY}:{action}"
        self._store: Any = task_state(context)
        ti = context.get("ti")
        self._is_last = ti is not None and ti.try_number > ti.max_tries
        self._current: Submission | None = None

    def submitted_or(self, spec: JobSpec) -> Submission:
        """What an earlier attempt submitted, if it may still bring the result; else ``spec``, now.

        A job that the task submitted before it was cleared is ended first. Of a job that brought nothing, no
        files are left.
        """
        known = self._known()
        if known is not None and self._may_bring_result(known):
            self._current = known
            return known
        if known is not None:
            self.launcher.forget(known)
        self._end_cleared()
        self._current = submission = self.launcher.submit(spec)
        if self._store is not None:
            self._store.set(self._key, {**submission.to_document(), "user": self.user})
        return submission

    def has_submitted(self) -> bool:
        """Whether a job of an earlier attempt may still bring the result."""
        known = self._known()
        return known is not None and self._may_bring_result(known)

    def _may_bring_result(self, known: Submission) -> bool:
        """A master that has begun to lead knows no driver that had ended: what it left counts."""
        return self.launcher.state(known) in ACTIVE or self.launcher.has_result(known)

    def wait(self, submission: Submission, log: Callable[[str], None]) -> dict[str, Any]:
        """Wait here; the result document."""
        state = self.launcher.wait(submission, log)
        return self._taken(submission, state)

    def result(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The result document after what the trigger has told.

        A job that nobody will wait for any more is ended: the trigger met an error that no retry can mend.

        Raises:
            TableError: what the job reported, or what the trigger met.
        """
        if event.get("status") == "error":
            error = error_from_document(event["error"])
            if error.kind is not ErrorKind.UNAVAILABLE or self._is_last:
                self.give_up()
            raise error
        submission = self.launcher.kept(event["submission"])
        return self._taken(submission, str(event["state"]))

    def end(self) -> None:
        """Kill the job."""
        if self._current is not None:
            self.launcher.end(self._current)

    def give_up(self) -> None:
        """End the job that the task state keeps, and forget it; what keeps it from ending stands in the log."""
        try:
            known = self._known()
            if known is not None:
                self.launcher.end(known)
        except TableError as error:
            _log.error("The job may go on, and nobody waits for it: %s", error)
        finally:
            if self._store is not None:
                self._store.delete(self._key)

    def _end_cleared(self) -> None:
        """End what the task submitted before it was cleared: it would commit under the earlier name."""
        stored = None if self._store is None else self._store.get(self._key)
        if not isinstance(stored, dict) or stored.get("user") == self.user:
            return
        forerunner = self.launcher.kept(stored)
        if self.launcher.state(forerunner) in ACTIVE:
            _log.info("Ending %s, which was submitted before the task was cleared", forerunner.id)
            self.launcher.end(forerunner)
        else:
            self.launcher.forget(forerunner)

    def _taken(self, submission: Submission, state: str) -> dict[str, Any]:
        try:
            return self.launcher.result(submission, state)
        except TableError:
            if self._store is not None:  # the next attempt begins anew
                self._store.delete(self._key)
            raise

    def _known(self) -> Submission | None:
        stored = None if self._store is None else self._store.get(self._key)
        if not isinstance(stored, dict) or stored.get("user") != self.user:
            return None
        return self.launcher.kept(stored)
