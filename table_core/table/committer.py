"""Carries out the commit protocol against a store.

``commit.protocol`` decides every step; each method here performs one effect.  What was written for
an attempt that lost is deleted, what may have landed is never touched.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from table_core.commit import protocol
from table_core.commit.readback import search
from table_core.commit.request import CommitLimits, CommitPart, CommitRequest
from table_core.errors import OutcomeUnknownError
from table_core.ondisk.data_file import EntryKind, ManifestEntry
from table_core.ondisk.properties import WRITER_PREFIX, carried
from table_core.ondisk.snapshot import BATCH_IDENTIFIER, CommitKind
from table_core.options import keys_commit
from table_core.table.commit_effects import Performer, snapshots_backwards
from table_core.table.results import Commit, CommitAs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.commit.outcome import Outcome
    from table_core.commit.overwrite import Selection
    from table_core.table.access import TableAccess
    from table_core.table.compactor import CompactChange
    from table_core.table.writer import WriteResult

__all__ = ["commit_parts", "commit_writes", "compact_part", "find_commit", "position"]

WRITER_VERSION: Final = f"{WRITER_PREFIX}0.1.0"
_log = logging.getLogger(__name__)


def commit_writes(
    access: TableAccess,
    results: Sequence[WriteResult],
    commit: CommitAs,
    *,
    overwrite: Selection | None = None,
    operation: str | None = None,
) -> Commit:
    """Commit what writers prepared: one APPEND or OVERWRITE, then their compactions."""
    changes = [change for result in results for change in result.changes]
    entries = tuple(
        ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)
        for c in changes
        for file in c.added
    )
    changelog = tuple(
        ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)
        for c in changes
        for file in c.changelog
    )
    kind = CommitKind.APPEND if overwrite is None else CommitKind.OVERWRITE
    append = CommitPart(
        kind=kind,
        entries=entries,
        changelog=changelog if overwrite is None else (),
        index_added=tuple(entry for c in changes for entry in c.index_added),
        index_deleted=tuple(entry for c in changes for entry in c.index_deleted),
        overwrite=overwrite,
    )
    compactions = [change for result in results for change in result.compactions]
    return commit_parts(
        access,
        commit,
        append=append,
        compact=compact_part(compactions),
        operation=operation,
        rows=sum(result.rows for result in results),
    )


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
    )


def commit_parts(
    access: TableAccess,
    commit: CommitAs,
    *,
    append: CommitPart | None = None,
    compact: CommitPart | None = None,
    operation: str | None = None,
    rows: int = 0,
    force: bool = False,
) -> Commit:
    """Run the protocol for one logical commit.

    Raises:
        CommitConflictError: ``commit.expect`` does not hold, or another writer touched the files.
        GaveUpError: too many lost races.  Nothing is visible.
        OutcomeUnknownError: nobody can say whether it landed.
        ForeignOverwriteError: a writer without a lock replaced the snapshot this builds upon.
    """
    request = CommitRequest(
        table=access.name,
        user=commit.user or _random_user(access),
        identifier=identifier_of(commit),
        fresh_user=commit.user is None,
        append=append,
        compact=compact,
        properties=commit.properties,
        expect=commit.expect,
        watermark=commit.watermark,
        operation=operation,
        writer_version=WRITER_VERSION,
        force=force or access.options.get(keys_commit.COMMIT_FORCE_CREATE_SNAPSHOT),
        index_keys_by_file=not access.schema.is_key_table and access.schema.bucket < 0,
        limits=CommitLimits.of(access.options),
    )
    outcome = protocol.drive(
        protocol.commit(
            request,
            bounds=access.bounds if access.schema.is_key_table else None,
            seen=access.metadata.seen,
        ),
        Performer(access).perform,
    )
    access.metadata.seen = outcome.seen
    for warning in outcome.warnings:
        _log.warning("%s: %s", access.name, warning)
    return _described(outcome, append, compact, rows)


def _described(
    outcome: Outcome, append: CommitPart | None, compact: CommitPart | None, rows: int
) -> Commit:
    landed = [
        part
        for part, half in ((append, outcome.append), (compact, outcome.compact))
        if part is not None and half is not None
    ]
    added = [e.file for part in landed for e in part.entries if e.kind is EntryKind.ADD]
    error = outcome.compact_error
    return Commit(
        snapshot_ids=outcome.snapshot_ids,
        rows_added=rows,
        files_added=len(added),
        files_deleted=sum(e.kind is EntryKind.DELETE for p in landed for e in p.entries),
        bytes_added=sum(file.file_size for file in added),
        replayed=outcome.replayed,
        compact_conflicts=() if error is None else (str(error),),
    )


def identifier_of(commit: CommitAs) -> int:
    """The identifier that ``commit`` stands for."""
    if commit.identifier is not None:
        return commit.identifier
    return BATCH_IDENTIFIER if commit.user is None else 0


def find_commit(access: TableAccess, commit: CommitAs) -> Commit | None:
    """The commit that ``commit`` names, if it has landed: so that a retry need not do the work."""
    head = access.metadata.head()
    if commit.user is None or head is None:
        return None
    found = search(
        snapshots_backwards(access, head.id, 1),
        user=commit.user,
        identifier=identifier_of(commit),
        newest=head.id,
        growing=False,
    ).found
    if not found:
        return None
    ids = tuple(sorted(snapshot.id for snapshot in found))
    return Commit(snapshot_ids=ids, replayed=True)


def position(access: TableAccess, name: str) -> str | None:
    """See ``Table.position``."""
    head = access.metadata.head()
    if head is None:
        return None
    found = carried(snapshots_backwards(access, head.id, 1))
    if name not in found.properties and not found.complete:
        raise OutcomeUnknownError(
            f"{access.name}: nobody can say whether property {name!r} was ever set, because "
            "snapshots that could hold it are expired; set it with a commit of your own before "
            "going on from it",
            user=None,
            id=head.id,
            floor=access.metadata.floor(),
        )
    return found.properties.get(name)


def _random_user(access: TableAccess) -> str:
    prefix = access.options.get(keys_commit.COMMIT_USER_PREFIX)
    return f"{prefix}_{access.ids.uuid()}" if prefix else access.ids.uuid()
