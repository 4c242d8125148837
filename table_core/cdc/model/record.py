"""What a change stream is made of: lines, the tables they speak of, and rows to apply."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["UNNAMED", "EventBatch", "EventLines", "LineBlock", "Place", "SourceTable", "shortened"]

_LINE_END: Final = 10
_VALUE_TEXT_MAX: Final = 80


@dataclass(frozen=True, slots=True, order=True)
class SourceTable:
    """A table of the source: database (PostgreSQL: schema) and name."""

    database: str
    name: str

    def __str__(self) -> str:
        return f"{self.database}.{self.name}" if self.database else self.name


UNNAMED: Final = SourceTable("", "")
"""Whose events do not say which table they are of."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event stands: the line of a file, the offset in a topic, the position in a log."""

    text: str
    facts: Mapping[str, object]
    number: int
    """Of the event in its batch."""

    @classmethod
    def of_line(cls, file: str, line: int, number: int | None = None) -> Place:
        """A line, counted from 1."""
        where = {"file": file, "line": line}
        return cls(f"{file}, line {line}", where, line if number is None else number)


class EventLines(Protocol):
    """Lines of JSON, one event each, with a number that tells their order."""

    @property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers of the lines, ascending."""
        ...

    @property
    def lines(self) -> pa.LargeBinaryArray:
        """The lines with their line feeds."""
        ...

    def place(self, number: int) -> Place:
        """Where the line with this number stands."""
        ...


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of one file, next to each other."""

    file: str
    first_line: int
    """1-based number of the first line of ``body``."""
    body: bytes
    """UTF-8 text.  Every line ends with a line feed, the last one too."""

    def place(self, number: int) -> Place:
        """Where the line with this number stands."""
        return Place.of_line(self.file, number)

    @cached_property
    def _ends(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.flatnonzero(np.frombuffer(self.body, np.uint8) == _LINE_END) + 1

    @cached_property
    def count(self) -> int:
        """How many lines there are, blank ones included."""
        return len(self._ends)

    @cached_property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """1-based numbers of the lines that are not blank.

        Shape: ``int64[lines that are not blank]``.
        """
        return self.first_line + np.flatnonzero(self._filled)

    @cached_property
    def lines(self) -> pa.LargeBinaryArray:
        """The lines that are not blank, with their line feeds.

        Shape: ``large_binary[lines that are not blank]``; a view of ``body`` if none is blank.
        """
        offsets = np.concatenate([[0], self._ends]).astype(np.int64)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.body)]
        every = pa.LargeBinaryArray.from_buffers(pa.large_binary(), self.count, buffers)
        return every if self._filled.all() else every.filter(pa.array(self._filled))

    @cached_property
    def _filled(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        starts = np.concatenate([[0], self._ends[:-1]])
        lengths = self._ends - starts
        filled: np.ndarray[Any, np.dtype[np.bool_]] = lengths > 1
        for short in np.flatnonzero(lengths < _VALUE_TEXT_MAX):
            filled[short] = bool(self.body[starts[short] : self._ends[short]].strip())
        return filled


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Rows of one target table."""

    rows: pa.Table
    """Columns of the table and ``_ROW_KIND``, in the order of the events."""
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    """Of the event that each row is from."""
    lacking: Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]
    """Rows whose value of a column the source did not send because it did not change."""


def shortened(value: object) -> str:
    """``value`` as text that fits into a message."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _VALUE_TEXT_MAX else text[: _VALUE_TEXT_MAX - 1] + "…"
