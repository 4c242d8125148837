"""Rows as users give them, to rows as the table stores them: lossless, or refused.

Every value that does not fit is an error that names column, row and value; nothing is truncated,
rounded or wrapped.  Defaults replace NULLs here and nowhere else (format T41).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_schema, arrow_type
from table_core.datatypes.default_value import default_value
from table_core.datatypes.kinds import MAX_LENGTH, Atomic, Field, Root
from table_core.datatypes.offsets import with_offsets
from table_core.datatypes.row_kind import KIND_COLUMN, KIND_TEXTS, ROW_KIND_COLUMN
from table_core.errors import ArgumentError, DataError
from table_core.options import keys_merge
from table_core.shortened import shortened
from table_core.table.write.fitting import changed, keeps_values, plain, without_views
from table_core.table.write.required_parts import (
    first_lack,
    has_required_parts,
    relaxed,
    with_required_parts,
)
from table_core.table.write.sound_values import refuse_unsound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.schema.table_schema import TableSchema

__all__ = [
    "batches_of",
    "cast_column",
    "coerce",
    "gathered",
    "misfit",
    "missing_value",
    "stored_column",
    "with_default",
]

_SHOWN_MAX: Final = 80
_KINDS: Final = pa.array(KIND_TEXTS)


def batches_of(data: Any) -> Iterator[pa.Table]:
    """Any Arrow-like ``data`` as tables: a table, batch, reader, dataset, ``__arrow_c_stream__``.

    Raises:
        ArgumentError: it is none of these.
    """
    return map(with_offsets, _tables_of(data))


def _tables_of(data: Any) -> Iterator[pa.Table]:
    if isinstance(data, pa.Table):
        yield data
    elif isinstance(data, pa.RecordBatch):
        yield pa.Table.from_batches([data])
    elif hasattr(data, "__arrow_c_stream__"):
        for batch in pa.RecordBatchReader.from_stream(data):
            yield pa.Table.from_batches([batch])
    elif hasattr(data, "scanner"):  # a dataset
        yield from _tables_of(data.scanner().to_reader())
    elif hasattr(data, "to_reader"):  # a scanner of one
        yield from _tables_of(data.to_reader())
    elif hasattr(data, "__arrow_c_array__"):
        yield pa.Table.from_batches([pa.record_batch(data)])
    elif hasattr(data, "__iter__") and not isinstance(data, dict | str | bytes):
        for item in data:
            yield from _tables_of(item)
    else:
        raise ArgumentError(
            f"cannot write {type(data).__name__}: give an Arrow table, batch, reader or anything "
            "with __arrow_c_stream__ (polars, duckdb, pandas ...)",
            argument="data",
            value=type(data).__name__,
        )


def gathered(data: Any) -> pa.Table:
    """All rows of ``data`` as one table, of which single rows can be taken.

    Raises:
        ArgumentError: as for ``batches_of``.
    """
    tables = list(batches_of(data))
    rows = pa.concat_tables(tables) if tables else pa.table({})
    columns = [without_views(plain(column)) for column in rows.columns]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def coerce(schema: TableSchema, rows: pa.Table, *, first_row: int = 0) -> pa.Table:
    """Bring ``rows`` to the columns and types of ``schema``, with a ``_VALUE_KIND`` column.

    Columns are matched by name, in any order; a missing nullable column is NULL or its default.
    ``first_row`` is added to row numbers in errors.

    Shape: ``rows[n]`` to ``_VALUE_KIND`` and every column of the table; ``[n]``, or fewer rows
    where ``ignore-delete`` or ``ignore-update-before`` drop some.

    Raises:
        DataError: an unknown column, a value that does not fit, or NULL where none may be.
    """
    known, names = {f.name for f in schema.fields} | {ROW_KIND_COLUMN}, rows.column_names
    unknown = [name for name in names if name not in known]
    there = set(names)
    if unknown or len(there) != len(names):
        raise DataError(
            f"columns {unknown or names} do not match the table, which has "
            f"{[f.name for f in schema.fields]}; add them with alter_table(AddColumn) first",
            column=unknown[0] if unknown else None,
        )
    columns = [
        stored_column(
            field, rows[field.name] if field.name in there else None, rows.num_rows, first_row
        )
        for field in schema.fields
    ]
    table = pa.table(columns, schema=arrow_schema(schema.fields))
    kinds = _kinds(schema, rows, table, first_row)
    table = table.add_column(0, pa.field(KIND_COLUMN, pa.int8(), nullable=False), kinds)
    return _without_ignored(schema, table)


def stored_column(
    field: Field, source: pa.ChunkedArray | None, rows: int, first_row: int
) -> pa.ChunkedArray:
    """The column that is stored for ``source``; of NULLs or defaults where nothing is given.

    Raises:
        DataError: a value does not fit or is none of its type, or NULL where none may be.
    """
    if source is None:
        column = pa.chunked_array([pa.nulls(rows, arrow_type(field.type))])
    else:
        column = cast_column(field, source, first_row)
        refuse_unsound(field, column, first_row)
    column = with_default(field, column)
    if not field.type.nullable and column.null_count:
        at = pc.index(column.is_null(), True).as_py()  # one row number, for the message
        raise missing_value(field, first_row + at)
    _check_length(field, column, first_row)
    return column


def with_default(field: Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """``column``, of the type of ``field``, with the default of ``field`` in place of NULL, if it has one."""
    if field.default is not None and column.null_count:
        return column.fill_null(default_value(field))
    return column


def cast_column(field: Field, column: pa.ChunkedArray, first_row: int = 0) -> pa.ChunkedArray:
    """``column`` as the type of ``field``.

    Raises:
        DataError: a value does not fit without loss.
    """
    want, inside = arrow_type(field.type), has_required_parts(field.type)
    if column.type == want and not inside:
        return column
    if len(column) and column.null_count == len(
        column
    ):  # nothing to convert: SQL's NULL has any type
        return pa.chunked_array([pa.nulls(len(column), want)])
    column = plain(column)
    if column.type == want and not inside:
        return column
    if not keeps_values(column.type, want):
        at = pc.index(column.is_valid(), True).as_py() if len(column) else 0
        raise _misfit(field, column, max(at, 0), first_row, want)
    if pa.types.is_integer(column.type) and pa.types.is_decimal(want):
        column = column.cast(pa.decimal256(76, want.scale))  # Arrow asks for room for any integer
    nearly = relaxed(want) if inside else want
    try:
        fitted = column.cast(nearly)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise _misfit(field, column, _first_misfit(column, nearly), first_row, want) from error
    lost = changed(column, fitted)
    if lost is not None and pc.any(lost).as_py():
        raise _misfit(field, column, pc.index(lost, True).as_py(), first_row, want)
    if not inside:
        return fitted
    if (lack := first_lack(fitted, field.type)) is not None:
        raise _misfit(field, column, lack, first_row, want)
    return with_required_parts(fitted, field.type)


def missing_value(field: Field, row: int) -> DataError:
    """The error of a NULL in a NOT NULL column."""
    return DataError(
        f"column {field.name!r} is NOT NULL, but row {row} has no value",
        column=field.name,
        row=row,
        value=None,
    )


def misfit(
    field: Field, row: int, shown: str, have: pa.DataType, want: pa.DataType | None = None
) -> DataError:
    """The error of a value, ``shown`` as text, that the type of ``field`` cannot hold."""
    return DataError(
        f"column {field.name!r}, row {row}: {shown!r} ({have}) does not fit "
        f"{want or arrow_type(field.type)} without loss; convert it before writing",
        column=field.name,
        row=row,
        value=shown,
    )


def _first_misfit(column: pa.ChunkedArray, want: pa.DataType) -> int:
    """Row of the first value that does not cast, by halving."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(want)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            high = middle
        else:
            low = middle
    return low


