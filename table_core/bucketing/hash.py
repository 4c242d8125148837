"""The hash of rows: 32-bit Murmur over ``BinaryRow`` bodies that are never put together.

A body is a sequence of little-endian 4-byte words: null bits, a slot a field, then variable
parts (format 4.4).  All rows take one word at a time, as numpy vectors; words that are equal in
every row are one number.  Variable parts differ in length: rows are ordered by it, longest first,
so that the rows that still have words are a prefix.

Rows ('ab'), ('abcdefgh'), (NULL) of one STRING column, word by word::

    header     0           0       1 << 8   the null bit of field 0 is bit 8
    header     0           0       0
    slot low   'ab'        8       0        a short text itself; of a long one, its length,
    slot high  0x82 << 24  16      0        0x80 + the length; of a long one, where it begins
    variable               'abcd'           only the second row has more words
    variable               'efgh'
    length     16          24      16       bytes of the body, mixed in at the end

Source: ``org.apache.paimon.utils.MurmurHashUtils``; format 4.4, 6.1 and T20 to T26.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.bucketing.columns import (
    Column,
    bytes_of,
    column_of,
    decimal_limbs,
    fixed_of,
    null_mask,
)
from table_core.datatypes.kinds import Root
from table_core.errors import ArgumentError
from table_core.ondisk.binary_row import COMPACT_DECIMAL, COMPACT_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from table_core.datatypes.kinds import DataType

    Vector = np.ndarray[Any, Any]

__all__ = ["row_hash"]

_SEED: Final = 42
_CHUNK: Final = 1 << 16
"""Rows at a time: their vectors stay in the processor's cache."""
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY})
_TIMESTAMPS: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_INLINE: Final = 7
_MILLIS: Final = {"ms": 1, "us": 1000, "ns": 1_000_000}
_KEEP: Final = np.array([(1 << 8 * n) - 1 for n in range(8)] + [2**64 - 1], np.uint64)
"""Mask that keeps the first ``n`` of eight bytes."""
_ZERO: Final = np.zeros(1, np.uint32)


