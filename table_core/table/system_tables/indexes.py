"""System tables of indexes: those of the table, and those of single data files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.ondisk import layout
from table_core.ondisk.file_index import decode_file_index
from table_core.table.read.state_plan import index_entries
from table_core.table.system_tables.documents import rows_table
from table_core.table.system_tables.files import file_path, live_files, row_text
from table_core.table.system_tables.state import shown_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.table.metadata.access import TableAccess

__all__ = ["file_indexes", "table_indexes"]

_TEXT: Final = pa.string()
_INT: Final = pa.int32()
_LONG: Final = pa.int64()
_DV_RANGES: Final = pa.list_(
    pa.struct(
        [
            pa.field("f0", _TEXT, nullable=False),
            pa.field("f1", _INT, nullable=False),
            pa.field("f2", _INT, nullable=False),
            pa.field("_CARDINALITY", _LONG),
        ]
    )
)


def table_indexes(access: TableAccess) -> pa.Table:
    """``$table_indexes``: deletion vectors, key hashes and global indexes."""
    columns = [
        ("partition", _TEXT, True),
        ("bucket", _INT, False),
        ("index_type", _TEXT, False),
        ("file_name", _TEXT, False),
        ("file_size", _LONG, False),
        ("row_count", _LONG, False),
        ("dv_ranges", _DV_RANGES, True),
        ("row_range_start", _LONG, True),
        ("row_range_end", _LONG, True),
        ("index_field_id", _INT, True),
        ("index_field_name", _TEXT, True),
    ]
    head = shown_state(access)
    names = {f.id: f.name for f in access.schema.fields}
    rows = []
    for e in index_entries(access, head) if head else []:
        spread = e.global_index
        ranges = e.ranges and [
            {"f0": r.file_name, "f1": r.offset, "f2": r.length, "_CARDINALITY": r.cardinality}
            for r in e.ranges
        ]
        rows.append(
            (
                row_text(access, e.partition),
                e.bucket,
                e.index_type,
                e.file_name,
                e.file_size,
                e.row_count,
                ranges,
                spread and spread.row_range_start,
                spread and spread.row_range_end,
                spread and spread.index_field_id,
                spread and names.get(spread.index_field_id),
            )
        )
    return rows_table(columns, rows)


def file_indexes(access: TableAccess) -> pa.Table:
    """``$file_indexes``: every index of every column of every live data file."""
    columns = [
        ("partition", _TEXT, True),
        ("bucket", _INT, False),
        ("file_path", _TEXT, False),
        ("file_size_in_bytes", _LONG, False),
        ("record_count", _LONG, False),
        ("schema_id", _LONG, False),
        ("column_name", _TEXT, False),
        ("index_type", _TEXT, False),
        ("storage_type", _TEXT, False),
        ("index_file_path", _TEXT, True),
        ("index_size_in_bytes", _LONG, False),
        ("index_container_size_in_bytes", _LONG, False),
        ("is_empty", pa.bool_(), False),
    ]
    rows = (
        (
            row_text(access, e.partition),
            e.bucket,
            file_path(access, e),
            e.file.file_size,
            e.file.row_count,
            e.file.schema_id,
            index.column,
            index.index_type,
            stored,
            path,
            index.length,
            len(body),
            index.is_empty,
        )
        for e in live_files(access)
        for stored, path, body in _index_bodies(access, e)
        for index in decode_file_index(body, path=path or e.file.file_name)
    )
    return rows_table(columns, rows)


def _index_bodies(
    access: TableAccess, entry: ManifestEntry
) -> Iterator[tuple[str, str | None, bytes]]:
    file = entry.file
    if file.embedded_index is not None:
        yield "EMBEDDED", None, file.embedded_index
    paths = layout.extra_file_paths(access.schema, entry.partition, entry.bucket, file)
    for path in paths:
        if path.endswith(".index"):
            yield "FILE", f"{access.storage.uri}/{path}", access.storage.read(path)