def _misfit(
    field: Field, column: pa.ChunkedArray, at: int, first_row: int, want: pa.DataType
) -> DataError:
    value = _text(column[at]) if len(column) else ""
    shown = shortened(value, _SHOWN_MAX)
    return misfit(field, first_row + at, shown, column.type, want)


def _text(value: pa.Scalar) -> str:
    """``value``; as the number that is stored where Python has no such time, above the year 9999."""
    try:
        return str(value)
    except (OverflowError, ValueError):
        return str(value.value)


def _check_length(field: Field, column: pa.ChunkedArray, first_row: int) -> None:
    """CHAR(n), VARCHAR(n), BINARY(n), VARBINARY(n): no value may be longer."""
    type_ = field.type
    if not isinstance(type_, Atomic) or not 0 < type_.length < MAX_LENGTH:
        return
    measure = pc.utf8_length if type_.root in {Root.CHAR, Root.VARCHAR} else pc.binary_length
    too_long = pc.greater(measure(column), type_.length)
    if pc.any(too_long).as_py():
        at = pc.index(too_long.fill_null(False), True).as_py()
        raise _misfit(field, column, at, first_row, pa.field("", column.type).type)


def _kinds(schema: TableSchema, rows: pa.Table, table: pa.Table, first_row: int) -> Any:
    """Row kinds from ``_ROW_KIND`` or the column ``rowkind.field``; +I where neither is."""
    named = schema.options.get(keys_merge.ROWKIND_FIELD)
    if named:
        column, source = table[named], named
    elif ROW_KIND_COLUMN in rows.column_names:
        column, source = rows[ROW_KIND_COLUMN], ROW_KIND_COLUMN
    else:
        return pa.repeat(pa.scalar(0, pa.int8()), rows.num_rows)
    kinds = pc.index_in(column.cast(pa.string()), value_set=_KINDS)
    if kinds.null_count:
        at = pc.index(kinds.is_null(), True).as_py()
        raise DataError(
            f"column {source!r}, row {first_row + at}: {column[at]} is no row kind; use one of "
            f"{', '.join(KIND_TEXTS)}",
            column=source,
            row=first_row + at,
            value=str(column[at]),
        )
    if not schema.is_key_table and pc.any(pc.not_equal(kinds, 0)).as_py():
        at = pc.index(pc.not_equal(kinds, 0), True).as_py()
        raise DataError(
            f"row {first_row + at} is {column[at]}, but a table without primary key takes only +I",
            column=source,
            row=first_row + at,
            value=str(column[at]),
        )
    return kinds.cast(pa.int8())


def _without_ignored(schema: TableSchema, table: pa.Table) -> pa.Table:
    ignored = set()
    if schema.options.get(keys_merge.IGNORE_DELETE):
        ignored |= {1, 3}
    if schema.options.get(keys_merge.IGNORE_UPDATE_BEFORE):
        ignored |= {1}
    if not ignored:
        return table
    drop = pc.is_in(table[KIND_COLUMN], value_set=pa.array(sorted(ignored), pa.int8()))
    return table.filter(pc.invert(drop))
