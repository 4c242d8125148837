"""What verbs over many tables need of a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ports import Clock, Ids, Storage
    from table_core.table.api.table import Table
    from table_core.table.metadata.directory import Directory

__all__ = ["CatalogView"]


class CatalogView(Protocol):
    """The databases and tables of one warehouse; ``Catalog`` is one."""

    @property
    def clock(self) -> Clock:
        """The clock of its tables."""
        ...

    @property
    def ids(self) -> Ids:
        """The randomness of its tables."""
        ...

    @property
    def warehouse(self) -> str:
        """The warehouse as a URI."""
        ...

    @property
    def directory(self) -> Directory:
        """The directory of databases and tables."""
        ...

    def split(self, name: str) -> tuple[str, str]:
        """Database and table of ``database.table``."""
        ...

    def root(self, database: str, table: str) -> Storage:
        """The folder of a table."""
        ...

    def databases(self) -> list[str]:
        """Names of all databases, sorted."""
        ...

    def create_database(self, name: str, if_not_exists: bool = False) -> None:
        """Create the database ``name``."""
        ...

    def tables(self, database: str) -> list[str]:
        """Names of the tables of ``database``, sorted."""
        ...

    def table(
        self, name: str, branch: str | None = None, options: Mapping[str, str] | None = None
    ) -> Table:
        """A handle on ``database.table``."""
        ...

    def create_table(
        self,
        name: str,
        schema: Any,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """Create the table ``database.table``."""
        ...
