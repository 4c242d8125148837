"""Columns as files give them or users bring them, made exactly those of the table.

Casts lose nothing: what does not fit raises.  Nested members go by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema, arrow_type
from table_core.errors import CorruptFileError, DataError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.datatypes.kinds import Field

__all__ = ["conformed", "read_batch", "written_table"]


def conformed(column: Any, target: pa.DataType) -> Any:
    """``column`` (array or chunked array) as ``target``, without loss.

    Raises:
        pa.ArrowException: a value does not fit, or no cast exists.
    """
    if column.type.equals(target) and not pa.types.is_nested(target):
        return column
    lacking = _lacking(column.type, target)
    if lacking:
        raise pa.ArrowInvalid(f"no member {lacking!r}")
    # Nested types are equal to Arrow though element names differ: a cast makes them identical.
    return column if str(column.type) == str(target) else column.cast(target)


def _lacking(given: Any, wanted: Any, at: str = "") -> str | None:
    """The first ROW member of ``wanted`` that ``given`` lacks; a cast would fill in NULL."""
    if pa.types.is_struct(wanted) and pa.types.is_struct(given):
        for member in wanted:
            index = given.get_field_index(member.name)
            if index < 0:
                return f"{at}{member.name}"
            found = _lacking(given.field(index).type, member.type, f"{at}{member.name}.")
            if found:
                return found
    elif pa.types.is_map(wanted) and pa.types.is_map(given):
        return _lacking(given.key_type, wanted.key_type, at) or _lacking(
            given.item_type, wanted.item_type, at
        )
    elif pa.types.is_list(wanted) and hasattr(given, "value_type"):
        return _lacking(given.value_type, wanted.value_type, at)
    return None


def read_batch(
    batch: pa.RecordBatch, fields: Sequence[Field], schema: pa.Schema, *, path: str
) -> pa.RecordBatch:
    """The columns ``fields`` of a decoded ``batch``.

    Shape: ``batch`` with any columns to ``schema`` (which is ``arrow_schema(fields)``).

    Raises:
        CorruptFileError: a stored value does not fit the type of its column.
        UnsupportedFeatureError: an instant that nanoseconds since 1970 cannot express.
    """
    if not fields:
        return batch.select([])
    columns = []
    for field, target in zip(fields, schema, strict=True):
        column = batch.column(batch.schema.get_field_index(field.name))
        try:
            columns.append(conformed(column, target.type))
        except pa.ArrowException as error:
            raise misfit(field, error, path=path) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def misfit(
    field: Field, error: pa.ArrowException, *, path: str
) -> CorruptFileError | UnsupportedFeatureError:
    """The error for a stored column that cannot be given as its type."""
    if "out of bounds timestamp" in str(error):
        return UnsupportedFeatureError(
            f"{path}: column {field.name!r} holds instants outside the years 1677 to 2262, which "
            "this release cannot read with more than 6 digits of a second",
            feature="nanosecond timestamps outside 1677 to 2262",
            column=field.name,
            path=path,
        )
    return CorruptFileError(
        f"{path}: column {field.name!r} does not fit its type: {error}",
        path=path,
        problems=[f"{field.name}: {error}"],
    )


def missing_columns(names: Sequence[str], fields: Sequence[Field], *, path: str) -> None:
    """Check that a file has each of ``fields`` exactly once.

    Raises:
        CorruptFileError: names every column that it lacks or has twice.
    """
    problems = [
        f"column {field.name!r} is {'missing' if count == 0 else 'there twice'}"
        for field in fields
        if (count := names.count(field.name)) != 1
    ]
    if problems:
        raise CorruptFileError(
            f"{path}: {'; '.join(problems)}; it has {list(names)}", path=path, problems=problems
        )


def written_table(table: pa.Table, fields: Sequence[Field]) -> pa.Table:
    """The columns ``fields`` of ``table``, fit to be written.

    Shape: ``table`` with any columns to ``arrow_schema(fields)``.

    Raises:
        DataError: a column is missing, a value does not fit, or NULL in a NOT NULL column.
    """
    columns = []
    for field in fields:
        index = table.schema.get_field_index(field.name)
        if index < 0:
            raise DataError(
                f"the rows lack the column {field.name!r}", column=field.name, row=None, value=None
            )
        column = table.column(index)
        if not field.type.nullable and column.null_count:
            row = column.is_null().index(True).as_py()
            raise DataError(
                f"column {field.name!r} is NOT NULL, but row {row} has no value",
                column=field.name,
                row=row,
                value=None,
            )
        try:
            columns.append(conformed(column, arrow_type(field.type)))
        except pa.ArrowException as error:
            raise DataError(
                f"column {field.name!r}: {error}", column=field.name, row=None, value=None
            ) from error
    return pa.Table.from_arrays(columns, schema=arrow_schema(fields))
