"""Values of one type as another: what a type change means for rows that are written already.

Numbers wrap and saturate as Java's do, decimals round half up and become NULL when they overflow,
timestamps are cut.  With ``strict`` (a CAST in a condition) what does not fit is an error instead.
Everything between numbers and times is Arrow or numpy; text goes value by distinct value.

Source: ``org.apache.paimon.casting``; format 2.4.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.cast_text import from_text, to_text
from table_core.datatypes.castable import (
    BINARIES,
    EXACT_INTEGERS,
    NUMERIC,
    STRINGS,
    TIMESTAMPS,
)
from table_core.datatypes.domain import unit_nanos
from table_core.datatypes.kinds import Atomic, DataType, Root
from table_core.errors import DataError, UnsupportedFeatureError

__all__ = ["cast_array"]

_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_MS_OF_DAY: Final = 86_400_000
_WIDE_DIGITS: Final = 76


def cast_array(array: pa.Array, source: DataType, target: Atomic, *, strict: bool = False) -> Any:
    """``array``, a column of ``source``, as a column of ``target``.

    Shape: ``array[n]`` of ``arrow_type(source)`` to ``result[n]`` of ``arrow_type(target)``.

    Raises:
        DataError: text that does not parse; with ``strict`` also a value that does not fit.
    """
    if target.root in STRINGS:
        return to_text(array, source, target)
    if not isinstance(source, Atomic):
        raise _no_rule(source, target)
    if source.root in STRINGS:
        return from_text(array, target)
    if source.root in BINARIES and target.root in BINARIES:
        return _binary(array, target)
    if source.root is Root.BOOLEAN or target.root is Root.BOOLEAN:
        return _boolean(array, source, target)
    try:
        if target.root is Root.DECIMAL:
            return _to_decimal(array, source, target, strict=strict)
        if target.root in EXACT_INTEGERS:
            return _to_integer(array, source, target, strict=strict)
        if target.root in _FLOATS:
            return _to_float(array, source, target)
        return _to_moment(array, source, target)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"a value does not fit {target.root}: {error}", column="", row=None, value=str(error)
        ) from error


def _no_rule(source: DataType, target: Atomic) -> UnsupportedFeatureError:
    name = source.root.value if isinstance(source, Atomic) else type(source).__name__
    return UnsupportedFeatureError(
        f"{name} cannot be read as {target.root}", feature=f"cast {name} to {target.root}"
    )


def _boolean(array: pa.Array, source: Atomic, target: Atomic) -> Any:
    if source.root is target.root:
        return array
    if source.root in BINARIES or target.root not in {Root.BOOLEAN, *NUMERIC}:
        raise _no_rule(source, target)
    if target.root is Root.BOOLEAN:
        return pc.not_equal(array, pa.scalar(0, array.type))
    ints = array.cast(pa.int8())
    if target.root is Root.DECIMAL:
        return _to_decimal(ints, Atomic(Root.TINYINT), target, strict=False)
    return ints.cast(arrow_type(target))


def _binary(array: pa.Array, target: Atomic) -> Any:
    cut = pc.binary_slice(array, 0, target.length)
    if target.root is Root.VARBINARY or not len(cut):
        return cut
    missing = pc.subtract(target.length, pc.binary_length(cut))
    zeros = pc.binary_repeat(pa.array([b"\0"] * len(cut), pa.binary()), missing)
    return pc.binary_join_element_wise(cut, zeros, b"")


def _to_integer(array: pa.Array, source: Atomic, target: Atomic, *, strict: bool) -> Any:
    type_ = arrow_type(target)
    if source.root in TIMESTAMPS:
        per_second = 1_000_000_000 // unit_nanos(source)
        array = _floor_divide(array.view(pa.int64()), per_second)
    elif source.root is Root.DECIMAL:
        whole = pc.round(array, 0, round_mode="towards_zero")
        array = whole.cast(pa.int64(), safe=strict) if strict else _wrapped(whole)
    elif source.root in _FLOATS:
        if strict:
            return pc.trunc(array).cast(type_)
        return _from_float(array, type_)
    elif source.root not in EXACT_INTEGERS:
        raise _no_rule(source, target)
    return array.cast(type_, safe=strict)


def _wrapped(whole: pa.Array) -> Any:
    """The low 64 bits of integral decimals, as Java's ``longValue``."""
    units = whole.cast(pa.decimal256(_WIDE_DIGITS, whole.type.scale))
    units = units.cast(pa.decimal256(_WIDE_DIGITS, 0))
    low = np.frombuffer(units.buffers()[1], dtype=np.int64)[units.offset * 4 :: 4][: len(units)]
    return pa.array(low, mask=np.asarray(units.is_null()))


def _from_float(array: pa.Array, type_: pa.DataType) -> Any:
    """Java: NaN is 0, what is too large saturates at int or long, narrower types then wrap."""
    wide = 64 if type_ == pa.int64() else 32
    low, high = -(2 ** (wide - 1)), 2 ** (wide - 1) - 1
    values = np.asarray(array.cast(pa.float64()).fill_null(0.0))
    whole = np.nan_to_num(np.trunc(values), nan=0.0, posinf=np.inf, neginf=-np.inf)
    fits = (whole > low) & (whole < high)
    ints = np.where(fits, whole, 0).astype(np.int64)
    ints[whole >= high] = high
    ints[whole <= low] = low
    return pa.array(ints, mask=np.asarray(array.is_null())).cast(type_, safe=False)


