"""Wait until a table is fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.waiting import wait_conditions
from paimon_provider.watching.conditions import require_known

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PaimonFreshnessSensor"]


class PaimonFreshnessSensor(PaimonSensor):
    """Wait until the newest snapshot is young enough.

    With ``timeout`` it is an alarm: the task fails if the table stays stale for that long. Returns
    the event document of the snapshot, with ``age_seconds``.

    :param within: how old it may be, e.g. ``"2 h"`` or seconds.  (templated)
    :param on: which snapshots count: ``changes``, ``append``, ``overwrite``, ``delete``,
        ``compact`` or ``any``.
    """

    template_fields: Sequence[str] = (*PaimonSensor.template_fields, "within")
    wait = wait_conditions.FreshnessWait
    trigger = "PaimonFreshnessTrigger"

    def __init__(self, *, within: str | float, on: str = "changes", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        require_known(on)
        self.within = within
        self.on = on
        self.begin_in_triggerer()
