"""Databases and tables on a file system.

Layout: ``<warehouse>/<database>.db/<table>/``; a table exists if it has a schema file (spec 1.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import AlreadyExistsError, ArgumentError, NotFoundError, OptionError
from table_core.ondisk import layout
from table_core.schema.document import schema_to_json
from table_core.schema.evolve import create
from table_core.storage.locate import open_storage
from table_core.storage.system import SystemClock, SystemIds
from table_core.table.alter import alter
from table_core.table.metadata import Metadata
from table_core.table.results import CommitAs
from table_core.table.table import Table, open_handle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ports import Clock, Ids, Storage
    from table_core.schema.change import SchemaChange
    from table_core.table.results import ResultDocument
    from table_core.table.scan import Scan
    from table_core.table.times import PointInTime

__all__ = ["Catalog", "open_catalog", "open_table"]

_SUFFIX: Final = ".db"
_NAME: Final = re.compile(r"[^/\\\s.$][^/\\.$]*")
_RESERVED: Final = "sys"
_BRANCH: Final = "branch_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The databases and tables of one warehouse folder."""

    storage: Storage
    clock: Clock
    ids: Ids

    @property
    def warehouse(self) -> str:
        """The warehouse as a URI."""
        return self.storage.uri

    # ------------------------------------------------------------------------------ databases
    def databases(self) -> list[str]:
        """Names of all databases, sorted."""
        folders = (i.path.rpartition("/")[2] for i in self.storage.list("") if i.is_dir)
        return sorted(n.removesuffix(_SUFFIX) for n in folders if n.endswith(_SUFFIX))

    def create_database(self, name: str, if_not_exists: bool = False) -> None:
        """Make the folder of the database ``name``.

        Raises:
            AlreadyExistsError: it is there, and ``if_not_exists`` is off.
        """
        _check_name("database", name)
        if name == _RESERVED:
            raise ArgumentError(f"database name {name!r} is reserved", argument="name", value=name)
        if name in self.databases():
            if if_not_exists:
                return
            raise AlreadyExistsError(f"database {name!r} exists already", name=name)
        self.storage.make_folder(f"{name}{_SUFFIX}")

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Delete the database ``name``; with ``cascade`` also its tables."""
        if (tables := self.tables(name)) and not cascade:
            raise ArgumentError(
                f"database {name!r} has tables: {', '.join(tables)}; drop them first, or pass "
                "cascade=True",
                argument="cascade",
                value=False,
            )
        self.storage.delete_tree(f"{name}{_SUFFIX}")

    # --------------------------------------------------------------------------------- tables
    def tables(self, database: str) -> list[str]:
        """Names of the tables of ``database``, sorted.

        Raises:
            NotFoundError: there is no such database.
        """
        if database not in (names := self.databases()):
            raise NotFoundError(
                f"no database {database!r} in {self.warehouse}; there are {names}",
                name=database,
                available=names,
            )
        folders = (i.path for i in self.storage.list(f"{database}{_SUFFIX}") if i.is_dir)
        return sorted(
            path.rpartition("/")[2]
            for path in folders
            if Metadata(self.storage.within(path)).schema_ids()
        )

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
        """Create the table ``database.table`` with the columns of the Arrow ``schema``.

        Raises:
            SchemaError: the columns, keys or options break a rule; all problems at once.
            OptionError: an unknown option (the nearest known one is named) or a bad value.
            AlreadyExistsError: the table is there, and ``if_not_exists`` is off.
            NotFoundError: there is no such database.
        """
        database, table = _split(name)
        if database not in (names := self.databases()):
            raise NotFoundError(
                f"no database {database!r}; create it first: there are {names}",
                name=database,
                available=names,
            )
        document = create(
            schema,
            primary_key=tuple(primary_key),
            partition_by=tuple(partition_by),
            options=dict(options or {}),
            comment=comment,
            now_ms=self.clock.now_ms(),
        )
        root = self.storage.within(_folder(database, table))
        if not root.create(layout.schema_path(0), schema_to_json(document)) and not if_not_exists:
            raise AlreadyExistsError(f"table {name!r} exists already", name=name)
        return self.table(name)

    def table(
        self, name: str, branch: str | None = None, options: Mapping[str, str] | None = None
    ) -> Table:
        """A handle on ``database.table``; ``options`` hold for this handle only.

        ``table$branch_<name>`` names a branch too; ``table$snapshots``, ``table$branch_<name>$files``
        and ``sys.tables`` name system tables, which can be read and nothing else.

        Raises:
            NotFoundError: there is no such table or branch; facts list those there are.
        """
        plain, _, rest = name.partition("$")
        if plain.startswith(f"{_RESERVED}."):
            from table_core.table.system_table import SystemTable

            return SystemTable(name, lambda: self.system(name))
        suffix = None
        if rest.startswith(_BRANCH):
            suffix, _, rest = rest.removeprefix(_BRANCH).partition("$")
        database, table = _split(plain)
        root = self.storage.within(_folder(database, table))
        if not Metadata(root).schema_ids():
            known = self.tables(database)
            raise NotFoundError(
                f"no table {plain!r} in {self.warehouse}; there are {known}",
                name=plain,
                available=known,
            )
        handle = open_handle(
            plain, root, self.clock, self.ids, branch=branch or suffix or None, options=options
        )
        if not rest:
            return handle
        from table_core.table.system_table import SystemTable

        return SystemTable.of(handle.access, rest)

    def system(self, name: str) -> Scan:
        """A global system table: ``all_table_options, catalog_options, tables, partitions``."""
        from table_core.table.system_catalog import global_scan

        return global_scan(self, name)

    def alter_table(self, name: str, changes: Sequence[SchemaChange]) -> Table:
        """Apply ``changes`` as one new schema; lost races are tried again on the newest schema.

        Raises:
            SchemaError: a change is not allowed; all problems at once.
        """
        alter(self.table(name).access, tuple(changes))
        return self.table(name)

    def rename_table(self, name: str, to: str) -> None:
        """Move ``name`` to the absent table ``to``.  Not atomic on object stores."""
        self.table(name)
        source, target = _folder(*_split(name)), _folder(*_split(to))
        if Metadata(self.storage.within(target)).schema_ids():
            raise AlreadyExistsError(f"table {to!r} exists already", name=to)
        self.storage.move(source, target)

    def clone_table(
        self,
        name: str,
        to_name: str,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: PointInTime | None = None,
        to: Catalog | None = None,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Copy one state of ``name`` (default: the newest) to the new table ``to_name``.

        ``to``: the catalog of the copy, by default this one.  A clone that was cut short goes on where
        it stood.  History, tags, branches and consumers stay behind.

        Raises:
            AlreadyExistsError: there is a table ``to_name`` that this is no rest of.
            NotFoundError: no such table, state, or database of the copy.
        """
        from table_core.table.clone import clone_table, state_to_clone

        catalog = self if to is None else to
        database, table = _split(to_name)
        if not dry_run and database not in (names := catalog.databases()):
            raise NotFoundError(
                f"no database {database!r}; create it first: there are {names}",
                name=database,
                available=names,
            )
        access = self.table(name).access
        return clone_table(
            access,
            state_to_clone(access, snapshot, tag, timestamp),
            catalog.storage.within(_folder(database, table)),
            to_name,
            dry_run=dry_run,
            commit=commit or CommitAs(),
        )

    def clone_database(
        self,
        database: str,
        to_database: str,
        to: Catalog | None = None,
        including: str = ".*",
        excluding: str = "",
        parallelism: int = 1,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Clone the newest state of tables whose names match; see ``clone_table``."""
        from table_core.table.database_upkeep import Choice, clone_database

        return clone_database(
            self,
            Choice(
                database=database,
                including=including,
                excluding=excluding,
                parallelism=parallelism,
            ),
            to_database,
            to=self if to is None else to,
            dry_run=dry_run,
            commit=commit or CommitAs(),
        )

    def compact_database(
        self,
        database: str,
        including: str = ".*",
        excluding: str = "",
        strategy: str = "minor",
        idle_time: str | None = None,
        parallelism: int = 1,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Compact tables whose names match, ``parallelism`` of them at a time.

        ``idle_time``, e.g. ``"1 h"``: only partitions that nobody has written to for so long.
        ``details["tables"]`` has the result of each.  A table that fails stops no other one; its error
        is raised in the end.
        """
        from table_core.table.database_upkeep import Choice, compact_database

        return compact_database(
            self,
            Choice(
                database=database,
                including=including,
                excluding=excluding,
                parallelism=parallelism,
            ),
            strategy=strategy,
            idle_time=idle_time,
            dry_run=dry_run,
            commit=commit or CommitAs(),
        )

    def drop_table(self, name: str, if_exists: bool = False) -> None:
        """Delete ``name`` with all its files."""
        try:
            self.table(name)
        except NotFoundError:
            if if_exists:
                return
            raise
        self.storage.delete_tree(_folder(*_split(name)))


def open_catalog(warehouse: str, storage_options: Mapping[str, Any] | None = None) -> Catalog:
    """The warehouse at a URI (``file:``, ``memory:``, ``s3:`` ...) or local path.

    Raises:
        UnsupportedFeatureError: the store has no atomic create-if-absent; says what to use.
    """
    return Catalog(
        storage=open_storage(warehouse, storage_options or {}),
        clock=SystemClock(),
        ids=SystemIds(),
    )


def open_table(
    path: str,
    auto_create: bool = False,
    schema: Any = None,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Table:
    """The table whose folder is ``path``.

    With ``auto_create`` a missing one is created from ``schema`` and the rest; then ``options``
    are stored.  For a table that is there they hold for this handle only.

    Raises:
        NotFoundError: there is none, and ``auto_create`` is off.
    """
    storage = open_storage(path, storage_options or {})
    clock, ids = SystemClock(), SystemIds()
    name = ".".join(p.removesuffix(_SUFFIX) for p in storage.uri.rstrip("/").split("/")[-2:])
    given = dict(options or {})
    if given.get("path", path) != path:
        raise OptionError(f"option 'path' is {given['path']!r}, not {path!r}", option="path")
    wanted = auto_create or given.pop("auto-create", "false").lower() == "true"
    given.pop("path", None)
    if not Metadata(storage).schema_ids():
        if not wanted or schema is None:
            hint = "pass auto_create=True and a schema to create it"
            raise NotFoundError(f"no table at {storage.uri}; {hint}", name=storage.uri)
        document = create(
            schema,
            primary_key=tuple(primary_key),
            partition_by=tuple(partition_by),
            options=given,
            comment=None,
            now_ms=clock.now_ms(),
        )
        storage.create(layout.schema_path(0), schema_to_json(document))
        given = {}
    return open_handle(name, storage, clock, ids, branch=None, options=given)


def _folder(database: str, table: str) -> str:
    return f"{database}{_SUFFIX}/{table}"


def _split(name: str) -> tuple[str, str]:
    database, dot, table = name.partition(".")
    if not dot:
        raise ArgumentError(
            f"{name!r} does not name a table: write 'database.table'", argument="name", value=name
        )
    _check_name("database", database)
    _check_name("table", table)
    return database, table


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name) or name != name.strip():
        raise ArgumentError(
            f"{name!r} cannot be a {what} name: no '/', '.', '$' or outer blanks",
            argument="name",
            value=name,
        )
