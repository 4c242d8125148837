"""Wait until somebody commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.waiting import wait_conditions
from paimon_provider.watching.conditions import NewSnapshots

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PaimonSnapshotSensor"]


class PaimonSnapshotSensor(PaimonSensor):
    """Wait for snapshots of a table.

    Returns the event document: the kinds, the rows and the range of snapshots.

    :param after: only snapshots after this id count; 0, the default, means any snapshot.
        (templated)
    :param on: ``changes`` (snapshots that give rows to a reader of changes), ``append``,
        ``overwrite``, ``delete``, ``compact`` or ``any``.
    :param min_rows: wait until the new snapshots together touch at least this many rows.
    """

    template_fields: Sequence[str] = (*PaimonSensor.template_fields, "after")
    wait = wait_conditions.SnapshotWait
    trigger = "PaimonSnapshotWaitTrigger"

    def __init__(
        self, *, after: int | str = 0, on: str = "changes", min_rows: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        NewSnapshots(on=on, min_rows=min_rows)  # a wrong one is an error in the Dag
        self.after = after
        self.on = on
        self.min_rows = min_rows
        self.begin_in_triggerer()
