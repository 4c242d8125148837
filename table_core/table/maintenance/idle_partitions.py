"""Partitions that nobody has written to for a while, and that nobody marked done since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError
from table_core.ondisk.binary_row import array_of, decode_row
from table_core.table.maintenance.expire_partitions import partitions_of
from table_core.table.metadata.partition_marks import mark_paths, marked_ms
from table_core.table.metadata.timestamps import length_ms

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess

__all__ = ["idle_partitions", "named_partition"]


def idle_partitions(access: TableAccess, idle_time: str) -> list[dict[str, object]]:
    """Partitions whose newest file is older than ``idle_time``, without a mark that is newer.

    Raises:
        ArgumentError: ``idle_time`` is no duration, or the table has no partitions.
    """
    if not access.schema.partition_keys:
        raise ArgumentError(f"{access.name} is not partitioned", argument="idle_time")
    idle_ms = length_ms("idle_time", idle_time)
    now_ms = access.clock.now_ms()
    live = access.metadata.live_files(access.head())
    idle = []
    for partition in partitions_of(access, live):
        at_ms = partition.updated_ms
        if at_ms is None or at_ms >= now_ms - idle_ms:
            continue
        marked_ms = _marked_ms(access, partition.row)
        if marked_ms is None or marked_ms < at_ms:
            idle.append(named_partition(access, partition.row))
    return idle


def named_partition(access: TableAccess, row: bytes) -> dict[str, object]:
    """The serialized partition ``row`` as ``mark_done`` takes it."""
    fields = access.schema.partition_fields
    values = decode_row([field.type for field in fields], row, path="partition")
    return {
        field.name: array_of([value], field.type)[0].as_py()
        for field, value in zip(fields, values, strict=True)
    }


def _marked_ms(access: TableAccess, row: bytes) -> int | None:
    times = [marked_ms(access, path) for path in mark_paths(access, row)]
    return None if None in times else min((t for t in times if t is not None), default=None)
