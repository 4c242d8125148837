"""MERGE INTO: brings a source into a table, clause by clause.

Every pair of source and target row, and every row without partner, goes through the clauses of its
case in their order; the first whose condition holds decides (SQL's rule).  What comes out is
written like any other rows; in a table without key the files of changed rows are written anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.commit.request import ChangedRows
from table_core.table.commit_io.committer import begin, commit_parts
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.dml.key_changes import KeyChanges, MetRows, target_rows, windows
from table_core.table.dml.merge_checks import (
    columns_of,
    refuse_absent,
    refuse_clauses,
    refuse_wrong_expressions,
    source_column,
)
from table_core.table.dml.merge_clauses import (
    DELETES,
    MatchedDelete,
    MatchedUpsert,
    MergeClause,
    NotMatchedBySourceDelete,
    NotMatchedBySourceUpsert,
    NotMatchedInsert,
    deletes,
    needs_source,
    needs_target,
)
from table_core.table.dml.merge_pairs import Pairing
from table_core.table.dml.overwrite import Reads, open_writer
from table_core.table.dml.postponed_rows import in_buckets, spreads_first
from table_core.table.dml.redo import done_again
from table_core.table.dml.row_changes import RowChanges
from table_core.table.files.file_reader import POSITION_COLUMN
from table_core.table.metadata.describing import committed
from table_core.table.read.committed_rows import committed_rows, refuse_fallback_rows
from table_core.table.write.coerce import gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument

__all__ = [
    "MERGE",
    "MatchedDelete",
    "MatchedUpsert",
    "MergeClause",
    "NotMatchedBySourceDelete",
    "NotMatchedBySourceUpsert",
    "NotMatchedInsert",
    "changed_rows",
    "columns_of",
    "deletes",
    "described",
    "foreseen",
    "merge_into",
    "needs_source",
    "needs_target",
    "refuse_absent",
    "refuse_clauses",
    "source_column",
    "with_request",
]
MERGE: Final = "MERGE"
"""What Paimon calls it in snapshots."""


def merge_into(
    access: TableAccess,
    source: Any,
    on: Sequence[str] | Mapping[str, str],
    when: tuple[MergeClause, ...],
    commit: CommitAs,
) -> ResultDocument:
    """See ``Table.merge_into``.

    Raises:
        DataError: several source rows match one target row, or a value does not fit.
        ArgumentError: no clause, or ``on`` names an unknown column.
        UnsupportedFeatureError: a clause deletes, and the merge engine does not.
    """
    access = access.in_newest_schema()
    refuse_clauses(access, when)
    commit, columns = with_request(commit, access, source, on, when), columns_of(access, on)
    begun = begin(access, commit)
    if begun.landed is not None:
        return described(access, begun.head, begun.landed, {}, access.clock.now_ms())
    rows = _source_table(source)
    refuse_wrong_expressions(access, rows.schema, columns, when)
    return done_again(access, lambda: _once(access, rows, columns, when, commit))


def _once(
    access: TableAccess,
    rows: pa.Table,
    columns: Mapping[str, str],
    when: tuple[MergeClause, ...],
    commit: CommitAs,
) -> ResultDocument:
    started_ms, head = access.clock.now_ms(), access.head()
    refuse_fallback_rows(access, head)
    counts = Counter[str]()
    by_kind = _write_versions if access.schema.is_key_table else _rewrite
    done = by_kind(access, head, rows, columns, when, commit, counts)
    return described(access, head, done, counts, started_ms)


def foreseen(
    access: TableAccess,
    source: Any,
    on: Sequence[str] | Mapping[str, str],
    when: tuple[MergeClause, ...],
) -> ResultDocument:
    """How many rows each clause would decide; the values are computed, so that faults show.

    Raises:
        DataError, ArgumentError, UnsupportedFeatureError: as for ``merge_into``.
    """
    access = access.in_newest_schema()
    refuse_clauses(access, when)
    started_ms, head = access.clock.now_ms(), access.head()
    refuse_fallback_rows(access, head)
    rows, columns = _source_table(source), columns_of(access, on)
    refuse_wrong_expressions(access, rows.schema, columns, when)
    names, counts = [field.name for field in access.schema.fields], Counter[str]()
    pairing = Pairing(access, rows, columns, when)
    for target in windows(committed_rows(access, head).to_batches(), pairing.window_bytes):
        for clause, decided in pairing.met(target.select(names)):
            _count(counts, clause, decided.target_at)
            decided.computed()
    for clause, decided in pairing.not_met():
        _count(counts, clause, decided.source_at)
        decided.computed()
    return described(access, head, None, counts, started_ms).having(dry_run=True)


def with_request(
    commit: CommitAs,
    access: TableAccess,
    source: object,
    on: Sequence[str] | Mapping[str, str],
    when: Sequence[MergeClause],
    **more: object,
) -> CommitAs:
    """``commit``, with this merge as what it asks for, and ``more``; rows of the source do not belong to it."""
    name = source.access.name if hasattr(source, "access") else None
    told = source if isinstance(source, str) else name
    wanted = {"source": told, "on": columns_of(access, on), "when": list(when), **more}
    return commit.with_request("merge-into", access.branch, **wanted)


def described(
    access: TableAccess,
    head: Snapshot | None,
    done: Commit | None,
    counts: Mapping[str, int],
    started_ms: int,
) -> ResultDocument:
    """What a merge did; ``counts`` are rows by clause."""
    return committed(
        access,
        "merge-into",
        done,
        head,
        {"rows_by_clause": dict(counts)},
        started_ms=started_ms,
        since=head if spreads_first(access) else None,
    )


def _write_versions(
    access: TableAccess,
    head: Snapshot | None,
    source: pa.Table,
    on: Mapping[str, str],
    when: tuple[MergeClause, ...],
    commit: CommitAs,
    counts: Counter[str],
) -> Commit:
    """Key table: what the clauses say is written as new versions of the rows."""
    head = in_buckets(access, head)
    pairing = Pairing(access, source, on, when)
    with open_writer(
        access.for_whole_rows(),
        commit,
        None,
        Reads.of(MERGE, head, lambda: changed_rows(counts)),
        is_new=True,
    ) as writer:
        for changes in _changes(access, head, pairing, counts):
            for rows in changes.written():
                writer.write(rows)
        return writer.commit()


def _changes(
    access: TableAccess, head: Snapshot | None, pairing: Pairing, counts: Counter[str]
) -> Iterator[KeyChanges]:
    """What is written, as soon as it is known."""
    so_far = MetRows(access, pairing.moves)
    for target, deleted in target_rows(access, head, pairing.window_bytes):
        touched, updated = [np.zeros(0, np.int64)], []
        for clause, decided in pairing.met(target):
            _count(counts, clause, decided.target_at)
            touched.append(decided.target_at)
            if not deletes(clause):
                updated.append(decided.rows())
        so_far.take(target, np.concatenate(touched), updated)
        so_far.take_deleted(deleted if pairing.moves else pairing.known(deleted))
        changes = so_far.done()
        if changes is not None:
            yield changes
    inserted = []
    for clause, decided in pairing.not_met():
        _count(counts, clause, decided.source_at)
        inserted.append(decided.rows())
    yield so_far.rest(inserted)


def _rewrite(
    access: TableAccess,
    head: Snapshot | None,
    source: pa.Table,
    on: Mapping[str, str],
    when: tuple[MergeClause, ...],
    commit: CommitAs,
    counts: Counter[str],
) -> Commit | None:
    """Table without key: files whose rows change are written anew, the new rows beside them."""
    pairing = Pairing(access, source, on, when)
    change = RowChanges(access.for_whole_rows(), head)
    with undone_by(change.abort):
        for places, target in _windows_of_files(change.rows(), pairing.window_bytes):
            position, stops = target[POSITION_COLUMN].to_numpy(), np.cumsum([n for *_, n in places])
            for clause, decided in pairing.met(target.drop_columns([POSITION_COLUMN])):
                gone = decided.target_at
                _count(counts, clause, gone)
                place = np.searchsorted(stops, gone, "right")
                for number in np.unique(place).tolist():
                    bucket, file_name, _ = places[number]
                    change.take_out(bucket, file_name, position[gone[place == number]])
                if not deletes(clause):
                    change.put_in(decided.rows())
        for clause, decided in pairing.not_met():
            _count(counts, clause, decided.source_at)
            change.put_in(decided.rows())
    part = change.part()
    if part is None:
        return None
    part = replace(part, changed=changed_rows(counts))
    return commit_parts(access, commit, append=part, operation=MERGE)


def _windows_of_files(
    rows: Iterable[tuple[Bucket, str, pa.Table]], at_least: int
) -> Iterator[tuple[list[tuple[Bucket, str, int]], pa.Table]]:
    """The rows of files, of so many bytes at a time: bucket, file and number of rows in their order, and the rows."""
    places: list[tuple[Bucket, str, int]] = []
    held: list[pa.Table] = []
    for bucket, file_name, table in rows:
        places.append((bucket, file_name, table.num_rows))
        held.append(table)
        if sum(table.nbytes for table in held) >= at_least:
            yield places, pa.concat_tables(held)
            places, held = [], []
    if held:
        yield places, pa.concat_tables(held)


def changed_rows(counts: Mapping[str, int]) -> ChangedRows:
    """What the clauses did, from the rows of each."""
    deleted = sum(counts.get(clause.__name__, 0) for clause in DELETES)
    added = counts.get(NotMatchedInsert.__name__, 0)
    return ChangedRows(added=added, deleted=deleted, updated=sum(counts.values()) - added - deleted)


def _count(counts: Counter[str], clause: MergeClause, chosen: Any) -> None:
    counts[type(clause).__name__] += len(chosen)


def _source_table(source: Any) -> pa.Table:
    if hasattr(source, "read") and hasattr(source, "access"):
        table: pa.Table = source.read().to_arrow()
        return table
    return gathered(source)
