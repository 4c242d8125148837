"""Parts of nested values that take no NULL: members of a ROW, elements of an ARRAY, values of a MAP.

Arrow looks at them carelessly.  A cast gives an element that is missing the value 0, and refuses a member
that is missing because its whole ROW is::

    ARRAY<INT NOT NULL>     [1, NULL]    is refused here; Arrow makes [1, 0] of it
    ROW<a INT NOT NULL>     NULL         is taken; Arrow finds that a has no value
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Array, Map, Row, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.datatypes.kinds import DataType

    Flags: TypeAlias = npt.NDArray[np.bool_]

__all__ = ["first_lack", "has_required_parts", "relaxed", "with_required_parts"]


def has_required_parts(type_: DataType) -> bool:
    """Whether something inside of ``type_`` takes no NULL."""
    return any(not part.nullable or has_required_parts(part) for part in _parts(type_))


def relaxed(type_: pa.DataType) -> pa.DataType:
    """``type_`` with all that is inside of it nullable."""
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, relaxed(f.type)) for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(pa.field(type_.value_field.name, relaxed(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(relaxed(type_.key_type), relaxed(type_.item_type))
    return type_


def first_lack(column: pa.ChunkedArray, type_: DataType) -> int | None:
    """The first row that has a NULL where a part takes none; None without any."""
    first = 0
    for chunk in column.chunks:
        lacking = _lacking(chunk, type_)
        if lacking.any():
            return first + int(np.argmax(lacking))
        first += len(chunk)
    return None


def with_required_parts(column: pa.ChunkedArray, type_: DataType) -> pa.ChunkedArray:
    """``column``, of the relaxed type and without a lack, as the Arrow type of ``type_``."""
    return pa.chunked_array([_required(c, type_) for c in column.chunks], arrow_type(type_))


def _parts(type_: DataType) -> tuple[DataType, ...]:
    match type_:
        case Row(fields):
            return tuple(field.type for field in fields)
        case Array(element) | Vector(element):
            return (element,)
        case Map(_, value):
            return (value,)
        case _:
            return ()


def _lacking(array: Any, type_: DataType) -> Flags:
    """Which rows of ``array`` have such a NULL."""
    lacking = np.zeros(len(array), np.bool_)
    if not has_required_parts(type_):
        return lacking
    if isinstance(type_, Row):
        for at, part in enumerate(_parts(type_)):
            lacking |= _lacks(array.field(at), part)
        lacking[np.asarray(array.is_null())] = False
        return lacking
    whole, inner = _inner(array)
    ends = np.asarray(whole.offsets)
    rows = np.repeat(np.arange(len(whole)), np.diff(ends))
    of_inner = _lacks(inner, _parts(type_)[0])[ends[0] : ends[-1]]
    lacking[rows[of_inner]] = True
    lacking[np.asarray(array.is_null())] = False
    return lacking


def _lacks(part: Any, type_: DataType) -> Flags:
    lacking = _lacking(part, type_)
    if not type_.nullable:
        lacking[np.asarray(part.is_null())] = True
    return lacking


def _inner(array: Any) -> tuple[Any, Any]:
    """A list or map that begins with its first value, and its values."""
    whole = pa.concat_arrays([array]) if array.offset else array
    return whole, whole.items if pa.types.is_map(array.type) else whole.values


def _required(array: Any, type_: DataType) -> Any:
    if not has_required_parts(type_):
        return array
    mask = array.is_null() if array.null_count else None
    want = arrow_type(type_)
    if isinstance(type_, Row):
        members = [_filled(array.field(at), part) for at, part in enumerate(_parts(type_))]
        return pa.StructArray.from_arrays(members, fields=list(want), mask=mask)
    whole, inner = _inner(array)
    inner = _filled(inner, _parts(type_)[0])
    if isinstance(type_, Map):
        return pa.MapArray.from_arrays(whole.offsets, whole.keys, inner, type=want, mask=mask)
    return pa.ListArray.from_arrays(whole.offsets, inner, type=want, mask=mask)


def _filled(part: Any, type_: DataType) -> Any:
    """``part``; where it takes no NULL, with any value where there is none: nobody sees it."""
    part = _required(part, type_)
    if type_.nullable or not part.null_count:
        return part
    there = np.asarray(part.is_valid())
    if not there.any():
        shape = pa.struct([pa.field("part", part.type, nullable=False)])
        return pa.array([None] * len(part), shape).field(0)
    return part.take(pa.array(np.where(there, np.arange(len(part)), np.argmax(there))))
