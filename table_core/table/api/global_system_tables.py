"""The global system tables, which show a whole warehouse (format 12)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.errors import ErrorKind, NotFoundError, TableError
from table_core.ondisk.partition_text import partition_text
from table_core.options import keys_identity
from table_core.table.read.scan import MemoryScan
from table_core.table.system_tables.documents import rows_table
from table_core.table.system_tables.files import partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.table.api.catalog_view import CatalogView
    from table_core.table.api.table import Table
    from table_core.table.metadata.access import TableAccess
    from table_core.table.read.scan import Scan

__all__ = ["GLOBAL_TABLES", "global_scan"]

_log = logging.getLogger(__name__)
_TEXT: Final = pa.string()
_LONG: Final = pa.int64()


def global_scan(catalog: CatalogView, name: str) -> Scan:
    """The global system table ``name``, with or without ``sys.``.

    Raises:
        NotFoundError: there is none of that name; facts list those there are.
    """
    plain = name.removeprefix("sys.").lower()
    if plain not in _TABLES:
        raise NotFoundError(
            f"no global system table {name!r}; there are {', '.join(GLOBAL_TABLES)}",
            name=name,
            available=list(GLOBAL_TABLES),
        )
    return MemoryScan(_TABLES[plain](catalog))


def _all(catalog: CatalogView) -> Iterator[tuple[str, str, Table]]:
    """Every table that can be opened; each other one is told in a warning."""
    for database in catalog.databases():
        try:
            names = catalog.tables(database)
        except TableError as error:
            _left_out(database, error)
            continue
        for name in names:
            try:
                table = catalog.table(f"{database}.{name}")
                table.access.options.get(keys_identity.TYPE)  # a value that cannot be read
            except TableError as error:
                _left_out(f"{database}.{name}", error)
            else:
                yield database, name, table


def _left_out(name: str, error: TableError) -> None:
    if error.kind is ErrorKind.UNAVAILABLE:
        raise error
    _log.warning("%r is left out of the global system tables: %s", name, error)


def _all_table_options(catalog: CatalogView) -> pa.Table:
    columns = [(n, _TEXT, False) for n in ("database_name", "table_name", "key", "value")]
    return rows_table(
        columns,
        (
            (database, name, key, value)
            for database, name, table in _all(catalog)
            for key, value in {**table.options, "path": table.uri}.items()
        ),
    )


def _catalog_options(catalog: CatalogView) -> pa.Table:
    columns = [("key", _TEXT, False), ("value", _TEXT, False)]
    return rows_table(columns, [("warehouse", catalog.warehouse)])


def _tables(catalog: CatalogView) -> pa.Table:
    columns = [
        ("database_name", _TEXT, False),
        ("table_name", _TEXT, False),
        ("table_type", _TEXT, False),
        ("partitioned", pa.bool_(), False),
        ("primary_key", pa.bool_(), False),
        ("owner", _TEXT, True),
        ("created_at", _LONG, True),
        ("created_by", _TEXT, True),
        ("updated_at", _LONG, True),
        ("updated_by", _TEXT, True),
        ("record_count", _LONG, True),
        ("file_size_in_bytes", _LONG, True),
        ("file_count", _LONG, True),
        ("last_file_creation_time", _LONG, True),
    ]
    unknown = [None] * 8  # what only a catalog with a server keeps
    rows = [
        (
            database,
            name,
            table.access.options.get(keys_identity.TYPE),
            bool(table.partition_by),
            bool(table.primary_key),
            table.access.options.get(keys_identity.OWNER),
            *unknown,
        )
        for database, name, table in _all(catalog)
    ]
    return rows_table(columns, rows)


def _partitions(catalog: CatalogView) -> pa.Table:
    columns = [
        ("database_name", _TEXT, False),
        ("table_name", _TEXT, False),
        ("partition_name", _TEXT, True),
        ("record_count", _LONG, True),
        ("file_size_in_bytes", _LONG, True),
        ("file_count", _LONG, True),
        ("last_file_creation_time", _LONG, True),
        ("done", pa.bool_(), True),
    ]
    rows = []
    for database, name, table in _all(catalog):
        if not table.partition_by:
            continue
        try:
            partition_rows = partitions(table.access, named=_folder_name).to_pylist()
        except TableError as error:
            _left_out(f"{database}.{name}", error)
            continue
        for row in partition_rows:
            at = row["last_update_time"]
            at_ms = None if at is None else pa.scalar(at, pa.timestamp("ms")).value
            rows.append(
                (
                    database,
                    name,
                    row["partition"],
                    row["record_count"],
                    row["file_size_in_bytes"],
                    row["file_count"],
                    None if at_ms is None else _instant(table, at_ms),
                    row["done"],
                )
            )
    return rows_table(columns, rows)


def _folder_name(access: TableAccess, partition: bytes) -> str:
    """``k1=v1/k2=v2`` as its folders are called, not escaped."""
    return "/".join(f"{k}={text}" for k, text in partition_text(access.schema, partition).items())


def _instant(table: Table, local_ms: int) -> int:
    """Wall clock of the local zone as epoch milliseconds (format T12)."""
    return table.access.wall_clock.moment(local_ms)


_TABLES: Final[Mapping[str, Callable[[CatalogView], pa.Table]]] = {
    "all_table_options": _all_table_options,
    "catalog_options": _catalog_options,
    "tables": _tables,
    "partitions": _partitions,
}
GLOBAL_TABLES: Final = tuple(sorted(_TABLES))
"""Names of all global system tables."""
