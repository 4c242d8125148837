"""Row-group statistics of Parquet, as ranges that never lose a row.

Unknown rather than wrong: INT96 has no order; writers leave NaN out of the bounds of floats, and
NaN is the greatest, so only the lower bound of a float column counts (format T31).  Texts may be
cut by the writer, which keeps them bounds.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.storage.columns.data_format import RangeStats
from table_core.storage.columns.stored_schema import leaf_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.storage.columns.data_format import Value
    from table_core.storage.parquet.footer import ChunkStats

__all__ = ["row_group_ranges"]

_NANOS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
_KINDS: Final = (
    ("nested", (pa.types.is_nested,)),
    ("text", (pa.types.is_string, pa.types.is_large_string)),
    ("bytes", (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)),
    ("decimal", (pa.types.is_decimal,)),
    ("timestamp", (pa.types.is_timestamp,)),
    ("float", (pa.types.is_floating,)),
)
_LAYOUTS: Final = {_INT32: "<i", _INT64: "<q", _FLOAT: "<f", _DOUBLE: "<d"}


def row_group_ranges(
    chunks: Sequence[ChunkStats], rows: int, schema: pa.Schema, wanted: pa.Schema
) -> Mapping[str, RangeStats]:
    """Ranges of the flat columns of ``wanted`` in one row group of ``rows`` rows.

    ``schema`` is that of the file as Arrow reads it, with stored units.  Where a column is stored as values
    of another kind than ``wanted`` says, its range tells nothing of those.

    Raises:
        pa.ArrowInvalid: the statistics contradict the schema.
    """
    types = dict(zip(wanted.names, wanted.types, strict=True))
    counts = leaf_counts(schema)
    if sum(counts) != len(chunks):
        raise pa.ArrowInvalid(f"{len(chunks)} column chunks for {sum(counts)} columns")
    ranges = {}
    leaf = 0
    for field, leaves in zip(schema, counts, strict=True):
        type_ = types.get(field.name)
        if type_ is not None and _kind(type_) == _kind(field.type) != "nested":
            ranges[field.name] = _range(chunks[leaf], field, rows)
        leaf += leaves
    return ranges


def _kind(type_: Any) -> str:
    """What values of a type are compared with."""
    return next((kind for kind, is_of in _KINDS if any(test(type_) for test in is_of)), "number")


def _range(chunk: ChunkStats, field: Any, rows: int) -> RangeStats:
    if chunk.min is None or chunk.max is None or chunk.physical_type == _INT96:
        return RangeStats(None, None, chunk.null_count, rows)
    try:
        low = _value(_plain(chunk.min, chunk.physical_type), field.type)
        high = _value(_plain(chunk.max, chunk.physical_type), field.type)
    except (struct.error, ValueError, IndexError, TypeError) as error:
        raise pa.ArrowInvalid(f"damaged statistics of column {field.name!r}: {error}") from error
    if isinstance(low, float):
        # A lower bound of 0.0 may stand for -0.0, which some writers take for equal.
        return RangeStats(None if math.isnan(low) else low or -0.0, None, chunk.null_count, rows)
    return RangeStats(low, high, chunk.null_count, rows)


def _plain(body: bytes, physical_type: int) -> Any:
    if physical_type == _BOOLEAN:
        return bool(body[0])
    layout = _LAYOUTS.get(physical_type)
    return body if layout is None else struct.unpack(layout, body)[0]


def _value(raw: Any, type_: Any) -> Value | None:
    """A bound as Python value, or None where this type has no bound to trust."""
    if pa.types.is_decimal(type_):
        unscaled = int(raw) if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
        return Decimal(f"{unscaled}E{-type_.scale}")  # exact, whatever the decimal context
    if pa.types.is_timestamp(type_):
        return int(raw) * _NANOS[type_.unit]
    if isinstance(raw, bool | int | float):
        return raw
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError:  # cut within a character
            return None
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return bytes(raw)
    return None
