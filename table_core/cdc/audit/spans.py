"""Parts of a table whose rows are counted and summed apart: ranges of a number, or of a hash of the key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from table_core.cdc.audit.dialect import texts_of
from table_core.predicate.expression import col

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from table_core.cdc.audit.canonical import Canonical
    from table_core.cdc.audit.dialect import Dialect
    from table_core.predicate.expression import Condition

__all__ = ["HashSpan", "KeySpan", "Span", "rows_in"]

_HASH_SLOTS_MAX: Final = 1 << 31
"""A CRC-32 has one bit more; rows that are in one slot by then are copies of one."""


class Span(Protocol):
    """A part of a table that is divided into ``slots``."""

    @property
    def slots(self) -> int:
        """How many slots it has."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """What a slot is computed of."""
        ...

    def slot(self, dialect: Dialect, quoted: Callable[[str], str]) -> str:
        """The expression of the server by which a row has its slot."""
        ...

    def slots_of(self, dialect: Dialect, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """The slots of rows here."""
        ...

    def where(self, slots: Iterable[int], dialect: Dialect, quoted: Callable[[str], str]) -> str:
        """The condition of the server for the rows of some slots."""
        ...

    def condition(self, slots: Iterable[int]) -> Condition | None:
        """The same here, as far as it saves reading; None: nothing is saved."""
        ...

    def halves(self, slot: int) -> tuple[Span, Sequence[int]] | None:
        """The rows of one slot in the two slots of another span; None: they cannot be told apart further."""
        ...


@dataclass(frozen=True, slots=True)
class KeySpan:
    """Keys that are whole numbers from ``low`` to ``high``, in slots of ``width`` of them.

    Rows here whose keys are outside are in the first and in the last slot of the whole table.
    """

    key: str
    low: int
    high: int
    width: int
    begins: bool = True
    """Whether nothing of the source comes before ``low``."""
    ends: bool = True

    @property
    def slots(self) -> int:
        """See ``Span``."""
        return (self.high - self.low) // self.width + 1

    @property
    def columns(self) -> Sequence[str]:
        """See ``Span``."""
        return (self.key,)

    def slot(self, dialect: Dialect, quoted: Callable[[str], str]) -> str:
        """See ``Span``."""
        text = dialect.slot.replace("{low}", f"({self.low})").replace("{width}", str(self.width))
        return text.replace("{}", quoted(self.key))

    def slots_of(self, dialect: Dialect, batch: pa.RecordBatch) -> NDArray[np.int64]:  # noqa: ARG002 - see Span
        """See ``Span``."""
        keys = np.asarray(batch.column(self.key)).astype(np.int64)
        return (np.clip(keys, self.low, self.high) - self.low) // self.width

    def part(self, slot: int) -> tuple[int, int]:
        """The first and the last key of a slot."""
        first = self.low + slot * self.width
        return first, min(first + self.width - 1, self.high)

    def within(self, slot: int, width: int) -> KeySpan:
        """A slot in slots of its own."""
        low, high = self.part(slot)
        return KeySpan(
            self.key,
            low,
            high,
            width,
            self.begins and not slot,
            self.ends and slot == self.slots - 1,
        )

    def halves(self, slot: int) -> tuple[Span, Sequence[int]] | None:
        """See ``Span``."""
        low, high = self.part(slot)
        if low == high:
            return None
        half = self.within(slot, (high - low) // 2 + 1)
        return half, range(half.slots)

    def where(self, slots: Iterable[int], dialect: Dialect, quoted: Callable[[str], str]) -> str:  # noqa: ARG002 - see Span
        """See ``Span``."""
        name = quoted(self.key)
        parts = [f"{name} >= {low} AND {name} <= {high}" for low, high in self._ranges(slots)]
        return " OR ".join(f"({part})" for part in parts)

    def condition(self, slots: Iterable[int]) -> Condition | None:
        """See ``Span``."""
        parts: list[Condition] = []
        for low, high in self._ranges(slots):
            is_first, is_last = self.begins and low == self.low, self.ends and high == self.high
            if is_first and is_last:
                return None
            key = col(self.key)
            if is_first:
                parts.append(key <= high)
            else:
                parts.append(key >= low if is_last else key.between(low, high))
        return reduce(or_, parts)

    def _ranges(self, slots: Iterable[int]) -> list[tuple[int, int]]:
        """The keys of slots; neighbours are one range."""
        ranges: list[tuple[int, int]] = []
        for low, high in map(self.part, sorted(slots)):
            if ranges and ranges[-1][1] + 1 == low:
                ranges[-1] = (ranges[-1][0], high)
            else:
                ranges.append((low, high))
        return ranges


@dataclass(frozen=True, slots=True)
class HashSpan:
    """All rows of a table by a hash of some columns; ``slots`` is a power of two."""

    key: Mapping[str, Canonical]
    slots: int

    @property
    def columns(self) -> Sequence[str]:
        """See ``Span``."""
        return tuple(self.key)

    def slot(self, dialect: Dialect, quoted: Callable[[str], str]) -> str:
        """See ``Span``."""
        text = dialect.text({quoted(name): one for name, one in self.key.items()})
        return f"{dialect.hashed.replace('{}', text)} & {self.slots - 1}"

    def slots_of(self, dialect: Dialect, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """See ``Span``."""
        hashes = dialect.hashes(texts_of(batch, self.key))
        return (hashes & np.uint64(self.slots - 1)).astype(np.int64)

    def where(self, slots: Iterable[int], dialect: Dialect, quoted: Callable[[str], str]) -> str:
        """See ``Span``."""
        return f"{self.slot(dialect, quoted)} IN ({', '.join(map(str, slots))})"

    def halves(self, slot: int) -> tuple[Span, Sequence[int]] | None:
        """See ``Span``: by one more bit of the hash."""
        if self.slots >= _HASH_SLOTS_MAX:
            return None
        return HashSpan(self.key, 2 * self.slots), (slot, slot + self.slots)

    def condition(self, slots: Iterable[int]) -> Condition | None:  # noqa: ARG002 - see Span
        """See ``Span``."""
        return None


def rows_in(
    span: Span, slots: Sequence[int], dialect: Dialect, batch: pa.RecordBatch
) -> pa.RecordBatch:
    """The rows of a batch that are in some slots."""
    chosen = np.isin(span.slots_of(dialect, batch), np.array(slots, np.int64))
    return batch.filter(pa.array(chosen))
