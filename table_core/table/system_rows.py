"""System tables of rows: the audit log, the binlog, and the read-optimized table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.datatypes.kinds import Array
from table_core.datatypes.row_kind import ROW_KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import UnsupportedFeatureError
from table_core.options import keys_scan
from table_core.scan.follow import Levels
from table_core.scan.time_travel import resolve
from table_core.table.scan import Scan, batch_scan
from table_core.table.split_reader import RowForm, SplitReader
from table_core.table.state_plan import StatePlanner, refuse_unreadable
from table_core.table.timeline import TableTimeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.datatypes.kinds import Field
    from table_core.scan.split import Split
    from table_core.table.access import TableAccess
    from table_core.table.scan import RowReader

__all__ = ["audit_log", "binlog", "read_optimized"]

_KIND = "rowkind"


def audit_log(access: TableAccess) -> Scan:
    """``$audit_log``: every key with the kind that merging leaves, retracts too."""
    reader, planner = _audit(access)
    state = resolve(access.options, TableTimeline(access)).snapshot
    return Scan(_Renamed(reader), lambda: planner.plan(state))


def binlog(access: TableAccess) -> Scan:
    """``$binlog``: as ``$audit_log``, each column an array of one element."""
    reader, planner = _audit(access)
    state = resolve(access.options, TableTimeline(access)).snapshot
    return Scan(_Packed(_Renamed(reader)), lambda: planner.plan(state))


def read_optimized(access: TableAccess) -> Scan:
    """``$ro``: files of the highest level only, which need no merging; append tables whole."""
    if not access.schema.is_key_table:
        return batch_scan(access)
    refuse_unreadable(access)
    planner = StatePlanner(access=access, levels=Levels.TOP)
    state = resolve(access.options, TableTimeline(access)).snapshot
    reader = SplitReader(access=access, fields=access.schema.fields)
    return Scan(reader, lambda: planner.plan(state))


def _audit(access: TableAccess) -> tuple[SplitReader, StatePlanner]:
    refuse_unreadable(access)
    if access.options.get(keys_scan.TABLE_READ_SEQUENCE_NUMBER_ENABLED):
        raise UnsupportedFeatureError(
            f"{access.name}: table-read.sequence-number.enabled adds {SEQUENCE_COLUMN} to the "
            "audit log, which this release does not; read without that option",
            feature="table-read.sequence-number.enabled",
        )
    reader = SplitReader(access=access, fields=access.schema.fields, form=RowForm.AUDIT)
    return reader, StatePlanner(access=access)


@dataclass(frozen=True, slots=True)
class _Renamed:
    """Calls the kind what Paimon calls it here."""

    reader: SplitReader

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.reader.fields

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.reader.condition_fields

    def schema(self) -> pa.Schema:
        found = self.reader.schema()
        at = found.get_field_index(ROW_KIND_COLUMN)
        return found.set(at, pa.field(_KIND, pa.string()))

    def read(self, split: Split) -> Iterator[pa.Table]:
        for table in self.reader.read(split):
            yield pa.Table.from_arrays(table.columns, schema=self.schema())


@dataclass(frozen=True, slots=True)
class _Packed:
    """Puts every value into an array of its own."""

    reader: RowReader

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(replace(f, type=Array(f.type)) for f in self.reader.fields)

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.fields

    def schema(self) -> pa.Schema:
        kind, *fields = self.reader.schema()
        lists = [pa.field(f.name, pa.list_(f.with_nullable(True))) for f in fields]
        return pa.schema([kind, *(f.with_name(f.name) for f in lists)])

    def read(self, split: Split) -> Iterator[pa.Table]:
        schema = self.schema()
        for table in self.reader.read(split):
            yield from (_packed(batch, schema) for batch in table.to_batches())


def _packed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    offsets = pa.array(range(batch.num_rows + 1), pa.int32())
    columns = [batch.column(0)]
    for at in range(1, batch.num_columns):
        element = schema.field(at).type
        columns.append(pa.ListArray.from_arrays(offsets, batch.column(at), type=element))
    return pa.Table.from_arrays(columns, schema=schema)
