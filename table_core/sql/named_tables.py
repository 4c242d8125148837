"""The tables that a statement names: whose rows it reads, and what it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.sql import statements as said

if TYPE_CHECKING:
    from table_core.sql.query import Query
    from table_core.sql.statements import Statement

__all__ = ["NamedTables", "named_tables"]

_CHANGE: Final = (
    said.Insert,
    said.Update,
    said.Delete,
    said.Truncate,
    said.Merge,
    said.DropPartition,
    said.CreateTable,
    said.DropTable,
    said.AlterTable,
    said.RenameTable,
)


@dataclass(frozen=True, slots=True)
class NamedTables:
    """Names of tables, as parts, each once."""

    read: tuple[tuple[str, ...], ...] = ()
    written: tuple[tuple[str, ...], ...] = ()


def named_tables(statement: Statement) -> NamedTables:
    """What ``statement`` names; what a procedure does with all tables of a database is not known here.

    The rows of an UPDATE or DELETE are not read for anything else, so its table is written alone.
    """
    if isinstance(statement, said.Select | said.Explain):
        return NamedTables(_read(statement.query))
    if isinstance(statement, said.Call):
        table = statement.arguments.get("table")
        return NamedTables(written=() if table is None else (tuple(str(table).split(".")),))
    if not isinstance(statement, _CHANGE):
        return NamedTables()
    query: Any = None
    if isinstance(statement, said.Insert) and not isinstance(statement.rows, said.Values):
        query = statement.rows
    elif isinstance(statement, said.Merge):
        query = statement.source
    elif isinstance(statement, said.CreateTable):
        query = statement.query
    return NamedTables(() if query is None else _read(query), (statement.table.parts,))


def _read(query: Query) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(view.reference.parts for view in query.views))
