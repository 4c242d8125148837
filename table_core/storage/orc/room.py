"""How much memory a stripe takes in Arrow, before Arrow reads it: its reader gives whole stripes.

A few bytes say that one value stands in a hundred million rows, or that so many rows have the same long text
of a dictionary.  The footer has the rows, the types their width, and the streams of lengths that of texts::

    100,000,000 rows of BIGINT                                   ->  800 MB
    rows [0, 0, 1, 0 …] of a dictionary of 1,000 and 3 bytes     ->  the sum of 1,000, 1,000, 3, 1,000 …

Source: the ORC v1 specification, "Types" and "Column Encodings".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.options.budgets import STRIPE_BYTES
from table_core.storage.orc.messages import decode_message, nested, one
from table_core.storage.orc.numbers import decode_integers
from table_core.storage.orc.stripes import read_part, streams_of, stripe_footer, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.storage.orc.messages import Message
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["require_room"]

_DATA, _LENGTH = 1, 2
_DICTIONARY_2: Final = 3
_VERSION_2: Final = frozenset({2, _DICTIONARY_2})
_LIST, _MAP = 10, 11
_WIDEST: Final = 16
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


def require_room(file: Any, tail: OrcTail, stripe: int, names: Sequence[str]) -> None:
    """Refuse a stripe whose columns ``names`` take more than the budget.

    Raises:
        ValueError, LookupError: they do, or the stripe is damaged.
    """
    rows = tail.stripes[stripe][4]
    if rows < 0:
        raise ValueError(f"a stripe of {rows} rows")
    footer = stripe_footer(file, tail, stripe)
    streams = streams_of(footer, tail, stripe)
    places = {(owner, kind): (offset, length) for kind, owner, offset, length in streams}
    columns = _Columns(file, tail, footer, places)
    size, most = 0, STRIPE_BYTES.most
    for name in names:
        for number, count in columns.counted(tail.column(name)[0], rows):
            size += count * _WIDTHS.get(tail.types[number].kind, _WIDEST)
            size += columns.text_bytes(number, count, most)
            if size > most:
                told = f"stripe {stripe} takes {size:,} bytes or more in memory"
                raise ValueError(STRIPE_BYTES.told(told))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of one stripe, whose streams are at ``places`` by column and kind."""

    file: Any
    tail: OrcTail
    footer: Message
    places: Mapping[tuple[int, int], tuple[int, int]]

    def counted(self, number: int, count: int) -> Iterator[tuple[int, int]]:
        """A column and those within it, with how many values each has at most."""
        yield number, count
        held = self.tail.types[number]
        if held.kind in (_LIST, _MAP):
            lengths = self._numbers(number, _LENGTH, count)
            count = count if lengths is None else int(lengths.sum())
        for child in held.children:
            if child <= number:
                raise ValueError("a type within itself")
            yield from self.counted(child, count)

    def text_bytes(self, number: int, count: int, most: int) -> int:
        """Bytes of the texts of a column with a dictionary; 0 of others, whose texts are all in the file."""
        if self._encoding(number) != _DICTIONARY_2:
            return 0
        lengths = self._numbers(number, _LENGTH, count)
        if lengths is None or not len(lengths):
            return 0
        at_most = int(lengths.max()) * count
        if at_most <= most // 16:  # what cannot matter is not looked at
            return at_most
        which = self._numbers(number, _DATA, count)
        if which is None or not len(which):
            return 0
        if int(which.max()) >= len(lengths):
            raise ValueError(f"column {number} names a text that its dictionary lacks")
        return int(lengths[which].sum())

    def _encoding(self, number: int) -> int:
        return one(decode_message(nested(self.footer[2][number])), 1)

    def _numbers(self, number: int, kind: int, count: int) -> Any:
        """At most ``count`` numbers of a stream; None without, or in a version that only old writers use."""
        place = self.places.get((number, kind))
        if place is None or self._encoding(number) not in _VERSION_2:
            return None
        body = unpacked(read_part(self.file, *place), self.tail.codec, self.tail.block_size)
        return decode_integers(body, None, signed=False, at_most=count)
