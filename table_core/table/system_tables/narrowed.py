"""Part of what a system table shows: some of its columns, the rows that meet a condition, a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.datatypes.arrow import arrow_field, fields_from_arrow
from table_core.predicate.to_arrow import rows_that_meet
from table_core.schema.members import picked
from table_core.schema.table_schema import TableSchema
from table_core.table.read.scan import (
    MemoryScan,
    Scan,
    bound_where,
    refuse_negative,
    selected_fields,
)
from table_core.table.system_tables.partition_listing import PartitionListing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.predicate.bound import Bound
    from table_core.predicate.expression import Expression
    from table_core.scan.split import Split
    from table_core.table.read.scan import RowReader

__all__ = ["narrowed", "narrowed_tables"]


def narrowed(
    scan: Scan,
    columns: Sequence[str] | None,
    where: str | Expression | None,
    limit: int | None,
) -> Scan:
    """``columns`` of at most ``limit`` rows of ``scan`` for which ``where`` holds.

    Raises:
        ArgumentError: ``limit`` is negative.
        NotFoundError: no such column.
        PredicateError: ``where`` does not parse or does not fit.
    """
    refuse_negative(limit)
    part = _Part.of_columns(scan.schema, columns, where)
    if isinstance(scan, PartitionListing) and part.where is not None:
        scan = scan.of(part.where)
    if isinstance(scan, MemoryScan):
        return MemoryScan(part.of(scan.to_arrow()).slice(0, limit))
    return scan.shown_by(_Narrowed(scan.reader, part, fields_from_arrow(scan.schema)), limit=limit)


def narrowed_tables(
    tables: Iterable[pa.Table], schema: pa.Schema, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """``columns`` of ``tables`` of ``schema``.

    Raises:
        NotFoundError: no such column.
    """
    part = _Part.of_columns(schema, columns, None)
    return map(part.of, tables)


@dataclass(frozen=True, slots=True)
class _Part:
    """Which columns of which rows."""

    fields: tuple[Field, ...]
    where: Bound | None

    @classmethod
    def of_columns(
        cls, shown: pa.Schema, columns: Sequence[str] | None, where: str | Expression | None
    ) -> _Part:
        schema = TableSchema(id=0, fields=fields_from_arrow(shown), highest_field_id=-1)
        return cls(selected_fields(schema, columns), bound_where(schema, where))

    def of(self, rows: pa.Table) -> pa.Table:
        kept = rows if self.where is None else rows_that_meet(self.where, rows)
        if not self.fields:
            return kept.select([])  # which knows how many rows there are
        columns = [picked(kept, field) for field in self.fields]
        return pa.Table.from_arrays(columns, schema=self.schema(kept.schema))

    def schema(self, whole: pa.Schema) -> pa.Schema:
        """Of rows that come as ``whole``."""
        own = set(whole.names)
        return pa.schema(
            whole.field(f.name) if f.name in own else arrow_field(f) for f in self.fields
        )


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Shows a part of what another reader gives."""

    reader: RowReader
    part: _Part
    condition_fields: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.part.fields

    def schema(self) -> pa.Schema:
        return self.part.schema(self.reader.schema())

    def read(self, split: Split) -> Iterator[pa.Table]:
        for table in self.reader.read(split):
            rows = self.part.of(table)
            if rows.num_rows:
                yield rows
