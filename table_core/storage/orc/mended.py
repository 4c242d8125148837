"""ORC files of Arrow's writer, mended where it stores fractions of a second before 1970, or long texts as bounds.

Arrow puts the smallest and the largest text of a column into the footer, into what it says of each stripe, and into the
indexes, however long they are.  A text of 8 MB made a file of 20 MB, whose footer is larger than readers with a budget
for it, ours among them, take.  Java's writer cuts them off.  Here the bounds of such a column go: the manifest has some.

As to fractions: Arrow divides towards 1970 and leaves nanoseconds that are negative, which stops Java's readers.  ORC
wants them from the second before on; see ``orc_timestamps`` for how readers find that second.  Only
the two streams of such a column are written anew; indexes and bounds go, which count on the old ones.

    moment            Arrow writes        mended              readers make
    -1.5 s            -1 s, -500000000    -1 s, 500000000     -2 s + 0.5 s, as the fraction is over a millisecond
    -999.9995 s       -999, -999500000    -1000, 500000       -1000 s + 0.0005 s: within a millisecond, none off

The last second before 1970 has no such form: 0 s is not below zero, so readers take nothing off.  Who writes
refuses it by name.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.storage.orc.messages import decode_message, encode_message, nested, one
from table_core.storage.orc.numbers import decode_integers, encode_integers
from table_core.storage.orc.stripes import (
    packed_blocks,
    read_ends,
    read_part,
    read_tail,
    stripe_footer,
    unpacked,
)
from table_core.storage.orc.timestamps import BASE, TIMESTAMPS, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.storage.orc.messages import Message
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["mend"]

_DATA, _SECONDARY, _FIRST_INDEX = 1, 5, 6
_SECOND: Final = 1_000_000_000
_ZEROS_MAX: Final = 8
_KEPT: Final = frozenset({1, 10, 11})
"""Of the statistics of a column: values, whether there are nulls, bytes."""
_STATISTICS_BYTES: Final = 1 << 10
"""Longer ones of a column go."""


def mend(file: Any, size: int, write: Callable[[bytes], object]) -> None:
    """Give ``write`` the bytes of ``file``, with timestamps as Java reads them and without long bounds."""
    tail = read_tail(file, size, most=sys.maxsize)
    script, footer = read_ends(file, size, most=sys.maxsize)
    wrong = {number for number, type_ in enumerate(tail.types) if type_.kind in TIMESTAMPS}
    at = one(footer, 1)
    write(read_part(file, 0, at))
    stripes: list[int | bytes] = []
    for number, (*_, rows) in enumerate(tail.stripes):
        body, foot = _stripe(file, tail, number, wrong)
        write(body)
        write(foot)
        lengths = {1: [at], 2: [0], 3: [len(body)], 4: [len(foot)], 5: [rows]}
        stripes.append(encode_message({k: [*v] for k, v in lengths.items()}))
        at += len(body) + len(foot)
    footer |= {2: [at], 3: stripes, 7: _statistics(footer.get(7, []), wrong), 8: [0]}
    end = packed_blocks(encode_message(footer), tail)
    write(end)
    script |= {1: [len(end)], 5: [0]}
    postscript = encode_message(script)
    write(postscript + bytes([len(postscript)]))


def _stripe(file: Any, tail: OrcTail, number: int, wrong: set[int]) -> tuple[bytes, bytes]:
    """The streams of a stripe without its indexes, and its footer."""
    footer = stripe_footer(file, tail, number)
    streams: dict[tuple[int, int], bytes] = {}
    offset = tail.stripes[number][0]
    for part in footer.get(1, []):
        stream = decode_message(nested(part))
        kind, column, length = (one(stream, n) for n in (1, 2, 3))
        if not _FIRST_INDEX <= kind <= _FIRST_INDEX + 2:
            streams[column, kind] = read_part(file, offset, length)
        offset += length
    for column in wrong:
        if (column, _SECONDARY) in streams:
            both = (
                unpacked(streams[column, kind], tail.codec, tail.block_size)
                for kind in (_DATA, _SECONDARY)
            )
            for kind, body in zip((_DATA, _SECONDARY), _mended(*both), strict=True):
                streams[column, kind] = packed_blocks(body, tail)
    footer[1] = [
        encode_message({1: [kind], 2: [column], 3: [len(body)]})
        for (column, kind), body in streams.items()
    ]
    return b"".join(streams.values()), packed_blocks(encode_message(footer), tail)


def _mended(data: bytes, secondary: bytes) -> tuple[bytes, bytes]:
    seconds = BASE + decode_integers(data, None, signed=True)
    nanos = nanoseconds(decode_integers(secondary, None, signed=False))
    early = nanos < 0
    nanos = np.where(early, nanos + _SECOND, nanos)
    # Where a millisecond is begun, readers take a second off again.
    seconds = seconds - (early & (nanos <= 999_999))
    return encode_integers(seconds - BASE, signed=True), encode_integers(
        _stored(nanos), signed=False
    )


def _stored(nanos: Any) -> Any:
    """Nanoseconds without trailing zeros, if there are two, whose number less one is in three bits.

    1000 is 1 and three zeros: 1 << 3 | 2.

    >>> _stored(np.array([0, 5, 10, 1000])).tolist()
    [0, 40, 80, 10]
    """
    rest, zeros = nanos.copy(), np.zeros(len(nanos), np.int64)
    for _ in range(_ZEROS_MAX):
        more = (rest % 10 == 0) & (rest != 0)
        rest, zeros = np.where(more, rest // 10, rest), zeros + more
    short = zeros > 1
    return np.where(short, rest << 3 | zeros - 1, nanos << 3)


def _statistics(columns: list[int | bytes], wrong: set[int]) -> list[int | bytes]:
    out: list[int | bytes] = []
    for number, body in enumerate(columns):
        if number not in wrong and len(nested(body)) <= _STATISTICS_BYTES:
            out.append(body)
            continue
        said: Message = decode_message(nested(body))
        kept: Message = {k: v for k, v in said.items() if k in _KEPT}
        out.append(encode_message(kept))
    return out
