"""One attempt of one half on one head: expectations, conflicts, the document to create.

An append of new files on the head that its writer saw reads nothing of the table: it fits on any state.  Each
read below is for a half that could be wrong on this head::

    takes files out (compaction, overwrite)    are they live, and is nothing left beside them?
    another number of buckets                  are the files that are there hashed as these are?
    discards duplicate files                   which of them came with an earlier commit?
    changes an index                           what is in it now: the new state is written as a whole
    its head is not the one it read            its numbers, its keys, its rows: what came since
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from table_core.commit import effects as fx
from table_core.commit import numbering
from table_core.commit.basis import AsOf
from table_core.commit.conflicts import (
    Conflict,
    ConflictKind,
    buckets,
    check,
    combine_index,
    index_changes,
    since_safe,
)
from table_core.commit.delivery import NOT_MASKED, Masked, added_rows, masked_rows
from table_core.commit.live import LiveFiles
from table_core.commit.next_snapshot import Content, next_snapshot
from table_core.commit.request import ChangedRows, CommitPart
from table_core.commit.row_tracking import with_row_ids
from table_core.commit.stale import stale_homes, stale_idle, stale_index, stale_merges, stale_rows
from table_core.errors import CommitConflictError, NotFoundError, OutcomeUnknownError
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.properties import CARRIED_PREFIX, CarriedProperties, carried, is_ours
from table_core.ondisk.snapshot import FIRST_ID, CommitKind

if TYPE_CHECKING:
    from collections.abc import Generator

    from table_core.commit.conflicts import Bounds
    from table_core.commit.live import IndexFile, Partitions
    from table_core.commit.request import CommitRequest
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot

__all__ = ["Attempt", "Ready", "prepare"]

T = TypeVar("T")
Steps: TypeAlias = "Generator[fx.Effect, fx.Reply, T]"
_GIVEN_OUT: Final = "another commit gave out the sequence numbers of the new rows; write them again"
_NOTHING = LiveFiles(entries=(), index=())


@dataclass(frozen=True, slots=True)
class Ready:
    """A half that fits on the head."""

    part: CommitPart
    kind: CommitKind
    delta: tuple[ManifestEntry, ...]
    index: tuple[IndexFile, ...] | None
    """The complete new index state; None: unchanged."""
    next_row_id: int | None
    masked: Masked = NOT_MASKED


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request against the table as it stands."""

    request: CommitRequest
    state: fx.TableState

    def carried(self) -> Steps[CarriedProperties]:
        """The ``tc.`` properties as of the head."""
        head = self.state.head
        if head is None:
            return CarriedProperties(properties={}, complete=True)
        if is_ours(head.snapshot):
            return carried((head.snapshot,), lambda: head.id)
        reply = yield fx.LookupProperties(head.id)
        assert isinstance(reply, CarriedProperties)
        return reply

    def check_expectations(self) -> Steps[CarriedProperties]:
        """The ``tc.`` properties, once all that the request expects are so.

        Raises:
            CommitConflictError: a property has another value.
            OutcomeUnknownError: history is too short to tell.
        """
        request, head = self.request, self.state.head
        if head is not None and request.append is not None and request.append.is_first:
            raise self._conflict(
                [
                    f"snapshot {head.id} of {head.snapshot.commit_user} is there, and it must be empty"
                ]
            )
        known = yield from self.carried()
        values = dict((head.snapshot.properties or {}) if head else {}) | dict(known.properties)
        gone = [n for n in request.expect if n.startswith(CARRIED_PREFIX) and n not in values]
        if gone and not known.complete and not request.start_anew:
            raise OutcomeUnknownError(
                f"{request.table}: it cannot be known whether {', '.join(gone)} was ever set: other "
                "writers do not repeat it, and the snapshots that could hold it have expired. Find "
                "out how far the flow had come, or set it so that it starts again",
                user=request.user,
                properties=tuple(gone),
                id=head.id if head else 0,
            )
        wrong = [
            f"{name} is {values.get(name)!r}, expected {want!r}"
            for name, want in request.expect.items()
            if values.get(name) != want
        ]
        if wrong:
            raise self._conflict(wrong)
        return known

    def write(
        self, ready: Ready, previous: fx.Written | None, same_delta: bool
    ) -> Steps[fx.Written]:
        """The metadata files of the new snapshot."""
        written = yield fx.WriteManifests(
            head=self.state.head,
            delta=ready.delta,
            changelog=ready.part.changelog,
            index=ready.index,
            previous=previous,
            same_delta=same_delta,
            rewrites=ready.kind is CommitKind.COMPACT and self.request.append is None,
        )
        assert isinstance(written, fx.Written)
        return written

    def snapshot(
        self, ready: Ready, known: CarriedProperties, written: fx.Written, *, first: bool
    ) -> Snapshot:
        """The document to create."""
        return next_snapshot(
            self.request,
            head=self.state.head,
            kind=ready.kind,
            first_part=first,
            content=Content(
                delta=ready.delta,
                changelog=ready.part.changelog,
                statistics=ready.part.statistics,
                carried=known,
                next_row_id=ready.next_row_id,
                masked=ready.masked,
                changed=ready.part.changed,
            ),
            schema_id=self.state.schema_id,
            written=written,
            birth=self.state.birth,
        )

    @property
    def as_of(self) -> AsOf:
        """The head."""
        return AsOf.of(self.state.head.snapshot if self.state.head else None)

    def numbered(self, part: CommitPart, bounds: Bounds | None, times: int) -> Steps[CommitPart]:
        """``part`` with sequence numbers after all that the head has in its buckets.

        ``times``: how often this commit was numbered anew before.

        Raises:
            CommitConflictError: rows would have to be numbered anew, and they are those of a compaction;
                or with ``commit.discard-duplicate-files``, which knows files by their names.
        """
        stale = numbering.stale(part, self.state.head)
        if not stale:
            return part
        partitions = frozenset(n.partition for n in stale)
        live = yield from self.live(partitions, files=True)
        part = numbering.created_last(live.entries, part, stale)
        once = self.request.limits.discard_duplicate_files
        there = {e.identity for e in live.entries} if once else frozenset()
        fresh = tuple(e for e in part.entries if e.identity not in there)
        by = numbering.shifts(live.entries, replace(part, entries=fresh), stale, times=times)
        if by and (part.kind is CommitKind.COMPACT or (once and bounds is not None)):
            self.refuse([Conflict(ConflictKind.NUMBERED, _GIVEN_OUT, *bucket) for bucket in by])
        if by and bounds is None:
            part = numbering.shifted(part, by)
        elif by:
            reply = yield fx.Renumber(part=part, by=by)
            assert isinstance(reply, CommitPart)
            part = reply
        return numbering.as_of(part, self.state.head)

    def since(self, then: AsOf) -> Steps[tuple[fx.Touched, ...] | None]:
        """What came after ``then``; None if nobody can tell any more.

        Not told by its number alone: after a rollback from 9 to 6, a new 7 stands in the place of the 7 that
        was read, and what came "after 7" would leave it out.
        """
        head = self.state.head
        if then == self.as_of:
            return ()
        if head is None or then.id >= head.id:
            return None  # rolled back
        try:
            if then.id:
                stored = yield fx.ReadBack(then.id)
                assert stored is None or isinstance(stored, fx.Head)
                if stored is None or AsOf.of(stored.snapshot) != then:
                    return None
            touched = yield fx.ReadTouched(after=then.id, to=head.id, user=None)
        except NotFoundError:
            return None
        assert isinstance(touched, tuple)
        return touched

    def live(self, partitions: Partitions, *, files: bool) -> Steps[LiveFiles]:
        """What the head holds in ``partitions``."""
        if self.state.head is None:
            return _NOTHING
        reply = yield fx.ReadLive(
            snapshot=self.state.head.snapshot, partitions=partitions, files=files
        )
        assert isinstance(reply, LiveFiles)
        return reply

    def refuse(self, conflicts: list[Conflict]) -> None:
        """Raise if there are any ``conflicts``."""
        if conflicts:
            raise self._conflict([str(c) for c in conflicts])

    def _conflict(self, conflicts: list[str]) -> CommitConflictError:
        head = self.state.head
        shown = "; ".join(conflicts[:5]) + (
            f"; and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
        )
        return CommitConflictError(
            f"{self.request.table}: commit {self.request.identifier} of {self.request.user} does "
            f"not fit on snapshot {head.id if head else 0}: {shown}. Nothing was committed; plan "
            "it again from the newest snapshot",
            table=self.request.table,
            head_id=head.id if head else None,
            conflicts=tuple(conflicts),
        )


