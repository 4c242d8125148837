"""Wait for a job on the cluster without holding a worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import (
    AirflowNotFoundException,
    AirflowRuntimeError,
    BaseTrigger,
    TriggerEvent,
    state_of,
)
from paimon_provider.arguments.checks import require_values
from paimon_provider.links import show_link_of, web_address
from paimon_provider.triggers.blocking_calls import BlockingCalls, Pause, poll_until
from table_core.errors import StorageUnavailableError, TableError, error_to_document
from table_core.shapes.containers import Record
from table_core.shapes.texts import LINE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.launchers.standalone import Queue, StandaloneLauncher, Submission

__all__ = ["PaimonSparkJobTrigger"]

_SUBMISSION: Final = Record(members={"id": LINE, "folder": LINE}, required=["id", "folder"])

_SILENT_SECONDS: Final = 1800.0
"""How long a job is waited for that no master can tell of; the retry waits on."""
_KILL_SECONDS: Final = 25.0
"""How long an end may take: Airflow gives ``on_kill`` half a minute."""


class PaimonSparkJobTrigger(BaseTrigger):
    """Ask the master for the driver's state until it has ended.

    Emits ``{"status": "ended", "state", "submission", "ui"}`` or ``{"status": "error", "error"}``.
    If no master leads or answers, it asks again, for half an hour. The driver's state and the job's
    progress go into the task's log, and its Spark UI becomes a button of the task. The driver is
    killed when a user marks or clears the task, not when the triggerer stops or another one takes
    the task over.

    :param paimon_conn_id: the connection with the Spark settings.
    :param submission: ``{"id", "folder"}`` of the job.
    :param poll_seconds: how often to poll.
    """

    def __init__(
        self, *, paimon_conn_id: str, submission: Mapping[str, str], poll_seconds: float = 5.0
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        require_values({"paimon_conn_id": paimon_conn_id, "poll_seconds": poll_seconds})
        _SUBMISSION.require(submission, "submission")
        self.paimon_conn_id = paimon_conn_id
        self.submission = dict(submission)
        self.poll_seconds = poll_seconds
        self._told = 0
        self._queue: Queue | None = None
        self._ui: str | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Name this class and every argument of ``__init__``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "paimon_conn_id": self.paimon_conn_id,
                "submission": self.submission,
                "poll_seconds": self.poll_seconds,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the driver has ended."""
        calls, pause = BlockingCalls(self.submission["id"]), Pause(self.poll_seconds)
        try:
            state = await poll_until(
                self._state, calls, pause, self.log, patience_seconds=_SILENT_SECONDS
            )
        except (TableError, TimeoutError) as fault:
            error = fault if isinstance(fault, TableError) else self._unseen(str(fault))
            yield TriggerEvent({"status": "error", "error": error_to_document(error)})
        else:
            told = {"status": "ended", "state": state, "submission": self.submission}
            yield TriggerEvent({**told, "ui": self._ui})

    async def on_kill(self) -> None:
        """End the driver, if the task no longer waits for it: a user has marked or cleared the task.

        Airflow calls this also where the triggerer has stalled and another one has the task now.
        """
        await BlockingCalls(self.submission["id"], seconds=_KILL_SECONDS).ask(self._end_if_unwanted)

    def _end_if_unwanted(self) -> None:
        if self.task_instance is not None:
            try:
                state = state_of(self.task_instance)
            except AirflowRuntimeError as error:
                self.log.warning(
                    "%s goes on: Airflow does not say whether its task waits: %s",
                    self.submission["id"],
                    error,
                )
                return
            if state == "deferred":
                self.log.info(
                    "%s goes on: its task waits in another triggerer", self.submission["id"]
                )
                return
        self._cluster().end(self._handle(), seconds=_KILL_SECONDS - 5)

    def _state(self) -> str | None:
        """How the driver ended; None while it runs."""
        from paimon_provider.launchers.standalone import ACTIVE, Queue

        try:
            hook = self._hook()
            cluster = hook.cluster()
        except AirflowNotFoundException as error:  # a backend of secrets may be away
            raise self._unseen(str(error)) from error
        state = cluster.state(self._handle())
        hook.on_progress = self._show
        self._queue = self._queue or Queue(self.submission["id"])
        for line in self._queue.lines(state, has_begun=self._told > 0, now=time.monotonic()):
            self.log.info(line)
        for line in cluster.progress(self._handle(), self._told):
            hook.told(line)
            self._told += 1
        return None if state in ACTIVE else state

    def _unseen(self, reason: str) -> StorageUnavailableError:
        return StorageUnavailableError(
            f"nobody tells how {self.submission['id']} is: {reason}",
            path=self.submission["id"],
            reason=reason,
        )

    def _show(self, facts: Mapping[str, Any]) -> None:
        """Let the Spark UI be opened from now on."""
        if (ui := web_address(facts.get("ui"))) and self.task_instance is not None:
            self._ui = ui
            try:
                show_link_of(self.task_instance, self._ui)
            except AirflowRuntimeError as error:  # the job matters more than its button
                self.log.warning("No button for %s: %s", self._ui, error)

    def _hook(self) -> PaimonHook:
        from paimon_provider.hooks.paimon import PaimonHook

        return PaimonHook(self.paimon_conn_id)

    def _cluster(self) -> StandaloneLauncher:
        return self._hook().cluster()

    def _handle(self) -> Submission:
        return self._cluster().kept(self.submission)
