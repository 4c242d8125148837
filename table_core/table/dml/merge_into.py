"""MERGE INTO: brings a source into a table, clause by clause.

Every pair of source and target row, and every row without partner, goes through the clauses of its
case in their order; the first whose condition holds decides (SQL's rule).  What comes out is
written like any other rows; in a table without key the files of changed rows are written anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.commit.request import ChangedRows
from table_core.datatypes.arrow import arrow_schema
from table_core.errors import DataError
from table_core.merge.pairs import pairs_of, side_of
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.dml.expressions import evaluate, holds
from table_core.table.dml.key_changes import changes_of, target_rows, wanted_rows
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
from table_core.table.dml.overwrite import Reads, open_writer
from table_core.table.dml.postponed_rows import in_buckets, spreads_first
from table_core.table.dml.redo import done_again
from table_core.table.dml.row_changes import RowChanges
from table_core.table.files.file_reader import POSITION_COLUMN
from table_core.table.metadata.describing import committed
from table_core.table.read.committed_rows import committed_rows, refuse_fallback_rows
from table_core.table.write.coerce import cast_column, gathered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
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
    landed = find_commit(access, commit)
    if landed is not None:
        return described(access, access.head(), landed, {}, access.clock.now_ms())
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
    names = [field.name for field in access.schema.fields]
    target = committed_rows(access, head).to_arrow().select(names)
    pairs = _Pairs.of(access, target, rows, columns)
    counts = Counter[str]()
    for clause, chosen in pairs.through(when):
        _count(counts, clause, chosen)
        if not deletes(clause):
            pairs.rows(clause, chosen)
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
    target, deleted = target_rows(access, head)
    pairs = _Pairs.of(access, target, source, on)
    touched = [np.zeros(0, np.int64)]
    updated: list[pa.Table] = []
    inserted: list[pa.Table] = []
    for clause, chosen in pairs.through(when):
        _count(counts, clause, chosen)
        if needs_target(clause):
            touched.append(pairs.target_at[chosen])
        if not deletes(clause):
            (updated if needs_target(clause) else inserted).append(pairs.rows(clause, chosen))
    changes = changes_of(access, target, deleted, np.concatenate(touched), updated, inserted)
    with open_writer(access.for_whole_rows(), commit, None, Reads.of(MERGE, head)) as writer:
        for rows in changes.written():
            writer.write(rows)
        return writer.commit()


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
    change = RowChanges(access.for_whole_rows(), head)
    places, tables = [], [arrow_schema(access.schema.fields).empty_table()]
    positions: list[Any] = [np.zeros(0, np.int64)]
    for bucket, file_name, rows in change.rows():
        places.append((bucket, file_name, rows.num_rows))
        positions.append(rows[POSITION_COLUMN].to_numpy())
        tables.append(rows.drop_columns([POSITION_COLUMN]))
    position, stops = np.concatenate(positions), np.cumsum([count for *_, count in places])
    pairs = _Pairs.of(access, pa.concat_tables(tables), source, on)
    for clause, chosen in pairs.through(when):
        _count(counts, clause, chosen)
        if not isinstance(clause, NotMatchedInsert):
            gone = pairs.target_at[chosen]
            place = np.searchsorted(stops, gone, "right")
            for number in np.unique(place).tolist():
                bucket, file_name, _ = places[number]
                change.take_out(bucket, file_name, position[gone[place == number]])
        if not isinstance(clause, DELETES):
            change.put_in(pairs.rows(clause, chosen))
    part = change.part()
    if part is None:
        return None
    part = replace(part, changed=changed_rows(counts))
    return commit_parts(access, commit, append=part, operation=MERGE)


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


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Source and target rows side by side: matched ones, then those without a partner."""

    access: TableAccess
    target: pa.Table
    source: pa.Table
    target_at: Any
    """Row of the target in each pair, -1 for none."""
    source_at: Any

    @classmethod
    def of(
        cls, access: TableAccess, target: pa.Table, source: pa.Table, on: Mapping[str, str]
    ) -> _Pairs:
        names = source.column_names
        on = {mine: source_column(names, theirs) or theirs for mine, theirs in on.items()}
        refuse_absent(on, names)
        left = pa.table({n: target[n] for n in on})
        right = pa.table({n: cast_column(access.schema.field(n), source[s]) for n, s in on.items()})
        pairs = cls(access, target, source, *pairs_of(left, right, "full outer"))
        pairs.refuse_ambiguous(on)
        return pairs

    def refuse_ambiguous(self, on: Mapping[str, str]) -> None:
        matched = self.target_at[(self.target_at >= 0) & (self.source_at >= 0)]
        values, counts = np.unique(matched, return_counts=True)
        if (counts > 1).any():
            at = int(values[np.argmax(counts > 1)])
            key = {name: str(self.target[name][at]) for name in on}
            raise DataError(
                f"several source rows match the target row {key}; make the source unique on "
                f"{list(on.values())}",
                column=next(iter(on)),
                row=at,
                value=key,
            )

    def through(self, when: tuple[MergeClause, ...]) -> list[tuple[MergeClause, Any]]:
        """The pairs that each clause decides, by number."""
        waiting = np.ones(len(self.target_at), dtype=bool)
        decisions = []
        for clause in when:
            mine = waiting & self._case(clause)
            chosen = np.flatnonzero(mine)
            if clause.condition is not None and len(chosen):
                chosen = chosen[holds(clause.condition, self._both(chosen))]
            waiting[chosen] = False
            if len(chosen):
                decisions.append((clause, chosen))
        return decisions

    def _case(self, clause: MergeClause) -> Any:
        there = (self.target_at >= 0) == needs_target(clause)
        return there & ((self.source_at >= 0) == needs_source(clause))

    def _both(self, chosen: Any) -> dict[str, pa.Table]:
        """The two sides of pairs, as tables of one length; nulls where there is no partner."""
        sides = (("target", self.target, self.target_at), ("source", self.source, self.source_at))
        both = {}
        for name, rows, at in sides:
            both[name] = side_of(rows, at[chosen])
        return both

    def rows(self, clause: MergeClause, chosen: Any) -> pa.Table:
        """The rows that ``clause`` wants for the pairs ``chosen``, whole, in the table's types."""
        updates = needs_target(clause)
        both = self._both(chosen)
        columns: dict[str, Any] = {}
        for field in self.access.schema.fields:
            column = self._value(clause, field.name, both)
            if column is None and updates:
                column = both["target"][field.name]
            if column is not None:
                columns[field.name] = column
        return wanted_rows(self.access, pa.table(columns), inserted=not updates)

    def _value(self, clause: MergeClause, column: str, both: Mapping[str, pa.Table]) -> Any:
        """What ``clause`` writes into ``column``; None if it says nothing."""
        values = getattr(clause, "values", None)
        if values is not None:
            return evaluate(values[column], both) if column in values else None
        name = source_column(self.source.column_names, column)
        return None if name is None else both["source"][name]
