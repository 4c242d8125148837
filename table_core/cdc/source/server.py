"""What a run asks of a server whose tables it reads, and what the connections of all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from table_core.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.cdc.model.source_table import CatalogTable

__all__ = ["ServerConnection", "ServerSource", "driver_of"]


class ServerSource(Protocol):
    """A server, and who reads it."""

    @property
    def user(self) -> str:
        """Whom the server knows."""
        ...

    def connect(self) -> ServerConnection:
        """Open a connection."""
        ...


class ServerConnection(ABC):
    """One connection; every method says what the server refuses and how to mend it.

    ``raw`` is the driver's.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def close(self) -> None:
        """Close it."""
        self._raw.close()

    @abstractmethod
    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    @abstractmethod
    def tables(self) -> list[CatalogTable]:
        """Every table but for those of the server itself."""

    @abstractmethod
    def chunk(
        self,
        table: CatalogTable,
        after: Sequence[Any] | None,
        limit: int | None,
        until: int | None = None,
        where: str | None = None,
    ) -> Iterator[tuple[Any, ...]]:
        """The rows behind a primary key, in its order, as they come; all of a table without one.

        ``until`` is the last one, of a key that is one number; ``where`` is a condition in place of
        ``after``.  A row may have more behind its columns, for ``mark``.
        """

    def mark(self, table: CatalogTable, row: Sequence[Any]) -> list[Any]:
        """What ``chunk`` begins behind, of one of its rows."""
        return [row[table.names.index(column)] for column in table.key]

    @staticmethod
    @abstractmethod
    def quoted(name: str) -> str:
        """A name as the server's SQL takes it."""

    def relation(self, table: CatalogTable) -> str:
        """A table as a query names it."""
        return f"{self.quoted(table.database)}.{self.quoted(table.name)}"

    def hold(self, table: CatalogTable) -> None:  # noqa: B027 - most servers tell when they are asked for rows
        """Keep a table as the snapshot has it.

        Raises:
            EventError: it was truncated or rewritten since, so the snapshot has not its rows.
        """

    def bounds(self, table: CatalogTable, column: str) -> tuple[Any, Any]:
        """The first and the last value of a column; None and None of a table without rows."""
        name = self.quoted(column)
        first, last = self.rows(f"SELECT MIN({name}), MAX({name}) FROM {self.relation(table)}")[0]
        return first, last

    @staticmethod
    def cut(sql: str, key: str, until: int | None, limit: int | None) -> str:
        """A query in the order of a key, '' for none, to ``until`` and no more rows than ``limit``."""
        if until is not None:
            sql += f" {'AND' if ' WHERE ' in sql else 'WHERE'} {key} <= {until}"
        if key:
            sql += f" ORDER BY {key}"
        return sql if limit is None else f"{sql} LIMIT {limit}"


def driver_of(module: str, source: str, extra: str) -> Any:
    """The driver's module.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError.of(source, extra, error) from error
