"""Key columns as numpy sees them: fixed numbers, and bytes behind offsets.

Nothing is copied that Arrow already has in memory; nulls are a mask beside the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import DataError, UnsupportedFeatureError

if TYPE_CHECKING:
    from table_core.datatypes.kinds import DataType

__all__ = ["Column", "bytes_of", "column_of", "decimal_limbs", "fixed_of", "null_mask"]

_FIXED: Final = {
    Root.BOOLEAN: np.uint8,
    Root.TINYINT: np.int8,
    Root.SMALLINT: np.int16,
    Root.INT: np.int32,
    Root.DATE: np.int32,
    Root.TIME: np.int32,
    Root.BIGINT: np.int64,
    Root.FLOAT: np.float32,
    Root.DOUBLE: np.float64,
    Root.TIMESTAMP: np.int64,
    Root.TIMESTAMP_LTZ: np.int64,
}


@dataclass(frozen=True, slots=True)
class Column:
    """One key column: ``array`` has exactly the Arrow type of ``type``."""

    array: pa.Array
    type: Atomic


def column_of(array: pa.Array | pa.ChunkedArray, type_: DataType) -> Column:
    """``array`` as a column of ``type_``.

    Raises:
        DataError: values do not fit the type.
        UnsupportedFeatureError: a type that can be no key.
    """
    if not isinstance(type_, Atomic) or type_.root in {Root.VARIANT, Root.BLOB}:
        raise UnsupportedFeatureError(f"{type_} cannot be a bucket key", feature=f"key of {type_}")
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    want = arrow_type(type_)
    if not array.type.equals(want):
        try:
            array = array.cast(want)
        except pa.ArrowException as error:
            raise DataError(f"{array.type} does not fit {type_}: {error}", value=None) from error
    return Column(array, type_)


def null_mask(array: pa.Array) -> np.ndarray[Any, Any] | None:
    """True where ``array`` is null; None if it is nowhere."""
    if array.null_count == 0:
        return None
    mask: np.ndarray[Any, Any] = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def fixed_of(column: Column) -> np.ndarray[Any, Any]:
    """The numbers of a column of fixed width; anything where it is null.

    Shape: ``array[n]`` to ``numbers[n]``; timestamps in the unit of their Arrow type.
    """
    array = column.array
    if column.type.root is Root.BOOLEAN:
        filled = array.fill_null(False) if array.null_count else array
        booleans: np.ndarray[Any, Any] = filled.to_numpy(zero_copy_only=False)
        return booleans.astype(np.uint8)
    dtype = np.dtype(_FIXED[column.type.root])
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)


def bytes_of(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Any]:
    """Starts and lengths (0 where null) of the items of a text or binary array, and their bytes.

    >>> starts, lengths, data = bytes_of(pa.array(["ab", None, "c"]))
    >>> starts.tolist(), lengths.tolist(), bytes(data)[:3]
    ([0, 2, 2], [2, 0, 1], b'abc')
    """
    _, offsets_buffer, data = array.buffers()
    if offsets_buffer is None or len(array) == 0:
        return np.zeros(len(array), np.int64), np.zeros(len(array), np.int64), b""
    offsets = np.frombuffer(offsets_buffer, np.int32, len(array) + 1, array.offset * 4)
    offsets = offsets.astype(np.int64)
    lengths = np.diff(offsets)
    mask = null_mask(array)
    if mask is not None:
        lengths[mask] = 0
    return offsets[:-1], lengths, b"" if data is None else data


def decimal_limbs(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Low (unsigned) and high (signed) 64 bits of a decimal128 array's unscaled values."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), np.uint64), np.zeros(len(array), np.int64)
    limbs = np.frombuffer(data, "<u8", 2 * len(array), array.offset * 16).reshape(-1, 2)
    return limbs[:, 0], limbs[:, 1].view(np.int64)
