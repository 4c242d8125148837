"""Space filling curves: several columns as bytes whose order keeps near rows near.

Source: ``org.apache.paimon.sort.zorder.{ZIndexer,ZOrderByteUtils}``,
``org.apache.paimon.sort.hilbert.HilbertIndexer``; Skilling, "Programming the Hilbert curve", 2004.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.ordinal import ordinals, validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

__all__ = ["hilbert", "z_order"]

_SIGN: Final = np.uint64(1 << 63)
_TEXT_BYTES: Final = 8
"""What a text contributes: the first bytes of it."""
_BITS: Final = 63
_MIDDLE: Final = 1 << 62
_AT_ONCE: Final = 1 << 15


def z_order(columns: Sequence[pa.Array]) -> pa.Array:
    """The bits of all columns in turn; nulls first.

    The bytes are Paimon's, but for decimals and moments finer than milliseconds, whose order
    Paimon's bytes do not keep.

    Points 0,0 0,1 1,0 1,1 come one after the other; the first two bits are the signs, turned.

    >>> curve = z_order([pa.array([0, 0, 1, 1]), pa.array([0, 1, 0, 1])])
    >>> [place.hex()[-2:] for place in curve.to_pylist()], curve[0].as_py().hex()[:2]
    (['00', '01', '02', '03'], 'c0')

    Shape: ``columns[c][n]`` to ``binary[n]`` of 8 bytes a column.
    """
    words = [_z_words(column) for column in columns]
    return _bytes([np.concatenate([_interleaved(part) for part in _parts(words)])])


def hilbert(columns: Sequence[pa.Array]) -> pa.Array:
    """Positions on a Hilbert curve through all columns; nulls last.

    The curve goes 0,0 1,0 1,1 0,1: each point lies beside the one before it.  A Z-order jumps, here from
    0,1 to 1,0.

    >>> curve = hilbert([pa.array([0, 0, 1, 1]), pa.array([0, 1, 0, 1])])
    >>> [place.hex()[-2:] for place in curve.to_pylist()]
    ['00', '03', '01', '02']

    Shape: ``columns[c][n]`` to ``binary[n]`` of 8 bytes a column.
    """
    axes = [_h_words(column) for column in columns]
    return _bytes([np.concatenate([_interleaved(_transposed(part)) for part in _parts(axes)])])


def _parts(words: list[Words]) -> list[list[Words]]:
    """Some rows at a time: a row's bits take a byte each on the way, 64 for each of its words."""
    starts = range(0, max(len(words[0]), 1), _AT_ONCE)
    return [[column[start : start + _AT_ONCE] for column in words] for start in starts]


def _bytes(matrices: list[npt.NDArray[np.uint8]]) -> pa.Array:
    matrix = np.concatenate(matrices)
    width = matrix.shape[1]
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(matrix), [None, pa.py_buffer(np.ascontiguousarray(matrix))]
    )
    return fixed.cast(pa.binary())


def _interleaved(words: Sequence[Words]) -> npt.NDArray[np.uint8]:
    """One bit of each word in turn, the highest first: 1010… and 0011… are 10 00 11 01 ….

    Shape: ``words[c][n]`` to ``[n, 8c]``.
    """
    big = [word.astype(">u8").view(np.uint8).reshape(-1, 8) for word in words]
    bits = np.stack([np.unpackbits(bytes_of, axis=1) for bytes_of in big], axis=2)
    return np.packbits(bits.reshape(len(bits), -1), axis=1)


def _z_words(column: pa.Array) -> Words:
    type_ = column.type
    if pa.types.is_floating(type_):
        doubles = column.cast(pa.float64()).fill_null(0).to_numpy()
        bits = np.where(np.isnan(doubles), np.nan, doubles).view(np.int64)
        # Java shifts by 31 although the number has 64 bits (``ZOrderByteUtils``); its bytes are kept.
        words = bits.view(np.uint64) ^ ((bits >> 31).view(np.uint64) | _SIGN)
    elif pa.types.is_boolean(type_):
        words = ordinals(column).astype(np.uint64) * np.uint64(0x81 << 56)  # Java's byte of true
    elif _is_text(type_):
        words = _text_words(column)
    else:
        words = _whole(column).view(np.uint64) ^ _SIGN
    valid = validity(column)
    return words if valid is None else np.where(valid, words, np.uint64(0))


def _h_words(column: pa.Array) -> Words:
    """Numbers of 63 bits in the order of the values; whole numbers keep their distances."""
    type_ = column.type
    if pa.types.is_floating(type_):
        doubles = column.cast(pa.float64()).fill_null(0)
        words = (ordinals(doubles).view(np.uint64) ^ _SIGN) >> np.uint64(1)
    elif _is_text(type_):
        words = _text_words(column) >> np.uint64(1)
    else:
        inside = np.clip(_whole(column), -_MIDDLE, _MIDDLE - 1)
        words = (inside + _MIDDLE).view(np.uint64)
    valid = validity(column)
    return words if valid is None else np.where(valid, words, np.uint64((1 << _BITS) - 1))


def _whole(column: pa.Array) -> npt.NDArray[np.int64]:
    """The values as 64-bit numbers in their order: moments as milliseconds, long decimals cut."""
    type_ = column.type
    if pa.types.is_timestamp(type_):
        per_ms = {"s": 0, "ms": 1, "us": 1_000, "ns": 1_000_000}[type_.unit]
        values = ordinals(column)
        return values // per_ms if per_ms else values * 1000
    if pa.types.is_decimal(type_) and type_.precision > 18:
        cut = column.cast(pa.decimal128(38, type_.scale))
        words = np.frombuffer(cut.buffers()[1], np.int64, 2 * len(cut), 16 * cut.offset)
        low, high = words[::2].view(np.uint64), words[1::2]
        near = np.clip(high, -(1 << 31), (1 << 31) - 1) << 32
        return near | (low >> np.uint64(32)).astype(np.int64)
    return ordinals(column)


def _text_words(column: pa.Array) -> Words:
    """The first bytes of each text."""
    raw = column.cast(pa.binary()).fill_null(b"")
    head = pc.binary_slice(raw, 0, _TEXT_BYTES)
    padded = pc.ascii_rpad(head.view(pa.string()), width=_TEXT_BYTES, padding="\0")
    body = padded.buffers()[2]
    if body is None or len(column) == 0:
        return np.zeros(len(column), np.uint64)
    first = int(np.frombuffer(padded.buffers()[1], np.int32)[padded.offset])
    words: Words = np.frombuffer(body, ">u8", len(column), first).astype(np.uint64)
    return words


def _is_text(type_: pa.DataType) -> bool:
    texts = (pa.types.is_string, pa.types.is_binary, pa.types.is_fixed_size_binary)
    return any(is_one(type_) for is_one in texts)


def _transposed(axes: Sequence[Words]) -> list[Words]:
    """A point as the bits of its place on the curve, spread over the axes (Skilling)."""
    x: list[Any] = [axis.copy() for axis in axes]
    one = np.uint64(1)
    for bit in range(_BITS - 1, 0, -1):
        q = np.uint64(1 << bit)
        p = q - one
        for i in range(len(x)):
            inverts = (x[i] & q) != 0
            swap = np.where(inverts, np.uint64(0), (x[0] ^ x[i]) & p)
            x[0] ^= np.where(inverts, p, swap)
            if i:
                x[i] ^= swap
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turn = np.zeros_like(x[0])
    for bit in range(_BITS - 1, 0, -1):
        q = np.uint64(1 << bit)
        turn ^= np.where((x[-1] & q) != 0, q - one, np.uint64(0))
    return [axis ^ turn for axis in x]
