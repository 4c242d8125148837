"""The catalog of a Hive metastore: it knows names and places; schemas and snapshots are files (docs/adr/0034).

Source: ``org.apache.paimon.hive.HiveCatalog`` of 2.0.0.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from table_core.errors import (
    ArgumentError,
    NotFoundError,
    OutcomeUnknownError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.hive.objects import HiveDatabase
from table_core.hive.places import below
from table_core.hive.tables import (
    is_external,
    is_paimon,
    registered,
    shown,
    unknown_parameters,
    what_it_is,
)
from table_core.storage.stores.hive_metastore import user_name
from table_core.storage.stores.wrapped import WrappedStorage
from table_core.table.metadata.documents import Metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.hive.objects import HiveTable
    from table_core.ports import Clock, Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.stores.hive_metastore import HiveMetastore

__all__ = ["HiveDirectory"]

_log = logging.getLogger(__name__)
_SUFFIX: Final = ".db"
_NAME: Final = re.compile(r"[a-z0-9_]{1,128}")
"""What every metastore takes, without settings of its own."""
_SCHEMA: Final = re.compile(r"schema/schema-\d+")
_SHOWS: Final = 5
"""So often a schema may change while an older one is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveDirectory:
    """What the metastore knows, asked each time."""

    metastore: HiveMetastore
    warehouse: str
    """The URI of the warehouse."""
    clock: Clock
    open_folder: Callable[[str], Storage]
    """Opens the folder of a table that lies outside of the warehouse, by its URI."""
    external: bool = False
    """Whether tables that are created keep their files when they are dropped."""
    makes_tables: Literal[False] = field(default=False, init=False)

    def databases(self) -> list[str]:
        """See ``Directory``."""
        return sorted(self.metastore.asked(lambda session: session.databases()))

    def add_database(self, name: str) -> bool:
        """See ``Directory``."""
        database = HiveDatabase(name=name, location=f"{self.warehouse}/{name}{_SUFFIX}")
        with self.metastore.session() as session:
            return session.create_database(database)

    def drop_database(self, name: str) -> None:
        """See ``Directory``.

        Raises:
            ArgumentError: it has tables that are none of Paimon's.
        """
        with self.metastore.session() as session:
            if not session.drop_database(name):
                raise NotFoundError(f"no database {name!r}", name=name, available=[])

    def tables(self, database: str) -> list[str]:
        """Those of Paimon."""
        known = self.metastore.asked(lambda session: session.tables(database))
        return sorted(table.name for table in known if is_paimon(table))

    def others(self, database: str) -> Mapping[str, str]:
        """See ``Directory``."""
        known = self.metastore.asked(lambda session: session.tables(database))
        return {table.name: what_it_is(table) for table in known if not is_paimon(table)}

    def candidates(self, database: str) -> list[str]:
        """See ``Directory``."""
        return self.tables(database)

    def has_table(self, database: str, table: str) -> bool:
        """See ``Directory``.

        Raises:
            UnsupportedFeatureError: the name is that of something else than a table of Paimon.
        """
        return self._table(database, table) is not None

    def root(self, warehouse: Storage, database: str, table: str) -> Storage:
        """See ``Directory``; of a table that is not there: where it would be.

        Raises:
            UnsupportedFeatureError: the name is that of something else than a table of Paimon.
        """
        location = self._location(database, table)
        path = below(self.warehouse, location)
        folder = self.open_folder(location) if path is None else warehouse.within(path)
        return HiveStorage(folder, self, database, table)

    def move(self, warehouse: Storage, source: tuple[str, str], target: tuple[str, str]) -> None:
        """See ``Directory``.

        Raises:
            UnsupportedFeatureError: one of the folders is outside of the warehouse.
        """
        paths = []
        for name in (source, target):
            location = self._location(*name)
            path = below(self.warehouse, location)
            if path is None:
                raise UnsupportedFeatureError(
                    f"table {'.'.join(source)} cannot move from or to {location}, which is not in the warehouse "
                    f"{self.warehouse}: open the catalog with the warehouse that holds both",
                    feature="rename outside of the warehouse",
                )
            paths.append(path)
        warehouse.move(*paths)

    def keeps_files(self, database: str, table: str) -> bool:
        """See ``Directory``."""
        known = self._table(database, table)
        return known is not None and is_external(known)

    def create_table(self, database: str, table: str, schema: TableSchema) -> bool:
        """See ``Directory``."""
        entry = registered(
            schema,
            database=database,
            name=table,
            location=self._location(database, table),
            owner=user_name(),
            now_s=self.clock.now_ms() // 1000,
            external=self.external,
        )
        try:
            with self.metastore.session() as session:
                return session.create_table(entry)
        except OutcomeUnknownError:
            if self._table(database, table) is None:
                raise
            return True

    def drop_table(self, database: str, table: str) -> None:
        """See ``Directory``."""
        with self.metastore.session() as session:
            session.drop_table(database, table)

    def rename_table(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """See ``Directory``.

        Raises:
            NotFoundError: there is no ``source`` any more.
        """
        location = self._location(*target)

        def renamed(table: HiveTable) -> HiveTable:
            place = table.location if is_external(table) else location
            return replace(table, database=target[0], name=target[1], location=place)

        with self.metastore.session() as session:
            if not session.change_table(*source, renamed):
                raise NotFoundError(
                    f"no table {'.'.join(source)}", name=".".join(source), available=[]
                )

    def check_name(self, what: str, name: str) -> None:
        """Names of Hive are in lower case, and of letters, digits and ``_``."""
        if not _NAME.fullmatch(name):
            raise ArgumentError(
                f"{name!r} cannot be a {what} name in a Hive catalog: write it in lower case, of at most 128 "
                "letters, digits and _",
                argument="name",
                value=name,
            )

    def show(self, database: str, table: str, folder: Storage) -> None:
        """Let the metastore show the newest schema of a table, which lies in ``folder``, if it knows the table.

        What is newest is looked for again afterwards: of two who change the schema, the one that shows last may have
        the older one in hand.  If the metastore does not take it, a warning says so: the change itself is done.
        """
        metadata = Metadata(folder)
        schema = metadata.latest_schema()
        try:
            for _ in range(_SHOWS):
                current = schema
                with self.metastore.session() as session:
                    session.change_table(
                        database, table, partial(_as_in, schema=current, metadata=metadata)
                    )
                schema = metadata.latest_schema()
                if schema == current:
                    return
        except TableError as error:
            _log.warning(
                "%s.%s: its schema is %d by now, and the metastore still shows the one before to Hive and other "
                "engines (%s). The next change of the schema shows this one too",
                database,
                table,
                schema.id,
                error,
            )

    def _location(self, database: str, table: str) -> str:
        """Where a table is, or would be."""
        known = self._table(database, table)
        if known is not None and known.location:
            return known.location
        at = self.metastore.asked(lambda session: session.database(database))
        if at is None:
            raise NotFoundError(f"no database {database!r}", name=database, available=[])
        return f"{(at.location or f'{self.warehouse}/{database}{_SUFFIX}').rstrip('/')}/{table}"

    def _table(self, database: str, table: str) -> HiveTable | None:
        """A table of Paimon; None if there is nothing of that name.

        Raises:
            UnsupportedFeatureError: there is something else.
        """
        known = self.metastore.asked(lambda session: session.table(database, table))
        if known is not None and not is_paimon(known):
            raise UnsupportedFeatureError(
                f"{database}.{table} is {what_it_is(known)} in the Hive metastore, and no table of Paimon: open it "
                "with the engine that made it, or take another name",
                feature=what_it_is(known),
            )
        return known


@dataclass(frozen=True)
class HiveStorage(WrappedStorage):
    """The folder ``inner`` of a table: when a schema is made there, the metastore shows it."""

    directory: HiveDirectory
    database: str
    table: str

    def within(self, path: str) -> Storage:
        """A folder in it, in which no schema of the table is made."""
        return self.inner.within(path)

    def create(self, path: str, body: bytes) -> bool:
        """As the store within."""
        made = self.inner.create(path, body)
        if made and _SCHEMA.fullmatch(path):
            self.directory.show(self.database, self.table, self.inner)
        return made


def _as_in(known: HiveTable, schema: TableSchema, metadata: Metadata) -> HiveTable:
    """``known`` as ``schema`` has it: options that only an older schema had are gone."""
    gone: set[str] = set()
    if others := unknown_parameters(known, schema):
        for id in metadata.schema_ids():
            gone |= others & metadata.schema(id).raw_options.keys()
    return shown(known, schema, gone)
