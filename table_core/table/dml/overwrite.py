"""Writes that take rows out: overwrite, truncate, drop partitions (format 10.5)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.commit.basis import AsOf, Basis
from table_core.commit.overwrite import Selection
from table_core.commit.request import ChangedRows, CommitPart
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.lsm.triggers import needs_lookup
from table_core.ondisk.data_file import EntryKind, ManifestEntry
from table_core.ondisk.partition_text import partition_text
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_commit
from table_core.scan.split import hides_level0
from table_core.table.commit_io.committed_once import already_committed, remember_committed
from table_core.table.commit_io.committer import Begun, begin, commit_parts, commit_writes
from table_core.table.commit_io.prepared import WriteResult
from table_core.table.commit_io.replacing import commit_replacing
from table_core.table.compact.inline_compaction import InlineCompaction
from table_core.table.metadata.describing import committed, foretold
from table_core.table.metadata.partition_marks import unmark
from table_core.table.metadata.partition_spec import partition_matcher
from table_core.table.metadata.timeline import find_snapshot
from table_core.table.write.choose_assigner import crosses_partitions
from table_core.table.write.writer import TableWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument

__all__ = [
    "Reads",
    "commit_results",
    "drop_partitions",
    "open_writer",
    "overwrite_selection",
    "truncate",
]


_log = logging.getLogger(__name__)
_TRIES: Final = 3
TRUNCATE: Final = "TRUNCATE"
"""The operation of a commit that only takes rows out, so that it wakes nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """A statement that writes other versions of rows that it has read."""

    operation: str
    """Its name in the snapshot."""
    as_of: AsOf
    """The state that it has read."""
    changed: Callable[[], ChangedRows] | None = None
    """What it did to rows, asked for when it commits; None: the files of its rows tell."""

    @classmethod
    def of(
        cls,
        operation: str,
        head: Snapshot | None,
        changed: Callable[[], ChangedRows] | None = None,
    ) -> Reads:
        """A statement that has read ``head``."""
        return cls(operation=operation, as_of=AsOf.of(head), changed=changed)


def open_writer(
    access: TableAccess,
    commit: CommitAs,
    overwrite: str | Mapping[str, object] | None,
    statement: Reads | None = None,
    *,
    is_new: bool = False,
) -> TableWriter:
    """A writer that commits as ``commit`` says; see ``Table.write`` for ``overwrite``.

    ``statement`` writes other versions of rows that it has read.  ``is_new``: the caller has looked, with ``begin`` or
    ``begin_write``, and ``commit`` was not made before; the commit itself looks again.
    """
    overwrite_selection(access, overwrite, ())  # refuses a bad argument before any row is written
    commit = commit.with_request("write", access.branch, overwrite=overwrite)
    return TableWriter(
        access,
        lambda result: _compacted(
            access, commit_results(access, (result,), commit, overwrite, statement), result
        ),
        compaction=partial(InlineCompaction, access, replaces=overwrite is not None),
        replaces=overwrite is not None,
        landed=None if is_new and commit.is_named else lambda: _landed(access, commit),
    )


def begin_write(
    access: TableAccess, commit: CommitAs, compact: Callable[[], object] | None = None
) -> Begun:
    """As ``begin``; the rows of an earlier run are then as visible as those of any other.

    Where readers wait for level 0 to be compacted, and that run died before it had, ``compact`` does; None: this process.
    """
    begun = begin(access, commit)
    if begun.landed is not None and hides_level0(access.schema, access.options):
        _compact_now(access, compact or partial(_compact_rows, access, None))
    return begun


def _landed(access: TableAccess, commit: CommitAs) -> Commit | None:
    return begin_write(access, commit).landed if commit.is_named else None


def _compacted(access: TableAccess, done: Commit, written: WriteResult) -> Commit:
    """``done``; where its compaction was dropped, and readers or changes wait for it, with another one.

    So it is where ``done`` is a twin's, which came meanwhile and may have died before its own.  The rows are in, so a
    fault is logged and no more.
    """
    twins = done.replayed and hides_level0(access.schema, access.options)
    if twins or (done.compact_conflicts and needs_lookup(access.options)):
        try:
            rows = frozenset(change.partition for change in written.changes)
            _compact_now(access, partial(_compact_rows, access, rows))
        except TableError as error:
            _log.warning("%s: rows wait for the next compaction: %s", access.name, error)
    return done


