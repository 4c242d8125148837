"""Wait until somebody commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import task_state
from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.waiting import wait_conditions
from paimon_provider.watching.conditions import NewSnapshots

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonSnapshotSensor"]

_PLACE_KEY: Final = "paimon.place"


class PaimonSnapshotSensor(PaimonSensor):
    """Wait for snapshots of a table.

    Returns the event document: the kinds, the rows and the range of snapshots.

    The first look notes which table it is, and which snapshot ``after`` is. If the table is dropped and
    made anew while the sensor waits, or rolled back, all that is new in its place counts, whatever its
    number. The document then says ``reset``, as that of a watcher does.

    :param after: only snapshots after this id count; 0, the default, means any snapshot.
        (templated)
    :param on: ``changes`` (snapshots that give rows to a reader of changes), ``append``,
        ``overwrite``, ``delete``, ``compact`` or ``any``.
    :param min_rows: wait until the new snapshots together touch at least this many rows.
        (templated)
    """

    template_fields: Sequence[str] = (*PaimonSensor.template_fields, "after", "min_rows")
    wait = wait_conditions.SnapshotWait
    trigger = "PaimonSnapshotWaitTrigger"

    def __init__(
        self, *, after: int | str = 0, on: str = "changes", min_rows: int | str = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        NewSnapshots(on=on)  # a wrong one is an error in the Dag
        self.after = after
        self.on = on
        self.min_rows = min_rows
        self.place: Mapping[str, Any] | None = None
        self.begin_in_triggerer()

    def _recall(self, context: Context) -> None:
        if self.place is None and self.reschedule:
            self.place = (task_state(context).get(_PLACE_KEY) or {}).get(str(self.after))

    def _remember(self, context: Context, place: Mapping[str, Any] | None) -> None:
        if self.reschedule and place is not None and place != self.place:
            task_state(context).set(_PLACE_KEY, {str(self.after): dict(place)})
        self.place = place
