"""Which values fit a column: casts that keep what a value means, and those that only Arrow allows.

Arrow takes a number for a point in time, drops fields of a struct and cuts a time of day off,
without a word.  Floating point is approximate by nature: FLOAT takes the nearest value of a double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

__all__ = ["changed", "keeps_values", "plain", "without_views"]

_T: Final = pa.types
_FAMILIES: Final[dict[str, tuple[Callable[[pa.DataType], bool], ...]]] = {
    "number": (_T.is_integer, _T.is_floating, _T.is_decimal),
    "boolean": (_T.is_boolean,),
    "text": (_T.is_string, _T.is_large_string, _T.is_string_view),
    "bytes": (_T.is_binary, _T.is_large_binary, _T.is_fixed_size_binary, _T.is_binary_view),
    "date": (_T.is_date,),
    "time": (_T.is_time,),
    "timestamp": (lambda t: _T.is_timestamp(t) and t.tz is None,),
    "instant": (lambda t: _T.is_timestamp(t) and t.tz is not None,),
    "list": (
        _T.is_list,
        _T.is_large_list,
        _T.is_fixed_size_list,
        _T.is_list_view,
        _T.is_large_list_view,
    ),
    "map": (_T.is_map,),
    "struct": (_T.is_struct,),
}
_ACROSS: Final = frozenset({("bytes", "text"), ("date", "timestamp"), ("timestamp", "date")})
_FLOAT_ERROR: Final = 2.0**-50


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """``column`` without dictionaries, runs, views of lists or names that extensions give a type.

    These Arrow casts badly or not at all; polars gives Categorical and Enum as dictionaries of views.
    """
    if not _is_coded(column.type):
        return column
    chunks = [_plain(chunk) for chunk in column.chunks or [pa.nulls(0, column.type)]]
    return pa.chunked_array(chunks)


def _is_coded(type_: pa.DataType) -> bool:
    if isinstance(type_, pa.BaseExtensionType) or _T.is_dictionary(type_):
        return True
    if _T.is_run_end_encoded(type_) or _T.is_list_view(type_) or _T.is_large_list_view(type_):
        return True
    if _T.is_map(type_):
        return _is_coded(type_.key_type) or _is_coded(type_.item_type)
    if _T.is_struct(type_):
        return any(_is_coded(member.type) for member in type_)
    return hasattr(type_, "value_type") and _is_coded(type_.value_type)


def _plain(array: Any) -> Any:
    """The same for one array, down to the members of nested values."""
    type_ = array.type
    if not _is_coded(type_):
        return array
    if isinstance(type_, pa.BaseExtensionType):
        return _plain(array.storage)
    if _T.is_dictionary(type_):
        values = _plain(array.dictionary)
        return values.cast(_viewless(values.type)).take(array.indices)
    if _T.is_run_end_encoded(type_):
        return _plain(pc.run_end_decode(array))
    missing = array.is_null() if array.null_count else None
    if _T.is_struct(type_):
        parts = [_plain(array.field(at)) for at in range(type_.num_fields)]
        names = [member.name for member in type_]
        return pa.StructArray.from_arrays(parts, names=names, mask=missing)
    if _T.is_map(type_):
        keys, items = _lists(array)
        offsets = _offsets(keys).cast(pa.int32())
        return pa.MapArray.from_arrays(
            offsets, _plain(keys.flatten()), _plain(items.flatten()), mask=missing
        )
    return pa.LargeListArray.from_arrays(_offsets(array), _plain(array.flatten()), mask=missing)


def _offsets(lists: pa.Array) -> pa.Array:
    """Where each of ``lists`` begins in what ``flatten`` gives."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return pa.array(np.append(0, np.cumsum(lengths.to_numpy(zero_copy_only=False))), pa.int64())


def without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """``column`` without views of texts or bytes, of which Arrow cannot take single rows; polars gives them."""
    type_ = _viewless(column.type)
    return column if type_ == column.type else column.cast(type_)


