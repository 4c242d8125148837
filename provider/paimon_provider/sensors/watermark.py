"""Wait for event time to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.waiting import wait_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PaimonWatermarkSensor"]


class PaimonWatermarkSensor(PaimonSensor):
    """Wait until the table's watermark reaches a point in event time.

    The writers of the table, e.g. a Flink job, store the watermark with their snapshots. Returns
    the watermark and its snapshot.

    :param at: ISO 8601 with a zone, or epoch milliseconds, e.g. ``"{{ data_interval_end }}"``.
        (templated)
    """

    template_fields: Sequence[str] = (*PaimonSensor.template_fields, "at")
    wait = wait_conditions.WatermarkWait
    trigger = "PaimonWatermarkTrigger"

    def __init__(self, *, at: str | int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.at = at
        self.begin_in_triggerer()
