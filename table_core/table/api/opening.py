"""Opens warehouses and tables by their address: the store, the names and the lock that options ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from table_core.errors import (
    AccessDeniedError,
    ArgumentError,
    NotFoundError,
    OptionError,
    UnsupportedFeatureError,
)
from table_core.ondisk import layout
from table_core.options.argument_kinds import require_mapping
from table_core.options.catalog import LOCAL_TABLES, CatalogOptions
from table_core.options.hive import HiveOptions
from table_core.options.rest import RestOptions
from table_core.schema.column_names import column_names
from table_core.schema.evolve import create
from table_core.storage.stores.hive_lock import HiveLock
from table_core.storage.stores.hive_metastore import HiveMetastore
from table_core.storage.stores.hive_site import metastore_uri
from table_core.storage.stores.jdbc import JdbcDatabase
from table_core.storage.stores.jdbc_lock import JdbcLock
from table_core.storage.stores.locate import is_on_disk, open_storage
from table_core.storage.stores.lock import FileLock, locked
from table_core.storage.stores.no_folder import NoFolder
from table_core.storage.stores.rest_server import connected
from table_core.storage.stores.typed_place import place_text
from table_core.storage.system import SystemClock, SystemIds
from table_core.table.api.catalog import Catalog
from table_core.table.api.extended_name import ExtendedName
from table_core.table.api.table import open_handle
from table_core.table.metadata.directory import JdbcDirectory
from table_core.table.metadata.hive_directory import HiveDirectory
from table_core.table.metadata.new_schema import new_schema
from table_core.table.metadata.rest_directory import RestDirectory
from table_core.table.metadata.table_files import is_table, refuse_leftovers

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from table_core.ports import Clock, Storage
    from table_core.storage.stores.lock import TableLock
    from table_core.table.api.table import Table
    from table_core.table.metadata.directory import Directory

__all__ = ["open_catalog", "open_table"]

_SUFFIX = ".db"


def open_catalog(
    warehouse: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> Catalog:
    """The warehouse at a URI (``file:``, ``memory:``, ``s3:`` ...), local path or ``pathlib.Path``.

    ``storage_options`` go to the store, except Paimon's own names: ``metastore`` (``filesystem``,
    ``jdbc``, ``rest`` or ``hive``), ``uri``, ``catalog-key``, ``jdbc.user``, ``jdbc.password``, ``lock.enabled``,
    ``lock.type`` (``jdbc`` or ``file``), ``lock.path``, ``lock-acquire-timeout``,
    ``lock-check-max-sleep``, ``token.provider``, ``token``, ``dlf.*``, ``hive-conf-dir`` and ``table.type``.

    With ``metastore=rest``, ``warehouse`` is the name that the server at ``uri`` knows it by, and
    the server says where each table lies; the other options are for that store.  That is no folder of
    this machine, unless ``warehouse`` is one or ``local-tables.enabled`` is true.  That holds for tables that a
    Hive metastore says to lie outside of the warehouse too.

    Raises:
        UnsupportedFeatureError: the store has no atomic create-if-absent; the message names a
            remedy.
        OptionError: an option of the catalog is wrong or missing.
    """
    warehouse = place_text(warehouse, "warehouse")
    require_mapping("storage_options", storage_options, "{'profile': 'etl'}")
    options = CatalogOptions.of(warehouse, storage_options or {})
    clock = SystemClock()
    if options.metastore == "rest":
        return _served_catalog(warehouse, options, clock)
    storage = open_storage(
        warehouse, options.storage, locked=options.lock_type is not None, warehouse=True
    )
    names: Directory | None = None
    if options.metastore == "jdbc":
        database = JdbcDatabase(options.uri or "", options.login)
        names = JdbcDirectory(database, options.catalog_key, storage.uri)
        names.create_tables()
    elif options.metastore == "hive":
        hive = HiveOptions.of(options.hive)
        uri = metastore_uri(hive)
        names = HiveDirectory(
            metastore=HiveMetastore(uri),
            warehouse=storage.uri.rstrip("/"),
            clock=clock,
            open_folder=_TableFolders(options, f"Hive metastore at {uri}"),
            external=hive.external,
        )
    return Catalog(
        storage=storage, clock=clock, ids=SystemIds(), names=names, lock=_lock(options, clock)
    )


def _served_catalog(warehouse: str, options: CatalogOptions, clock: SystemClock) -> Catalog:
    """The warehouse as a REST server knows it.

    Raises:
        OptionError, UnsupportedFeatureError: an option, or what the server says to it, is wrong or not for this
            release.
        AccessDeniedError: the server does not take the token.
        StorageUnavailableError: it does not answer.
    """
    server = connected(RestOptions.of(options.rest), options.rest, warehouse, clock)
    directory = RestDirectory(
        server, clock, _TableFolders(options, f"REST catalog at {options.uri}")
    )
    return Catalog(
        storage=NoFolder(address=f"{server.uri}/{warehouse}"),
        clock=clock,
        ids=SystemIds(),
        names=directory,
    )


@dataclass(frozen=True, slots=True)
class _TableFolders:
    """Opens the folder of a table where the server of a catalog says that it is."""

    options: CatalogOptions
    server: str
    """What the server is called, and where it is."""

    def __call__(self, uri: str) -> Storage:
        """The folder at ``uri``.

        Raises:
            AccessDeniedError: it is on this machine, and nobody here has said that it may be.
        """
        if is_on_disk(uri) and not self.options.local_tables:
            raise AccessDeniedError(
                f"the {self.server} says that a table lies in {uri}, a folder of this machine: "
                f"which of its folders are read and written, a server may not say. If it is meant, set "
                f"{LOCAL_TABLES}=true in the options of the catalog",
                path=uri,
                folder=uri,
                reason="local table",
            )
        locked = self.options.lock_type is not None
        return open_storage(uri, self.options.storage, locked=locked, warehouse=True)


def open_table(
    path: str | os.PathLike[str],
    auto_create: bool = False,
    schema: Any = None,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Table:
    """The table whose folder is ``path``.

    With ``auto_create``, a missing table is created from ``schema`` and the other arguments, and
    ``options`` are stored. For an existing table, ``options`` hold for this handle only.
    ``path$branch_<name>``, ``path$files`` and similar paths mean the same as in ``Catalog.table``.

    Raises:
        NotFoundError: there is no such table, branch or system table, and ``auto_create`` is off.
        ArgumentError: a table must be created, and its name has a ``$``.
    """
    path = place_text(path, "path")
    require_mapping("storage_options", storage_options, "{'profile': 'etl'}")
    asked, whole = ExtendedName.of(path.rstrip("/")), path
    extended = bool(asked.branch or asked.system)
    path = asked.plain if extended else path
    catalog_options = _options_of_path(path, storage_options or {})
    clock, ids = SystemClock(), SystemIds()
    lock = _lock(catalog_options, clock)
    storage = open_storage(path, catalog_options.storage, locked=lock is not None, warehouse=True)
    name = ".".join(p.removesuffix(_SUFFIX) for p in storage.uri.rstrip("/").split("/")[-2:])
    storage = locked(storage, lock, name)
    handle_options = _options_for(whole, options)
    wanted = auto_create or handle_options.pop("auto-create", "false").lower() == "true"
    handle_options.pop("path", None)
    if not is_table(storage):
        if not wanted or schema is None:
            hint = "pass auto_create=True and a schema to create it"
            raise NotFoundError(f"no table at {storage.uri}; {hint}", name=storage.uri)
        if extended:
            raise ArgumentError(
                f"no table at {storage.uri}, and the name of a branch or system table creates none: "
                f"{whole!r}",
                argument="path",
                value=whole,
            )
        document = create(
            schema,
            primary_key=column_names("primary_key", primary_key),
            partition_by=column_names("partition_by", partition_by),
            options=handle_options,
            comment=None,
            now_ms=clock.now_ms(),
        )
        refuse_leftovers(storage, name)
        storage.create(layout.schema_path(0), new_schema(document))
        handle_options = {}
    handle = open_handle(name, storage, clock, ids, branch=asked.branch, options=handle_options)
    return asked.shown(handle)


def _options_of_path(path: str, storage_options: Mapping[str, Any]) -> CatalogOptions:
    """What ``storage_options`` say about the catalog of a table that is opened by its path.

    Raises:
        UnsupportedFeatureError: its server knows no path.
    """
    options = CatalogOptions.of(path, storage_options)
    if options.metastore == "hive":
        raise UnsupportedFeatureError(
            "a table of a Hive catalog cannot be opened by its path, because the metastore shows what becomes of its "
            "schema: use open_catalog(warehouse, storage_options).table(name)",
            feature="a table of a Hive catalog by its path",
        )
    if options.metastore == "rest":
        raise UnsupportedFeatureError(
            "a table of a REST catalog cannot be opened by its path, because its server says who commits: use "
            "open_catalog(warehouse, storage_options).table(name)",
            feature="a table of a REST catalog by its path",
        )
    return options


def _options_for(path: str, options: Mapping[str, str] | None) -> dict[str, str]:
    """``options`` as a dictionary of one's own.

    Raises:
        OptionError: they are those of another path.
    """
    require_mapping("options", options, "{'bucket': '2'}")
    own = dict(options or {})
    if own.get("path", path) != path:
        raise OptionError(f"option 'path' is {own['path']!r}, not {path!r}", option="path")
    return own


def _lock(options: CatalogOptions, clock: Clock) -> TableLock | None:
    """The lock that ``options`` ask for, ready to be taken."""
    if options.lock_type is None:
        return None
    if options.lock_type == "file":
        folder = options.lock_path or ""
        return FileLock(folder, options.check_max_sleep_ms, options.acquire_timeout_ms)
    if options.lock_type == "hive":
        return HiveLock(
            HiveMetastore(metastore_uri(HiveOptions.of(options.hive))),
            options.check_max_sleep_ms,
            options.acquire_timeout_ms,
        )
    lock = JdbcLock(
        JdbcDatabase(options.uri or "", options.login),
        options.catalog_key,
        options.check_max_sleep_ms,
        options.acquire_timeout_ms,
        clock.local_offset_ms(clock.now_ms()) // 60_000,
        options.key_length_max,
    )
    lock.create_table()
    return lock