def _viewless(type_: pa.DataType) -> pa.DataType:
    if _T.is_string_view(type_):
        return pa.large_string()
    if _T.is_binary_view(type_):
        return pa.large_binary()
    if _T.is_struct(type_):
        return pa.struct([part.with_type(_viewless(part.type)) for part in type_])
    if _T.is_map(type_):
        return pa.map_(_viewless(type_.key_type), _viewless(type_.item_type))
    if _T.is_list(type_) or _T.is_large_list(type_):
        item = type_.value_field.with_type(_viewless(type_.value_type))
        return pa.large_list(item) if _T.is_large_list(type_) else pa.list_(item)
    return type_


def _family(type_: pa.DataType) -> str:
    return next((n for n, tests in _FAMILIES.items() if any(t(type_) for t in tests)), str(type_))


def keeps_values(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether values of ``have`` mean the same as ``want``; one of them may still not fit."""
    if _T.is_null(have) or have == want:
        return True
    if _T.is_dictionary(have) or _T.is_run_end_encoded(have):
        return keeps_values(have.value_type, want)
    pair = _family(have), _family(want)
    if pair[0] != pair[1]:
        return pair in _ACROSS
    if pair[1] == "list":
        return keeps_values(have.value_type, want.value_type)
    if pair[1] == "map":
        return keeps_values(have.key_type, want.key_type) and keeps_values(
            have.item_type, want.item_type
        )
    if pair[1] == "struct":
        there = {field.name: field.type for field in want}
        return all(f.name in there and keeps_values(f.type, there[f.name]) for f in have)
    return True


def changed(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Any:
    """Which values a cast changed though Arrow took it for safe; None: it cannot have.

    Of nested values those inside of which one is changed.
    """
    have, want = before.type, after.type
    if have == want:
        return None
    if _T.is_nested(want):
        flags = map(_changed_inside, before.chunks, after.chunks)
        return pa.chunked_array(list(map(pa.array, flags)), pa.bool_())
    if _T.is_floating(have) and _T.is_floating(want):
        return pc.and_(pc.is_finite(before), pc.is_inf(after))
    if _T.is_floating(have) and _T.is_decimal(want):
        off = pc.abs(pc.subtract(after.cast(pa.float64()), before.cast(pa.float64())))
        return pc.greater(off, pc.multiply(pc.abs(before.cast(pa.float64())), _FLOAT_ERROR))
    if _T.is_timestamp(have) and _T.is_date(want):
        return pc.not_equal(after.cast(have), before)
    return None


def _changed_inside(before: Any, after: Any) -> npt.NDArray[np.bool_]:
    """The same for arrays of lists, maps or structs."""
    flags = np.zeros(len(after), np.bool_)
    if _T.is_struct(after.type):
        for member in before.type:
            flags |= _changed_rows(before.field(member.name), after.field(member.name))
        flags[np.asarray(after.is_null())] = False
        return flags
    for old, new in zip(_lists(before), _lists(after), strict=True):
        rows = np.repeat(np.arange(len(new)), pc.fill_null(pc.list_value_length(new), 0))
        flags[rows[_changed_rows(old.flatten(), new.flatten())]] = True
    return flags


def _changed_rows(before: Any, after: Any) -> npt.NDArray[np.bool_]:
    lost = changed(pa.chunked_array([before]), pa.chunked_array([after]))
    if lost is None:
        return np.zeros(len(after), np.bool_)
    flags: npt.NDArray[np.bool_] = np.asarray(pc.fill_null(lost, fill_value=False))
    return flags


def _lists(array: Any) -> list[Any]:
    """A list array as it is; of a map its keys, and its values, as lists."""
    if not _T.is_map(array.type):
        return [array]
    whole = pa.concat_arrays([array]) if array.offset else array
    missing = whole.is_null() if whole.null_count else None
    return [
        pa.ListArray.from_arrays(whole.offsets, part, mask=missing)
        for part in (whole.keys, whole.items)
    ]
