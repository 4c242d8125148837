"""Roaring bitmaps in the portable format, as sorted numpy arrays.

A 32-bit bitmap holds, for each 16-bit prefix, the low halves of its numbers as a list, as 65536
bits or as runs, whichever is smallest.  A 64-bit bitmap is a count and then, for each 32-bit
prefix, a 32-bit bitmap.

Numbers 1, 5 and 65,536: prefix 0 with the list ``0100 0500``, prefix 1 with the list ``0000``.

Source: the RoaringFormatSpec of roaringbitmap.org; ``org.apache.paimon.deletionvectors``;
format 7.7.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    Vector = np.ndarray[Any, Any]

__all__ = [
    "NUMBERS_MAX",
    "TooManyNumbersError",
    "decode32",
    "decode64",
    "decode_container",
    "encode32",
    "encode64",
    "encode_container",
]

_COOKIE: Final = 12346
_COOKIE_RUNS: Final = 12347
_LIST_MAX: Final = 4096
_BITS_BYTES: Final = 8192
_OFFSETS_FROM: Final = 4
"""A bitmap with runs has offsets only from this many containers on."""
_CONTAINERS_MAX: Final = 1 << 16
NUMBERS_MAX: Final = 1 << 25
"""Of one bitmap: fourteen bytes of a run may stand for 65536 numbers, which take twelve bytes each here."""


class TooManyNumbersError(ValueError):
    """A bitmap of more numbers than there may be."""


def encode32(numbers: Vector) -> bytes:
    """The bitmap of ``numbers``.

    Shape: unsigned, below 2^32, ascending, each once.
    """
    numbers = numbers.astype(np.uint32)
    prefixes, starts = np.unique(numbers >> np.uint32(16), return_index=True)
    ends = np.append(starts, len(numbers))[1:]
    containers, with_runs, cards = [], [], []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        body, is_run = encode_container(numbers[start:end].astype("<u2"))
        containers.append(body)
        with_runs.append(is_run)
        cards.append(end - start - 1)
    count = len(containers)
    if any(with_runs):
        flags = np.packbits(np.array(with_runs), bitorder="little").tobytes()
        head = struct.pack("<I", _COOKIE_RUNS | (count - 1) << 16) + flags
    else:
        head = struct.pack("<II", _COOKIE, count)
    pairs = np.column_stack([prefixes, np.array(cards, np.uint32)]).astype("<u2").tobytes()
    parts = [head, pairs]
    if not any(with_runs) or count >= _OFFSETS_FROM:
        sizes = [len(body) for body in containers]
        first = len(head) + len(pairs) + 4 * count
        offsets = np.cumsum([first, *sizes[:-1]])[:count]
        parts.append(offsets.astype("<u4").tobytes())
    return b"".join([*parts, *containers])


def encode_container(low: Vector) -> tuple[bytes, bool]:
    """The smallest form of one container, and whether that is runs.

    5 to 14 as a list are 20 bytes; as one run, of 5 and nine more, they are 2 + 4.

    >>> encode_container(np.arange(5, 15, dtype=np.uint16))[0].hex()
    '010005000900'

    Shape: low halves as ``uint16``, ascending, each once.
    """
    breaks = np.flatnonzero(np.diff(low.astype(np.int32)) != 1)
    plain = 2 * len(low) if len(low) <= _LIST_MAX else _BITS_BYTES
    if 2 + 4 * (len(breaks) + 1) < plain:
        firsts = low[np.append(0, breaks + 1)]
        lasts = low[np.append(breaks, len(low) - 1)]
        runs = np.column_stack([firsts, lasts - firsts]).astype("<u2")
        return struct.pack("<H", len(runs)) + runs.tobytes(), True
    if len(low) <= _LIST_MAX:
        return low.tobytes(), False
    bits = np.zeros(1 << 16, np.uint8)
    bits[low] = 1
    return np.packbits(bits, bitorder="little").tobytes(), False


def decode32(body: bytes | memoryview, at: int = 0, most: int = NUMBERS_MAX) -> tuple[Vector, int]:
    """The numbers of the bitmap at ``at``, and where it ends.

    Shape: ascending ``uint32``.

    Raises:
        TooManyNumbersError: more than ``most``.
        ValueError: no bitmap, or one cut short.
    """
    view = memoryview(body)
    (cookie,) = _unpack("<I", view, at)
    flags = np.zeros(0, bool)
    if cookie & 0xFFFF == _COOKIE_RUNS:
        count = (cookie >> 16) + 1
        at += 4
        packed = _array(view, at, (count + 7) // 8, "u1")
        flags = np.unpackbits(packed, bitorder="little").astype(bool)
        at += len(packed)
    elif cookie == _COOKIE:
        (count,) = _unpack("<I", view, at + 4)
        at += 8
    else:
        raise ValueError(f"a bitmap cannot begin with {cookie:#x}")
    if count > _CONTAINERS_MAX:
        raise ValueError(f"a bitmap of {count} containers")
    pairs = _array(view, at, 2 * count, "<u2").reshape(-1, 2)
    if (many := int(pairs[:, 1].sum(dtype=np.int64)) + count) > most:
        raise TooManyNumbersError(f"a bitmap of {many:,} numbers, more than {most:,}")
    if not bool(np.all(np.diff(pairs[:, 0].astype(np.int32)) > 0)):
        raise ValueError("containers of a bitmap are out of order")
    at += 4 * count
    if not len(flags) or count >= _OFFSETS_FROM:
        at += 4 * count
    numbers = []
    for index, (prefix, card) in enumerate(pairs.astype(np.uint32).tolist()):
        is_run = index < len(flags) and bool(flags[index])
        low, at = decode_container(view, at, card + 1, is_run=is_run)
        numbers.append(low | np.uint32(prefix << 16))
    return np.concatenate(numbers) if numbers else np.zeros(0, np.uint32), at


def decode_container(view: memoryview, at: int, card: int, *, is_run: bool) -> tuple[Vector, int]:
    """The ``card`` numbers of the container at ``at``, and where it ends.

    Shape: ascending ``uint32`` below 2^16.

    Raises:
        ValueError: it is cut short, or does not hold ``card`` numbers.
    """
    if is_run:
        (runs,) = _unpack("<H", view, at)
        pairs = _array(view, at + 2, 2 * runs, "<u2").reshape(-1, 2).astype(np.int64)
        at += 2 + 4 * runs
        firsts, lengths = pairs[:, 0], pairs[:, 1] + 1
        # Runs that do not overlap and stay below 2^16 have at most 2^16 members.
        if bool(np.any(firsts[1:] < (firsts + lengths)[:-1])) or int(lengths.sum()) != card:
            raise ValueError("runs of a bitmap overlap or do not add up")
        starts = np.cumsum(lengths) - lengths
        low = np.arange(card) + np.repeat(firsts - starts, lengths)
    elif card <= _LIST_MAX:
        low = _array(view, at, card, "<u2").astype(np.int64)
        at += 2 * card
    else:
        bits = np.unpackbits(_array(view, at, _BITS_BYTES, "u1"), bitorder="little")
        low = np.flatnonzero(bits)
        at += _BITS_BYTES
    if len(low) != card or bool(np.any(np.diff(low) <= 0)) or int(low[-1]) > 0xFFFF:
        raise ValueError("a container of a bitmap does not hold what it says")
    return low.astype(np.uint32), at


def _unpack(form: str, view: memoryview, at: int) -> tuple[Any, ...]:
    try:
        return struct.unpack_from(form, view, at)
    except struct.error as error:
        raise ValueError(f"a bitmap that ends at {len(view)}, before {at}") from error


def _array(view: memoryview, at: int, count: int, dtype: str) -> Vector:
    size = count * np.dtype(dtype).itemsize
    if at + size > len(view):
        raise ValueError(f"a bitmap that ends at {len(view)}, before {at + size}")
    return np.frombuffer(view[at : at + size], dtype)


def encode64(numbers: Vector) -> bytes:
    """The 64-bit bitmap of ``numbers``.

    Shape: below 2^63, ascending, each once.
    """
    numbers = numbers.astype(np.uint64)
    prefixes, starts = np.unique(numbers >> np.uint64(32), return_index=True)
    ends = np.append(starts, len(numbers))[1:]
    parts = [struct.pack("<q", len(prefixes))]
    for prefix, start, end in zip(prefixes.tolist(), starts, ends, strict=True):
        parts += [struct.pack("<I", prefix), encode32(numbers[start:end])]
    return b"".join(parts)


def decode64(body: bytes | memoryview, most: int = NUMBERS_MAX) -> tuple[Vector, int]:
    """The numbers of a 64-bit bitmap, and where it ends.

    Shape: ascending ``int64``.

    Raises:
        TooManyNumbersError: more than ``most``.
        ValueError: no bitmap, or one cut short.
    """
    view = memoryview(body)
    (count,) = _unpack("<q", view, 0)
    if not 0 <= count <= len(view) // 12:  # each takes a prefix and an empty bitmap
        raise ValueError(f"a bitmap of {count} parts in {len(view)} bytes")
    at, parts, last, many = 8, [], -1, 0
    for _ in range(count):
        (prefix,) = _unpack("<I", view, at)
        if prefix <= last or prefix >= 1 << 31:
            raise ValueError("parts of a bitmap are out of order")
        low, at = decode32(view, at + 4, most - many)
        parts.append((prefix, low))
        last, many = prefix, many + len(low)
    numbers = np.empty(many, np.int64)  # once: the parts take half as much
    end = many
    while parts:
        prefix, low = parts.pop()
        here = numbers[end - len(low) : end]
        here[:] = low
        here |= np.int64(prefix) << np.int64(32)
        end -= len(low)
    return numbers, at
