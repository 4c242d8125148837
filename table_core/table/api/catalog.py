"""Databases and tables of one warehouse.

Layout: ``<warehouse>/<database>.db/<table>/`` (format 1.1).  Which of them exist says the
directory: the folders themselves, or a database that Paimon's JDBC catalog shares.
"""

from __future__ import annotations

import logging
import re
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    CorruptFileError,
    NotFoundError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.expire.undatable import useless_retention
from table_core.ondisk import layout
from table_core.options.argument_kinds import require_mapping, require_name
from table_core.schema.change import changes_of
from table_core.schema.column_names import column_names
from table_core.schema.evolve import create
from table_core.storage.stores.lock import locked
from table_core.table.api.catalog_maintenance import CatalogUpkeep
from table_core.table.api.extended_name import ExtendedName
from table_core.table.api.table import Table, open_handle
from table_core.table.metadata.alter import alter
from table_core.table.metadata.directory import FolderDirectory
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.new_schema import new_schema
from table_core.table.metadata.refs.moves import dropping, moving_all
from table_core.table.metadata.several import failed_of
from table_core.table.metadata.table_files import (
    delete_files,
    is_table,
    is_table_of,
    refuse_leftovers,
)
from table_core.table.read.kept_values import KeptValues

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from table_core.ports import Clock, Ids, Storage
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.stores.lock import TableLock
    from table_core.table.metadata.directory import Directory
    from table_core.table.metadata.results import CommitAs, ResultDocument
    from table_core.table.read.scan import Scan

__all__ = ["Catalog", "altered"]

