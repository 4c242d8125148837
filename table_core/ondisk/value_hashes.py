"""The hashes by which bloom filters of file indexes know values, a column at a time.

Source: ``org.apache.paimon.fileindex.bloomfilter.FastHash``, XXH64 with seed 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Atomic, DataType, Root

if TYPE_CHECKING:
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

__all__ = ["hashes_of", "instants"]

_INTEGERS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.DATE, Root.TIME}
)
_TIMES: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_TEXTS: Final = frozenset({Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY})
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


def hashes_of(column: pa.Array, type_: DataType) -> Words | None:
    """The hashes of the distinct values of ``column`` but NULL; None for types that have none.

    >>> hashes_of(pa.array([1, 1, None], pa.int32()), Atomic(Root.INT)).tolist()
    [6614235796240398542]

    Shape: ``column[n]`` to ``uint64[d]``.
    """
    if not isinstance(type_, Atomic):
        return None
    values = column.drop_null()
    if type_.root in _TEXTS:
        return _text_hashes(values.unique())
    if type_.root in _INTEGERS:
        narrow = values.view(pa.int32()) if pa.types.is_temporal(values.type) else values
        return _number_hashes(narrow.cast(pa.int64()).to_numpy())
    if type_.root in _TIMES:
        return _number_hashes(instants(values, type_).to_numpy())
    if type_.root in {Root.FLOAT, Root.DOUBLE}:  # NaN has one form, as in Java
        floats = values.to_numpy()
        bits = np.where(np.isnan(floats), np.array(np.nan, floats.dtype), floats)
        return _number_hashes(bits.view(f"i{floats.itemsize}").astype(np.int64))
    return None


def instants(column: pa.Array, type_: Atomic) -> pa.Array:
    """The milliseconds or microseconds that indexes hold of timestamps, rounded down.

    Shape: ``column[n]`` to ``int64[n]``.
    """
    if column.type.unit == "ns":
        nanos = column.view(pa.int64())
        floor = pc.fill_null(nanos, 0).to_numpy() // 1000
        return pa.array(floor, mask=nanos.is_null().to_numpy(zero_copy_only=False))
    unit = "ms" if type_.precision <= 3 else "us"
    return column.cast(pa.timestamp(unit, column.type.tz)).view(pa.int64())


def _number_hashes(values: npt.NDArray[np.int64]) -> Words:
    """Thomas Wang's hash of 64 bits, with Java's shifts, which keep the sign."""
    key = np.unique(values)
    with np.errstate(over="ignore"):
        key = ~key + (key << 21)
        key ^= key >> 24
        key = key + (key << 3) + (key << 8)
        key ^= key >> 14
        key = key + (key << 2) + (key << 4)
        key ^= key >> 28
        key = key + (key << 31)
    hashes: Words = key.view(np.uint64)
    return hashes


def _text_hashes(values: pa.Array) -> Words:
    """XXH64 of each value: all values of one length at once.

    The steps of the hash depend on the length alone, so "ab" and "cd" are two rows of one matrix, and
    "xyz" is a matrix of its own.
    """
    data = values.cast(pa.large_binary())
    offsets = np.frombuffer(data.buffers()[1], np.int64)[data.offset :][: len(data) + 1]
    body = data.buffers()[2]
    raw = np.frombuffer(body, np.uint8) if body is not None else np.zeros(0, np.uint8)
    lengths = np.diff(offsets)
    hashes = np.empty(len(lengths), np.uint64)
    with np.errstate(over="ignore"):
        for length in np.unique(lengths).tolist():
            which = np.flatnonzero(lengths == length)
            hashes[which] = _xx_hash(raw[offsets[which][:, None] + np.arange(length)])
    return hashes


def _xx_hash(rows: npt.NDArray[np.uint8]) -> Words:
    """XXH64, seed 0: blocks of 32 bytes in four lanes, then 8, then 4 bytes, then one at a time.

    Shape: ``bytes[n, length]`` to ``uint64[n]``.
    """
    count, length = rows.shape
    at = length - length % 32
    if at:
        lanes = [
            np.full(count, seed, np.uint64) for seed in (_P1 + _P2, _P2, 0, ~_P1 + np.uint64(1))
        ]
        for start in range(0, at, 32):
            words = _words(rows[:, start : start + 32], "<u8")
            lanes = [_round(lane, words[:, n]) for n, lane in enumerate(lanes)]
        turned = [_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)]
        hashes = turned[0] + turned[1] + turned[2] + turned[3]
        for lane in lanes:
            hashes = (hashes ^ _round(np.zeros(count, np.uint64), lane)) * _P1 + _P4
    else:
        hashes = np.full(count, _P5, np.uint64)
    hashes = hashes + np.uint64(length)
    while at + 8 <= length:
        word = _words(rows[:, at : at + 8], "<u8")[:, 0]
        hashes = _rotated(hashes ^ _round(np.zeros(count, np.uint64), word), 27) * _P1 + _P4
        at += 8
    if at + 4 <= length:
        half = _words(rows[:, at : at + 4], "<u4")[:, 0].astype(np.uint64)
        hashes = _rotated(hashes ^ half * _P1, 23) * _P2 + _P3
        at += 4
    for n in range(at, length):
        hashes = _rotated(hashes ^ rows[:, n].astype(np.uint64) * _P5, 11) * _P1
    hashes = (hashes ^ hashes >> np.uint64(33)) * _P2
    hashes = (hashes ^ hashes >> np.uint64(29)) * _P3
    mixed: Words = hashes ^ hashes >> np.uint64(32)
    return mixed


def _words(rows: npt.NDArray[np.uint8], form: str) -> npt.NDArray[Any]:
    return np.ascontiguousarray(rows).view(form)


def _round(lane: Words, word: Words) -> Words:
    return _rotated(lane + word * _P2, 31) * _P1


def _rotated(value: Words, by: int) -> Words:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))
