"""Row ids of append tables, given at commit (``row-tracking.enabled``).

Source: ``org.apache.paimon.operation.commit.RowTrackingCommitUtils``; format 10.6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.ondisk.data_file import EntryKind, FileSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["with_row_ids"]


def with_row_ids(
    delta: Iterable[ManifestEntry], *, snapshot_id: int, first: int
) -> tuple[tuple[ManifestEntry, ...], int]:
    """``delta`` whose new files have row ids from ``first`` on, and the next free id.

    Files of one partition come together, so that their ids do.  The sequence number of all their rows
    is the snapshot that brings them.
    """
    grouped: dict[bytes, list[ManifestEntry]] = {}
    for entry in delta:
        grouped.setdefault(entry.partition, []).append(entry)
    done: list[ManifestEntry] = []
    for entry in (entry for entries in grouped.values() for entry in entries):
        file = entry.file
        fresh = file.first_row_id is None and file.file_source is FileSource.APPEND
        if entry.kind is not EntryKind.ADD or not fresh:
            done.append(entry)
            continue
        numbered = replace(
            file,
            first_row_id=first,
            min_sequence_number=snapshot_id,
            max_sequence_number=snapshot_id,
        )
        done.append(replace(entry, file=numbered))
        first += file.row_count
    return tuple(done), first
