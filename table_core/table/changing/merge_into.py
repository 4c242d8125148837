"""MERGE INTO: brings a source into a table, clause by clause.

Every pair of source and target row, and every row without partner, goes through the clauses of its
case in their order; the first whose condition holds decides (SQL's rule).  What comes out is
written like any other rows; in a table without key the files of changed rows are written anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, DataError
from table_core.merge.pairs import pairs_of, side_of
from table_core.table.changing.expressions import evaluate, holds
from table_core.table.changing.overwriting import open_writer
from table_core.table.changing.row_changes import RowChanges
from table_core.table.changing.row_deletes import deletes_of, refuse_deletes
from table_core.table.committing.committer import commit_parts, find_commit
from table_core.table.reading.file_reader import POSITION_COLUMN
from table_core.table.reading.scan import batch_scan
from table_core.table.results import ResultDocument
from table_core.table.writing.coerce import batches_of, cast_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.access import TableAccess
    from table_core.table.results import Commit, CommitAs

__all__ = [
    "MatchedDelete",
    "MatchedUpsert",
    "MergeClause",
    "NotMatchedBySourceDelete",
    "NotMatchedBySourceUpsert",
    "NotMatchedInsert",
    "asking",
    "columns_of",
    "deletes",
    "described",
    "merge_into",
    "needs_source",
    "needs_target",
    "refuse_absent",
    "refuse_clauses",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedUpsert:
    """Where source and target agree: write ``values``, or every source column of the same name.

    ``values`` maps a target column to SQL over ``source.x`` and ``target.x``; columns that it does
    not name keep their target value.  ``condition`` is SQL over the same names.
    """

    values: Mapping[str, str] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedDelete:
    """Where source and target agree: delete the target row."""

    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMatchedInsert:
    """A source row without target: insert it, or ``values``."""

    values: Mapping[str, str] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMatchedBySourceUpsert:
    """A target row without source: write ``values``, SQL over ``target.x``."""

    values: Mapping[str, str]
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMatchedBySourceDelete:
    """A target row without source: delete it."""

    condition: str | None = None


MergeClause: TypeAlias = (
    MatchedUpsert
    | MatchedDelete
    | NotMatchedInsert
    | NotMatchedBySourceUpsert
    | NotMatchedBySourceDelete
)
_DELETES: Final = (MatchedDelete, NotMatchedBySourceDelete)
_ONLY_TARGET: Final = (NotMatchedBySourceUpsert, NotMatchedBySourceDelete)


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
    started_ms = access.clock.now_ms()
    refuse_clauses(access, when)
    head = access.metadata.head()
    commit = asking(commit, access, source, on, when)
    landed = find_commit(access, commit)
    counts: dict[str, int] = {}
    done = landed
    if landed is None:
        columns, rows = columns_of(access, on), _source_table(source)
        if access.schema.is_key_table:
            done = _write_versions(access, rows, columns, when, commit, counts)
        else:
            done = _rewrite(access, rows, columns, when, commit, counts)
    return described(access, head, done, counts, started_ms)


def asking(
    commit: CommitAs,
    access: TableAccess,
    source: object,
    on: Sequence[str] | Mapping[str, str],
    when: Sequence[MergeClause],
) -> CommitAs:
    """``commit``, with this merge as what it asks for; rows of the source do not belong to it."""
    name = source.access.name if hasattr(source, "access") else None
    told = source if isinstance(source, str) else name
    return commit.asking(
        "merge-into", access.branch, source=told, on=columns_of(access, on), when=list(when)
    )


def refuse_clauses(access: TableAccess, when: Sequence[MergeClause]) -> None:
    """Refuse a merge that cannot change anything, or deletes where a ``-D`` takes no row away.

    Raises:
        ArgumentError: no clause.
        NotFoundError: a clause sets a column that the table has not.
        UnsupportedFeatureError: a clause deletes, and the table does not.
    """
    if not when:
        raise ArgumentError("merge_into without a clause changes nothing", argument="when")
    for clause in when:
        access.schema.select(getattr(clause, "values", None) or ())  # refuses unknown columns
    if access.schema.is_key_table and any(map(deletes, when)):
        refuse_deletes(access.schema)


def refuse_absent(on: Mapping[str, str], source: Sequence[str]) -> None:
    """Refuse a merge on columns that the source has not."""
    missing = [name for name in on.values() if name not in source]
    if missing:
        raise ArgumentError(
            f"on: the source has no column {missing}; it has {source}",
            argument="on",
            value=missing,
        )


def needs_target(clause: MergeClause) -> bool:
    """Whether there must be a target row."""
    return not isinstance(clause, NotMatchedInsert)


def needs_source(clause: MergeClause) -> bool:
    """Whether there must be a source row."""
    return not isinstance(clause, _ONLY_TARGET)


def deletes(clause: MergeClause) -> bool:
    """Whether the target row goes."""
    return isinstance(clause, _DELETES)


def described(
    access: TableAccess,
    head: Snapshot | None,
    done: Commit | None,
    counts: Mapping[str, int],
    started_ms: int,
) -> ResultDocument:
    """What a merge did; ``counts`` are rows by clause."""
    return ResultDocument(
        action="merge-into",
        table=access.name,
        snapshot_before=head.id if head else None,
        snapshot_after=(done.snapshot_id if done else None) or (head.id if head else None),
        rows_written=sum(counts.values()),
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        details={"rows_by_clause": dict(counts), "replayed": bool(done and done.replayed)},
    )


def _write_versions(
    access: TableAccess,
    source: pa.Table,
    on: Mapping[str, str],
    when: tuple[MergeClause, ...],
    commit: CommitAs,
    counts: dict[str, int],
) -> Commit:
    """Key table: what the clauses say is written as new versions of the rows."""
    pairs = _Pairs.of(access, batch_scan(access).to_arrow(), source, on)
    with open_writer(access, commit, None) as writer:
        for clause, chosen in pairs.through(when):
            _count(counts, clause, chosen)
            writer.write(pairs.rows(clause, chosen))
        return writer.commit()


def _rewrite(
    access: TableAccess,
    source: pa.Table,
    on: Mapping[str, str],
    when: tuple[MergeClause, ...],
    commit: CommitAs,
    counts: dict[str, int],
) -> Commit | None:
    """Table without key: files whose rows change are written anew, the new rows beside them."""
    change = RowChanges(access, access.metadata.head())
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
        if not isinstance(clause, _DELETES):
            change.put_in(pairs.rows(clause, chosen).drop_columns([ROW_KIND_COLUMN]))
    part = change.part()
    return None if part is None else commit_parts(access, commit, append=part)


def _count(counts: dict[str, int], clause: MergeClause, chosen: Any) -> None:
    name = type(clause).__name__
    counts[name] = counts.get(name, 0) + len(chosen)


def _source_table(source: Any) -> pa.Table:
    if hasattr(source, "read") and hasattr(source, "access"):
        found: pa.Table = source.read().to_arrow()
        return found
    tables = list(batches_of(source))
    return pa.concat_tables(tables) if tables else pa.table({})


def columns_of(access: TableAccess, on: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Target column to source column."""
    pairs = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if not pairs:
        raise ArgumentError("on: name the columns that must be equal", argument="on", value=on)
    access.schema.select(pairs)  # refuses unknown columns by name
    return pairs


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
        refuse_absent(on, source.column_names)
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
        found = []
        for clause in when:
            mine = waiting & self._case(clause)
            chosen = np.flatnonzero(mine)
            if clause.condition is not None and len(chosen):
                chosen = chosen[holds(clause.condition, self._both(chosen))]
            waiting[chosen] = False
            if len(chosen):
                found.append((clause, chosen))
        return found

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
        """What ``clause`` writes for the pairs ``chosen``, with ``_ROW_KIND``."""
        if deletes(clause):
            rows = self.target.take(pa.array(self.target_at[chosen]))
            return _with_kind(deletes_of(self.access.schema, rows), "-D")
        updates = needs_target(clause)
        both = self._both(chosen)
        columns: dict[str, Any] = {}
        for field in self.access.schema.fields:
            column = _value(clause, field.name, both)
            if column is None and updates:
                column = both["target"][field.name]
            if column is not None:
                columns[field.name] = column
        return _with_kind(pa.table(columns), "+U" if updates else "+I")


def _value(clause: MergeClause, column: str, both: Mapping[str, pa.Table]) -> Any:
    """What ``clause`` writes into ``column``; None if it says nothing."""
    values = getattr(clause, "values", None)
    if values is not None:
        return evaluate(values[column], both) if column in values else None
    source = both["source"]
    return source[column] if column in source.column_names else None


def _with_kind(rows: pa.Table, kind: str) -> pa.Table:
    return rows.append_column(ROW_KIND_COLUMN, pa.repeat(pa.scalar(kind), rows.num_rows))