def _compact_now(access: TableAccess, compact: Callable[[], object]) -> None:
    """Compact what level 0 keeps back, unless others do all the time."""
    for _ in range(0 if access.options.get(keys_commit.WRITE_ONLY) else _TRIES):
        with suppress(CommitConflictError):  # another writer compacts
            compact()
            return


def _compact_rows(access: TableAccess, rows: frozenset[bytes] | None) -> None:
    """Compact ``rows`` (None: all partitions)."""
    from table_core.table.compact.compact import compact_rows

    compact_rows(access, rows)


def commit_results(
    access: TableAccess,
    results: tuple[WriteResult, ...],
    commit: CommitAs,
    overwrite: str | Mapping[str, object] | None,
    statement: Reads | None = None,
) -> Commit:
    """Commit what writers prepared, here or in other processes; see ``open_writer``.

    Raises:
        ArgumentError: files of ``results`` were committed before, or one of them is there twice.
    """
    commit = commit.with_request("write", access.branch, overwrite=overwrite)
    done = already_committed(access, results, commit)
    if done is None:
        done = _committed(access, results, commit, overwrite, statement)
        remember_committed(access, results)
    return done


def _committed(
    access: TableAccess,
    results: tuple[WriteResult, ...],
    commit: CommitAs,
    overwrite: str | Mapping[str, object] | None,
    statement: Reads | None,
) -> Commit:
    entries = tuple(
        ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)
        for result in results
        for c in result.changes
        for file in c.added
    )
    selection = overwrite_selection(access, overwrite, entries)
    if selection is None:
        if statement is None:
            return commit_writes(access, results, commit)
        read = WriteResult(basis=Basis(rows=frozenset({statement.as_of})))
        return commit_writes(
            access,
            (*results, read),
            commit,
            operation=statement.operation,
            changed=None if statement.changed is None else statement.changed(),
        )
    return commit_replacing(access, results, commit, selection)


def overwrite_selection(
    access: TableAccess,
    overwrite: str | Mapping[str, object] | None,
    entries: tuple[ManifestEntry, ...],
) -> Selection | None:
    """What ``overwrite`` takes out when ``entries`` come in; None for a plain append.

    Raises:
        ArgumentError: ``overwrite`` names no rows, or some of ``entries`` lie outside.
        UnsupportedFeatureError: it names partitions, and the rows of a key may lie in others.
    """
    if overwrite is None:
        return None
    if overwrite == "table":
        return Selection.table()
    if isinstance(overwrite, str) and overwrite != "partitions":
        raise ArgumentError(
            f"overwrite={overwrite!r}: use None, 'partitions', 'table' or {{'column': value}}",
            argument="overwrite",
            value=overwrite,
        )
    if not overwrite:
        raise ArgumentError(
            "overwrite={} names no partition; name one by its columns, or say 'table' for all rows",
            argument="overwrite",
            value={},
        )
    if crosses_partitions(access.schema):
        raise UnsupportedFeatureError(
            f"{access.name}: a key may move between partitions, so that single ones cannot be "
            "overwritten; use overwrite='table', or drop the partitions and write",
            feature="overwrite of partitions with cross-partition upsert",
        )
    if isinstance(overwrite, str):
        return Selection.dynamic(entries) if access.schema.partition_keys else Selection.table()
    selection = Selection.static(partition_matcher(access, [overwrite]))
    _refuse_rows_outside(access, selection, overwrite, entries)
    return selection


def _refuse_rows_outside(
    access: TableAccess,
    selection: Selection,
    overwrite: Mapping[str, object],
    entries: tuple[ManifestEntry, ...],
) -> None:
    """Rows that lie in no partition of ``overwrite`` are an error that names theirs."""
    others = sorted(
        {
            str(partition_text(access.schema, entry.partition))
            for entry in entries
            if not selection.selects(entry.partition)
        }
    )
    if others:
        raise ArgumentError(
            f"rows of {', '.join(others[:3])} are not in the partition to overwrite, {dict(overwrite)}: "
            "leave them out, or overwrite 'partitions', which replaces each partition that has rows",
            argument="overwrite",
            value=tuple(others),
        )