def row_hash(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Java's ``BinaryRow.hashCode()`` of every row of ``columns``.

    Shape: ``columns[c][n]`` of any keyable type, nulls allowed, to ``int32[n]``.

    Raises:
        DataError: values do not fit ``types``.
        UnsupportedFeatureError: a type that can be no key.
    """
    if not columns:
        raise ArgumentError("a row without columns has no hash", argument="columns", value=0)
    whole = [column_of(array, type_) for array, type_ in zip(columns, types, strict=True)]
    rows = len(whole[0].array)
    result = np.empty(rows, np.int32)
    for start in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - start)
        part = [Column(column.array.slice(start, count), column.type) for column in whole]
        result[start : start + count] = _hash_chunk(part, count)
    return result


class _Murmur:
    """The running hash of many rows."""

    def __init__(self, rows: int) -> None:
        self.hash = np.full(rows, _SEED, np.uint32)
        self.length: int | Vector = 0
        """Bytes taken so far."""

    def word(self, words: Vector) -> None:
        """Take the next word of every row; one of length 1 stands for all."""
        _mix(self.hash, words)

    def double(self, words: Vector) -> None:
        """Take the next eight bytes of every row."""
        self.word(words.astype(np.uint32))
        self.word((words >> np.uint64(32)).astype(np.uint32))

    def finish(self) -> Vector:
        """The hash, with the length of the bytes mixed in."""
        h = self.hash
        h ^= np.asarray(self.length).astype(np.uint32)
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
        return h.view(np.int32)


def _mix(h: Vector, words: Vector) -> None:
    """Murmur's step, in place on ``h``."""
    k = words * np.uint32(0xCC9E2D51)
    k = (k << np.uint32(15)) | (k >> np.uint32(17))
    k *= np.uint32(0x1B873593)
    h ^= k
    high = h >> np.uint32(19)
    h <<= np.uint32(13)
    h |= high
    h *= np.uint32(5)
    h += np.uint32(0xE6546B64)


def _hash_chunk(columns: Sequence[Column], rows: int) -> Vector:
    murmur = _Murmur(rows)
    arity = len(columns)
    masks = [null_mask(column.array) for column in columns]
    header_words = (arity + 71) // 64 * 2
    headers: list[Vector] = [_ZERO] * header_words
    for at, mask in enumerate(masks):
        if mask is not None:
            word, bit = divmod(at + 8, 32)
            headers[word] = headers[word] | (mask.astype(np.uint32) << np.uint32(bit))
    for header in headers:
        murmur.word(header)
    murmur.length = header_words * 4 + 8 * arity
    tails: list[_Tail] = []
    for column, mask in zip(columns, masks, strict=True):
        _slot(murmur, column, mask, tails)
    for tail in tails:
        tail.feed(murmur)
    return murmur.finish()


class _Tail:
    """The variable parts of one column: the same number of words a row, or from a buffer."""

    def __init__(self, doubles: Sequence[Vector] = (), text: _Text | None = None) -> None:
        self.doubles = doubles
        self.text = text

    def feed(self, murmur: _Murmur) -> None:
        for words in self.doubles:
            murmur.double(words)
        if self.text is not None:
            self.text.feed(murmur)


class _Text:
    """Text and binaries of one column."""

    def __init__(self, array: pa.Array) -> None:
        self.starts, self.lengths, data = bytes_of(array)
        low = int(self.starts[0]) if len(self.starts) else 0
        high = int((self.starts + self.lengths).max(initial=low))
        self.starts -= low
        padded = np.zeros(high - low + 16, np.uint8)  # reads of eight bytes end inside
        padded[: high - low] = np.frombuffer(data, np.uint8)[low:high]
        # Every position as the little-endian number of the eight bytes there.
        self.doubles = np.ndarray((high - low + 9,), "<u8", padded, strides=(1,))
        self.tail_bytes = np.where(self.lengths > _INLINE, -(-self.lengths // 8) * 8, 0)

    def inline(self) -> Vector:
        """Slots of the items, right for those that fit one."""
        short = np.minimum(self.lengths, _INLINE)
        marked = (self.lengths.astype(np.uint64) | np.uint64(0x80)) << np.uint64(56)
        slots: Vector = (self.doubles[self.starts] & _KEEP[short]) | marked
        return slots

    def feed(self, murmur: _Murmur) -> None:
        """Take the items that lie in the variable part, eight bytes at a time."""
        counts = self.tail_bytes // 8
        steps = int(counts.max(initial=0))
        if steps == 0:
            return
        # Words a row 1 3 0 2: order 1 3 0 2, and 3, 2 and 1 rows are active in steps 0, 1 and 2.
        order = np.argsort(-counts, kind="stable")
        active = len(counts) - np.searchsorted(counts[order][::-1], np.arange(steps), "right")
        h, starts, lengths = murmur.hash[order], self.starts[order], self.lengths[order]
        for step, many in enumerate(active.tolist()):
            left = np.minimum(lengths[:many] - 8 * step, 8)
            words = self.doubles[starts[:many] + 8 * step] & _KEEP[left]
            _mix(h[:many], words.astype(np.uint32))
            _mix(h[:many], (words >> np.uint64(32)).astype(np.uint32))
        murmur.hash[order] = h


def _slot(murmur: _Murmur, column: Column, mask: Vector | None, tails: list[_Tail]) -> None:
    """Take one column's slot; leave what belongs behind the slots in ``tails``."""
    root, precision = column.type.root, column.type.precision
    if root in _TEXT:
        text = _Text(column.array)
        slots = text.inline()
        if text.tail_bytes.any():
            offsets = np.asarray(murmur.length).astype(np.uint64) << np.uint64(32)
            slots = np.where(text.tail_bytes > 0, offsets | text.lengths.astype(np.uint64), slots)
            murmur.length = murmur.length + text.tail_bytes
            tails.append(_Tail(text=text))
        murmur.double(_zeroed(slots, mask))
    elif root is Root.DECIMAL and precision > COMPACT_DECIMAL:
        lengths, first, second = _decimal_bytes(column.array)
        _double_behind(murmur, _zeroed(lengths, mask), 16)
        tails.append(_Tail([_zeroed(first, mask), _zeroed(second, mask)]))
    elif root in _TIMESTAMPS and precision > COMPACT_TIMESTAMP:
        unit = _MILLIS[column.array.type.unit]
        millis, part = np.divmod(fixed_of(column), unit)
        nanos = (part * (1_000_000 // unit)).astype(np.uint64)
        _double_behind(murmur, _zeroed(nanos, mask), 8)
        tails.append(_Tail([_zeroed(millis.view(np.uint64), mask)]))
    elif root is Root.DECIMAL:
        murmur.double(_zeroed(decimal_limbs(column.array)[0], mask))
    else:
        numbers = fixed_of(column)
        if numbers.dtype.itemsize == 8:
            murmur.double(_zeroed(numbers.view(np.uint64), mask))
        else:
            # Zero-extended, never sign-extended (format T21).
            bits = numbers.view(f"<u{numbers.dtype.itemsize}").astype(np.uint32)
            murmur.word(_zeroed(bits, mask))
            murmur.word(_ZERO)


def _zeroed(values: Vector, mask: Vector | None) -> Vector:
    return values if mask is None else np.where(mask, values.dtype.type(0), values)


def _double_behind(murmur: _Murmur, low: Vector, size: int) -> None:
    """Take a slot that points behind the slots: ``low`` beside the offset, also where null."""
    offsets = np.asarray(murmur.length).astype(np.uint32)
    murmur.word(low.astype(np.uint32))
    murmur.word(np.atleast_1d(offsets))
    murmur.length = murmur.length + size


def _decimal_bytes(array: pa.Array) -> tuple[Vector, Vector, Vector]:
    """Length and two little-endian words of the fewest big-endian bytes of each decimal.

    150 is ``00 … 00 96``: fourteen of the bytes are spare, but not the last zero, without which 96 would be
    negative.  So it has length 2 and the bytes ``00 96``, then zeros.
    """
    low, high = decimal_limbs(array)
    big = np.empty((len(low), 2), ">u8")
    big[:, 0], big[:, 1] = high.view(np.uint64), low
    digits = big.view(np.uint8).reshape(-1, 16)
    sign = np.where(high < 0, np.uint8(255), np.uint8(0))
    # A leading byte is spare if it and the next one's top bit only repeat the sign.
    spare = (digits[:, :-1] == sign[:, None]) & ((digits[:, 1:] ^ sign[:, None]) < 128)
    skipped = np.cumprod(spare, axis=1, dtype=np.uint8).sum(axis=1, dtype=np.int64)
    at = np.arange(16) + skipped[:, None]
    left = np.take_along_axis(digits, np.minimum(at, 15), axis=1)
    left = np.where(at < 16, left, np.uint8(0))
    words = np.ascontiguousarray(left).view("<u8")
    return (16 - skipped).astype(np.uint64), words[:, 0], words[:, 1]
