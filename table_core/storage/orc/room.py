"""How much memory a stripe takes in Arrow, before Arrow reads it: its reader gives whole stripes.

A few bytes say that one value stands in a hundred million rows, or that so many rows have the same long text
of a dictionary.  The footer has the rows, the types their width, the streams of lengths that of texts and lists::

    100,000,000 rows of BIGINT                                   ->  800 MB, and 8 bytes a row
    rows [0, 0, 1, 0 …] of a dictionary of 1,000 and 3 bytes     ->  1,000 and 1,000 and 3 and 1,000 …, and 1,004 a row

A stripe that takes more than it may is read in batches of as many of its widest rows as may be there at a time.

Source: the ORC v1 specification, "Types" and "Column Encodings".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.options.budgets import STRIPE_BYTES
from table_core.storage.orc.messages import decode_message, nested, one
from table_core.storage.orc.numbers import decode_integers, decode_old_lengths
from table_core.storage.orc.stripes import read_part, streams_of, stripe_footer, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.storage.orc.messages import Message
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["Room", "room_of"]

_DATA, _LENGTH = 1, 2
_DICTIONARY_2: Final = 3
_DICTIONARY: Final = frozenset({1, _DICTIONARY_2})
_VERSION_2: Final = frozenset({2, _DICTIONARY_2})
_TEXTS: Final = frozenset({7, 8, 16, 17})
_LIST, _MAP = 10, 11
_WIDEST: Final = 16
_NUMBER_BYTES: Final = 32
"""What a number of a stream takes while it is read, some copies of it counted."""
_WIDTHS: Final[Mapping[int, int]] = {
    0: 1,
    1: 1,
    2: 2,
    3: 4,
    4: 8,
    5: 4,
    6: 8,
    7: 4,
    8: 4,
    9: 16,
    _LIST: 4,
    _MAP: 4,
    12: 0,
    13: 5,
    14: 16,
    15: 4,
    16: 4,
    17: 4,
    18: 16,
}
"""Bytes a value in Arrow, by the number of the type; of texts and lists the offset."""


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes in memory, at most."""

    whole: int
    """All rows."""
    row: int
    """The widest row."""
    always: int = 0
    """However few rows are read: the texts of dictionaries."""
    least: int = 0
    """The widest row, at least: the longest value of one of the columns."""

    def __add__(self, other: Room) -> Room:
        return Room(
            self.whole + other.whole,
            self.row + other.row,
            self.always + other.always,
            max(self.least, other.least),
        )


def room_of(
    file: Any, tail: OrcTail, stripe: int, names: Sequence[str]
) -> tuple[Room, dict[int, Any]]:
    """What the columns ``names`` of a stripe take, and by column the lengths that were read for that.

    Raises:
        ValueError, LookupError: what says so takes more than the budget itself, or the stripe is damaged.
    """
    rows = tail.stripes[stripe][4]
    if rows < 0:
        raise ValueError(f"a stripe of {rows} rows")
    footer = stripe_footer(file, tail, stripe)
    streams = streams_of(footer, tail, stripe)
    places = {(owner, kind): (offset, length) for kind, owner, offset, length in streams}
    columns = _Columns(file, tail, footer, places)
    room = Room(0, 0)
    for name in names:
        room += columns.room(tail.column(name)[0], rows)
    return room, columns.lengths


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of one stripe, whose streams are at ``places`` by column and kind."""

    file: Any
    tail: OrcTail
    footer: Message
    places: Mapping[tuple[int, int], tuple[int, int]]
    lengths: dict[int, Any] = field(default_factory=dict)
    """Of texts and lists, by column."""

    def room(self, number: int, count: int) -> Room:
        """A column of at most ``count`` values, with those within it."""
        held = self.tail.types[number]
        width = _WIDTHS.get(held.kind, _WIDEST)
        room = Room(count * width, width)
        times = 1
        if held.kind in (_LIST, _MAP):
            lengths = self._lengths(number, count)
            count, times = _total(lengths), _longest(lengths)
        elif held.kind in _TEXTS:
            room += self._texts(number, count)
        for child in held.children:
            if child <= number:
                raise ValueError("a type within itself")
            within = self.room(child, count)
            room += Room(within.whole, within.row * times, within.always, within.least)
        return room

    def _texts(self, number: int, count: int) -> Room:
        """The bytes of the texts of a column."""
        if self._encoding(number) not in _DICTIONARY:
            lengths = self._lengths(number, count)
            return Room(_total(lengths), _longest(lengths), least=_longest(lengths))
        encoding = decode_message(nested(self.footer[2][number]))
        size = one(encoding, 2) if 2 in encoding else 0
        lengths = self._lengths(number, size)
        longest, dictionary = _longest(lengths), _total(lengths) + _WIDEST * size
        if longest * count <= STRIPE_BYTES.most // 16:  # what cannot matter is not looked at
            return Room(longest * count, longest, dictionary, longest)
        which = self._numbers(number, _DATA, count)
        if len(which) and not 0 <= int(which.min()) <= int(which.max()) < len(lengths):
            raise ValueError(f"column {number} names a text that its dictionary lacks")
        return Room(_total(lengths[which]), longest, dictionary, longest)

    def _encoding(self, number: int) -> int:
        return one(decode_message(nested(self.footer[2][number])), 1)

    def _lengths(self, number: int, count: int) -> Any:
        lengths = self._numbers(number, _LENGTH, count)
        if len(lengths) and int(lengths.min()) < 0:
            raise ValueError(f"column {number} has a length below 0")
        self.lengths[number] = lengths
        return lengths

    def _numbers(self, number: int, kind: int, count: int) -> Any:
        """At most ``count`` numbers of a stream."""
        place = self.places.get((number, kind))
        if place is None:
            return np.empty(0, np.int64)
        if count > STRIPE_BYTES.most // _NUMBER_BYTES:
            told = f"column {number} has {count:,} numbers that say how long its values are"
            raise ValueError(STRIPE_BYTES.told(told))
        part = read_part(self.file, *place)
        body = unpacked(part, self.tail.codec, self.tail.block_size, STRIPE_BYTES.most // 4)
        if self._encoding(number) not in _VERSION_2:
            return decode_old_lengths(body, count)
        return decode_integers(body, None, signed=False, at_most=count)


def _total(lengths: Any) -> int:
    return int(lengths.sum(dtype=float))


def _longest(lengths: Any) -> int:
    return int(lengths.max()) if len(lengths) else 0
