"""Offsets of nested arrays without values: where Arrow lets a producer leave them out, and pyarrow reads them.

An array of n lists has n + 1 offsets.  For n = 0 Arrow allows a buffer of no bytes too, which is what Java sends.
pyarrow's ``nbytes`` looks for the first offset all the same, and with what it finds there into the values: of rows whose
lists of lists are all empty the process dies::

    rows        [[], [], NULL] of ARRAY<ARRAY<STRING>>
    outer       offsets 0 0 0 0
    inner       no list: offsets of no bytes, where one 0 belongs
"""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
import pyarrow.types as pt

__all__ = ["with_offsets"]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def with_offsets(rows: Rows) -> Rows:
    """``rows``, all of whose nested parts have the offsets that readers look for."""
    columns = [_sound(column) for column in rows.columns]
    if all(new is old for new, old in zip(columns, rows.columns, strict=True)):
        return rows
    return type(rows).from_arrays(columns, schema=rows.schema)


def _sound(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """``column`` itself, where it has no nested part without values."""
    if not pt.is_nested(column.type):
        return column
    if isinstance(column, pa.Array):
        return _rebuilt(column) if _has_empty_part(column) else column
    if not any(map(_has_empty_part, column.chunks)):
        return column
    return pa.chunked_array(list(map(_rebuilt, column.chunks)), column.type)


def _has_empty_part(array: pa.Array) -> bool:
    """Whether ``array``, or what is nested in it, is an array without values."""
    return len(array) == 0 or any(map(_has_empty_part, _parts(array)))


def _parts(array: pa.Array) -> list[pa.Array]:
    """What is nested in ``array`` just below it; a part of a list is not cut to what the list uses of it."""
    type_ = array.type
    if pt.is_map(type_):
        return [array.keys, array.items]
    if pt.is_struct(type_):
        return [array.field(at) for at in range(type_.num_fields)]
    if pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        return [array.values]
    return []


def _rebuilt(array: pa.Array) -> pa.Array:
    """``array`` over the same buffers, with new ones where there are no values."""
    if len(array) == 0:
        return pa.array([], array.type)
    parts, type_ = [_rebuilt(part) for part in _parts(array)], array.type
    if not parts:
        return array
    if pt.is_struct(type_):
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=array.is_null())
    if pt.is_map(type_):
        parts = [pa.StructArray.from_arrays(parts, fields=[type_.key_field, type_.item_field])]
    own = array.buffers()[: 1 if pt.is_fixed_size_list(type_) else 2]
    return pa.Array.from_buffers(
        type_, len(array), own, array.null_count, array.offset, children=parts
    )
