"""Rollback: an older snapshot becomes the newest again (format 11.7).

The order matters: the hint goes first, so that no reader follows it to a snapshot that is gone
(format T8); then later snapshots, newest first, so that those that are left are one row at every
moment.  Numbers are used again by later commits.  Consumers stay where they are: a reader that was
ahead is refused, because what it has read is no longer so.

A consumer named ``rollback-`` and a random word holds the state to go back to as long as it takes: written
before the floor is read, as every consumer is, so expiry either sees it or is seen.  One that a killed
rollback has left goes with the next, once it is an hour old.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.options.table import TableOptions
from table_core.scan.time_travel import resolve
from table_core.table.maintenance.rollback_note import RollbackNote
from table_core.table.metadata.describing import FilesOf, between, unchanged
from table_core.table.metadata.refs.consumers import held
from table_core.table.metadata.refs.tags import state_of, tag_names, tagged
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.timestamps import epoch_ms
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.timestamps import PointInTime

__all__ = ["rollback_to"]


def rollback_to(
    access: TableAccess,
    *,
    snapshot: int | None,
    tag: str | None,
    timestamp: PointInTime | None,
    dry_run: bool = False,
    commit: CommitAs | None = None,
) -> ResultDocument:
    """See ``Table.rollback_to``.

    Raises:
        ArgumentError: not exactly one state is named, or something else was asked for under the name of
            ``commit``.
        NotFoundError: there is no such state.
        UnsupportedFeatureError: the table asks for what this release does not do.
        OutcomeUnknownError: an earlier run of ``commit`` was cut short, and the table went on since.
    """
    started_ms = access.clock.now_ms()
    if (snapshot, tag, timestamp).count(None) != 2:
        raise ArgumentError("name one of snapshot, tag and timestamp", argument="snapshot")
    commit = (commit or CommitAs()).with_request(
        "rollback", access.branch, snapshot=snapshot, tag=tag, timestamp=timestamp
    )
    refuse_commits(access)
    access.require_same()
    head = access.head()
    earlier = _earlier_result(access, commit, dry_run=dry_run)
    if earlier is not None:
        return earlier
    target = _target(access, head, snapshot=snapshot, tag=tag, timestamp=timestamp)
    removed = _later(access, target)
    files = FilesOf.of(access, head), FilesOf.of(access, target)
    if not dry_run:
        RollbackNote.write(access, commit, target.id, _snapshots_after(access, target.id))
        with held(access, target.id):
            _remove(access, target, removed, is_tagged=tag is not None)
        access.metadata.seen = ()
        access.metadata.history.clear()
    details = {
        "snapshots_removed": removed.snapshots,
        "changelogs_removed": removed.changelogs,
        "tags_removed": removed.tags,
        "replayed": False,
    }
    return between(access, "rollback", *files, details, started_ms=started_ms, dry_run=dry_run)


def _target(
    access: TableAccess,
    head: Snapshot | None,
    *,
    snapshot: int | None,
    tag: str | None,
    timestamp: PointInTime | None,
) -> Snapshot:
    """The state to go back to."""
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
    return target


def _earlier_result(
    access: TableAccess, commit: CommitAs, *, dry_run: bool
) -> ResultDocument | None:
    """The result where this very rollback has been done."""
    note = RollbackNote.read(access, commit)
    if note is None or not note.is_done(access, _snapshots_after(access, note.target)):
        return None
    removed = ("snapshots_removed", "changelogs_removed", "tags_removed")
    nothing: dict[str, object] = {name: [] for name in removed}
    return unchanged(access, "rollback", {**nothing, "replayed": True}, dry_run=dry_run)


def _snapshots_after(access: TableAccess, id: int) -> list[Snapshot]:
    return [
        access.metadata.snapshot(later) for later in access.metadata.snapshot_ids() if later > id
    ]


@dataclass(frozen=True, slots=True)
class _Later:
    """What comes after the state to go back to."""

    snapshots: list[int]
    changelogs: list[int]
    tags: list[str]


def _later(access: TableAccess, target: Snapshot) -> _Later:
    listed = access.storage.list(layout.changelog_folder(access.branch))
    names = (info.path.rpartition("/")[2] for info in listed)
    numbers = (layout.numbered(name, "changelog-") for name in names)
    return _Later(
        snapshots=[id for id in access.metadata.snapshot_ids() if id > target.id],
        changelogs=sorted(id for id in numbers if id is not None and id > target.id),
        tags=[n for n in tag_names(access) if tagged(access, n).snapshot.id > target.id],
    )


def _remove(access: TableAccess, target: Snapshot, later: _Later, *, is_tagged: bool) -> None:
    storage, branch = access.storage, access.branch
    earliest = layout.hint_path("snapshot", EARLIEST, branch)
    path = layout.snapshot_path(target.id, branch)
    # The floor is read once the target is held: what begins to expire from now on stops there.
    is_there = storage.exists(path) and target.id >= access.metadata.floor()
    if not is_there:
        if not is_tagged:
            raise NotFoundError(
                f"{access.name}: snapshot {target.id} expires just now; go back to a newer one",
                name=str(target.id),
                available=[],
            )
        storage.create(path, state_of(access, target).to_json())
        storage.write(earliest, encode_hint(target.id))
    storage.write(layout.hint_path("snapshot", LATEST, branch), encode_hint(target.id))
    for id in reversed(later.snapshots):
        storage.delete([layout.snapshot_path(id, branch)])
    storage.delete([layout.changelog_path(id, branch) for id in later.changelogs])
    if later.changelogs:  # hints point past the end; readers list the folder without them
        storage.delete(
            [layout.hint_path("changelog", which, branch) for which in (LATEST, EARLIEST)]
        )
    storage.delete([layout.tag_path(name, branch) for name in later.tags])
    if not is_there:  # an expiry that was under way may have met what was made again
        storage.create(path, state_of(access, target).to_json())
    if access.metadata.floor() > target.id:  # promised by an expiry that has met the hold since
        storage.write(earliest, encode_hint(target.id))
