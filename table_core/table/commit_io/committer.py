"""Carries out the commit protocol against a store.

``commit.protocol`` decides every step; each method here performs one effect.  What was written for
an attempt that lost is deleted, what may have landed is never touched.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.commit import protocol
from table_core.commit.basis import Basis, Opened
from table_core.commit.readback import committed_identifiers
from table_core.commit.request import ChangedRows, CommitLimits, CommitPart, CommitRequest
from table_core.errors import TableError
from table_core.ondisk.data_file import EntryKind, ManifestEntry
from table_core.ondisk.partition_key import partition_key
from table_core.ondisk.properties import WRITER_PREFIX, has_landed
from table_core.ondisk.snapshot import BATCH_IDENTIFIER, CommitKind
from table_core.options import keys_commit, keys_retention
from table_core.table.commit_io.commit_effects import CommitEffects
from table_core.table.commit_io.deliveries import tell
from table_core.table.commit_io.uncommitted import discard, is_certain
from table_core.table.metadata.carried import carried_as_of, noted_head, snapshots_backwards
from table_core.table.metadata.clocks import warn_of_future
from table_core.table.metadata.results import Commit, CommitAs, FilesMoved
from table_core.table.metadata.shifted_times import warn_of_shifted_times
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.commit.outcome import Landed, Outcome
    from table_core.commit.overwrite import Selection
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.commit_io.prepared import CompactChange, WriteResult
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "Begun",
    "begin",
    "commit_parts",
    "commit_writes",
    "compact_part",
    "filter_committed",
    "find_commit",
    "parts_of",
]

WRITER_VERSION: Final = f"{WRITER_PREFIX}0.2.0"
"""In the source, because the archive that Spark's tasks get has no metadata of a distribution; a test compares the two."""
_MADE: Final[dict[tuple[str, str, str, int], None]] = {}
"""Commits that this process made, oldest first."""
_MADE_MAX: Final = 10_000
_log = logging.getLogger(__name__)


def commit_writes(
    access: TableAccess,
    results: Sequence[WriteResult],
    commit: CommitAs,
    *,
    overwrite: Selection | None = None,
    operation: str | None = None,
    changed: ChangedRows | None = None,
) -> Commit:
    """Commit what writers prepared: one APPEND or OVERWRITE, then their compactions.

    The snapshot is named after its ``operation``; None is ``WRITE`` or ``OVERWRITE``.  ``changed``: what it did to
    rows, where their files do not tell.
    """
    append, compact = parts_of(results, overwrite)
    append = replace(append, changed=changed)
    named = operation or ("WRITE" if overwrite is None else "OVERWRITE")
    return commit_parts(access, commit, append=append, compact=compact, operation=named)


def parts_of(
    results: Sequence[WriteResult], overwrite: Selection | None = None
) -> tuple[CommitPart, CommitPart | None]:
    """The two halves of a commit of ``results``."""
    changes = [change for result in results for change in result.changes]

    def entries(which: str) -> Iterator[ManifestEntry]:
        for c in changes:
            for file in getattr(c, which):
                yield ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)

    append = CommitPart(
        kind=CommitKind.APPEND if overwrite is None else CommitKind.OVERWRITE,
        entries=tuple(entries("added")),
        changelog=tuple(entries("changelog")) if overwrite is None else (),
        index_added=tuple(entry for c in changes for entry in c.index_added),
        index_deleted=tuple(entry for c in changes for entry in c.index_deleted),
        overwrite=overwrite,
        basis=Basis.joined(result.basis for result in results),
    )
    return append, compact_part([change for result in results for change in result.compactions])


def compact_part(changes: Sequence[CompactChange]) -> CommitPart | None:
    """The COMPACT half that carries ``changes``; None if there are none."""
    if not changes:
        return None

    def entries(kind: EntryKind, which: str) -> Iterator[ManifestEntry]:
        for c in changes:
            for file in getattr(c, which):
                yield ManifestEntry(kind, c.partition, c.bucket, c.total_buckets, file)

    return CommitPart(
        kind=CommitKind.COMPACT,
        entries=(*entries(EntryKind.DELETE, "before"), *entries(EntryKind.ADD, "after")),
        changelog=tuple(entries(EntryKind.ADD, "changelog")),
        index_added=tuple(entry for c in changes for entry in c.index_added),
        index_deleted=tuple(entry for c in changes for entry in c.index_deleted),
        basis=Basis(
            numbered=tuple(c.numbered for c in changes if c.numbered is not None),
            merged=tuple(c.merged for c in changes if c.merged is not None),
        ),
    )