_log = logging.getLogger(__name__)
_SUFFIX: Final = ".db"
_NAME: Final = re.compile(
    r"[^/\\\s.$\x00-\x1f\x7f\ud800-\udfff][^/\\.$\x00-\x1f\x7f\ud800-\udfff]*"
)
_RESERVED: Final = "sys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog(CatalogUpkeep):
    """The databases and tables of one warehouse folder."""

    storage: Storage
    clock: Clock
    ids: Ids
    names: Directory | None = None
    """Where the names are kept; None: the folders are the catalog."""
    lock: TableLock | None = None
    """Held while a snapshot or schema is created."""

    @property
    def warehouse(self) -> str:
        """The warehouse as a URI."""
        return self.storage.uri

    @property
    def directory(self) -> Directory:
        """The directory of databases and tables."""
        return self.names or FolderDirectory(self.storage)

    # ------------------------------------------------------------------------------ databases
    def databases(self) -> list[str]:
        """Names of all databases, sorted."""
        return self.directory.databases()

    def create_database(self, name: str, if_not_exists: bool = False) -> None:
        """Create the database ``name``.

        Raises:
            AlreadyExistsError: it exists, and ``if_not_exists`` is off.
        """
        self._check_name("database", name)
        if name == _RESERVED:
            raise ArgumentError(f"database name {name!r} is reserved", argument="name", value=name)
        if not self.directory.add_database(name) and not if_not_exists:
            raise AlreadyExistsError(f"database {name!r} exists already", name=name)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Delete the database ``name``; with ``cascade`` also its tables, and what else is in its folder.

        A JDBC catalog leaves files there that belong to none of its tables: they may be tables of
        another catalog.

        Raises:
            NotFoundError: there is no such database.
            ArgumentError: it has tables or other files, and ``cascade`` is off; or tables of other formats.
            TableError: of the first table that could not be dropped, when the others are; it notes which.
        """
        if (tables := self.tables(name)) and not cascade:
            raise ArgumentError(
                f"database {name!r} has tables: {', '.join(tables)}; drop them first, or pass "
                "cascade=True",
                argument="cascade",
                value=False,
            )
        if others := self.others(name):
            raise ArgumentError(
                f"database {name!r} has what is no table of Paimon: {', '.join(sorted(others))}; drop it first, with "
                "the engine that made it",
                argument="name",
                value=name,
            )
        folder = f"{name}{_SUFFIX}"
        if self.names is None and not cascade and (file := next(self.storage.walk(folder), None)):
            raise ArgumentError(
                f"database {name!r} has no table, but files, such as {file.path}: delete them first, or "
                "pass cascade=True",
                argument="cascade",
                value=False,
            )
        if self.directory.makes_tables:
            self.directory.drop_database(name)
            return
        failed: dict[str, Exception] = {}
        for table in tables:
            try:
                self._drop_at_hand(name, table)
            except TableError as error:
                failed[table] = error
        if failed:
            done = [table for table in tables if table not in failed]
            raise failed_of(f"drop-database {name}", failed, done)
        self.directory.drop_database(name)
        if next(self.storage.walk(folder), None) is None:
            self.storage.delete_tree(folder)

    # --------------------------------------------------------------------------------- tables
    def tables(self, database: str) -> list[str]:
        """Names of the tables of ``database``, sorted.

        Raises:
            NotFoundError: there is no such database.
        """
        if database not in (names := self.databases()):
            known = f"there are {names}" if names else "it has none: is that the right warehouse?"
            raise NotFoundError(
                f"no database {database!r} in {self.warehouse}; {known}",
                name=database,
                available=names,
            )
        return self.directory.tables(database)

    def others(self, database: str) -> Mapping[str, str]:
        """What else a Hive metastore has in ``database``, by its name: ``{"sales": "a table of Parquet files"}``.

        Other catalogs have nothing else.
        """
        return dict(sorted(self.directory.others(database).items()))

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
            AlreadyExistsError: the table exists, and ``if_not_exists`` is off.
            NotFoundError: there is no such database.
            UnsupportedFeatureError: a feature that this release does not write.
        """
        self._check_database(self.split(name)[0])
        columns = schema, primary_key, partition_by, options, comment
        return self._created(name, *columns, if_not_exists=if_not_exists)[0]

    def create_with_database(
        self,
        name: str,
        schema: Any,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> tuple[Table, bool]:
        """As ``create_table``, and a database that is missing is made; the table, and whether it is new.

        Raises:
            TableError: as ``create_table``.
        """
        self.create_database(self.split(name)[0], if_not_exists=True)
        columns = schema, primary_key, partition_by, options, comment
        return self._created(name, *columns, if_not_exists=if_not_exists)

    def _created(
        self,
        name: str,
        schema: Any,
        primary_key: Sequence[str],
        partition_by: Sequence[str],
        options: Mapping[str, str] | None,
        comment: str | None,
        *,
        if_not_exists: bool,
    ) -> tuple[Table, bool]:
        """The table, and whether it is new."""
        database, table = self.split(name)
        require_mapping("options", options, "{'bucket': '2'}")
        document = create(
            schema,
            primary_key=column_names("primary_key", primary_key),
            partition_by=column_names("partition_by", partition_by),
            options=dict(options or {}),
            comment=comment,
            now_ms=self.clock.now_ms(),
        )
        stored = self._create(database, table, document)
        if stored is None:
            if not if_not_exists:
                raise AlreadyExistsError(f"table {name!r} exists already", name=name)
            return self.table(name), False
        # Not read again: a store that fails now would say that there is no table.
        _warn_of_retention(name, None, stored)
        created = open_handle(
            f"{database}.{table}",
            self.root(database, table),
            self.clock,
            self.ids,
            branch=None,
            options=None,
            schema=stored,
        )
        return created, True

    def _create(self, database: str, table: str, document: TableSchema) -> TableSchema | None:
        """Store the schema and register the table; the schema as it is stored, None if it was there."""
        if self.directory.makes_tables:
            made = self.directory.create_table(database, table, document)
            return Metadata(self.root(database, table)).latest_schema() if made else None
        root, name = self.root(database, table), f"{database}.{table}"
        registered = self.names is not None and self.names.has_table(database, table)
        refuse_leftovers(root, name)
        made = root.create(layout.schema_path(0), new_schema(document))
        if self.names is None or (
            made and registered
        ):  # a drop that forgot the files, not the name
            return document if made else None
        if not made and not registered:
            # Files without a name: left by a crash before the name was kept, or somebody else's.
            metadata = Metadata(root)
            same = replace(metadata.latest_schema(), time_millis=document.time_millis) == document
            if not same or metadata.head_id() is not None:
                raise AlreadyExistsError(
                    f"the files of another table are at {root.uri}, and the catalog does not know "
                    "it: delete them, or let Paimon's repair register the table",
                    name=name,
                )
            document = metadata.latest_schema()
        return document if self.names.create_table(database, table, document) else None

    def _check_database(self, name: str) -> None:
        if name not in (names := self.databases()):
            raise NotFoundError(
                f"no database {name!r}; create it first: there are {names}",
                name=name,
                available=names,
            )

    def table(
        self, name: str, branch: str | None = None, options: Mapping[str, str] | None = None
    ) -> Table:
        """A handle on ``database.table``; ``options`` hold for this handle only.

        ``table$branch_<name>`` names a branch. ``table$snapshots``, ``table$branch_<name>$files``
        and ``sys.tables`` name system tables, which can only be read.

        Raises:
            ArgumentError: ``name`` says one branch and ``branch`` another.
            NotFoundError: there is no such table or branch; the facts list the existing ones.
        """
        asked = ExtendedName.of(name)
        plain = asked.plain
        if plain.startswith(f"{_RESERVED}."):
            from table_core.table.api.system_table import SystemTable

            return SystemTable(name, lambda: self.system(name))
        database, table = self.split(plain)
        branch, metadata, schema = asked.branch_with(branch), None, None
        is_there = self.names is None or self.names.has_table(database, table)
        if is_there and not self.directory.makes_tables:  # else its files are the server's to make
            metadata = Metadata(self.root(database, table))
            listed = metadata.schema_ids()
            is_there = is_table_of(metadata.storage, listed)
            schema = metadata.schema(listed[-1]) if is_there else None
        if not is_there:
            known = self.tables(database)
            raise NotFoundError(
                f"no table {plain!r} in {self.warehouse}; there are {known}",
                name=plain,
                available=known,
            )
        handle = open_handle(
            plain,
            self.root(database, table) if metadata is None else metadata.storage,
            self.clock,
            self.ids,
            branch=branch,
            options=options,
            schema=schema,
            metadata=metadata,
        )
        return asked.shown(handle)

    def system(self, name: str) -> Scan:
        """A global system table: ``all_table_options, catalog_options, tables, partitions``."""
        from table_core.table.api.global_system_tables import global_scan

        return global_scan(self, name)

    def alter_table(
        self,
        name: str,
        changes: Sequence[SchemaChange],
        commit: CommitAs | None = None,
        *,
        expect: int | None = None,
        allow: str | Collection[str] = (),
    ) -> Table:
        """Apply ``changes`` as one new schema. After a lost race, retry on the newest schema.

        A second call under the user and identifier of ``commit`` changes nothing. ``expect`` is the
        id of a schema: if the newest schema of the table is another one, nothing is done.

        ``allow="narrow"``: a column may get a type, or NOT NULL, that does not hold every value of the
        old one. Then all stored values are looked at, and one that does not fit stops the change.

        Raises:
            SchemaError: a change is not allowed; all problems at once.
            DataError: a stored value does not fit its new type.
            CommitConflictError: the newest schema is not ``expect``.
        """
        return altered(self.table(name), changes, commit, expect=expect, allow=allow)

    def rename_table(self, name: str, to: str) -> None:
        """Rename ``name`` to ``to``, which must not exist. Not atomic on object stores.

        If a call fails after moving files and before moving the name, call it again to finish it.

        Raises:
            NotFoundError: there is no such table, or no database for ``to``.
            AlreadyExistsError: there is a table ``to``, or its folder.
            CommitConflictError: somebody rolls back, fast-forwards, recovers or drops the table, or one of its branches.
        """
        source, target = self.split(name), self.split(to)
        if self.directory.makes_tables:
            self.directory.rename_table(source, target)
            return
        new, known = self.root(*target), self.directory.has_table(*target)
        moved = self.names is not None and not known and is_table(new)
        stays = self.directory.keeps_files(*source)
        turn: AbstractContextManager[None] = nullcontext()
        if not (moved and self._is_name_alone(*source)):
            access = self.table(name).access
            self._check_database(target[0])
            if known or is_table(new):
                raise AlreadyExistsError(f"table {to!r} exists already", name=to)
            moved = False
            if not stays:
                folder = self.directory.root(self.storage, *target)
                turn = moving_all(access, folder, to)
        with turn, self._held(name), self._held(to):
            if not moved and not stays:
                self.directory.move(self.storage, source, target)
            self.directory.rename_table(source, target)

    def recover_table(self, name: str, dry_run: bool = True) -> ResultDocument:
        """Say what is broken in ``name``, and with ``dry_run=False`` save what can be saved.

        ``Table.recover`` for a table that cannot be opened: see there.

        Raises:
            NotFoundError: there is no such table.
            CommitConflictError: somebody changed a document meanwhile, or rolls back, fast-forwards or recovers the table.
        """
        from table_core.table.maintenance.recover import recover

        root = self.root(*self.split(name))
        return recover(name, root, self.clock, self.ids, dry_run=dry_run)

    def drop_table(self, name: str, if_exists: bool = False) -> None:
        """Delete ``name`` with all its files.

        If a call fails midway, it leaves a table without snapshots; call it again. The files of an external table
        of a Hive catalog stay.

        Raises:
            NotFoundError: there is none, and ``if_exists`` is off.
            CommitConflictError: somebody renames it just now.
        """
        database, table = self.split(name)
        if self.directory.makes_tables:
            if self.directory.has_table(database, table):
                self.directory.drop_table(database, table)
            elif not if_exists:
                raise NotFoundError(f"no table {name!r}", name=name, available=[])
            return
        with ExitStack() as turn:
            if not self._is_name_alone(database, table) and not self.directory.keeps_files(
                database, table
            ):
                try:
                    turn.enter_context(dropping(self.table(name).access))
                except NotFoundError:
                    if if_exists:
                        return
                    raise
            self._drop(database, table)

    def _drop_at_hand(self, database: str, table: str) -> None:
        """Drop one that was listed just now: also what cannot be opened, which nobody could rename."""
        with ExitStack() as turn:
            with suppress(NotFoundError, CorruptFileError, UnsupportedFeatureError):
                if not self.directory.keeps_files(database, table):
                    turn.enter_context(dropping(self.table(f"{database}.{table}").access))
            self._drop(database, table)

    def _drop(self, database: str, table: str) -> None:
        """Whatever is in the folder: a table that cannot be read can still be dropped."""
        if not self.directory.keeps_files(database, table):
            delete_files(self.directory.root(self.storage, database, table))
        self.directory.drop_table(database, table)

    def _is_name_alone(self, database: str, table: str) -> bool:
        """Whether the name is kept and the files are gone: something failed between the two."""
        registered = self.names is not None and self.names.has_table(database, table)
        return registered and not is_table(self.root(database, table))

    def root(self, database: str, table: str) -> Storage:
        """The folder of a table. Files are created in it under the lock, if there is one."""
        root = self.directory.root(self.storage, database, table)
        return locked(root, self.lock, f"{database}.{table}")

    def _held(self, table: str) -> AbstractContextManager[None]:
        return nullcontext() if self.lock is None else self.lock.held(table)

    def split(self, name: str) -> tuple[str, str]:
        """Database and table of ``database.table``."""
        require_name("name", name, "database.table")
        database, dot, table = name.partition(".")
        if not dot:
            raise ArgumentError(
                f"{name!r} does not name a table: write 'database.table'",
                argument="name",
                value=name,
            )
        self._check_name("database", database)
        self._check_name("table", table)
        if database == _RESERVED:
            raise ArgumentError(
                f"{name!r}: the database {_RESERVED!r} has nothing but system tables, which can only be "
                "read",
                argument="name",
                value=name,
            )
        return database, table

    def _check_name(self, what: str, name: str) -> None:
        if not _NAME.fullmatch(name) or name != name.strip():
            raise ArgumentError(
                f"{name!r} cannot be a {what} name: no '/', '.', '$', control characters or outer "
                "blanks",
                argument="name",
                value=name,
            )
        self.directory.check_name(what, name)


def altered(
    table: Table,
    changes: Sequence[SchemaChange],
    commit: CommitAs | None = None,
    *,
    expect: int | None = None,
    allow: str | Collection[str] = (),
) -> Table:
    """See ``Catalog.alter_table``: the same, of a table that is open."""
    access = table.access
    keeps = KeptValues.of(access, allow)
    schema = alter(access, changes_of(changes), commit, expect=expect, keeps=keeps)
    _warn_of_retention(table.name, access.schema, schema)
    # Not opened anew: a store that fails now would say that nothing has changed.
    return Table(replace(access, schema=schema))


def _warn_of_retention(name: str, before: TableSchema | None, after: TableSchema) -> None:
    """Say where ``after``, and not yet ``before``, keeps every partition for ever although it has a limit."""
    advice = useless_retention(after)
    if advice is not None and (before is None or useless_retention(before) != advice):
        _log.warning("%s: %s", name, advice)
