"""What there is of a partition: files, rows, age, and whether somebody marked it done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.partition_text import partition_text
from table_core.ondisk.success_file import SUCCESS_NAME, SuccessFile
from table_core.options import keys_files
from table_core.table.partition_spec import encoded_partition, partition_matcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.table.access import TableAccess

__all__ = [
    "PartitionState",
    "done_partitions",
    "marked_ms",
    "partition_state",
    "success_path",
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
    """When its newest file was made; None if a file does not say."""
    done_ms: int | None
    """When it was last marked done; None if it was not, or if only a part of it was named."""


def partition_state(
    access: TableAccess, partition: Mapping[str, object], *, with_done: bool
) -> PartitionState | None:
    """See ``Table.partition``.

    Raises:
        ArgumentError: a name is no partition column, or a value does not fit its type.
    """
    matches = partition_matcher(access, [partition])
    head = access.metadata.head()
    if head is None:
        return None
    live = access.live_entries(head, keep=lambda entry: matches(entry.partition))
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
        updated_ms=max(known) if len(known) == len(times) else None,
        done_ms=_done_ms(access, encoded_partition(access, partition)) if with_done else None,
    )


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
    rows: dict[bytes, None] = {}
    for id in snapshots:
        rows.update(dict.fromkeys(e.partition for e in metadata.delta(metadata.snapshot(id))))
        if len(rows) > limit:
            return None
    return [dict(partition_text(access.schema, row)) for row in rows]


def done_partitions(access: TableAccess, after_ms: int) -> list[tuple[dict[str, str], int]]:
    """See ``Table.done_partitions``."""
    head = access.metadata.head()
    if head is None or not access.schema.partition_keys:
        return []
    found = []
    for row in dict.fromkeys(entry.partition for entry in access.live_entries(head)):
        done_ms = _done_ms(access, row)
        if done_ms is not None and done_ms > after_ms:
            found.append((dict(partition_text(access.schema, row)), done_ms))
    return sorted(found, key=lambda one: one[1])


def success_path(access: TableAccess, row: bytes) -> str:
    """Where the mark of the serialized partition ``row`` is."""
    above = (access.options.get(keys_files.DATA_FILE_PATH_DIRECTORY) or "").strip("/")
    folder = layout.partition_path(access.schema, row)
    return "/".join(part for part in (above, folder, SUCCESS_NAME) if part)


def _done_ms(access: TableAccess, row: bytes) -> int | None:
    return marked_ms(access, success_path(access, row))


def marked_ms(access: TableAccess, path: str) -> int | None:
    """When the mark at ``path`` was last written; None if it was not."""
    try:
        return SuccessFile.from_json(access.storage.read(path), path=path).modified_ms
    except NotFoundError:
        return None
