"""Single values as metadata, predicates and bounds hold them, to and from Arrow.

bool, int (DATE = days, TIME = milliseconds of the day, timestamps = nanoseconds, unbounded), float,
str, bytes, Decimal, None.  For a handful of values, never for rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.arrow import arrow_type, timestamp_unit
from table_core.datatypes.kinds import Atomic, DataType, Root

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Value", "domain_array", "domain_values", "unit_nanos"]

Value = Any
"""A value of the domain above."""
_NANOS: Final = {"ms": 1_000_000, "us": 1_000, "ns": 1}


def unit_nanos(type_: Atomic) -> int:
    """Nanoseconds of one Arrow tick of a timestamp of ``type_``."""
    return _NANOS[timestamp_unit(type_.precision)]


def domain_array(values: Sequence[Value], type_: DataType) -> pa.Array:
    """``values`` as an Arrow array of ``type_``; timestamps are rounded down to the column's tick.

    Raises:
        ArrowException: a value lies outside the type.
    """
    if isinstance(type_, Atomic):
        if type_.root in {Root.TIMESTAMP, Root.TIMESTAMP_LTZ}:
            unit = unit_nanos(type_)
            ticks = pa.array([None if v is None else v // unit for v in values], pa.int64())
            return ticks.view(arrow_type(type_))
        if type_.root in {Root.DATE, Root.TIME}:
            return pa.array(list(values), pa.int32()).view(arrow_type(type_))
    return pa.array(list(values), arrow_type(type_))


def domain_values(array: pa.Array | pa.ChunkedArray, type_: DataType) -> list[Value]:
    """The values of a short ``array`` of a column of ``type_``."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(type_, Atomic):
        if type_.root in {Root.TIMESTAMP, Root.TIMESTAMP_LTZ}:
            unit = unit_nanos(type_)
            ticks = array.cast(arrow_type(type_)).view(pa.int64()).to_pylist()
            return [None if v is None else v * unit for v in ticks]
        if type_.root in {Root.DATE, Root.TIME}:
            numbers: list[Value] = array.view(pa.int32()).to_pylist()
            return numbers
    return list(array.to_pylist())