def prepare(attempt: Attempt, part: CommitPart, bounds: Bounds | None) -> Steps[Ready | None]:
    """The half on this head, or None if it changes nothing.

    Raises:
        CommitConflictError: it does not fit; every reason is listed.
    """
    request, kind = attempt.request, part.snapshot_kind
    checked = kind in {CommitKind.COMPACT, CommitKind.OVERWRITE}
    counted = attempt.state.buckets_may_differ and any(e.total_buckets > 0 for e in part.entries)
    unique = kind is CommitKind.APPEND and request.limits.discard_duplicate_files
    indexed = bool(part.index_added or part.index_deleted or part.overwrite)
    indexed = indexed or any(read.as_of != attempt.as_of for read in part.basis.hashed)
    live = _NOTHING
    if checked or counted or unique or indexed:
        live = yield from attempt.live(
            _partitions(part), files=checked or counted or unique or request.index_keys_by_file
        )
    delta, index_deleted = part.entries, part.index_deleted
    if unique:
        there = {e.identity for e in live.entries}
        delta = tuple(e for e in delta if e.kind is EntryKind.DELETE or e.identity not in there)
    if part.overwrite is not None:
        overwritten = part.overwrite.apply(live, delta)
        delta = overwritten.delta
        index_deleted = _union(index_deleted, overwritten.index_deleted)
    changes = delta or part.changelog or part.index_added or index_deleted or part.statistics
    if not changes and not request.force:
        return None
    conflicts: list[Conflict] = []
    if checked:
        conflicts += check(live.entries, delta, kind=kind, bounds=bounds)
    elif counted:
        conflicts += buckets(live.entries, delta)
    if indexed or live.index:
        conflicts += index_changes(
            live.index,
            part.index_added,
            index_deleted,
            delta=delta,
            live=live.entries,
            by_file=request.index_keys_by_file,
        )
    conflicts += yield from _strict(attempt, kind, delta)
    if bounds is not None:
        conflicts += stale_merges(live, part.basis.merged, bounds)
    conflicts += yield from _keys_moved(attempt, part, live)
    conflicts += yield from _rows_changed(attempt, part, bounds)
    attempt.refuse(conflicts)
    index = None
    if part.index_added or index_deleted:
        index = combine_index(live.index, part.index_added, index_deleted)
    head = attempt.state.head
    next_row_id = head.snapshot.next_row_id if head else 0
    if request.tracks_rows:
        new_id = head.id + 1 if head else FIRST_ID
        delta, next_row_id = with_row_ids(delta, snapshot_id=new_id, first=next_row_id or 0)
    masked = masked_rows(part.index_added, index_deleted)
    if bounds is not None:
        part = yield from _counted(attempt, part, delta)
    return Ready(part, kind, delta, index, next_row_id, masked)


