"""What statements need of a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from table_core.table.api.catalog_view import CatalogView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.schema.change import SchemaChange
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["SqlCatalog"]


class SqlCatalog(CatalogView, Protocol):
    """Databases and tables that statements read and change; ``Catalog`` is one."""

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Delete the database ``name``."""
        ...

    def alter_table(
        self, name: str, changes: Sequence[SchemaChange], commit: CommitAs | None = None
    ) -> Table:
        """Apply ``changes`` as one new schema."""
        ...

    def rename_table(self, name: str, to: str) -> None:
        """Rename ``name`` to ``to``."""
        ...

    def drop_table(self, name: str, if_exists: bool = False) -> None:
        """Delete ``name`` with all its files."""
        ...

    def compact_database(
        self, database: str, including: str = ".*", excluding: str = "", strategy: str = "minor"
    ) -> ResultDocument:
        """Compact tables whose names match."""
        ...