def commit_parts(
    access: TableAccess,
    commit: CommitAs,
    *,
    append: CommitPart | None = None,
    compact: CommitPart | None = None,
    operation: str | None = None,
    force: bool = False,
    upkeep: bool = True,
    copied: bool = False,
) -> Commit:
    """Run the protocol for one logical commit, then the ``upkeep`` that its options ask for.

    ``copied``: its files were copied just now, whenever they were written first.

    Where it is certain that new files of the commit are in no snapshot, they are deleted.

    Raises:
        ArgumentError: it has landed, and something else was asked for then.
        CommitConflictError: ``commit.expect`` does not hold, or another writer touched the files.
        GaveUpError: too many lost races.  Nothing is visible.
        OutcomeUnknownError: nobody can say whether it landed.
        UnsupportedFeatureError: the table asks for what this release does not do with a commit.
        ForeignOverwriteError: a writer without a lock replaced the snapshot this builds upon.
    """
    request = replace(
        _request(access, commit),
        append=append,
        compact=compact,
        operation=operation,
        force=force or (append is not None and _keeps_empty(access, commit)),
    )
    effects = CommitEffects(access, may_be_old=not copied)
    try:
        refuse_commits(access)
        outcome = _run(access, request, effects)
    except TableError as error:
        if is_certain(error):
            discard(access, (append, compact, *effects.made))
        raise
    if effects.made and outcome.append is not None and not outcome.append.replayed:
        discard(access, (append, *effects.made[:-1]), kept=effects.made[-1])
    for part, half in ((append, outcome.append), (compact, outcome.compact)):
        if half is not None and half.replayed:
            discard(access, (part, *effects.made), landed=(half.snapshot,))
    if outcome.compact_error is not None and is_certain(outcome.compact_error):
        discard(access, (compact,))
    commit_done = _described(access, outcome)
    if upkeep and access.after_commit and outcome.snapshot_ids and _keeps_itself(access):
        written = append.entries if append is not None and not commit_done.replayed else ()
        access.after_commit(
            access, commit_done.snapshot_ids[-1], frozenset(e.partition for e in written)
        )
    return commit_done


def _keeps_itself(access: TableAccess) -> bool:
    """Whether anything can follow a commit; loading what does it takes longer than a small one."""
    return not access.options.get(keys_commit.WRITE_ONLY) or access.options.get(
        keys_retention.PARTITION_END_INPUT_TO_DONE
    )


def _request(access: TableAccess, commit: CommitAs) -> CommitRequest:
    return CommitRequest(
        table=access.name,
        user=commit.user or _random_user(access),
        identifier=BATCH_IDENTIFIER if commit.identifier is None else commit.identifier,
        fresh_user=not commit.is_named,
        opened=Opened.of(access.schema),
        asked=commit.asked,
        growing=commit.growing,
        since_ms=commit.since_ms,
        properties=commit.properties,
        expect=commit.expect,
        watermark=commit.watermark,
        writer_version=WRITER_VERSION,
        index_keys_by_file=not access.schema.is_key_table and access.schema.bucket < 0,
        key_of=partial(partition_key, access.schema),
        tracks_rows=access.options.get(keys_commit.ROW_TRACKING_ENABLED),
        limits=CommitLimits.of(access.options),
    )


def _keeps_empty(access: TableAccess, commit: CommitAs) -> bool:
    """Whether a commit without rows makes a snapshot: streams say so, and options may."""
    ignored = access.options.get(keys_commit.SNAPSHOT_IGNORE_EMPTY_COMMIT)
    forced = access.options.get(keys_commit.COMMIT_FORCE_CREATE_SNAPSHOT)
    if forced or (not ignored if ignored is not None else commit.growing):
        return True
    idle_ms = access.options.get(keys_retention.SNAPSHOT_WATERMARK_IDLE_TIMEOUT)
    if idle_ms is None or access.options.get(keys_retention.TAG_AUTOMATIC_CREATION) != "watermark":
        return False
    head = access.metadata.head()  # tags by watermark are made with a snapshot only
    return head is not None and head.time_millis + idle_ms < access.clock.now_ms()


def _run(
    access: TableAccess, request: CommitRequest, effects: CommitEffects | None = None
) -> Outcome:
    effects = effects or CommitEffects(access)
    outcome = protocol.drive(
        protocol.commit(
            request,
            bounds=access.bounds if access.schema.is_key_table else None,
            seen=access.metadata.seen,
        ),
        effects.perform,
    )
    access.metadata.seen = outcome.seen
    halves = [half.snapshot for half in (outcome.append, outcome.compact) if half is not None]
    access.metadata.built = {**effects.heads, **{snapshot.id: snapshot for snapshot in halves}}
    for warning in outcome.warnings:
        _log.warning("%s: %s", access.name, warning)
    landed = outcome.compact or outcome.append
    if landed is not None:
        warn_of_future(access, landed.snapshot)
        warn_of_shifted_times(access)
    _note(access, request, outcome)
    tell(access, outcome, request.user)
    return outcome


