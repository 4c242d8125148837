"""Which source tables feed a target table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.table_pattern import TablePattern
from table_core.errors import ArgumentError
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.cdc.model.record import SourceTable

__all__ = ["DatabaseRoute", "TableFilter", "database_route", "table_route", "takes"]

_NO_DOT: Final = "\0\0"
"""Stands for the dot between database and table: what is meant to be a dot does not match two letters."""


@dataclass(frozen=True)
class TableFilter:
    """Source tables by regular expression, matched whole against ``database.table`` or ``table``."""

    including: str = ".*"
    excluding: str = ""

    def __post_init__(self) -> None:
        _ = self._patterns

    @cached_property
    def _patterns(self) -> tuple[TablePattern, TablePattern | None]:
        return (
            TablePattern("including", self.including),
            TablePattern("excluding", self.excluding) if self.excluding else None,
        )

    def takes(self, table: SourceTable) -> bool:
        """Whether events of ``table`` are wanted."""
        including, excluding = self._patterns
        if excluding is not None and _matches(excluding, table):
            return False
        return _matches(including, table)

    def refuse_unclear(self, table: SourceTable) -> None:
        """Refuse to leave a table out whose database alone is what ``excluding`` is like.

        ``paimon.+`` is like the tables ``paimon_a`` and ``paimon_b``, and like each table of a database
        ``paimon_shop``.  Apache Paimon compares names of tables alone.

        Raises:
            ArgumentError: a wildcard took the dot between database and table.
        """
        excluding = self._patterns[1]
        if excluding is None or not table.database or excluding.matches(table.name):
            return
        if not excluding.matches(str(table)) or not excluding.matches(
            f"{table.database}{_NO_DOT}{table.name}"
        ):
            return
        raise ArgumentError(
            f"excluding={self.excluding!r} leaves out {table} only because a wildcard takes the dot behind "
            rf"the database: write {table.database}\..* to leave out all of {table.database}, or [^.] in "
            "place of . to compare names of tables alone",
            argument="excluding",
            value=self.excluding,
        )


@dataclass(frozen=True)
class DatabaseRoute:
    """Where the tables of a whole source go."""

    tables: TableFilter
    prefix: str = ""
    suffix: str = ""
    merge_shards: bool = True
    """Tables of one name in several databases go into one table; else the database is in front."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Names of single tables, by ``table`` or ``database.table``; no prefix is put before them."""

    def target(self, table: SourceTable) -> str | None:
        """Name of the table that ``table`` feeds, or None if nobody wants it."""
        if not self.tables.takes(table):
            return None
        mapped = self.mapping.get(str(table), self.mapping.get(table.name))
        if mapped is not None:
            return mapped
        whole = self.merge_shards or not table.database
        name = table.name if whole else f"{table.database}_{table.name}"
        return f"{self.prefix}{name}{self.suffix}"

    def is_alone(self, table: SourceTable) -> bool:
        """Whether no other source table may feed the table that ``table`` feeds."""
        is_mapped = str(table) in self.mapping or table.name in self.mapping
        return not self.merge_shards and not is_mapped

    @property
    def signature(self) -> list[object]:
        """What tells this route from others, for JSON."""
        mapping = sorted(self.mapping.items())
        return [self.prefix, self.suffix, self.merge_shards, *map(list, mapping)]


def table_route(tables: str | None) -> str:
    """What tells which source tables go into the one table of a sync, as text."""
    return json.dumps({"tables": tables})


def database_route(route: DatabaseRoute) -> str:
    """What tells which source tables go where, as text."""
    return json.dumps([route.tables.including, route.tables.excluding, route.signature])


@cache
def takes(route: str, table: SourceTable, name: str) -> bool:
    """Whether a route, as text, brings ``table`` to the table ``name``.

    Raises:
        ArgumentError: an expression in it is none, or may take too long: no sync of ours keeps it.
    """
    try:
        document: Any = json.loads(route)
        if isinstance(document, dict):
            tables = document["tables"]
            return tables is None or TableFilter(tables).takes(table)
        including, excluding, (prefix, suffix, merge_shards, *mapping) = document
        filter_ = TableFilter(including, excluding)
        parsed = DatabaseRoute(filter_, prefix, suffix, merge_shards, dict(mapping))
        return parsed.target(table) == name
    except ArgumentError as error:
        raise ArgumentError(
            f"{name} keeps the position of a sync whose choice of tables was not written by this package: {error}; "
            "see `table-core position list`",
            **error.facts,
        ) from error
    except UNFORESEEN:
        return False  # of a release that writes routes otherwise, or of somebody else


def _matches(pattern: TablePattern, table: SourceTable) -> bool:
    return pattern.matches(table.name) or pattern.matches(str(table))
