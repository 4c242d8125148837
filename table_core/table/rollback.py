"""Rollback: an older snapshot becomes the newest again (spec 11.7).

The order matters: the hint goes first, so that no reader follows it to a snapshot that is gone (T8); then
later snapshots, newest first, so that those that are left are one row at every moment.  Numbers are used
again by later commits.  Consumers stay where they are: a reader that was ahead is refused, because what
it has read is no longer so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.options.table import TableOptions
from table_core.scan.time_travel import resolve
from table_core.table.results import ResultDocument
from table_core.table.tags import tag_names, tagged
from table_core.table.timeline import TableTimeline
from table_core.table.times import epoch_ms

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.access import TableAccess
    from table_core.table.times import PointInTime

__all__ = ["rollback_to"]


def rollback_to(
    access: TableAccess,
    *,
    snapshot: int | None,
    tag: str | None,
    timestamp: PointInTime | None,
) -> ResultDocument:
    """See ``Table.rollback_to``.

    Raises:
        ArgumentError: not exactly one state is named.
        NotFoundError: there is no such state.
    """
    started_ms = access.clock.now_ms()
    if (snapshot, tag, timestamp).count(None) != 2:
        raise ArgumentError("name one of snapshot, tag and timestamp", argument="snapshot")
    head = access.metadata.head()
    target = resolve(
        TableOptions.parse({}),
        TableTimeline(access),
        snapshot=snapshot,
        tag=tag,
        timestamp_ms=None if timestamp is None else epoch_ms("timestamp", timestamp),
    ).snapshot
    if head is None or target is None or target.id > head.id:
        raise NotFoundError(
            f"{access.name} has nothing to roll back: its newest snapshot is "
            f"{head.id if head else None}",
            name=str(target.id if target else None),
            available=[],
        )
    removed = _remove_later(access, target)
    access.metadata.seen = ()
    return ResultDocument(
        action="rollback",
        table=access.name,
        snapshot_before=head.id,
        snapshot_after=target.id,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        details=removed,
    )


def _remove_later(access: TableAccess, target: Snapshot) -> dict[str, object]:
    storage, branch = access.storage, access.branch
    hint = layout.hint_path("snapshot", LATEST, branch)
    path = layout.snapshot_path(target.id, branch)
    if not storage.exists(path):  # only its tag is left
        storage.create(path, target.to_json())
        earliest = layout.hint_path("snapshot", EARLIEST, branch)
        storage.write(earliest, encode_hint(target.id))
    storage.write(hint, encode_hint(target.id))
    later = [id for id in access.metadata.snapshot_ids() if id > target.id]
    for id in reversed(later):
        storage.delete([layout.snapshot_path(id, branch)])
    names = (info.path for info in storage.list(layout.changelog_folder(branch)))
    changelogs = [
        path
        for path in names
        if (layout.numbered(path.rpartition("/")[2], "changelog-") or 0) > target.id
    ]
    storage.delete(changelogs)
    if changelogs:  # hints point past the end; readers list the folder without them
        storage.delete(
            [layout.hint_path("changelog", which, branch) for which in (LATEST, EARLIEST)]
        )
    tags = [name for name in tag_names(access) if tagged(access, name).snapshot.id > target.id]
    storage.delete([layout.tag_path(name, branch) for name in tags])
    return {"snapshots_removed": later, "tags_removed": tags}