def truncate(access: TableAccess, commit: CommitAs, *, dry_run: bool = False) -> ResultDocument:
    """See ``Table.truncate``."""
    return _take_out(access, "truncate", Selection.table(), commit, (), dry_run=dry_run)


def drop_partitions(
    access: TableAccess,
    partitions: Sequence[Mapping[str, object]],
    commit: CommitAs,
    *,
    dry_run: bool = False,
) -> ResultDocument:
    """See ``Table.drop_partitions``."""
    if isinstance(partitions, Mapping):
        partitions = [partitions]
    if not partitions or any(not spec for spec in partitions):
        raise ArgumentError(
            "name at least one partition, each by a column; truncate() empties the table",
            argument="partitions",
            value=[],
        )
    selection = Selection.drop(partition_matcher(access, partitions))
    return _take_out(access, "drop-partitions", selection, commit, partitions, dry_run=dry_run)


def _take_out(
    access: TableAccess,
    action: str,
    selection: Selection,
    commit: CommitAs,
    partitions: Sequence[Mapping[str, object]],
    *,
    dry_run: bool,
) -> ResultDocument:
    started_ms = access.clock.now_ms()
    asked = [dict(spec) for spec in partitions]
    commit = commit.with_request(action, access.branch, partitions=asked or None)
    begun = begin(access, commit)
    done, head = begun.landed, begun.head
    sizes: list[int] = []
    rows: set[bytes] | None = None
    if done is None:
        sizes, rows = _files_of(access, head, selection)
        part = CommitPart(kind=CommitKind.OVERWRITE, overwrite=selection)
        if sizes and not dry_run:
            if asked:
                unmark(access, rows)
            done = commit_parts(access, commit, append=part, operation=TRUNCATE)
    elif asked:
        rows = _taken_out(access, done)
    details = _which(access, asked, rows) if asked else {}
    if dry_run and done is None:
        told = {**details, "replayed": False}
        return foretold(access, action, head, sizes, told, started_ms=started_ms, instead=False)
    return committed(access, action, done, head, details, started_ms=started_ms)


def _which(
    access: TableAccess, asked: Sequence[Mapping[str, object]], rows: set[bytes] | None
) -> dict[str, object]:
    """Which of ``asked`` were there; all that is known of a commit whose snapshot has expired is what it asked."""
    if rows is None:
        return {"partitions": asked}
    there: list[Mapping[str, object]] = []
    absent: list[Mapping[str, object]] = []
    for spec in asked:
        test = partition_matcher(access, [spec])
        (there if any(test(row) for row in rows) else absent).append(spec)
    if absent:
        _log.warning(
            "%s has no partition %s: nothing is dropped there",
            access.name,
            ", ".join(map(str, absent[:10])),
        )
    return {"partitions": there, "absent": absent}


def _taken_out(access: TableAccess, done: Commit) -> set[bytes] | None:
    """The partitions out of which ``done`` has taken files; None if its snapshot has expired."""
    snapshots = [find_snapshot(access, id) for id in done.snapshot_ids]
    if not snapshots or None in snapshots:
        return None
    deltas = (access.metadata.delta(snapshot) for snapshot in snapshots if snapshot is not None)
    return {
        entry.partition for delta in deltas for entry in delta if entry.kind is EntryKind.DELETE
    }


def _files_of(
    access: TableAccess, head: Snapshot | None, selection: Selection
) -> tuple[list[int], set[bytes]]:
    """Bytes of each file that ``selection`` takes out, and its partitions.

    Those of a whole table are counted, not decoded, and its partitions are left out.
    """
    if selection.partitions is None:
        sizes: list[int] = access.metadata.live_files(head).size.tolist()
        return sizes, set()
    live = access.live_entries(
        head,
        keep_partition=selection.partitions
        if callable(selection.partitions)
        else selection.selects,
    )
    return [entry.file.file_size for entry in live], {entry.partition for entry in live}