def _counted(
    attempt: Attempt, part: CommitPart, delta: tuple[ManifestEntry, ...]
) -> Steps[CommitPart]:
    """``part`` of a key table, with how many rows it takes away: files hold several records of a row.

    For example, a row that was written three times is three records of as many files, and one row that goes.
    """
    head, replaced = attempt.state.head, part.overwrite
    gone = tuple(e for e in delta if e.kind is EntryKind.DELETE)
    if head is None or replaced is None or part.changed is not None or not gone:
        return part
    if replaced.spares_postponed:  # the same rows are written anew
        return part
    rows = yield fx.CountRows(snapshot=head.snapshot, entries=gone)
    assert rows is None or isinstance(rows, int)
    return replace(part, changed=ChangedRows(added=added_rows(delta), deleted=rows))


def _strict(
    attempt: Attempt, kind: CommitKind, delta: tuple[ManifestEntry, ...]
) -> Steps[list[Conflict]]:
    """Conflicts of ``commit.strict-mode.last-safe-snapshot``."""
    safe, head = attempt.request.limits.last_safe_snapshot, attempt.state.head
    if safe is None or head is None or head.id <= safe:
        return []
    request = attempt.request
    own = "" if request.fresh_user else request.user  # a mere name may be that of other writers
    touched = yield fx.ReadTouched(after=safe, to=head.id, user=own)
    assert isinstance(touched, tuple)
    return since_safe(touched, frozenset(e.partition for e in delta), kind=kind)


