"""Row changes out of a server's log, gathered in columns until there are enough for a batch."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.cdc.model.batch import SourceBatch
from table_core.cdc.model.changes import Changes, RowImages
from table_core.cdc.model.record import Place, SourceTable
from table_core.cdc.model.truncates import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent
    from table_core.position.log import LogPlace

__all__ = ["LogRows", "TableRows"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(slots=True, kw_only=True)
class TableRows:
    """Rows of one table, all with the same columns."""

    table: SourceTable
    names: Sequence[str]
    types: Sequence[pa.DataType]
    declared: Mapping[str, Declared]
    numbers: list[int] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    before: list[list[Any]] = field(default_factory=list)
    after: list[list[Any]] = field(default_factory=list)
    has_before: list[bool] = field(default_factory=list)
    has_after: list[bool] = field(default_factory=list)
    unavailable: dict[str, list[int]] = field(default_factory=dict)
    """Places among the rows where a column was left out because it did not change."""

    def __post_init__(self) -> None:
        self.before = [[] for _ in self.names]
        self.after = [[] for _ in self.names]

    def put(
        self,
        op: str,
        count: int,
        first: int,
        time_ms: int,
        before: Sequence[list[Any]] | None,
        after: Sequence[list[Any]] | None,
    ) -> None:
        """Add ``count`` rows that begin with the number ``first``."""
        self.numbers.extend(range(first, first + count))
        self.ops.extend([op] * count)
        self.times_ms.extend([time_ms] * count)
        for mine, image in ((self.before, before), (self.after, after)):
            for n, column in enumerate(mine):
                column.extend([None] * count if image is None else image[n])
        self.has_before.extend([before is not None] * count)
        self.has_after.extend([after is not None] * count)

    def empty(self) -> TableRows:
        """The same without rows."""
        return TableRows(
            table=self.table, names=self.names, types=self.types, declared=self.declared
        )

    def cut(self, first: int) -> TableRows:
        """Take the rows off that have the number ``first`` or a later one; those."""
        at = bisect_left(self.numbers, first)
        tail = self.empty()
        pairs: list[tuple[list[Any], list[Any]]] = [
            (self.numbers, tail.numbers),
            (self.ops, tail.ops),
            (self.times_ms, tail.times_ms),
            (self.has_before, tail.has_before),
            (self.has_after, tail.has_after),
            *zip(self.before, tail.before, strict=True),
            *zip(self.after, tail.after, strict=True),
        ]
        for mine, its in pairs:
            its[:] = mine[at:]
            del mine[at:]
        for name, places in self.unavailable.items():
            cut = bisect_left(places, at)
            tail.unavailable[name] = [place - at for place in places[cut:]]
            del places[cut:]
        return tail

    def add(self, other: TableRows, shift: int) -> None:
        """Add the rows of ``other``, each with a number that is higher by ``shift``."""
        at = len(self.numbers)
        self.numbers.extend(number + shift for number in other.numbers)
        self.ops.extend(other.ops)
        self.times_ms.extend(other.times_ms)
        self.has_before.extend(other.has_before)
        self.has_after.extend(other.has_after)
        for mine, its in (
            *zip(self.before, other.before, strict=True),
            *zip(self.after, other.after, strict=True),
        ):
            mine.extend(its)
        for name, places in other.unavailable.items():
            self.unavailable.setdefault(name, []).extend(at + place for place in places)

    def changes(self, place: Callable[[int], Place]) -> Changes:
        """The rows as columns."""
        return Changes(
            self.table,
            place,
            np.array(self.numbers, np.int64),
            pa.array(self.ops, pa.string()),
            self._images(self.has_before, self.before, {}),
            self._images(self.has_after, self.after, self.unavailable),
            self.declared,
            max(self.times_ms, default=None),
            pa.array(self.times_ms, pa.int64()),
        )

    def _images(
        self, there: list[bool], columns: Sequence[list[Any]], unavailable: Mapping[str, list[int]]
    ) -> RowImages:
        flags = {}
        for name, rows in unavailable.items():
            flags[name] = np.zeros(len(there), bool)
            flags[name][rows] = True
        named = zip(self.names, self.types, columns, strict=True)
        arrays = {name: pa.array(values, type_) for name, type_, values in named}
        return RowImages(pa.array(there, pa.bool_()), arrays, flags)


@dataclass(slots=True, kw_only=True)
class LogRows:
    """One batch in the making."""

    parts: dict[Any, TableRows] = field(default_factory=dict)
    starts: list[tuple[int, int]] = field(default_factory=list)
    """Where the transaction of each row begins in the log."""
    ordinals: list[int] = field(default_factory=list)
    """Which row of its transaction each is."""
    places: list[str] = field(default_factory=list)
    schema_changes: list[SchemaChangeEvent] = field(default_factory=list)
    count: int = 0
    since: Mapping[SourceTable, tuple[int, int]] = field(default_factory=dict)
    """Changes of a table that are older are in its snapshot."""
    due: Container[SourceTable] = ()
    """Tables that will be read again: their changes are left out."""

    def number(self, start: tuple[int, int], ordinal: int, count: int, place: str) -> int:
        """Numbers for rows that come next; the first of them."""
        first = self.count
        self.count += count
        self.starts.extend([start] * count)
        self.ordinals.extend(range(ordinal, ordinal + count))
        self.places.extend([place] * count)
        return first

    def cut(self, first: int) -> dict[Any, TableRows]:
        """Take off what has the number ``first`` or a later one: its rows, by what ``parts`` has them."""
        tails = {key: part.cut(first) for key, part in self.parts.items()}
        self.schema_changes = [one for one in self.schema_changes if one.number < first]
        for numbered in (self.starts, self.ordinals, self.places):
            del numbered[first:]
        self.count = min(self.count, first)
        return {key: tail for key, tail in tails.items() if tail.numbers}

    def truncated(self, table: SourceTable, number: int, time_ms: int) -> None:
        """A table was emptied."""
        part = TableRows(table=table, names=(), types=(), declared={})
        part.put("t", 1, number, time_ms, None, None)
        self.parts["truncate", number] = part

    def _new(self, part: TableRows, starts: Ints, place: Callable[[int], Place]) -> Changes | None:
        if part.table in self.due or not part.numbers:
            return None
        changes = part.changes(place)
        return chosen(changes, ~self._older(part.table, starts, changes.lines))

    def _older(self, table: SourceTable, starts: Ints, numbers: Ints) -> Flags:
        """Which of the events are in the snapshot of their table."""
        since = self.since.get(table)
        if since is None:
            return np.zeros(len(numbers), bool)
        mine = starts[numbers]
        older: Flags = (mine[:, 0] < since[0]) | (
            (mine[:, 0] == since[0]) & (mine[:, 1] < since[1])
        )
        return older

    def batch(
        self, position: LogPlace, keys: Callable[[SourceTable], tuple[str, ...] | None]
    ) -> SourceBatch[LogPlace]:
        """What was gathered."""
        starts = np.array(self.starts, np.int64).reshape(-1, 2)
        ordinals = np.array(self.ordinals, np.int64)
        places = self.places
        schema_changes = [
            one
            for one in self.schema_changes
            if not self._older(one.table, starts, np.array([one.number], np.int64))[0]
        ]

        def place(number: int) -> Place:
            text = f"{places[number]}, row {ordinals[number]}"
            return Place(text, {"position": text}, number)

        def consumed(at: LogPlace, numbers: Ints) -> Flags:
            mine = starts[numbers]
            before = (mine[:, 0] < at.order[0]) | (
                (mine[:, 0] == at.order[0]) & (mine[:, 1] < at.order[1])
            )
            same = (mine[:, 0] == at.order[0]) & (mine[:, 1] == at.order[1])
            covered: Flags = before | (same & (ordinals[numbers] < at.skip))
            return covered

        def before(number: int) -> LogPlace:
            order = (int(starts[number, 0]), int(starts[number, 1]))
            return position.within(order, int(ordinals[number]))

        return SourceBatch(
            changes=[c for part in self.parts.values() if (c := self._new(part, starts, place))],
            position=position,
            events=self.count,
            consumed=consumed,
            before=before,
            schema_changes=schema_changes,
            key_of=keys,
            place=place,
        )
