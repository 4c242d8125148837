"""What a catalog is to the rest: the port ``Directory``, and its adapters for folders and Paimon's JDBC catalog.

Those for a REST server and a Hive metastore are ``metadata.rest_directory`` and ``metadata.hive_directory``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

from table_core.errors import ArgumentError, ErrorKind, TableError
from table_core.table.metadata.table_files import is_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.ports import FileInfo, Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.stores.jdbc import JdbcDatabase

__all__ = ["Directory", "FolderDirectory", "JdbcDirectory", "table_folder"]

_SUFFIX: Final = ".db"
_TABLES: Final = (
    "CREATE TABLE paimon_tables(catalog_key VARCHAR(255) NOT NULL,database_name VARCHAR(255) NOT "
    "NULL,table_name VARCHAR(255) NOT NULL, PRIMARY KEY (catalog_key, database_name, table_name))"
)
_PROPERTIES: Final = (
    "CREATE TABLE paimon_database_properties(catalog_key VARCHAR(255) NOT NULL,database_name "
    "VARCHAR(255) NOT NULL,property_key VARCHAR(255),property_value VARCHAR(1000),PRIMARY KEY "
    "(catalog_key, database_name, property_key))"
)
_ONE_TABLE: Final = "catalog_key = ? AND database_name = ? AND table_name = ?"
_ONE_DATABASE: Final = "catalog_key = ? AND database_name = ?"


def table_folder(database: str, table: str) -> str:
    """The folder of a table in its warehouse (format 1.1)."""
    return f"{database}{_SUFFIX}/{table}"


class Directory(Protocol):
    """Which databases and tables there are, and where the files of each table lie.

    ``tests/catalogs/test_every_catalog.py`` says what it owes.
    """

    @property
    def makes_tables(self) -> bool:
        """Whether ``create_table``, ``drop_table`` and ``rename_table`` see to the files of a table too.

        Otherwise they are about the name alone, and the caller makes, deletes and moves the folder.
        """
        ...

    def root(self, warehouse: Storage, database: str, table: str) -> Storage:
        """The folder of a table: below ``warehouse``, or where a server says that it is.

        Raises:
            NotFoundError: a server knows no such table.
        """
        ...

    def databases(self) -> list[str]:
        """Names of all databases, sorted."""
        ...

    def add_database(self, name: str) -> bool:
        """Register a database; False if it is there."""
        ...

    def drop_database(self, name: str) -> None:
        """Forget a database and its tables."""
        ...

    def tables(self, database: str) -> list[str]:
        """Names of the tables of ``database``, sorted."""
        ...

    def others(self, database: str) -> Mapping[str, str]:
        """What else has a name there, and what it is: tables of other formats, and views."""
        ...

    def candidates(self, database: str) -> list[str]:
        """Names that may be tables of ``database``, sorted: none of them is asked for."""
        ...

    def has_table(self, database: str, table: str) -> bool:
        """Whether the table is registered."""
        ...

    def create_table(self, database: str, table: str, schema: TableSchema) -> bool:
        """Register a table of that ``schema``; False if it is there."""
        ...

    def drop_table(self, database: str, table: str) -> None:
        """Forget a table; no error if it is gone."""
        ...

    def rename_table(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Note that the table ``source`` is called ``target`` now."""
        ...

    def move(self, warehouse: Storage, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Move the files of a table to where those of ``target`` would be."""
        ...

    def keeps_files(self, database: str, table: str) -> bool:
        """Whether the files of a table stay where they are when it is dropped or renamed."""
        ...

    def check_name(self, what: str, name: str) -> None:
        """Refuse a name of a database or table that cannot be kept.

        Raises:
            ArgumentError: it cannot.
        """
        ...


@dataclass(frozen=True, slots=True)
class FolderDirectory:
    """The warehouse's folders are the catalog: a table exists if it has a schema file."""

    storage: Storage
    makes_tables: Literal[False] = field(default=False, init=False)

    def root(self, warehouse: Storage, database: str, table: str) -> Storage:
        """See ``Directory``."""
        return warehouse.within(table_folder(database, table))

    def databases(self) -> list[str]:
        """See ``Directory``."""
        folders = (i.path.rpartition("/")[2] for i in self.storage.list("") if _may_be_folder(i))
        return sorted(n.removesuffix(_SUFFIX) for n in folders if n.endswith(_SUFFIX))

    def add_database(self, name: str) -> bool:
        """See ``Directory``."""
        if name in self.databases():
            return False
        self.storage.make_folder(f"{name}{_SUFFIX}")
        return True

    def drop_database(self, name: str) -> None:
        """See ``Directory``."""
        self.storage.delete_tree(f"{name}{_SUFFIX}")

    def tables(self, database: str) -> list[str]:
        """See ``Directory``."""
        return [name for name in self.candidates(database) if self._is_told(database, name)]

    def _is_told(self, database: str, table: str) -> bool:
        """Whether it is a table, or cannot be looked at: who asks for that one is told why."""
        try:
            return self.has_table(database, table)
        except TableError as error:
            if error.kind is ErrorKind.UNAVAILABLE:
                raise
            return True

    def others(self, database: str) -> Mapping[str, str]:  # noqa: ARG002
        """See ``Directory``."""
        return {}

    def candidates(self, database: str) -> list[str]:
        """See ``Directory``."""
        infos = self.storage.list(f"{database}{_SUFFIX}")
        return sorted(info.path.rpartition("/")[2] for info in infos if _may_be_folder(info))

    def has_table(self, database: str, table: str) -> bool:
        """See ``Directory``."""
        return is_table(self.root(self.storage, database, table))

    def create_table(self, database: str, table: str, schema: TableSchema) -> bool:  # noqa: ARG002
        """The schema file says it."""
        return True

    def drop_table(self, database: str, table: str) -> None:
        """The schema file goes with the folder."""

    def rename_table(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """The folder moves."""

    def move(self, warehouse: Storage, source: tuple[str, str], target: tuple[str, str]) -> None:
        """See ``Directory``."""
        warehouse.move(table_folder(*source), table_folder(*target))

    def keeps_files(self, database: str, table: str) -> Literal[False]:  # noqa: ARG002
        """See ``Directory``."""
        return False

    def check_name(self, what: str, name: str) -> None:
        """Every name is a folder."""


def _may_be_folder(info: FileInfo) -> bool:
    """A link is told by its name, and refused by whoever opens it."""
    return info.is_dir or info.is_link


@dataclass(frozen=True, slots=True)
class JdbcDirectory:
    """The tables of Paimon's JDBC catalog ``catalog_key``, as Paimon keeps them.

    Source: ``org.apache.paimon.jdbc.JdbcCatalog``, ``JdbcUtils`` of 2.0.0.
    """

    database: JdbcDatabase
    catalog_key: str
    warehouse: str
    makes_tables: Literal[False] = field(default=False, init=False)

    def root(self, warehouse: Storage, database: str, table: str) -> Storage:
        """See ``Directory``."""
        return warehouse.within(table_folder(database, table))

    def create_tables(self) -> None:
        """Make what Paimon's catalog keeps names in, if it is not there."""
        with self.database.session() as session:
            session.create_table("paimon_tables", _TABLES)
            session.create_table("paimon_database_properties", _PROPERTIES)

    def databases(self) -> list[str]:
        """Those with a table and those with a property."""
        names: set[str] = set()
        with self.database.session() as session:
            for table in ("paimon_tables", "paimon_database_properties"):
                query = f"SELECT DISTINCT database_name FROM {table} WHERE catalog_key = ?"
                names |= {name for (name,) in session.rows(query, self.catalog_key)}
        return sorted(names)

    def add_database(self, name: str) -> bool:
        """With the properties that Paimon gives one."""
        statement = (
            "INSERT INTO paimon_database_properties (catalog_key, database_name, property_key, "
            "property_value) VALUES (?,?,?,?)"
        )
        with self.database.session() as session:
            if not session.insert(statement, self.catalog_key, name, "exists", "true"):
                return False
            location = f"{self.warehouse}/{name}{_SUFFIX}"
            session.insert(statement, self.catalog_key, name, "location", location)
        return True

    def drop_database(self, name: str) -> None:
        """With whatever is kept of its tables."""
        tables = ["paimon_tables", "paimon_database_properties"]
        with self.database.session() as session:
            if session.has_table("paimon_table_properties"):
                tables.append("paimon_table_properties")
            for table in tables:
                delete = f"DELETE FROM {table} WHERE {_ONE_DATABASE}"
                session.change(delete, self.catalog_key, name)

    def tables(self, database: str) -> list[str]:
        """See ``Directory``."""
        query = f"SELECT table_name FROM paimon_tables WHERE {_ONE_DATABASE}"
        return sorted(n for (n,) in self.database.rows(query, self.catalog_key, database))

    def others(self, database: str) -> Mapping[str, str]:  # noqa: ARG002
        """See ``Directory``."""
        return {}

    def candidates(self, database: str) -> list[str]:
        """See ``Directory``."""
        return self.tables(database)

    def has_table(self, database: str, table: str) -> bool:
        """See ``Directory``."""
        query = f"SELECT 1 FROM paimon_tables WHERE {_ONE_TABLE}"
        return bool(self.database.rows(query, self.catalog_key, database, table))

    def create_table(self, database: str, table: str, schema: TableSchema) -> bool:  # noqa: ARG002
        """See ``Directory``."""
        statement = (
            "INSERT INTO paimon_tables (catalog_key, database_name, table_name) VALUES (?,?,?)"
        )
        with self.database.session() as session:
            return session.insert(statement, self.catalog_key, database, table)

    def drop_table(self, database: str, table: str) -> None:
        """Also what ``sync-all-properties`` of Paimon has kept of it."""
        with self.database.session() as session:
            for kept in self._kept(session.has_table("paimon_table_properties")):
                delete = f"DELETE FROM {kept} WHERE {_ONE_TABLE}"
                session.change(delete, self.catalog_key, database, table)

    def rename_table(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """See ``Directory``."""
        with self.database.session() as session:
            for kept in self._kept(session.has_table("paimon_table_properties")):
                update = f"UPDATE {kept} SET database_name = ?, table_name = ? WHERE {_ONE_TABLE}"
                session.change(update, *target, self.catalog_key, *source)

    def move(self, warehouse: Storage, source: tuple[str, str], target: tuple[str, str]) -> None:
        """See ``Directory``."""
        warehouse.move(table_folder(*source), table_folder(*target))

    def keeps_files(self, database: str, table: str) -> Literal[False]:  # noqa: ARG002
        """See ``Directory``."""
        return False

    def check_name(self, what: str, name: str) -> None:
        """Paimon's JDBC catalog is case-insensitive and takes lower case only."""
        if name != name.lower():
            raise ArgumentError(
                f"{name!r} cannot be a {what} name in a JDBC catalog: write it in lower case",
                argument="name",
                value=name,
            )

    @staticmethod
    def _kept(synced: bool) -> tuple[str, ...]:
        return ("paimon_tables", "paimon_table_properties") if synced else ("paimon_tables",)
