"""Rollback: an older snapshot becomes the newest again (format 11.7).

The order matters: the hint goes first, so that no reader of Paimon's follows it to a snapshot that is gone
(format T8); then later snapshots, newest first, until none is left of the old line (``commit.take_back``); then
tags; then the hint again, which a commit may have moved meanwhile.  Numbers are used again by later commits.
Consumers stay where they are: a reader that was ahead is refused, because what it has read is no longer so.

A consumer named ``rollback-`` and a random word holds the state to go back to as long as it takes: written
before the floor is read, as every consumer is, so expiry either sees it or is seen.  One that a killed
rollback has left goes with the next, once it is an hour old.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    NotFoundError,
    OutcomeUnknownError,
)
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.ondisk.snapshot import Snapshot
from table_core.options.table import TableOptions
from table_core.scan.time_travel import resolve
from table_core.table.maintenance.kept_changelogs import (
    changelog_ids,
    changelogs_of,
    forget_changelogs,
)
from table_core.table.maintenance.rollback_note import RollbackNote
from table_core.table.metadata.describing import FilesOf, between, unchanged
from table_core.table.metadata.refs.consumers import held
from table_core.table.metadata.refs.tags import TagsRead, keeper_of, state_of, tagged
from table_core.table.metadata.refs.turns import (
    HeldTurn,
    clean_after_end,
    require_no_expiry,
    snapshots_after,
    take_back,
    turning,
)
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.metadata.served_storage import served_line
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.timestamps import epoch_ms
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.tag import Tag
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.served_storage import ServedLine
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
        OutcomeUnknownError: an earlier run of ``commit`` was cut short, and the table went on since; or it was
            dropped or renamed meanwhile.
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
    earlier = _earlier_result(access, commit, started_ms, dry_run=dry_run)
    if earlier is not None:
        return earlier
    if snapshot is not None and (keeper := keeper_of(access, snapshot)) is not None:
        snapshot, tag = None, keeper
    target = _target(access, head, snapshot=snapshot, tag=tag, timestamp=timestamp)
    read = TagsRead(access)
    removed = _later(access, target, read.now())
    files = FilesOf.of(access, head), FilesOf.of(access, target)
    if not dry_run:
        line = served_line(access.storage)
        if line is None:
            removed = _by_files(access, target, removed, tag, read, commit)
        else:
            removed = _by_server(access, line, target, removed, tag, read, commit)
        access.metadata.seen = ()
        access.metadata.history.clear()
    details = {
        "snapshots_removed": sorted({snapshot.id for snapshot in removed.taken}),
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
    access: TableAccess, commit: CommitAs, started_ms: int, *, dry_run: bool
) -> ResultDocument | None:
    """The result where this very rollback has taken its snapshots back: what was left of it is done now."""
    note = RollbackNote.read(access, commit)
    if note is None or not note.is_done(access, snapshots_after(access, note.target)):
        return None
    details: dict[str, object] = {
        "snapshots_removed": [],
        "changelogs_removed": [],
        "tags_removed": [],
    }
    if served_line(access.storage) is None:
        left, is_top = _left_of(access, note)
        if not dry_run:
            _finish(access, note, left, commit, is_top=is_top)
        details |= {"changelogs_removed": left.changelogs, "tags_removed": left.tags}
    details["replayed"] = True
    return unchanged(access, "rollback", details, dry_run=dry_run, started_ms=started_ms)


def _left_of(access: TableAccess, note: RollbackNote) -> tuple[_Later, bool]:
    """What a rollback that was cut short has left, but for snapshots; and whether nothing has come since.

    If nothing has, all above its target is left.  Else what it has noted, no matter what uses the numbers again.
    """
    tags, changelogs = TagsRead(access).now(), changelog_ids(access)
    # Looked for last: a tag of what has come since is never taken for one that was left.
    is_top = not snapshots_after(access, note.target)
    left = _Later(
        taken=(),
        changelogs=[
            id
            for id in changelogs
            if id > note.target
            and (is_top or any(map(note.has_changelog, changelogs_of(access, [id]))))
        ],
        tagged={
            name: tag.snapshot
            for name, tag in tags.items()
            if note.has_tag_of(tag.snapshot) or (is_top and tag.snapshot.id > note.target)
        },
        has_earlier_changelogs=any(id <= note.target for id in changelogs),
    )
    return left, is_top


def _finish(
    access: TableAccess, note: RollbackNote, left: _Later, commit: CommitAs, *, is_top: bool
) -> None:
    """Take away what is ``left``, in a turn of one's own; no hint stays above a target that ``is_top``."""
    hints = (access.metadata.hinted_head() or 0, access.metadata.floor()) if is_top else ()
    if not (left.changelogs or left.tagged) and all(hint <= note.target for hint in hints):
        return
    by = commit.user or "nobody in particular"
    with (
        access.staying("it was rolled back"),
        turning(access, "rollback", by=by, target=note.target) as turn,
    ):
        turn.require()
        _remove_refs(access, left)
        if is_top:
            _point_to(turn, note.target)
    access.metadata.history.clear()


