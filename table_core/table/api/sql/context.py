"""What every statement of a session is carried out with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.errors import ArgumentError, NotFoundError, SqlError
from table_core.sql.text import near_of
from table_core.table.api.sql.sql_process import SqlLimits
from table_core.table.metadata.results import CommitAs
from table_core.table.read.scan import MemoryScan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.sql.statements import TableName
    from table_core.table.api.sql.catalog_port import SqlCatalog
    from table_core.table.api.table import Table

__all__ = ["Context", "text_rows"]


@dataclass(slots=True, kw_only=True)
class Context:
    """A catalog, what the session has set, and what the statement is given."""

    catalog: SqlCatalog
    database: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    """Those of ``sql.*``."""
    dynamic_overwrite: bool = False
    """Whether INSERT OVERWRITE replaces the partitions of its rows only."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    commit: CommitAs = field(default_factory=CommitAs)

    @property
    def limits(self) -> SqlLimits:
        """What a query may take."""
        return SqlLimits.of(self.options)

    def full_name(self, parts: Sequence[str], text: str, start: int) -> str:
        """``database.table`` of a name that stands at ``start`` of ``text``.

        Raises:
            SqlError: there is no database to look in, or the name has more than two parts.
        """
        if len(parts) == 1 and self.database is None:
            raise _at(
                f"{parts[0]!r}: in which database? Write database.{parts[0]}, or USE database first",
                text,
                start,
            )
        if len(parts) > 2:
            raise _at(
                f"{'.'.join(parts)!r} has {len(parts)} parts: there is one catalog, write database.table",
                text,
                start,
            )
        return ".".join((self.database or "", *parts)[-2:])

    def name(self, table: TableName, text: str) -> str:
        """``database.table`` of a name in a statement.

        Raises:
            SqlError: see ``full_name``.
        """
        return self.full_name(table.parts, text, table.start)

    def table(self, table: TableName, text: str) -> Table:
        """A handle on it.

        Raises:
            NotFoundError: there is no such table; the error points at the name.
            SqlError: see ``full_name``.
        """
        name = self.name(table, text)
        try:
            return self.catalog.table(name)
        except NotFoundError as error:
            place = near_of(text, table.start)
            error.add_note(f"line {place['line']}, column {place['column']}: {place['near']}")
            raise

    def need_database(self, name: str | None) -> str:
        """``name``, or the database of the session.

        Raises:
            ArgumentError: there is neither.
        """
        if name is None and self.database is None:
            raise ArgumentError("name the database, or USE one first", argument="text")
        return name or self.database or ""


def _at(message: str, text: str, start: int) -> SqlError:
    place = near_of(text, start)
    return SqlError(f"{message} (line {place['line']}, column {place['column']})", **place)


def text_rows(names: Sequence[str], rows: Sequence[Sequence[str | None]] = ()) -> MemoryScan:
    """Rows of texts; without names nothing at all, as a statement gives that has no rows."""
    columns = [pa.array([_shown(row[at]) for row in rows], pa.string()) for at in range(len(names))]
    return MemoryScan(pa.table(columns, names=list(names)))


def _shown(text: str | None) -> str | None:
    """``text`` as Arrow holds it: a folder may have a name that is no UTF-8, whose bytes are then shown as escapes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
