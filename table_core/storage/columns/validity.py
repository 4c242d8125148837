"""Whether decoded values are what their type says.

Arrow's own full validation is the judge, and its words are the error.  It looks at every text and
every decimal by itself; where a few passes of numpy over all of them prove the same, it is not asked.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["check_values"]

_ROWS_AT_ONCE: Final = 1 << 13
"""Few enough for temporary arrays to lie in memory that malloc keeps: more is mapped anew each time."""
_DIGITS_MAX: Final = 18
"""Decimals of so many digits fit the lower of their two words."""
_HIGH_BITS: Final = np.uint64(0x8080808080808080)


def check_values(column: Any, *, was_integer: bool = False) -> None:
    """Check every value of the decoded ``column``: a damaged file may give text that is no UTF-8.

    ``was_integer``: each value, if a decimal, was made of an integer of at most 64 bits.

    Raises:
        pa.ArrowException: a value, or the layout, is not as the type of ``column`` says.
    """
    column.validate()  # now its buffers are as long as they must be
    if not (len(column) and _is_surely_sound(column, was_integer=was_integer)):
        column.validate(full=True)


def _is_surely_sound(column: Any, *, was_integer: bool) -> bool:
    type_ = column.type
    if pa.types.is_string(type_):
        return _is_ascii(column)
    if pa.types.is_decimal128(type_) and type_.precision <= _DIGITS_MAX:
        return _is_within(column, 10**type_.precision, was_integer=was_integer)
    return False


def _is_ascii(column: Any) -> bool:
    """Whether texts lie one after another, in ASCII alone."""
    _, offsets, body = column.buffers()
    if body is None:
        return False
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    if (bounds[1:] < bounds[:-1]).any():
        return False
    text = np.frombuffer(body, np.uint8)[bounds[0] : bounds[-1]]
    words = text[: len(text) // 8 * 8].view(np.uint64)
    rest = text[8 * len(words) :]
    return not (np.bitwise_or.reduce(words) & _HIGH_BITS or (rest >= 0x80).any())


def _is_within(column: Any, bound: int, *, was_integer: bool) -> bool:
    """Whether decimals, those of missing values too, are within ``-bound`` and ``bound``."""
    body, first, count = column.buffers()[1], 2 * column.offset, 2 * len(column)
    words = pa.Array.from_buffers(pa.int64(), count, [None, body], 0, first)
    lowest, highest = (word.as_py() for word in pc.min_max(words).values())
    if not -bound < lowest <= highest < bound:
        return False
    if was_integer:
        return True
    # The upper word of a value that fits the lower one is its sign, in every bit.
    pairs = np.frombuffer(body, np.int64)[first : first + count]
    parts = (pairs[i : i + 2 * _ROWS_AT_ONCE] for i in range(0, count, 2 * _ROWS_AT_ONCE))
    return all((part[::2] >> 63 == part[1::2]).all() for part in parts)