def _keys_moved(attempt: Attempt, part: CommitPart, live: LiveFiles) -> Steps[list[Conflict]]:
    """Whether keys are still where the writer found them."""
    conflicts: list[Conflict] = []
    gone = "what came since its keys were looked up cannot be told any more"
    for read in part.basis.hashed:
        if read.as_of == attempt.as_of:
            continue
        since = yield from attempt.since(read.as_of)
        if since is None:
            conflicts.append(Conflict(ConflictKind.KEYS_MOVED, gone, read.partition))
        else:
            conflicts += stale_index(part, read, live.index, since)
    if part.basis.dealers > 1:
        what = (
            "several writers of this commit looked up where keys are, and none saw the others' rows"
        )
        conflicts.append(Conflict(ConflictKind.KEYS_MOVED, what))
    for then in sorted(part.basis.homes, key=lambda as_of: as_of.id):
        since = yield from attempt.since(then)
        conflicts += (
            stale_homes(since) if since is not None else [Conflict(ConflictKind.KEYS_MOVED, gone)]
        )
    return conflicts


def _rows_changed(
    attempt: Attempt, part: CommitPart, bounds: Bounds | None
) -> Steps[list[Conflict]]:
    """Whether the rows that a statement read are still the newest of their keys."""
    conflicts: list[Conflict] = []
    for then in sorted(part.basis.rows, key=lambda as_of: as_of.id):
        since = yield from attempt.since(then)
        if since is None:
            what = "what came since the statement read its rows cannot be told any more"
            conflicts.append(Conflict(ConflictKind.ROWS_CHANGED, what))
        elif bounds is not None:
            conflicts += stale_rows(part, since, bounds)
    for then in sorted(part.basis.idle, key=lambda as_of: as_of.id):
        since = yield from attempt.since(then)
        if since is None:
            what = "what came since partitions were found idle cannot be told any more"
            conflicts.append(Conflict(ConflictKind.ROWS_CHANGED, what))
        else:
            conflicts += stale_idle(part, since)
    return conflicts


def _partitions(part: CommitPart) -> Partitions:
    """Every partition whose files matter to ``part``."""
    touched = frozenset(
        [e.partition for e in part.entries] + [i.partition for i in part.index_added]
    )
    if part.overwrite is None:
        return touched
    chosen = part.overwrite.partitions
    if chosen is None:
        return None
    if isinstance(chosen, frozenset):
        return chosen | touched
    return lambda partition: partition in touched or chosen(partition)


def _union(first: tuple[IndexFile, ...], second: tuple[IndexFile, ...]) -> tuple[IndexFile, ...]:
    names = {i.file_name for i in first}
    return first + tuple(i for i in second if i.file_name not in names)
