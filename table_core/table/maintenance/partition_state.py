"""What there is of a partition: files, rows, age, and whether somebody marked it done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.ondisk.partition_key import partition_values
from table_core.table.commit_io.deliveries import partitions_of, recorded_delivery
from table_core.table.maintenance.update_moments import CHANGE_MS, made_ms
from table_core.table.metadata.partition_marks import done_ms
from table_core.table.metadata.partition_spec import encoded_partition, partition_matcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "PartitionState",
    "done_partitions",
    "live_partitions",
    "partition_state",
    "touched_partitions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """A partition, or all that agree with a part of its name, at one snapshot."""

    partition: Mapping[str, object]
    snapshot: int
    partitions: int
    """How many agree: more than one where only some of the columns were named."""
    files: int
    rows: int
    """Of the files: a key table may hold several of one key."""
    bytes: int
    updated_ms: int | None
    """When its newest file was made, epoch ms; None if a file does not say."""
    done_ms: int | None
    """When it was last marked done, epoch ms; None if it was not, or if only a part of it was named."""


def partition_state(
    access: TableAccess, partition: Mapping[str, object], *, with_done: bool
) -> PartitionState | None:
    """See ``Table.partition``.

    Raises:
        ArgumentError: a name is no partition column, or a value does not fit its type.
    """
    matches = partition_matcher(access, [partition])
    head = access.head()
    if head is None:
        return None
    live = access.live_entries(head, keep_partition=matches)
    if not live:
        return None
    times = [entry.file.creation_time_ms for entry in live]
    known = [at_ms for at_ms in times if at_ms is not None]
    return PartitionState(
        partition=dict(partition),
        snapshot=head.id,
        partitions=len({entry.partition for entry in live}),
        files=len(live),
        rows=sum(entry.file.row_count for entry in live),
        bytes=sum(entry.file.file_size for entry in live),
        updated_ms=_newest_ms(access, live) if len(known) == len(times) else None,
        done_ms=done_ms(access, encoded_partition(access, partition)) if with_done else None,
    )


def _newest_ms(access: TableAccess, live: Sequence[ManifestEntry]) -> int:
    newest = max(entry.file.creation_time_ms or 0 for entry in live)
    near = {
        (entry.partition, entry.file.creation_time_ms)
        for entry in live
        if (entry.file.creation_time_ms or 0) >= newest - CHANGE_MS
    }
    clock = access.wall_clock
    if len({clock.offset_ms(newest + far) for far in (-2 * CHANGE_MS, 2 * CHANGE_MS)}) == 1:
        return clock.moment(newest)
    return max(made_ms(access, row, stamp or 0) for row, stamp in near)


def touched_partitions(
    access: TableAccess, snapshots: Sequence[int], limit: int
) -> list[dict[str, str | None]] | None:
    """See ``Table.touched_partitions``.

    Raises:
        NotFoundError: one of the snapshots is gone.
    """
    if not access.schema.partition_keys:
        return []
    metadata = access.metadata
    touched: dict[tuple[str | None, ...], dict[str, str | None]] = {}
    for id in snapshots:
        snapshot = metadata.snapshot(id)
        known = recorded_delivery(snapshot)
        kept = None if known is None else partitions_of(access, known)
        if kept is None:
            entries = (*metadata.delta(snapshot), *metadata.changelog(snapshot))
            rows = dict.fromkeys(entry.partition for entry in entries)
            kept = tuple(partition_values(access.schema, row) for row in rows)
        touched.update({tuple(one.values()): one for one in kept})
        if len(touched) > limit:
            return None
    return list(touched.values())


def live_partitions(access: TableAccess) -> list[dict[str, str | None]]:
    """See ``Table.live_partitions``."""
    if not access.schema.partition_keys:
        return []
    rows = access.metadata.live_files(access.head()).partition_rows()
    return [partition_values(access.schema, row) for row in rows]


def done_partitions(access: TableAccess, after_ms: int) -> list[tuple[dict[str, str | None], int]]:
    """See ``Table.done_partitions``."""
    head = access.head()
    if head is None or not access.schema.partition_keys:
        return []
    done = []
    for row in access.metadata.live_files(head).partition_rows():
        at_ms = done_ms(access, row)
        if at_ms is not None and at_ms > after_ms:
            done.append((partition_values(access.schema, row), at_ms))
    return sorted(done, key=lambda one: one[1])
