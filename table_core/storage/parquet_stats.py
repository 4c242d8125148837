"""Row-group statistics of Parquet, as ranges that never lose a row.

Unknown rather than wrong: INT96 has no order; writers leave NaN out of the bounds of floats, and
NaN is the greatest, so only the lower bound of a float column counts (T31).
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.storage.data_format import RangeStats
from table_core.storage.stored_schema import leaf_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.storage.data_format import Value

__all__ = ["row_group_ranges"]

_NANOS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def row_group_ranges(
    metadata: Any, schema: pa.Schema, row_group: int, names: Sequence[str]
) -> Mapping[str, RangeStats]:
    """Ranges of the flat columns ``names`` in one row group, from the footer ``metadata``."""
    group = metadata.row_group(row_group)
    wanted = frozenset(names)
    ranges = {}
    leaf = 0
    for field, leaves in zip(schema, leaf_counts(schema), strict=True):
        if field.name in wanted and not pa.types.is_nested(field.type):
            ranges[field.name] = _range(group.column(leaf).statistics, field.type, group.num_rows)
        leaf += leaves
    return ranges


def _range(stats: Any, type_: pa.DataType, rows: int) -> RangeStats:
    if stats is None:
        return RangeStats(None, None, None, rows)
    nulls = stats.null_count if stats.has_null_count else None
    if not stats.has_min_max or stats.physical_type == "INT96":
        return RangeStats(None, None, nulls, rows)
    low, high = _value(stats.min_raw, type_, stats), _value(stats.max_raw, type_, stats)
    if isinstance(low, float):
        # A lower bound of 0.0 may stand for -0.0, which some writers take for equal.
        return RangeStats(None if math.isnan(low) else low or -0.0, None, nulls, rows)
    return RangeStats(low, high, nulls, rows)


def _value(raw: Any, type_: Any, stats: Any) -> Value | None:
    """A bound as Python value, or None where this type has no bound to trust."""
    if pa.types.is_decimal(type_):
        unscaled = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
        return Decimal(f"{unscaled}E-{type_.scale}")  # exact, whatever the decimal context
    if pa.types.is_timestamp(type_):
        unit = stats.logical_type.to_json()
        return int(raw) * _stored_nanos(unit, type_)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError:
            return None
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return bytes(raw)
    if isinstance(raw, bool | int | float):
        return raw
    return None


def _stored_nanos(logical: str, type_: Any) -> int:
    """Nanoseconds in one stored unit; the Arrow type may differ by a stored Arrow schema."""
    for word, nanos in (("milli", 10**6), ("micro", 10**3), ("nano", 1)):
        if word in logical.lower():
            return nanos
    return _NANOS[type_.unit]