def _to_float(array: pa.Array, source: Atomic, target: Atomic) -> Any:
    if source.root is Root.DECIMAL:
        # By way of text: Arrow's own conversion is off by one in the last place now and then.
        return array.cast(pa.string()).cast(arrow_type(target))
    if source.root not in {*EXACT_INTEGERS, *_FLOATS}:
        raise _no_rule(source, target)
    return array.cast(arrow_type(target), safe=False)


def _to_decimal(array: pa.Array, source: Atomic, target: Atomic, *, strict: bool) -> Any:
    """Half up; NULL, or with ``strict`` an error, where the digits do not suffice."""
    if source.root in _FLOATS:
        return from_text(to_text(array, source, Atomic(Root.VARCHAR, length=2**31 - 1)), target)
    if source.root in EXACT_INTEGERS:
        wide = array.cast(pa.decimal128(19, 0)).cast(pa.decimal256(_WIDE_DIGITS, 0))
    elif source.root is Root.DECIMAL:
        wide = array.cast(pa.decimal256(_WIDE_DIGITS, array.type.scale))
    else:
        raise _no_rule(source, target)
    if wide.type.scale > target.scale:
        wide = pc.round(wide, target.scale, round_mode="half_towards_infinity")
    scaled = wide.cast(pa.decimal256(_WIDE_DIGITS, target.scale))
    return _fitting(scaled, target, strict=strict)


def _fitting(scaled: pa.Array, target: Atomic, *, strict: bool) -> Any:
    wide = target.precision > 38
    type_ = pa.decimal256(target.precision, target.scale) if wide else arrow_type(target)
    if strict or wide:
        return scaled.cast(type_)
    top = pa.scalar("9" * target.precision).cast(pa.decimal256(_WIDE_DIGITS, 0))
    ticks = pa.Array.from_buffers(
        pa.decimal256(_WIDE_DIGITS, 0), len(scaled), scaled.buffers(), offset=scaled.offset
    )
    fits = pc.less_equal(pc.abs(ticks), top)
    return pc.if_else(fits, scaled, None).cast(type_)


def _to_moment(array: pa.Array, source: Atomic, target: Atomic) -> Any:
    """DATE, TIME and timestamps."""
    if target.root is Root.DATE:
        if source.root is Root.DATE:
            return array
        days = _floor_divide(_ticks(array, source), 86_400_000_000_000 // unit_nanos(source))
        return days.cast(pa.int32()).view(pa.date32())
    if target.root is Root.TIME:
        if source.root is Root.TIME:
            return array
        millis = _floor_divide(_ticks(array, source), 1_000_000 // unit_nanos(source))
        days = _floor_divide(millis, _MS_OF_DAY)
        of_day = pc.subtract(millis, pc.multiply(days, _MS_OF_DAY))
        return of_day.cast(pa.int32()).view(pa.time32("ms"))
    if target.root not in TIMESTAMPS:
        raise _no_rule(source, target)
    return _to_timestamp(array, source, target)


def _to_timestamp(array: pa.Array, source: Atomic, target: Atomic) -> Any:
    unit = unit_nanos(target)
    if source.root is Root.DATE:
        days = array.view(pa.int32()).cast(pa.int64())
        ticks = pc.multiply_checked(days, 86_400_000_000_000 // unit)
    elif source.root is Root.TIME:
        ticks = pc.multiply_checked(array.view(pa.int32()).cast(pa.int64()), 1_000_000 // unit)
    elif source.root in TIMESTAMPS:
        ticks = _rescaled(_ticks(array, source), unit_nanos(source), unit)
    else:
        seconds = _to_integer(array, source, Atomic(Root.BIGINT), strict=False)
        ticks = pc.multiply_checked(seconds, 1_000_000_000 // unit)
    step = 10 ** (9 - target.precision) // unit
    if step > 1:
        ticks = pc.multiply(_floor_divide(ticks, step), step)
    return ticks.view(arrow_type(target))


def _ticks(array: pa.Array, source: Atomic) -> Any:
    if source.root not in TIMESTAMPS:
        raise _no_rule(source, Atomic(Root.TIMESTAMP))
    return array.view(pa.int64())


def _rescaled(ticks: Any, from_nanos: int, to_nanos: int) -> Any:
    if from_nanos >= to_nanos:
        return pc.multiply_checked(ticks, from_nanos // to_nanos)
    return _floor_divide(ticks, to_nanos // from_nanos)


def _floor_divide(ticks: pa.Array, by: int) -> Any:
    """Division that rounds down, before 1970 as well."""
    values = np.floor_divide(np.asarray(ticks.fill_null(0)), by)
    return pa.array(values, pa.int64(), mask=np.asarray(ticks.is_null()))
