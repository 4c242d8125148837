"""Rows that get their computed columns before they are written.

A computed column is true as long as all rows of its table come this way, whole: what would write it
otherwise is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from table_core.cdc.model.computed import ComputedColumn, computed_columns
from table_core.cdc.model.fit import computed_values
from table_core.datatypes.arrow import arrow_type
from table_core.errors import ArgumentError, DataError
from table_core.options import keys_merge
from table_core.table.write.coerce import stored_column
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.schema.table_schema import TableSchema

__all__ = ["ComputedRows", "computed_problems"]

_OF_PARTS: Final = frozenset({"partial-update", "aggregation"})
"""Engines that make a row of the parts of several."""


def computed_problems(
    columns: Sequence[ComputedColumn], schema: TableSchema
) -> Iterator[tuple[str, str]]:
    """Computed columns that the table cannot keep true: each with what is wrong."""
    fields, names = schema.by_name, {column.name for column in columns}
    engine = schema.options.get(keys_merge.MERGE_ENGINE) if schema.is_key_table else None
    for column in columns:
        source = column.argument
        if engine in _OF_PARTS:
            yield (
                column.name,
                f"merge-engine {engine} makes a row of the parts of several, and what was computed of a "
                "part is not true of the row: compute it in the SQL that reads the table",
            )
        if column.name not in fields:
            yield column.name, f"the table has no such column; it has {', '.join(fields)}"
            continue
        if source is not None and source not in fields:
            yield column.name, f"there is no column {source!r}; there are {', '.join(fields)}"
            continue
        if source in names:
            problem = f"{source!r} is computed itself: compute it from the columns that are given"
            yield column.name, problem
            continue
        if column.function == "now" and column.name in {
            *schema.primary_keys,
            *schema.partition_keys,
        }:
            yield column.name, "now() differs each time, so rows of one key would not meet: no key"
        if fields[column.name].default is not None:
            yield column.name, "a computed column is always given: leave out its default"
        if problem := _misfit(column, fields):
            yield column.name, problem


def _misfit(column: ComputedColumn, fields: Mapping[str, Field]) -> str:
    """Why the function does not take its column, or gives what the column does not hold."""
    source, field = column.argument, fields[column.name]
    rows = pa.table(
        {} if source is None else {source: pa.array([], arrow_type(fields[source].type))}
    )
    try:
        column.values(rows, field.type, 0)
    except UNFORESEEN as error:
        of = "" if source is None else f" of {source} {arrow_type(fields[source].type)}"
        return f"{column.function}{of} does not make {arrow_type(field.type)}: {error}"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedRows:
    """Adds computed columns to rows as they are given for one table."""

    columns: tuple[tuple[ComputedColumn, Field], ...]
    sources: Mapping[str, Field]
    now_ms: int

    @classmethod
    def of(cls, texts: Sequence[str], schema: TableSchema, now_ms: int) -> Self:
        """For ``name=function(column, literal …)``; ``now_ms`` is what ``now()`` is in all rows.

        Raises:
            ArgumentError: one is none, or the table cannot keep it true.
        """
        columns = computed_columns(texts)
        for name, problem in computed_problems(columns, schema):
            raise ArgumentError(
                f"computed column {name!r}: {problem}", argument="computed_columns", value=name
            )
        used = {column.argument for column in columns}
        return cls(
            columns=tuple((column, schema.by_name[column.name]) for column in columns),
            sources={f.name: f for f in schema.fields if f.name in used},
            now_ms=now_ms,
        )

    @property
    def names(self) -> frozenset[str]:
        """The columns that are computed."""
        return frozenset(column.name for column, _ in self.columns)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The same, with their types, in the order in which they are added."""
        return tuple(field for _, field in self.columns)

    def require_absent(self, names: Sequence[str]) -> None:
        """Refuse rows that bring a computed column.

        Raises:
            DataError: they do.
        """
        for name in names:
            if name in self.names:
                raise DataError(
                    f"column {name!r} is computed, and the rows have it too: leave it out of them",
                    column=name,
                )

    def added(self, rows: pa.Table | pa.RecordBatch, first_row: int = 0) -> pa.Table:
        """``rows`` with the columns, each computed from what is stored of its source.

        Shape: ``rows[n]`` to ``rows[n]`` and the columns behind.

        Raises:
            DataError: the rows have one already, or a value cannot be computed; says of which row.
        """
        self.require_absent(rows.schema.names)
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        there = set(table.column_names)
        stored = {
            name: stored_column(
                field, table[name] if name in there else None, len(table), first_row
            )
            for name, field in self.sources.items()
        }
        sources = pa.table(stored) if stored else pa.table({"": pa.nulls(len(table))})
        for column, field in self.columns:
            computed = computed_values(column, sources, field.type, self.now_ms)
            for row, why in computed.unfit.items():
                raise DataError(
                    f"column {column.name!r}, row {first_row + row}: cannot be computed: {why}",
                    column=column.name,
                    row=first_row + row,
                )
            table = table.append_column(column.name, computed.values)
        return table