@dataclass(frozen=True, slots=True)
class _Later:
    """What comes after the state to go back to."""

    taken: tuple[Snapshot, ...]
    changelogs: list[int]
    tagged: dict[str, Snapshot]
    """The tags, each with its snapshot."""
    has_earlier_changelogs: bool
    """Whether some stay."""

    @property
    def tags(self) -> list[str]:
        """Their names."""
        return list(self.tagged)


def _later(access: TableAccess, target: Snapshot, tags: Mapping[str, Tag]) -> _Later:
    ids = changelog_ids(access)
    return _Later(
        taken=snapshots_after(access, target.id),
        changelogs=[id for id in ids if id > target.id],
        has_earlier_changelogs=any(id <= target.id for id in ids),
        tagged={n: tag.snapshot for n, tag in tags.items() if tag.snapshot.id > target.id},
    )


def _note(access: TableAccess, commit: CommitAs, target: Snapshot, later: _Later) -> None:
    """Note what goes, if somebody may ask for it again."""
    if not commit.is_named:
        return
    RollbackNote.write(
        access,
        commit,
        target.id,
        gone=later.taken,
        tags=later.tagged.values(),
        changelogs=changelogs_of(access, later.changelogs),
    )


def _by_files(
    access: TableAccess,
    target: Snapshot,
    later: _Later,
    tag: str | None,
    read: TagsRead,
    commit: CommitAs,
) -> _Later:
    """Take back what is above ``target``, in a turn of one's own; what that was."""
    by = commit.user or "nobody in particular"
    with (
        access.staying("it was rolled back"),
        held(access, target.id),
        turning(access, "rollback", by=by, target=target.id) as turn,
    ):
        now = replace(later, taken=snapshots_after(access, target.id))
        _note(access, commit, target, now)
        removed = _remove(turn, target, later, tag, read)
    clean_after_end(turn, target, removed.taken)
    return removed


def _by_server(
    access: TableAccess,
    line: ServedLine,
    target: Snapshot,
    later: _Later,
    tag: str | None,
    read: TagsRead,
    commit: CommitAs,
) -> _Later:
    """Have the server take back what is above ``target``; what that was.

    Raises:
        CommitConflictError: somebody has committed meanwhile; nothing was changed.
        OutcomeUnknownError: nobody says whether it was done, and nothing shows it.
    """
    newest = later.taken[-1].id if later.taken else target.id
    with access.staying("it was rolled back"), held(access, target.id):
        if _is_there(access, target, access.metadata.floor()):
            tag = None
        else:
            _require_tag(access, target, tag)
        _note(access, commit, target, later)
        try:
            line.rollback(access.branch, target.id, tag, newest)
        except OutcomeUnknownError:
            now, there = line.newest(access.branch), snapshots_after(access, target.id)
            left = {s.state for s in later.taken} & {s.state for s in there}
            is_whole = len(left) == len(later.taken)
            if tag is None and is_whole and now is not None and now > newest:
                RollbackNote.forget(access, commit)  # the server compares the newest one first
                raise _gone_on(access, now) from None
            if left or now not in {target.id, *(s.id for s in there)}:
                raise
    tags = read.now()
    return replace(later, tagged={n: s for n, s in later.tagged.items() if n not in tags})


