"""Steps of several writers and readers at once, and of rows as other programs hand them over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

import table_core as tc
from tests.tables import write_rows
from tests.upstream.steps import rows_for, same, tuples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.upstream.play import Play, Row

__all__ = ["begin", "end", "handle_reads", "handle_writes", "hands", "keeps"]


@dataclass(frozen=True, slots=True)
class Begin:
    """Rows that are written, and not committed yet."""

    writer: str
    rows: tuple[Row, ...]
    overwrite: str | Mapping[str, object] | None
    commit: tc.CommitAs | None

    def run(self, play: Play) -> None:
        table = play.table()
        writer = table.write(overwrite=self.overwrite, commit=self.commit)
        writer.write(rows_for(table, self.rows))
        play.kept[self.writer] = writer


@dataclass(frozen=True, slots=True)
class End:
    """The commit of a writer that began."""

    writer: str

    def run(self, play: Play) -> None:
        play.result = play.kept.pop(self.writer).commit()


@dataclass(frozen=True, slots=True)
class Keeps:
    """A handle that is opened now and used later."""

    handle: str

    def run(self, play: Play) -> None:
        play.kept[self.handle] = play.table()


@dataclass(frozen=True, slots=True)
class HandleReads:
    """What an older handle reads."""

    handle: str
    expected: tuple[Row, ...]

    def run(self, play: Play) -> None:
        same(tuples(play.kept[self.handle].read().to_arrow()), self.expected)


@dataclass(frozen=True, slots=True)
class HandleWrites:
    """Rows that are written through an older handle, in its columns."""

    handle: str
    rows: tuple[Row, ...]

    def run(self, play: Play) -> None:
        table = play.kept[self.handle]
        play.result = write_rows(table, rows_for(table, self.rows))


@dataclass(frozen=True, slots=True)
class Hands:
    """Rows as Arrow of other programs: columns with types of their own."""

    columns: Mapping[str, pa.Array]

    def run(self, play: Play) -> None:
        play.result = write_rows(play.table(), pa.table(dict(self.columns)))


def begin(
    writer: str,
    *rows: Row,
    over: str | Mapping[str, object] | None = None,
    commit: tc.CommitAs | None = None,
) -> Begin:
    """Open a writer, and write rows."""
    return Begin(writer, rows, over, commit)


def end(writer: str) -> End:
    """Commit what a writer has."""
    return End(writer)


def hands(**columns: pa.Array) -> Hands:
    """Write columns as they are."""
    return Hands(columns)


def keeps(handle: str) -> Keeps:
    """Open a handle for later."""
    return Keeps(handle)


def handle_reads(handle: str, *expected: Row) -> HandleReads:
    """The older handle reads these rows."""
    return HandleReads(handle, expected)


def handle_writes(handle: str, *rows: Row) -> HandleWrites:
    """Write through the older handle."""
    return HandleWrites(handle, rows)
