"""System tables: what Paimon shows behind ``$``, with its columns, types and values (format 12).

Those of metadata are small; those of rows are scans like any other.  Those of one state show the one that
``scan.*`` options of the handle name, else the newest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError
from table_core.table.read.scan import MemoryScan, Scan
from table_core.table.system_tables import documents, files, indexes, rows
from table_core.table.system_tables.partition_listing import PartitionListing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from table_core.table.metadata.access import TableAccess

__all__ = ["SYSTEM_TABLES", "system_scan"]

_METADATA: Final[Mapping[str, Callable[[TableAccess], pa.Table]]] = {
    "snapshots": documents.snapshots,
    "schemas": documents.schemas,
    "options": documents.options,
    "tags": documents.tags,
    "branches": documents.branches,
    "consumers": documents.consumers,
    "statistics": documents.statistics,
    "aggregation_fields": documents.aggregation_fields,
    "manifests": files.manifests,
    "table_indexes": indexes.table_indexes,
    "file_indexes": indexes.file_indexes,
}
_OF_PARTITIONS: Final = {
    "files": (files.files, files.row_text),
    "file_key_ranges": (files.file_key_ranges, files.row_text),
    "partitions": (files.partitions, files.partition_name),
    "buckets": (files.buckets, files.row_text),
}
"""And how they call a partition."""
_OF_FILES: Final = frozenset({"files", "file_key_ranges"})
_ROWS: Final[Mapping[str, Callable[[TableAccess], Scan]]] = {
    "audit_log": rows.audit_log,
    "binlog": rows.binlog,
    "ro": rows.read_optimized,
    "row_tracking": rows.row_tracking,
}
SYSTEM_TABLES: Final = tuple(sorted({*_METADATA, *_OF_PARTITIONS, *_ROWS}))
"""Names of all system tables of a table."""


def system_scan(access: TableAccess, name: str) -> Scan:
    """The system table ``name``, with or without its ``$``.

    Raises:
        NotFoundError: there is no such system table; facts list those there are.
        UnsupportedFeatureError: the table has not what it shows.
    """
    plain = name.removeprefix("$").lower()
    if plain in _METADATA:
        return MemoryScan(_METADATA[plain](access))
    if plain in _OF_PARTITIONS:
        lists_files = plain in _OF_FILES
        return PartitionListing(access, *_OF_PARTITIONS[plain], lists_files=lists_files)
    if plain in _ROWS:
        return _ROWS[plain](access)
    raise NotFoundError(
        f"no system table {name!r}; there are {', '.join(SYSTEM_TABLES)}",
        name=name,
        available=list(SYSTEM_TABLES),
    )
