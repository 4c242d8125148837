"""Values that mean what they should, as the type of a table column: Arrow kernels that lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Atomic, DataType, Root

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DAY_MS",
    "MILLIS_MAX",
    "in_micros",
    "require_years",
    "time_of_day",
    "to_type",
    "without_sign",
]

DAY_MS: Final = 86_400_000
_BITS_64: Final = pa.scalar(2**64, pa.decimal128(20, 0))
MILLIS_MAX: Final = 253_402_300_800_000
"""The year 10000 in milliseconds."""
_DAY_MIN, _DAY_END = -719_162, 2_932_897
"""The first day of the year 1, and of the year 10000, since 1970."""
_MILLIS_LIKELY: Final = 10**13
"""The year 2286 in milliseconds; less than four months in microseconds."""


def in_micros(array: pa.Array) -> pa.Array:
    """Moments in micro- or milliseconds as microseconds, whichever the column has.

    Milliseconds of four-digit years are never so large as the microseconds of most others; columns
    that have none of these, and some that would be of early 1970, are milliseconds.
    """
    size = pc.abs(array)
    large = pc.any(pc.greater_equal(size, MILLIS_MAX)).as_py()
    small = pc.any(pc.and_(pc.greater(size, 0), pc.less(size, _MILLIS_LIKELY))).as_py()
    return pc.multiply(array, 1000) if small and not large else array


def require_years(array: pa.Array, a_day: int) -> None:
    """Require days or moments, of which ``a_day`` make a day, of the years 1 to 9999.

    What Debezium writes for PostgreSQL's ``infinity`` is the end of the numbers.

    Raises:
        ValueError: one is of another year.
    """
    low, high = pc.min_max(array).values()
    if low.is_valid and (low.as_py() < _DAY_MIN * a_day or high.as_py() >= _DAY_END * a_day):
        raise ValueError("it is of no year from 1 to 9999, as infinity and -infinity are")


def time_of_day(array: pa.Array, per_milli: int) -> pa.Array:
    """Time of day; digits below a millisecond are dropped, as the table format has none."""
    low, high = pc.min_max(array).values()
    if low.is_valid and (low.as_py() < 0 or high.as_py() >= DAY_MS * per_milli):
        raise ValueError("not a time of day")
    return pc.divide(array, per_milli).cast(pa.int32()).cast(pa.time32("ms"))


def without_sign(array: pa.Array) -> pa.Array:
    """Whole numbers of 64 bits as if they had no sign: -1 is 18446744073709551615."""
    if not pa.types.is_integer(array.type) and not pa.types.is_decimal(array.type):
        return array
    wide = array.cast(pa.decimal128(20, 0))
    return pc.if_else(pc.less(array, 0), pc.add(wide, _BITS_64).cast(wide.type), wide)


def to_type(array: pa.Array, type_: DataType, target: pa.DataType) -> pa.Array:
    """``array`` as ``target``, the Arrow type of ``type_``.

    Raises:
        ValueError: a value does not fit.
    """
    if array.type == target:
        return array
    if isinstance(type_, Atomic):
        special = _SPECIAL.get(type_.root)
        if special is not None:
            return special(array, target)
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int8()).cast(target)
    return array.cast(target)


def _to_floating(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Numbers; text may say that one is infinite or none, but no number becomes that."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    floats = array.cast(target)
    endless = pc.is_inf(floats)
    if pc.any(endless).as_py():
        originals = array.filter(endless)
        is_text = pa.types.is_string(originals.type)
        numbers = (
            pc.match_substring_regex(originals, "[0-9]")
            if is_text
            else pc.invert(pc.is_inf(originals.cast(pa.float64())))
        )
        if pc.any(numbers).as_py():
            raise ValueError(f"larger than a number of type {target} can be")
    return floats


def _to_boolean(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type):
        low, high = pc.min_max(array).values()
        if low.is_valid and (low.as_py() < 0 or high.as_py() > 1):
            raise ValueError("neither 0 nor 1")
    return array.cast(target)


def _to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_floating(array.type):
        array = array.cast(pa.string())  # the shortest text that reads back as the same number
    if pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(20, 0))
    if pa.types.is_decimal(array.type) and array.type.precision == 38:
        array = array.cast(pa.decimal256(76, target.scale))
    return array.cast(target)


def _to_string(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_binary(array.type):
        raise ValueError("bytes are no text")
    return array.cast(target)


def _to_date(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_string(array.type):
        array = pc.utf8_rtrim(array, "Z")
    return array.cast(target)


def _to_time(array: pa.Array, _: pa.DataType) -> pa.Array:
    if not pa.types.is_string(array.type):
        raise ValueError("not a time of day")
    moment = pc.binary_join_element_wise("1970-01-01", pc.utf8_rtrim(array, "Z"), " ")
    return time_of_day(moment.cast(pa.timestamp("ns")).cast(pa.int64()), 1_000_000)


def _to_timestamp(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_string(array.type):
        if target.tz is None and pc.any(pc.match_substring_regex(array, _ZONE)).as_py():
            array = array.cast(pa.timestamp(target.unit, "UTC"))
        if (
            target.tz is not None and target.unit == "us"
        ):  # as Paimon, which has no more digits of them
            array = pc.replace_substring_regex(array, r"(\.\d{6})\d+", r"\1")
        return array.cast(target)
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    return array.cast(target)


_ZONE: Final = r"(Z|[+-]\d\d:?\d\d)$"
_SPECIAL: Final[dict[Root, Callable[[Any, Any], Any]]] = {
    Root.BOOLEAN: _to_boolean,
    Root.FLOAT: _to_floating,
    Root.DOUBLE: _to_floating,
    Root.DECIMAL: _to_decimal,
    Root.CHAR: _to_string,
    Root.VARCHAR: _to_string,
    Root.DATE: _to_date,
    Root.TIME: _to_time,
    Root.TIMESTAMP: _to_timestamp,
    Root.TIMESTAMP_LTZ: _to_timestamp,
}
