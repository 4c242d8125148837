"""Wait for a job on the cluster without holding a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider._compat import BaseTrigger, TriggerEvent
from paimon_provider.triggers.asking import Asking, Pause, answer_to
from table_core.errors import TableError, error_to_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from paimon_provider.launchers.standalone import StandaloneLauncher, Submission

__all__ = ["PaimonSparkJobTrigger"]


class PaimonSparkJobTrigger(BaseTrigger):
    """Ask the master for the driver's state until it has ended.

    Emits ``{"status": "ended", "state", "submission"}`` or ``{"status": "error", "error"}``.  A
    master that does not answer is asked again.  The driver is killed when somebody marks the task
    or clears it, not when the triggerer stops.

    :param paimon_conn_id: the connection with the Spark settings.
    :param submission: ``{"id", "folder"}`` of the job.
    :param poll_seconds: how often to ask.
    """

    def __init__(
        self, *, paimon_conn_id: str, submission: Mapping[str, str], poll_seconds: float = 5.0
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        self.paimon_conn_id = paimon_conn_id
        self.submission = dict(submission)
        self.poll_seconds = poll_seconds

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
        asking, pause = Asking(self.submission["id"]), Pause(self.poll_seconds)
        try:
            state = await answer_to(self._state, asking, pause, self.log)
        except TableError as error:
            yield TriggerEvent({"status": "error", "error": error_to_document(error)})
        else:
            told = {"status": "ended", "state": state, "submission": self.submission}
            yield TriggerEvent(told)

    async def on_kill(self) -> None:
        """End the driver: a user has marked or cleared the task."""
        await Asking(self.submission["id"], seconds=20).ask(
            lambda: self._cluster().end(self._handle())
        )

    def _state(self) -> str | None:
        """How the driver ended; None while it runs."""
        from paimon_provider.launchers.standalone import ACTIVE

        state = self._cluster().state(self._handle())
        return None if state in ACTIVE else state

    def _cluster(self) -> StandaloneLauncher:
        from paimon_provider.hooks.paimon import PaimonHook

        return PaimonHook(self.paimon_conn_id).cluster()

    def _handle(self) -> Submission:
        from paimon_provider.launchers.standalone import Submission

        return Submission(self.submission["id"], self.submission["folder"])
