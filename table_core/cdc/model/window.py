"""Lines of several files, put into the order in which the source made the changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.cdc.model.bad import UNFORESEEN
from table_core.cdc.model.delivered import Deliveries
from table_core.cdc.model.envelope import read_event, unwrap
from table_core.cdc.model.order import source_order
from table_core.cdc.model.record import LineBlock, Place
from table_core.errors import EventError
from table_core.position.ahead import lines_ahead, taken_ahead

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.cdc.model.record import SourceTable
    from table_core.position.lines import LinesPlace

__all__ = ["Segment", "Window"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
_OLD_KEY = "__debezium.oldkey"


@dataclass(frozen=True)
class Window:
    """Lines in source order; their numbers count from 0.

    Shape: ``lines: large_binary[n]``, ``file_of: int64[n]`` (place in ``files``),
    ``line_of: int64[n]``.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]
    """Of the same files, as a position knows them."""
    lines: pa.LargeBinaryArray
    file_of: Ints
    line_of: Ints
    offsets: bool = False
    """Whether they are records of topics: ``line_of`` is one more than the offset."""

    @classmethod
    def arranged(
        cls,
        files: tuple[str, ...],
        names: tuple[str, ...],
        lines: pa.LargeBinaryArray,
        file_of: Ints,
        line_of: Ints,
        *,
        offsets: bool = False,
    ) -> Window:
        """Lines as they came, put into the order of the source."""
        order = source_order(lines)
        if order is not None:
            lines, file_of, line_of = lines.take(pa.array(order)), file_of[order], line_of[order]
        return cls(files, names, lines, file_of, line_of, offsets)

    @classmethod
    def of(cls, blocks: Sequence[tuple[str, LineBlock]]) -> Window:
        """Put blocks, each with the name of its file in a position, together."""
        parts = [block.lines for _, block in blocks]
        lines = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        file_of = np.repeat(np.arange(len(blocks)), [len(part) for part in parts])
        line_of = np.concatenate([block.numbers for _, block in blocks])
        files = tuple(block.file for _, block in blocks)
        return cls.arranged(files, tuple(name for name, _ in blocks), lines, file_of, line_of)

    @cached_property
    def numbers(self) -> Ints:
        """Numbers of the lines."""
        return np.arange(len(self.lines), dtype=np.int64)

    def place(self, number: int) -> Place:
        """Where the line with this number stands."""
        file = self.files[self.file_of[number]]
        line = int(self.line_of[number])
        if self.offsets:
            return Place(f"{file}, offset {line - 1}", {"topic": file, "offset": line - 1}, number)
        return Place.of_line(file, line, number)

    def text_of(self, number: int) -> bytes:
        """The line with this number."""
        text: bytes = self.lines[number].as_py()
        return text

    def segment(self, first: int, end: int, without: frozenset[int] = frozenset()) -> Segment:
        """The lines ``first`` to ``end - 1`` but for those ``without``."""
        numbers = self.numbers[first:end]
        lines = self.lines.slice(first, end - first)
        if without:
            kept = ~np.isin(numbers, list(without))
            numbers, lines = numbers[kept], lines.filter(pa.array(kept))
        return Segment(self, lines, numbers)

    def consumed(self, position: LinesPlace, numbers: Ints) -> Flags:
        """Which of the lines a position covers."""
        ends = np.array([position.end_of(n) for n in self.names], np.int64)
        files, lines = self.file_of[numbers], self.line_of[numbers]
        consumed: Flags = lines <= ends[files]
        for name, text in position.beyond.items():
            here = np.isin(files, [n for n, other in enumerate(self.names) if other == name])
            consumed[here] |= taken_ahead(text, lines[here])
        return consumed

    def beyond(self, number: int, start: LinesPlace) -> dict[str, str]:
        """Which lines that ``start`` does not cover come before the one with ``number``, by file."""
        before = np.arange(len(self.lines)) < number
        covered = self.consumed(start, self.numbers)
        beyond = dict(start.beyond)
        for name in dict.fromkeys(self.names):
            mine = np.isin(self.file_of, [n for n, other in enumerate(self.names) if other == name])
            behind = start.end_of(name)
            taken = self.line_of[mine & (before | covered)]
            if text := lines_ahead(taken[taken > behind], behind):
                beyond[name] = text
        return beyond

    def deliveries(self, numbers: Ints) -> Deliveries | None:
        """Where lines stand in their source's log; None where they cannot be asked all at once."""
        lines = (
            self.lines if len(numbers) == len(self.lines) else self.lines.take(pa.array(numbers))
        )
        return Deliveries.of(lines, self.names, self.file_of[numbers], self.line_of[numbers])

    def key_of(self, table: SourceTable) -> tuple[str, ...] | None:
        """The names in the key of the first record of ``table``; () if its records have none."""
        for number in range(len(self.lines)):
            line = self.lines[number].as_py()
            if table.name.encode() not in line:
                continue
            try:
                value = json.loads(line)
                event = read_event(value, self.place(number))
            except (EventError, *UNFORESEEN):
                continue  # the decoder says what is wrong with it
            if event is None or event.table != table or event.op == "t":
                continue
            row = event.before if event.after is None else event.after
            if not isinstance(value, dict) or "key" not in value or "value" not in value:
                return None
            _, _, key = unwrap(value)
            if isinstance(key, dict) and row is not None and not key.keys() <= row.keys():
                continue  # no key of this row
            return tuple(key) if isinstance(key, dict) else ()
        return None

    def old_key(self, number: int) -> Mapping[str, Any] | None:
        """The old primary key in the headers of a record that moved its row."""
        record = json.loads(self.lines[number].as_py())
        headers = record.get("headers") if isinstance(record, dict) else None
        key = headers.get(_OLD_KEY) if isinstance(headers, dict) else None
        if isinstance(key, str):
            key = json.loads(key)
        if isinstance(key, dict) and key.keys() == {"schema", "payload"}:
            key = key["payload"]
        return key if isinstance(key, dict) else None


@dataclass(frozen=True)
class Segment:
    """Some lines of a window, in its order."""

    window: Window
    lines: pa.LargeBinaryArray
    numbers: Ints

    def place(self, number: int) -> Place:
        """Where the line with this number stands."""
        return self.window.place(number)
