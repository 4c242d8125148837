"""The transaction that the log is in: what of it is undone, and what waits for its end.

A log has transactions that were rolled back, if they touched what cannot be undone: a temporary table, or
one of an engine without transactions::

    BEGIN  Write_rows 1  SAVEPOINT s  Write_rows 2  ROLLBACK TO s  Write_rows 3  COMMIT      rows 1 and 3

Rows of an XA transaction come with its PREPARE and count from its COMMIT on.  They wait here; the next
run, which does not see them, knows from the position which tables they are of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from table_core.cdc.model.log_rows import LogRows, TableRows
    from table_core.cdc.model.record import SourceTable

__all__ = ["OpenTransaction", "Prepared"]

_HELD_ROWS: Final = 200_000
"""Rows of all XA transactions that wait at once; of the others the tables are read again."""


@dataclass(slots=True)
class Prepared:
    """What an XA transaction did that is prepared."""

    tables: set[SourceTable]
    rows: dict[Any, TableRows] | None
    """None if they are not known any more."""
    first: int = 0
    count: int = 0


@dataclass(slots=True)
class OpenTransaction:
    """Numbers are those of rows in the batch in the making."""

    begun: int = 0
    """The first row of the transaction."""
    savepoints: list[tuple[str, int]] = field(default_factory=list)
    handed_out: set[SourceTable] = field(default_factory=set)
    """Tables with rows of this transaction in batches that are out of reach."""
    is_group: bool = False
    """Whether statements do not end it."""
    is_xa: bool = False
    prepared: dict[str, Prepared] = field(default_factory=dict)

    def begins(self, rows: LogRows, *, is_group: bool, is_xa: bool = False) -> None:
        """Another transaction begins."""
        self.begun, self.is_group, self.is_xa = rows.count, is_group, is_xa
        self.savepoints.clear()
        self.handed_out.clear()

    def hands_out(self, rows: LogRows) -> None:
        """The rows so far leave in a batch, maybe within the transaction."""
        self.handed_out |= {
            part.table
            for part in rows.parts.values()
            if part.numbers and part.numbers[-1] >= self.begun
        }
        self.begun = 0
        self.savepoints = [(name, 0) for name, _ in self.savepoints]

    def limits(self, rows: LogRows) -> None:
        """Let go of rows of an XA transaction that are too many to wait."""
        if self.is_xa and rows.count - self.begun > _HELD_ROWS:
            self.handed_out |= {part.table for part in rows.cut(self.begun).values()}

    def saves(self, name: str, rows: LogRows) -> None:
        """A savepoint; one of its name is forgotten."""
        self.savepoints = [(n, at) for n, at in self.savepoints if n != name]
        self.savepoints.append((name, rows.count))

    def undone(self, rows: LogRows, savepoint: str | None = None) -> tuple[set[Any], set[Any]]:
        """Take back what came since a savepoint, or all.

        Returns: The tables whose rows were taken back, and those whose rows are out of reach.
        """
        first = self.begun
        if savepoint is not None:
            names = [name for name, _ in self.savepoints]
            if savepoint not in names:
                return set(), set(self.handed_out)
            at = names.index(savepoint)
            first = self.savepoints[at][1]
            del self.savepoints[at + 1 :]
        cut = {part.table for part in rows.cut(first).values()}
        return cut, set(self.handed_out)

    def prepares(self, xid: str, rows: LogRows) -> None:
        """The rows of the transaction wait for its end."""
        waiting = sum(one.count for one in self.prepared.values() if one.rows is not None)
        count = rows.count - self.begun
        held = rows.cut(self.begun)
        tables = {part.table for part in held.values()} | self.handed_out
        is_whole = not self.handed_out and waiting + count <= _HELD_ROWS
        self.prepared[xid] = Prepared(tables, held if is_whole else None, self.begun, count)

    @property
    def waiting(self) -> dict[str, list[Any] | None]:
        """The XA transactions without an end, as a position keeps them."""
        return {
            xid: [[table.database, table.name] for table in sorted(one.tables)]
            for xid, one in self.prepared.items()
        }
