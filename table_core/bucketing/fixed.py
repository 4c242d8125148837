"""Which of a fixed number of buckets a row belongs to.

Source: ``org.apache.paimon.bucket.BucketFunction`` and its subclasses; format 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.bucketing.columns import (
    Column,
    bytes_of,
    column_of,
    fixed_of,
    null_mask,
)
from table_core.bucketing.hash import row_hash
from table_core.datatypes.kinds import Root
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.ondisk.binary_row import unscaled, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from table_core.datatypes.kinds import DataType

    Vector = np.ndarray[Any, Any]

__all__ = ["bucket_ids"]

_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY})
_SMALL: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.DATE, Root.TIME})


def bucket_ids(
    columns: Sequence[pa.Array | pa.ChunkedArray],
    types: Sequence[DataType],
    buckets: int,
    function: str = "default",
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The bucket of every row; ``columns`` are the bucket keys, in ``bucket-key`` order.

    Shape: ``columns[c][n]`` to ``int32[n]`` in ``[0, buckets)``.

    Raises:
        ArgumentError: ``buckets`` is no fixed number, or the function cannot take such keys.
        UnsupportedFeatureError: a function or a key type that this release does not know.
    """
    if buckets < 1:
        raise ArgumentError(f"{buckets} is no number of buckets", argument="buckets", value=buckets)
    chosen = _FUNCTIONS.get(function)
    if chosen is None:
        raise UnsupportedFeatureError(
            f"bucket function {function!r} is not supported; there are {sorted(_FUNCTIONS)}",
            feature=f"bucket-function.type {function}",
        )
    return chosen(columns, types, buckets).astype(np.int32)


def _default(columns: Sequence[Any], types: Sequence[DataType], buckets: int) -> Vector:
    # As long: Java takes the remainder before abs(), so the smallest int has no overflow there.
    ids: Vector = np.abs(row_hash(columns, types).astype(np.int64)) % buckets
    return ids


def _mod(columns: Sequence[Any], types: Sequence[DataType], buckets: int) -> Vector:
    whole = [column_of(array, type_) for array, type_ in zip(columns, types, strict=True)]
    if len(whole) != 1 or whole[0].type.root not in {Root.INT, Root.BIGINT}:
        raise ArgumentError(
            f"bucket function 'mod' takes one INT or BIGINT key, got {list(types)}",
            argument="types",
            value=len(types),
        )
    numbers = fixed_of(whole[0])
    mask = null_mask(whole[0].array)
    return (numbers if mask is None else np.where(mask, 0, numbers)) % buckets


def _hive(columns: Sequence[Any], types: Sequence[DataType], buckets: int) -> Vector:
    whole = [column_of(array, type_) for array, type_ in zip(columns, types, strict=True)]
    result = np.zeros(len(whole[0].array) if whole else 0, np.uint32)
    for column in whole:
        hashes = _hive_hash(column)
        mask = null_mask(column.array)
        result *= np.uint32(31)
        result += hashes if mask is None else np.where(mask, np.uint32(0), hashes)
    return (result & np.uint32(0x7FFF_FFFF)).astype(np.int64) % buckets


def _hive_hash(column: Column) -> Vector:
    """Hive's hash of each value, as unsigned; anything where it is null."""
    root = column.type.root
    if root in _TEXT:
        return _hive_bytes(column.array)
    if root is Root.DECIMAL:
        return _hive_decimals(column)
    numbers = fixed_of(column)
    if root is Root.BOOLEAN or root in _SMALL:
        return numbers.astype(np.int32).view(np.uint32)
    if root in {Root.FLOAT, Root.DOUBLE}:
        # Java has one NaN.  The sign of zero is the top bit, which no bucket depends on.
        numbers = np.where(np.isnan(numbers), numbers.dtype.type("nan"), numbers)
        if root is Root.FLOAT:
            singles: Vector = numbers.view(np.uint32)
            return singles
    if root in {Root.BIGINT, Root.DOUBLE}:
        bits = numbers.view(np.uint64)
        folded: Vector = (bits ^ (bits >> np.uint64(32))).astype(np.uint32)
        return folded
    raise UnsupportedFeatureError(
        f"bucket function 'hive' does not know {column.type}", feature=f"hive bucket key of {root}"
    )


def _hive_bytes(array: pa.Array) -> Vector:
    """``h = 31 * h + byte`` over signed bytes: longest first, so that a prefix goes on."""
    starts, lengths, data = bytes_of(array)
    signed = np.frombuffer(data, np.int8)
    order = np.argsort(-lengths, kind="stable")
    steps = int(lengths.max(initial=0))
    active = len(lengths) - np.searchsorted(lengths[order][::-1], np.arange(steps), "right")
    h, at = np.zeros(len(lengths), np.uint32), starts[order]
    for step, many in enumerate(active.tolist()):
        h[:many] *= np.uint32(31)
        h[:many] += signed[at[:many] + step].astype(np.int32).view(np.uint32)
    result = np.empty_like(h)
    result[order] = h
    return result


def _hive_decimals(column: Column) -> Vector:
    """Java's ``BigDecimal.hashCode`` without trailing zeros, once for each distinct value."""
    encoded = column.array.dictionary_encode()
    hashes = [
        0 if value is None else _hive_decimal(unscaled(value, column.type.scale), column.type.scale)  # type: ignore[arg-type]  # values of a DECIMAL column
        for value in values_of(encoded.dictionary, column.type)
    ]
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    hashed: Vector = np.array([*hashes, 0], np.uint32)[indices]
    return hashed


def _hive_decimal(number: int, scale: int) -> int:
    while scale > 0 and number % 10 == 0:
        number, scale = number // 10, scale - 1
    magnitude, hashed = abs(number), 0
    for word in range((magnitude.bit_length() + 31) // 32 - 1, -1, -1):
        hashed = (31 * hashed + (magnitude >> 32 * word & 0xFFFF_FFFF)) & 0xFFFF_FFFF
    return (31 * (hashed if number >= 0 else -hashed) + scale) & 0xFFFF_FFFF


_FUNCTIONS: Final[dict[str, Callable[..., Vector]]] = {
    "default": _default,
    "mod": _mod,
    "hive": _hive,
}
