"""Tables as the catalog of a server tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CatalogColumn", "CatalogTable", "catalog_tables"]


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column as the server spells it."""

    name: str
    type: str
    nullable: bool
    default: str | None
    """An expression of the server."""
    comment: str | None


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a server."""

    database: str
    """PostgreSQL: the schema."""
    name: str
    columns: tuple[CatalogColumn, ...]
    key: tuple[str, ...]
    """The primary key; () for none."""
    rows_about: int | None = None
    """How many rows the server thinks there are."""
    readable: bool = True
    """Whether the user may read its rows."""
    is_partitioned: bool = False
    is_unlogged: bool = False
    """PostgreSQL: its changes are in no log."""
    identity: str = ""
    """PostgreSQL: what tells old rows in its log; ``f`` for all columns."""
    is_deferrable: bool = False
    """PostgreSQL: whether two rows may have one primary key until a transaction ends."""
    is_versioned: bool = False
    """MariaDB: it keeps rows that are gone, and its log tells no deletes."""
    is_transactional: bool = True
    """MariaDB: whether its engine takes back what a transaction did."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def types(self) -> Mapping[str, str]:
        """The types of the columns, by name."""
        return {column.name: column.type for column in self.columns}


def catalog_tables(
    columns: Iterable[tuple[str, str, CatalogColumn]],
    keys: Iterable[tuple[str, str, str]],
    rows_about: Mapping[tuple[str, str], int | None],
) -> list[CatalogTable]:
    """Tables out of their columns and the columns of their keys, both in order.

    Each has the database and the table in front.
    """
    of: dict[tuple[str, str], list[CatalogColumn]] = {}
    key_of: dict[tuple[str, str], list[str]] = {}
    for database, table, column in columns:
        of.setdefault((database, table), []).append(column)
    for database, table, name in keys:
        key_of.setdefault((database, table), []).append(name)
    return [
        CatalogTable(*name, tuple(those), tuple(key_of.get(name, ())), rows_about.get(name))
        for name, those in of.items()
    ]
