"""What ``PaimonHook.get_conn`` gives, and the tables that its statements see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.hooks.table import LineageTable
from table_core import dbapi
from table_core.table.api.system_table import SystemTable

if TYPE_CHECKING:
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.sql.session import SqlSession
    from table_core.table.api.table import Table

__all__ = ["LineageCatalog", "WarehouseConnection"]


class WarehouseConnection(dbapi.Connection):
    """A DB-API connection that also has what the catalog has: before there was SQL, it was the catalog."""

    def __init__(self, session: SqlSession, catalog: Catalog) -> None:
        super().__init__(session)
        self._catalog = catalog

    def __getattr__(self, name: str) -> Any:
        """What a connection has not is of the catalog."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._catalog, name)


class LineageCatalog:
    """A catalog whose tables tell Airflow's lineage what is read and written.

    :param catalog: the catalog that it stands for.
    :param name: the first part of the tables' asset URIs.
    """

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog = catalog
        self._name = name

    def table(self, *args: Any, **kwargs: Any) -> Table:
        """As ``Catalog.table``; system tables are themselves."""
        return self._telling(self._catalog.table(*args, **kwargs))

    def create_table(self, *args: Any, **kwargs: Any) -> Table:
        """As ``Catalog.create_table``."""
        return self._telling(self._catalog.create_table(*args, **kwargs))

    def _telling(self, table: Table) -> Table:
        return table if isinstance(table, SystemTable) else LineageTable(table.access, self._name)

    def __getattr__(self, name: str) -> Any:
        """All else is the catalog's."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._catalog, name)
