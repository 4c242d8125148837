"""Columns as files give them or users bring them, made exactly those of the table.

Casts lose nothing: what does not fit raises.  Nested members go by name.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema, arrow_type
from table_core.errors import CorruptFileError, DataError, UnsupportedFeatureError
from table_core.storage.columns.validity import check_values

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from table_core.datatypes.kinds import Field

__all__ = [
    "conformed",
    "misfit",
    "missing_columns",
    "read_batch",
    "without_hidden_nulls",
    "written_table",
]


def conformed(column: Any, target: pa.DataType) -> Any:
    """``column`` (array or chunked array) as ``target``, without loss.

    Raises:
        pa.ArrowException: a value does not fit, or no cast exists.
    """
    if not pa.types.is_nested(target):
        return column if column.type.equals(target) else column.cast(target)
    if str(column.type) == str(target):  # equal types may still differ in the names of elements
        return column
    lacking = _lacking(column.type, target)
    if lacking:
        raise pa.ArrowInvalid(f"no member {lacking!r}")
    converted = column.cast(_relaxed(target))
    if isinstance(converted, pa.ChunkedArray):
        return pa.chunked_array([_labelled(chunk, target) for chunk in converted.chunks], target)
    return _labelled(converted, target)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """An array that says it has another type of the same layout."""

    array: Any
    type: pa.DataType

    def __arrow_c_array__(self, requested: object = None) -> tuple[object, object]:
        return self.type.__arrow_c_schema__(), self.array.__arrow_c_array__(requested)[1]


def _labelled(array: Any, target: pa.DataType) -> Any:
    """``array`` of the relaxed ``target`` as ``target``: no copy, but a look at NOT NULL members."""
    _check_required(array, target)
    return pa.array(_Labelled(array, target))


def _check_required(array: Any, target: Any) -> None:
    """Refuse nulls in NOT NULL members of values that are there themselves.

    A cast would also refuse those below a missing value, which mean nothing.
    """
    if pa.types.is_struct(target):
        there = array.filter(array.is_valid()) if array.null_count else array
        parts = [(member, there.field(i)) for i, member in enumerate(target)]
    elif pa.types.is_map(target):
        there = array.filter(array.is_valid()) if array.null_count else array
        first, last = there.offsets[0].as_py(), there.offsets[-1].as_py()
        parts = [
            (target.key_field, there.keys[first:last]),
            (target.item_field, there.items[first:last]),
        ]
    elif pa.types.is_list(target):
        parts = [(target.value_field, array.flatten())]
    else:
        parts = []
    for member, values in parts:
        if not member.nullable and values.null_count:
            raise pa.ArrowInvalid(f"member {member.name!r} is NOT NULL, but has nulls")
        _check_required(values, member.type)


def without_hidden_nulls(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """``column`` with something in NOT NULL members of what is missing itself.

    Nulls there mean nothing, and ``take`` leaves some, but Arrow refuses to write them to Parquet.
    """
    if not _has_required(column.type):
        return column
    return pa.chunked_array(
        [_filled(chunk, required=False) for chunk in column.chunks], column.type
    )


def _filled(array: Any, *, required: bool) -> Any:
    """``array`` so; with ``required`` its own nulls are those below a missing value."""
    type_ = array.type
    if not (required and array.null_count) and not _has_required(type_):
        return array
    if pa.types.is_struct(type_):
        members = list(type_)
        parts = [_filled(array.field(i), required=not m.nullable) for i, m in enumerate(members)]
        mask = None if required or not array.null_count else array.is_null()
        return pa.StructArray.from_arrays(parts, fields=members, mask=mask)
    below = []
    if pa.types.is_map(type_):
        members = [type_.key_field, type_.item_field]
        parts = [
            _filled(part, required=not member.nullable)
            for part, member in zip((array.keys, array.items), members, strict=True)
        ]
        below = [pa.StructArray.from_arrays(parts, fields=members)]
    elif pa.types.is_list(type_):
        below = [_filled(array.values, required=not type_.value_field.nullable)]
    there, *rest = array.buffers()[: type_.num_buffers]
    buffers = [None if required else there, *rest]
    return pa.Array.from_buffers(
        type_, len(array), buffers, offset=array.offset, children=below or None
    )


def _has_required(type_: Any) -> bool:
    """Whether a ROW member, an element or a value below ``type_`` is NOT NULL."""
    if pa.types.is_map(type_):
        members = [type_.item_field]
    elif pa.types.is_nested(type_):
        members = [type_.field(i) for i in range(type_.num_fields)]
    else:
        return False
    return any(not member.nullable or _has_required(member.type) for member in members)


def _relaxed(type_: Any) -> pa.DataType:
    """``type_`` with every member nullable."""
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(m.name, _relaxed(m.type)) for m in type_])
    if pa.types.is_map(type_):
        value = pa.field(type_.item_field.name, _relaxed(type_.item_type))
        return pa.map_(_relaxed(type_.key_type), value)
    if pa.types.is_list(type_):
        return pa.list_(pa.field(type_.value_field.name, _relaxed(type_.value_type)))
    return type_


def _lacking(stored: Any, wanted: Any, at: str = "") -> str | None:
    """The first ROW member of ``wanted`` that ``stored`` lacks; a cast would fill in NULL."""
    if pa.types.is_struct(wanted) and pa.types.is_struct(stored):
        for member in wanted:
            index = stored.get_field_index(member.name)
            if index < 0:
                return f"{at}{member.name}"
            missing = _lacking(stored.field(index).type, member.type, f"{at}{member.name}.")
            if missing:
                return missing
    elif pa.types.is_map(wanted) and pa.types.is_map(stored):
        return _lacking(stored.key_type, wanted.key_type, at) or _lacking(
            stored.item_type, wanted.item_type, at
        )
    elif pa.types.is_list(wanted) and hasattr(stored, "value_type"):
        return _lacking(stored.value_type, wanted.value_type, at)
    return None


def read_batch(
    batch: pa.RecordBatch,
    fields: Sequence[Field],
    schema: pa.Schema,
    *,
    path: str,
    integers: Collection[str] = (),
) -> pa.RecordBatch:
    """The columns ``fields`` of a decoded ``batch``; the file stores ``integers`` as such.

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
            converted = conformed(column, target.type)
            was_integer = converted is column and field.name in integers
            check_values(converted, was_integer=was_integer)
            columns.append(converted)
        except pa.ArrowException as error:
            raise misfit(field, error, path=path) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def misfit(
    field: Field, error: pa.ArrowException, *, path: str
) -> CorruptFileError | UnsupportedFeatureError:
    """The error for a stored column that cannot be given as its type."""
    if re.search("out of (bounds|range)", str(error)) and "timestamp" in str(error):
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
    counts = Counter(names)
    problems = [
        f"column {field.name!r} is {'missing' if count == 0 else 'there twice'}"
        for field in fields
        if (count := counts[field.name]) != 1
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
