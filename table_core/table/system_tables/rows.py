"""System tables of rows: the audit log, the binlog, the read-optimized table, and that of row ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.kinds import Array
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import UnsupportedFeatureError
from table_core.merge.ordinal import single_chunk
from table_core.options import keys_commit, keys_scan
from table_core.scan.follow import Levels
from table_core.scan.time_travel import resolve
from table_core.schema.table_schema import TRACKING_FIELDS
from table_core.table.files.row_form import RowForm
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.read.batch_scan import batch_scan
from table_core.table.read.changes import asked_range, changes_of_range
from table_core.table.read.chosen_partitions import chosen_partitions, refuse_chosen_partitions
from table_core.table.read.following import follow
from table_core.table.read.scan import Scan
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import StatePlanner, refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.datatypes.kinds import Field
    from table_core.scan.split import Split
    from table_core.table.metadata.access import TableAccess
    from table_core.table.read.scan import RowReader

__all__ = ["audit_log", "binlog", "follow_log", "read_optimized", "row_tracking"]

_KIND: Final = "rowkind"
_BEFORE: Final = "-U"


def audit_log(access: TableAccess) -> Scan:
    """``$audit_log``: every key with the kind that merging leaves, retracts too.

    Where options ask for a range of snapshots, the changes in it.
    """
    return _log(access, binlog=False)


def binlog(access: TableAccess) -> Scan:
    """``$binlog``: as ``$audit_log``, each column an array.

    Arrays have one element, in a range of snapshots two where a row was updated: what it was, and is.
    """
    return _log(access, binlog=True)


def follow_log(
    access: TableAccess,
    name: str,
    *,
    after: int | None,
    consumer: str | None,
    poll_seconds: float | None,
) -> Iterator[pa.Table]:
    """The changes of ``audit_log`` or ``binlog`` for ever, as ``Table.follow`` starts and goes on."""
    refuse_unreadable(access)
    with_number = _with_number(access)

    def shown(reader: RowReader) -> RowReader:
        renamed = _Renamed(reader)
        return _Arrays(renamed, pairs=True, plain=1 + with_number) if name == "binlog" else renamed

    return follow(
        access,
        after=after,
        consumer=consumer,
        poll_seconds=poll_seconds,
        shown=shown,
        with_number=with_number,
        begins=RowForm.AUDIT,
    )


def read_optimized(access: TableAccess) -> Scan:
    """``$ro``: files of the highest level only, which need no merging; append tables whole."""
    if not access.schema.is_key_table:
        return batch_scan(access)
    refuse_unreadable(access)
    state = resolve(access.options, TableTimeline(access)).snapshot
    keeps = chosen_partitions(access, state)
    planner = StatePlanner(access=access, levels=Levels.TOP, keeps_partition=keeps)
    reader = SplitReader(access=access, fields=access.schema.fields)
    return Scan(reader, lambda: planner.plan(state))


def row_tracking(access: TableAccess) -> Scan:
    """``$row_tracking``: every row with its id, and the number of the snapshot that wrote it.

    Raises:
        UnsupportedFeatureError: rows of the table have no ids.
    """
    if not access.options.get(keys_commit.ROW_TRACKING_ENABLED):
        raise UnsupportedFeatureError(
            f"rows of {access.name} have no ids: row-tracking.enabled is false, which only a new "
            "table can change",
            feature="row-tracking",
        )
    return batch_scan(access).read_by(_Tracked)


def _log(access: TableAccess, *, binlog: bool) -> Scan:
    refuse_unreadable(access)
    with_number = _with_number(access)
    asked = asked_range(access)
    if asked is not None:
        refuse_chosen_partitions(access, "a range of changes")
        inner = changes_of_range(access, asked, with_number=with_number)
    else:
        state = resolve(access.options, TableTimeline(access)).snapshot
        keeps = chosen_partitions(access, state)
        planner = StatePlanner(access=access, keeps_partition=keeps)
        reader = SplitReader(
            access=access,
            fields=access.schema.fields,
            form=RowForm.AUDIT,
            with_number=with_number,
        )
        inner = Scan(reader, lambda: planner.plan(state))
    shown: RowReader = _Renamed(inner.reader)
    if binlog:
        shown = _Arrays(shown, pairs=asked is not None, plain=1 + with_number)
    return inner.shown_by(shown)


def _with_number(access: TableAccess) -> bool:
    """Whether rows show their sequence number, which those of append tables do not have."""
    wanted = access.options.get(keys_scan.TABLE_READ_SEQUENCE_NUMBER_ENABLED)
    if wanted and not access.schema.is_key_table:
        raise UnsupportedFeatureError(
            f"{access.name} has no primary key, so its rows have no sequence numbers; set "
            "table-read.sequence-number.enabled to false",
            feature="table-read.sequence-number.enabled without a primary key",
        )
    return wanted


@dataclass(frozen=True, slots=True)
class _Tracked:
    """Shows ids and sequence numbers behind the columns of an append table."""

    reader: SplitReader

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*self.reader.fields, *TRACKING_FIELDS)

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.fields

    def schema(self) -> pa.Schema:
        return arrow_schema(self.fields)

    def read(self, split: Split) -> Iterator[pa.Table]:
        files = replace(self.reader.file_reader(split), tracks=True)
        for file in split.files:
            for batch in files.read(file):
                yield pa.Table.from_batches([batch])


@dataclass(frozen=True, slots=True)
class _Renamed:
    """Calls the kind what Paimon calls it here."""

    reader: RowReader

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.reader.fields

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.reader.condition_fields

    def schema(self) -> pa.Schema:
        schema = self.reader.schema()
        at = schema.get_field_index(ROW_KIND_COLUMN)
        return schema.set(at, pa.field(_KIND, pa.string()))

    def read(self, split: Split) -> Iterator[pa.Table]:
        for table in self.reader.read(split):
            yield pa.Table.from_arrays(table.columns, schema=self.schema())


@dataclass(frozen=True, slots=True)
class _Arrays:
    """Puts every value into an array; with ``pairs`` ``-U`` and the row after it into one."""

    reader: RowReader
    pairs: bool
    plain: int
    """Columns at the beginning that stay as they are."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(replace(f, type=Array(f.type)) for f in self.reader.fields)

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.fields

    def schema(self) -> pa.Schema:
        fields = list(self.reader.schema())
        lists = [pa.field(f.name, pa.list_(f.with_nullable(True))) for f in fields[self.plain :]]
        return pa.schema([*fields[: self.plain], *lists])

    def read(self, split: Split) -> Iterator[pa.Table]:
        schema, left = self.schema(), None
        for table in self.reader.read(split):
            rows = table if left is None else pa.concat_tables([left, table])
            left = None
            if self.pairs and rows.num_rows and rows[_KIND][-1].as_py() == _BEFORE:
                left, rows = rows.slice(rows.num_rows - 1), rows.slice(0, rows.num_rows - 1)
            if rows.num_rows:
                yield self._packed(rows.combine_chunks(), schema)
        if left is not None:
            yield self._packed(left.combine_chunks(), schema)

    def _packed(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        ends = np.ones(rows.num_rows, np.bool_)
        if self.pairs:
            kinds = single_chunk(rows[_KIND]).to_numpy(zero_copy_only=False)
            ends = np.asarray(kinds != _BEFORE, np.bool_)
            ends[-1] = True
        last = np.flatnonzero(ends)
        offsets = pa.array(np.concatenate([np.zeros(1, np.int64), last + 1]), pa.int32())
        columns = []
        for at, field in enumerate(schema):
            column = single_chunk(rows.column(at))
            if at < self.plain:
                columns.append(column.take(pa.array(last)))
            else:
                columns.append(pa.ListArray.from_arrays(offsets, column, type=field.type))
        return pa.Table.from_arrays(columns, schema=schema)