def _note(access: TableAccess, request: CommitRequest, outcome: Outcome) -> None:
    """Remember what this process made; say so if it is asked for once more."""
    if request.fresh_user or not outcome.snapshot_ids:
        return
    key = (access.storage.uri, access.branch, request.user, request.identifier)
    if outcome.replayed and key in _MADE:
        _log.warning(
            "%s: commit %s of %s was made by this process before and is not made again; two "
            "different writes need two identifiers",
            access.name,
            request.identifier,
            request.user,
        )
    _MADE[key] = None
    while len(_MADE) > _MADE_MAX:
        del _MADE[next(iter(_MADE))]


def _described(access: TableAccess, outcome: Outcome) -> Commit:
    """The same words whether the commit was made or found."""
    append, compact = (_delta(access, half) for half in (outcome.append, outcome.compact))
    added = [e.file for e in (*append, *compact) if e.kind is EntryKind.ADD]
    error = outcome.compact_error
    return Commit(
        snapshot_ids=outcome.snapshot_ids,
        rows_added=sum(e.file.row_count for e in append if e.kind is EntryKind.ADD),
        files_added=len(added),
        files_deleted=len(append) + len(compact) - len(added),
        bytes_added=sum(file.file_size for file in added),
        replayed=outcome.replayed,
        compact_conflicts=() if error is None else (str(error),),
        moved=_moved(append, compact, compact if outcome.append is None else append),
    )


def _moved(
    append: Sequence[ManifestEntry],
    compact: Sequence[ManifestEntry],
    asked: Sequence[ManifestEntry],
) -> FilesMoved:
    """What both halves did together, in the order in which they did it; ``asked`` is what was written."""
    came: dict[object, int] = {}
    gone: dict[object, int] = {}
    for entry in (*append, *compact):
        key = (entry.partition, entry.bucket, entry.file.file_name)
        here, there = (came, gone) if entry.kind is EntryKind.DELETE else (gone, came)
        if here.pop(key, None) is None:
            there[key] = entry.file.file_size
    return FilesMoved(
        files_gone=len(gone),
        bytes_gone=sum(gone.values()),
        rows_written=_rows_of_new(asked),
    )


def _rows_of_new(entries: Sequence[ManifestEntry]) -> int:
    """Rows of files that ``entries`` bring, those aside that they take from another level."""
    taken = {
        (e.partition, e.bucket, e.file.file_name) for e in entries if e.kind is EntryKind.DELETE
    }
    return sum(
        e.file.row_count
        for e in entries
        if e.kind is EntryKind.ADD and (e.partition, e.bucket, e.file.file_name) not in taken
    )


def _delta(access: TableAccess, half: Landed | None) -> tuple[ManifestEntry, ...]:
    if half is None:
        return ()
    return tuple(access.metadata.delta(half.snapshot)) if half.replayed else half.delta


@dataclass(frozen=True, slots=True)
class Begun:
    """What a verb finds before it begins, by one look at its table that all its steps share."""

    landed: Commit | None
    """The commit that it is asked for, if that was made before."""
    head: Snapshot | None
    """The newest snapshot; the commit looks again, and does not trust it."""


def begin(access: TableAccess, commit: CommitAs) -> Begun:
    """Look at the table, and for the commit that ``commit`` names: a retry need not do the work again.

    Raises:
        ArgumentError: it has landed, and something else was asked for then.
        NotFoundError: the table was dropped or renamed.
        OutcomeUnknownError: it was found where a dead snapshot id may have been used again.
    """
    if not commit.is_named:
        return Begun(landed=None, head=access.head())
    effects = CommitEffects(access)
    outcome = _run(access, replace(_request(access, commit), expect={}), effects)
    landed = _described(access, outcome) if outcome.replayed else None
    return Begun(landed=landed, head=effects.head)


def find_commit(access: TableAccess, commit: CommitAs) -> Commit | None:
    """The commit that ``commit`` names, if it has landed; see ``begin``, for who needs the newest snapshot too.

    Raises:
        ArgumentError, NotFoundError, OutcomeUnknownError: as ``begin``.
    """
    return begin(access, commit).landed if commit.is_named else None


def filter_committed(access: TableAccess, user: str, identifiers: Iterable[int]) -> list[int]:
    """See ``Table.filter_committed``."""
    asked = sorted(set(identifiers))
    head = access.metadata.head()
    if head is None or not asked:
        return asked
    noted_head(access, head)
    known = carried_as_of(access, head.id).properties
    left = [id for id in asked if not has_landed(known, user, id, growing=True)]
    if not left:
        return []
    history = snapshots_backwards(access, head.id, 1)
    floor = access.metadata.floor
    landed = committed_identifiers(history, user=user, identifiers=left, floor=floor)
    return [id for id in left if id not in landed]


def _random_user(access: TableAccess) -> str:
    prefix = access.options.get(keys_commit.COMMIT_USER_PREFIX)
    return f"{prefix}_{access.ids.uuid()}" if prefix else access.ids.uuid()
