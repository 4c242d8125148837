"""Behind the sensors: wait for something to be so, without holding a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider._compat import AirflowNotFoundException, BaseTrigger, TriggerEvent
from paimon_provider.arguments.checks import require_values
from paimon_provider.triggers.blocking_calls import BlockingCalls, Pause, poll_until
from paimon_provider.waiting import wait_conditions
from paimon_provider.watching.conditions import ON, Seen
from table_core.errors import StorageUnavailableError, TableError, error_to_document
from table_core.shapes import kinds
from table_core.shapes.around import Judged, OrNothing
from table_core.shapes.shape import AnyValue
from table_core.shapes.texts import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = [
    "PaimonFreshnessTrigger",
    "PaimonPartitionTrigger",
    "PaimonSnapshotWaitTrigger",
    "PaimonTagTrigger",
    "PaimonWaitTrigger",
    "PaimonWatermarkTrigger",
]


class PaimonWaitTrigger(BaseTrigger):
    """Poll until a condition holds.

    Emits ``{"status": "found", "found": …}`` or ``{"status": "error", "error": …}``. It also waits
    if the table does not exist yet, or if the store is unavailable. The timeout of the deferral
    decides when to give up.

    :param paimon_conn_id: the connection with the warehouse.
    :param poll_seconds: how often to poll; after a failure less often, up to every five minutes.
    :param missing: where there is no such table: ``wait``, or ``fail`` at once.
    :param condition: the fields of the condition, as ``paimon_provider.waiting.wait_conditions``
        has them.
    """

    wait: ClassVar[type[wait_conditions.Wait]]

    def __init__(
        self,
        *,
        paimon_conn_id: str,
        poll_seconds: float = 60.0,
        missing: str = "wait",
        **condition: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        wait = self.wait(**condition)  # a wrong name is an error here; values may be templates
        self.paimon_conn_id = paimon_conn_id
        self.poll_seconds = poll_seconds
        self.missing = missing
        for name in wait_conditions.field_names(self.wait):
            setattr(self, name, getattr(wait, name))
        self._require()

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Name this class and every argument of ``__init__``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "paimon_conn_id": self.paimon_conn_id,
                "poll_seconds": self.poll_seconds,
                "missing": self.missing,
                **self._condition(),
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until it is so, or can never be."""
        calls, pause = BlockingCalls(str(getattr(self, "table", ""))), Pause(self.poll_seconds)
        try:
            self._require()  # templates are rendered by now
            document = await poll_until(self._look, calls, pause, self.log)
        except TableError as error:
            yield TriggerEvent({"status": "error", "error": error_to_document(error)})
        else:
            yield TriggerEvent({"status": "found", "found": document})

    def _condition(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in wait_conditions.field_names(self.wait)}

    def _require(self) -> None:
        """Refuse what a field must not be; what is a template still waits.

        Raises:
            ArgumentError: names the field and what it must be.
        """
        basic = {
            "paimon_conn_id": self.paimon_conn_id,
            "poll_seconds": self.poll_seconds,
            "missing": self.missing,
        }
        own = {
            "on": kinds.words(*ON),
            "tag": FILE_NAME,
            "missing": kinds.words(*wait_conditions.MISSING),
            "place": OrNothing(inner=Judged(inner=AnyValue(), judge=_require_place)),
        }
        require_values({**basic, **self._condition()}, **own)

    def _look(self) -> dict[str, Any] | None:
        from paimon_provider.hooks.paimon import PaimonHook

        wait, hook = self.wait(**self._condition()), PaimonHook(self.paimon_conn_id)
        try:
            document = wait.look(hook)
        except AirflowNotFoundException as error:  # a backend of secrets may be away
            raise StorageUnavailableError(
                f"nobody tells where {self.paimon_conn_id} leads: {error}",
                path=self.paimon_conn_id,
                reason="no connection",
            ) from error
        if document is None:
            place = wait_conditions.say_not_yet(wait, hook, self.missing, self.log)
            if place is not None:
                self.place = place
        return document


def _require_place(value: Any) -> None:
    """Refuse what no sensor has noted of a snapshot."""
    Seen.from_json(value)


class PaimonSnapshotWaitTrigger(PaimonWaitTrigger):
    """Wait for new snapshots: ``table``, ``after``, ``on``, ``min_rows``."""

    wait = wait_conditions.SnapshotWait


class PaimonPartitionTrigger(PaimonWaitTrigger):
    """Wait for a partition: ``table``, ``partition``, ``done``, ``min_rows``."""

    wait = wait_conditions.PartitionWait


class PaimonFreshnessTrigger(PaimonWaitTrigger):
    """Wait for a young snapshot: ``table``, ``within``, ``on``."""

    wait = wait_conditions.FreshnessWait


class PaimonWatermarkTrigger(PaimonWaitTrigger):
    """Wait for a watermark: ``table``, ``at``."""

    wait = wait_conditions.WatermarkWait


class PaimonTagTrigger(PaimonWaitTrigger):
    """Wait for a tag: ``table``, ``tag``."""

    wait = wait_conditions.TagWait