def _remove(
    turn: HeldTurn, target: Snapshot, later: _Later, tag: str | None, read: TagsRead
) -> _Later:
    """Take back what is above ``target``; what that was, once it is gone."""
    access = turn.access
    branch = access.branch
    earliest, latest = (layout.hint_path("snapshot", h, branch) for h in (EARLIEST, LATEST))
    path = layout.snapshot_path(target.id, branch)
    # The floor is read once the target is held: what begins to expire from now on stops there.
    floor = access.metadata.floor()
    is_there = _is_there(access, target, floor)
    if not is_there:
        _require_tag(access, target, tag)
        require_no_expiry(access, target.id)
        body = state_of(access, target).to_json()
        turn.require()
        turn.create(path, body)
        turn.write(earliest, encode_hint(target.id))
    turn.require()
    turn.write(latest, encode_hint(target.id))
    taken = take_back(turn, target)
    turn.require()
    tags = read.now()
    gone = _tags_of(tags, target, later, taken)
    if tag in gone and tag not in later.tagged:
        # Somebody made it tag the newest snapshot meanwhile.  As if that came after this, it tags the newest one now.
        turn.write(layout.tag_path(tag, branch), replace(tags[tag], snapshot=target).to_json())
        del gone[tag]
    removed = replace(later, taken=taken, tagged=gone)
    _remove_refs(access, removed)
    _point_to(turn, target.id)
    return removed


def _remove_refs(access: TableAccess, later: _Later) -> None:
    """Delete the changelogs and tags that are ``later``."""
    forget_changelogs(access, later.changelogs, keeps_earlier=later.has_earlier_changelogs)
    access.storage.delete([layout.tag_path(name, access.branch) for name in later.tags])


def _point_to(turn: HeldTurn, id: int) -> None:
    """Let no hint point above the snapshot ``id``."""
    access = turn.access
    earliest, latest = (
        layout.hint_path("snapshot", hint, access.branch) for hint in (EARLIEST, LATEST)
    )
    if access.metadata.floor() > id:  # promised by an expiry that has met the hold since
        turn.write(earliest, encode_hint(id))
    if (newest := access.metadata.hinted_head()) is not None and newest > id:
        turn.write(latest, encode_hint(id))  # by a commit that was taken back since


def _is_there(access: TableAccess, target: Snapshot, floor: int) -> bool:
    """Whether ``target`` is a snapshot that nobody expires.

    Raises:
        CommitConflictError: another one has its number by now.
    """
    try:
        body = access.metadata.snapshot_body(target.id)
    except NotFoundError:
        return False
    if target.id < floor:
        return False
    path = layout.snapshot_path(target.id, access.branch)
    if Snapshot.from_json(body, path=path).state == target.state:
        return True
    raise _moved(access, target)


def _require_tag(access: TableAccess, target: Snapshot, tag: str | None) -> None:
    """Require that ``tag`` still keeps ``target``, which is no snapshot any more, and that the head is above it.

    Raises:
        NotFoundError: no tag keeps it.
        CommitConflictError: the table was rolled back below it.
    """
    if tag is None:
        raise NotFoundError(
            f"{access.name}: snapshot {target.id} expires just now; go back to a newer one",
            name=str(target.id),
            available=[],
        )
    head = access.metadata.head_id()
    if tagged(access, tag).snapshot.state != target.state or head is None or head < target.id:
        raise _moved(access, target)


def _moved(access: TableAccess, target: Snapshot) -> CommitConflictError:
    problem = f"somebody else has changed the history of the table below snapshot {target.id}"
    return CommitConflictError(
        f"{access.name}: {problem} meanwhile. Nothing was changed: look at it, then ask again",
        table=access.name,
        head_id=access.metadata.head_id(),
        conflicts=[problem],
    )


def _gone_on(access: TableAccess, newest: int) -> CommitConflictError:
    problem = f"somebody has committed snapshot {newest}"
    return CommitConflictError(
        f"{access.name}: {problem} meanwhile. Nothing was changed: look at it, then ask again",
        table=access.name,
        head_id=newest,
        conflicts=[problem],
    )


def _tags_of(
    tags: Mapping[str, Tag], target: Snapshot, later: _Later, taken: Sequence[Snapshot]
) -> dict[str, Snapshot]:
    """The ``tags`` of what is taken back: those that were there before, and those of snapshots that went.

    Listed once those are gone: who tags one of them reads it again after that.
    """
    states = {snapshot.state for snapshot in taken}
    return {
        name: tag.snapshot
        for name, tag in tags.items()
        if tag.snapshot.state in states or (name in later.tagged and tag.snapshot.id > target.id)
    }
