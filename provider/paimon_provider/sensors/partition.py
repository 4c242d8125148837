"""Wait for a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider.sensors.base import PaimonSensor
from paimon_provider.waiting import wait_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PaimonPartitionSensor"]


class PaimonPartitionSensor(PaimonSensor):
    """Wait until a partition has rows, or is marked done.

    Returns its files, rows and bytes, and when it was updated and marked.

    :param partition: e.g. ``{"dt": "{{ ds }}"}``; without ``done``, some of the partition columns
        are enough. (templated)
    :param done: wait for the mark that ``PaimonMarkPartitionDoneOperator``, Flink or Spark leaves.
    :param min_rows: wait until its files hold at least this many rows. (templated)
    """

    template_fields: Sequence[str] = (*PaimonSensor.template_fields, "partition", "min_rows")
    template_fields_renderers: ClassVar[dict[str, str]] = {"partition": "json"}
    wait = wait_conditions.PartitionWait
    trigger = "PaimonPartitionTrigger"

    def __init__(
        self,
        *,
        partition: Mapping[str, Any],
        done: bool = False,
        min_rows: int | str = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.partition = partition
        self.done = done
        self.min_rows = min_rows
        self.begin_in_triggerer()
