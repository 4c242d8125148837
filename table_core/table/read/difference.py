"""The state at one snapshot against the state at another: one row a key that differs.

The kind is the one stored with the newest version, and ``-D`` for a key that is gone; there is no
``-U``.  Append tables give the rows of the files that were added.  Buckets are compared one by one, both
states streamed side by side in key order.

Source: ``org.apache.paimon.table.source.splitread.IncrementalDiffSplitRead``; format 9.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.changelog.diff import state_changes
from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import KIND_COLUMN, KIND_TEXTS, ROW_KIND_COLUMN, SEQUENCE_COLUMN
from table_core.merge.engines.kway import merge_runs
from table_core.merge.sort import KeyOrder
from table_core.ondisk.data_file import EntryKind
from table_core.predicate.to_arrow import rows_that_meet
from table_core.scan.incremental import changed_buckets
from table_core.scan.plan import ScanPlan, live_entries
from table_core.scan.prune import Pruner
from table_core.scan.split import Split
from table_core.schema.members import picked
from table_core.schema.table_schema import SEQUENCE_FIELD
from table_core.table.files.row_form import RowForm
from table_core.table.read.scan import Scan, bound_where, selected_fields
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import deletions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.merge.runs import Runs
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.predicate.expression import Expression
    from table_core.table.metadata.access import TableAccess

__all__ = ["difference_scan"]

_STORED: Final = "_STORED_KIND"
_IS_AFTER: Final = "_IS_AFTER"
_KINDS: Final = pa.array(KIND_TEXTS)
_ADDS: Final = pa.array([0, 2], pa.int8())


def difference_scan(
    access: TableAccess,
    first: int | Snapshot,
    last: int | Snapshot,
    *,
    columns: Sequence[str] | None,
    where: str | Expression | None,
    with_kind: bool = True,
    with_number: bool = False,
) -> Scan:
    """What differs at snapshot ``last`` from snapshot ``first``; number 0 is the empty table.

    Without ``with_kind`` vanished keys are left out, and so is ``_ROW_KIND``.

    Raises:
        NotFoundError: one of them has expired.
    """
    states = [
        (access.metadata.snapshot(end) if end else None) if isinstance(end, int) else end
        for end in (first, last)
    ]
    bound = bound_where(access.schema, where)
    fields = selected_fields(access.schema, columns)
    planner = _Planner(access, bound)
    form = RowForm.CHANGES if with_kind else RowForm.STATE
    if not access.schema.is_key_table:
        plain = SplitReader(access=access, fields=fields, where=bound, form=form)
        return Scan(plain, lambda: planner.added(states[0], states[1]))
    reader = _Comparing(
        SplitReader(access=access, fields=access.schema.fields),
        fields,
        bound,
        with_kind=with_kind,
        with_number=with_number,
    )
    return Scan(reader, lambda: planner.pairs(states[0], states[1]))


@dataclass(frozen=True, slots=True)
class _Planner:
    """Finds the buckets that differ.  Values prune nothing: a row may have had others before."""

    access: TableAccess
    where: Bound | None

    def pairs(self, before: Snapshot | None, after: Snapshot | None) -> ScanPlan:
        """Splits of the newer state, each with that of the older one."""
        pruner = self._pruner()
        old, new = (self._live(pruner, state) for state in (before, after))
        buckets = changed_buckets(old, new)
        splits = (
            replace(self._split(diff.after, after), before=self._split(diff.before, before))
            for diff in buckets
        )
        return ScanPlan(tuple(splits), pruner.explain())

    def added(self, before: Snapshot | None, after: Snapshot | None) -> ScanPlan:
        """Splits of the files that an append table has got."""
        pruner = self._pruner()
        old, new = (self._live(pruner, state) for state in (before, after))
        added = (diff.after for diff in changed_buckets(old, new) if diff.after)
        return ScanPlan(tuple(self._split(files, after) for files in added), pruner.explain())

    def _pruner(self) -> Pruner:
        access = self.access
        return Pruner(
            access.schema,
            access.options,
            self.where,
            schema_of=access.metadata.schema,
            batch=False,  # level 0 too, even where batch reads wait for its compaction
        )

    def _live(self, pruner: Pruner, snapshot: Snapshot | None) -> list[ManifestEntry]:
        if snapshot is None:
            return []
        metadata = self.access.metadata
        return [
            entry
            for entry in live_entries(
                pruner,
                metadata.data_manifests(snapshot),
                metadata.manifests,
            )
            if entry.kind is EntryKind.ADD and entry.bucket >= 0
        ]

    def _split(self, entries: Sequence[ManifestEntry], snapshot: Snapshot | None) -> Split:
        vectors = deletions_of(self.access, snapshot) if snapshot is not None else None
        files = tuple(sorted((e.file for e in entries), key=lambda f: f.min_sequence_number))
        one = entries[0] if entries else None
        return Split(
            partition=one.partition if one else b"",
            bucket=one.bucket if one else 0,
            total_buckets=one.total_buckets if one else 0,
            files=files,
            raw_convertible=False,
            snapshot_id=snapshot.id if snapshot else 0,
            deletions={f.file_name: vectors[f.file_name] for f in files if f.file_name in vectors}
            if vectors
            else {},
        )


@dataclass(frozen=True, slots=True)
class _Comparing:
    """Reads a bucket of both states and gives what differs."""

    reader: SplitReader
    fields: tuple[Field, ...]
    where: Bound | None
    with_kind: bool
    with_number: bool = False

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.reader.condition_fields

    def schema(self) -> pa.Schema:
        schema = arrow_schema((*((SEQUENCE_FIELD,) if self.with_number else ()), *self.fields))
        if not self.with_kind:
            return schema
        return pa.schema([pa.field(ROW_KIND_COLUMN, pa.string(), nullable=False), *schema])

    def read(self, split: Split) -> Iterator[pa.Table]:
        sides = [self._side(split, is_after=True)]
        if split.before is not None:
            sides.append(self._side(split.before, is_after=False))
        key = self.reader.access.schema.trimmed_primary_keys
        for table in merge_runs(sides, _Net(KeyOrder(key))):
            rows = table
            if not self.with_kind:
                rows = rows.filter(pc.is_in(rows[KIND_COLUMN], value_set=_ADDS))
            if self.where is not None and rows.num_rows:
                rows = rows_that_meet(self.where, rows)
            if rows.num_rows:
                yield self._result(rows)

    def _side(self, split: Split, *, is_after: bool) -> Iterator[pa.RecordBatch]:
        for table in self.reader.keyed(split):
            at = table.schema.get_field_index(KIND_COLUMN)
            there = pa.array(np.zeros(table.num_rows, np.int8))  # merging must not see a retract
            marked = (
                table.set_column(at, table.schema.field(at), there)
                .append_column(_STORED, table[KIND_COLUMN])
                .append_column(_IS_AFTER, pa.repeat(is_after, table.num_rows))
            )
            yield from marked.combine_chunks().to_batches()

    def _result(self, rows: pa.Table) -> pa.Table:
        columns = [picked(rows, field) for field in self.fields]
        if self.with_number:
            columns.insert(0, rows[SEQUENCE_COLUMN])
        if self.with_kind:
            columns.insert(0, _KINDS.take(rows[KIND_COLUMN].combine_chunks()))
        return pa.Table.from_arrays(columns, schema=self.schema())


@dataclass(frozen=True, slots=True)
class _Net:
    """A merge engine over both states: what is left of a key is its difference."""

    order: KeyOrder

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        return tuple(projected)

    def merge(self, rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(KIND_COLUMN)
        stored = rows.set_column(at, rows.schema.field(at), rows[_STORED]).drop_columns([_STORED])
        before, after = (
            stored.filter(side).drop_columns([_IS_AFTER])
            for side in (pc.invert(rows[_IS_AFTER]), rows[_IS_AFTER])
        )
        return state_changes(before, after, self.order.key)

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:  # noqa: ARG002 - rows say it all
        return self.merge(rows)
