"""When rows last came to a table, also where the commit that brought them has expired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.ondisk.data_file import EntryKind, FileSource
from table_core.ondisk.snapshot import CommitKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.data_file import DataFile
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["rows_came_ms"]

_BRING: set[CommitKind] = {CommitKind.APPEND, CommitKind.OVERWRITE}


def rows_came_ms(access: TableAccess, upto: int | None = None) -> int | None:
    """When rows last came, up to snapshot ``upto`` or the newest: epoch milliseconds.

    Compactions and statistics bring none.  Where only these are left, it is the time of the newest file of
    a writer that they took out, or that is live.  None where nothing tells: no snapshot, or what brought
    the rows has expired, and so has what compacted them.
    """
    left: list[Snapshot] = []
    for id in reversed(access.snapshot_ids()):
        if upto is not None and id > upto:
            continue
        snapshot = access.metadata.snapshot(id)
        if snapshot.commit_kind in _BRING:
            return snapshot.time_millis
        left.append(snapshot)
    times = [_made_ms(access, file) for file in _files_of_writers(access, left)]
    return max(times, default=None)


def _files_of_writers(access: TableAccess, left: list[Snapshot]) -> Iterator[DataFile]:
    """Files that writers made, and that the snapshots which are ``left`` took out or leave live."""
    for snapshot in left:
        for entry in access.metadata.delta(snapshot):
            if entry.kind is EntryKind.DELETE and _is_of_writer(entry.file):
                yield entry.file
    if left:
        yield from (e.file for e in access.live_entries(left[-1]) if _is_of_writer(e.file))


def _is_of_writer(file: DataFile) -> bool:
    if file.file_source is None:  # of releases that did not say
        return file.level == 0
    return file.file_source is FileSource.APPEND


def _made_ms(access: TableAccess, file: DataFile) -> int:
    return access.wall_clock.moment(file.creation_time_ms or 0)
