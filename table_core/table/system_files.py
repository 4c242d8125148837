<<<<<<< HEAD
"""System tables of files: data files, manifests, partitions, buckets and indexes."""
=======
"""System tables of data files: one by one, and by manifest, partition and bucket."""
>>>>>>> area/read

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.ondisk import layout
from table_core.ondisk.binary_row import decode_row
<<<<<<< HEAD
from table_core.ondisk.file_index import decode_file_index
=======
>>>>>>> area/read
from table_core.ondisk.partition_text import value_text
from table_core.ondisk.stats import decode_stats
from table_core.options import keys_files
from table_core.scan.prune import value_ranges
from table_core.schema.projection import evolve_ranges
from table_core.table.state_plan import index_entries
from table_core.table.system_documents import rows_table

if TYPE_CHECKING:
<<<<<<< HEAD
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
=======
    from collections.abc import Callable, Iterable, Mapping, Sequence
>>>>>>> area/read

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.data_file import DataFile, ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.access import TableAccess

__all__ = [
    "buckets",
<<<<<<< HEAD
    "file_indexes",
    "file_key_ranges",
    "files",
    "manifests",
    "partitions",
    "table_indexes",
=======
    "file_key_ranges",
    "file_path",
    "files",
    "live_files",
    "manifests",
    "partitions",
    "row_text",
>>>>>>> area/read
]

_TEXT: Final = pa.string()
_INT: Final = pa.int32()
_LONG: Final = pa.int64()
_TIME: Final = pa.timestamp("ms")
<<<<<<< HEAD
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
=======
>>>>>>> area/read


def files(access: TableAccess) -> pa.Table:
    """``$files``: every live data file."""
    columns = [
        ("partition", _TEXT, True),
        ("bucket", _INT, False),
        ("file_path", _TEXT, False),
        ("file_format", _TEXT, False),
        ("schema_id", _LONG, False),
        ("level", _INT, False),
        ("record_count", _LONG, False),
        ("file_size_in_bytes", _LONG, False),
        ("min_key", _TEXT, True),
        ("max_key", _TEXT, True),
        ("null_value_counts", _TEXT, False),
        ("min_value_stats", _TEXT, False),
        ("max_value_stats", _TEXT, False),
        ("min_sequence_number", _LONG, True),
        ("max_sequence_number", _LONG, True),
        ("creation_time", _TIME, True),
        ("deleteRowCount", _LONG, True),
        ("file_source", _TEXT, True),
        ("first_row_id", _LONG, True),
        ("write_cols", pa.list_(_TEXT), True),
    ]
    rows = []
<<<<<<< HEAD
    for entry in _live(access):
=======
    for entry in live_files(access):
>>>>>>> area/read
        file = entry.file
        low, high = _key_texts(access, file)
        nulls, lows, highs = _value_texts(access, file)
        rows.append(
            (
<<<<<<< HEAD
                _row_text(access, entry.partition),
                entry.bucket,
                _path(access, entry),
=======
                row_text(access, entry.partition),
                entry.bucket,
                file_path(access, entry),
>>>>>>> area/read
                file.format,
                file.schema_id,
                file.level,
                file.row_count,
                file.file_size,
                low,
                high,
                nulls,
                lows,
                highs,
                file.min_sequence_number,
                file.max_sequence_number,
                file.creation_time_ms,
                file.delete_row_count,
                None if file.file_source is None else file.file_source.name,
                file.first_row_id,
                None if file.write_cols is None else list(file.write_cols),
            )
        )
    return rows_table(columns, rows)


def file_key_ranges(access: TableAccess) -> pa.Table:
    """``$file_key_ranges``: every live data file with its keys."""
    columns = [
        ("partition", _TEXT, True),
        ("bucket", _INT, False),
        ("file_path", _TEXT, False),
        ("file_format", _TEXT, False),
        ("schema_id", _LONG, False),
        ("level", _INT, False),
        ("record_count", _LONG, False),
        ("file_size_in_bytes", _LONG, False),
        ("min_key", _TEXT, True),
        ("max_key", _TEXT, True),
        ("first_row_id", _LONG, True),
    ]
    return rows_table(
        columns,
        (
            (
<<<<<<< HEAD
                _row_text(access, e.partition),
                e.bucket,
                _path(access, e),
=======
                row_text(access, e.partition),
                e.bucket,
                file_path(access, e),
>>>>>>> area/read
                e.file.format,
                e.file.schema_id,
                e.file.level,
                e.file.row_count,
                e.file.file_size,
                *_key_texts(access, e.file),
                e.file.first_row_id,
            )
<<<<<<< HEAD
            for e in _live(access)
=======
            for e in live_files(access)
>>>>>>> area/read
        ),
    )


def manifests(access: TableAccess) -> pa.Table:
    """``$manifests``: those of the newest snapshot."""
    columns = [
        ("file_name", _TEXT, False),
        ("file_size", _LONG, False),
        ("num_added_files", _LONG, False),
        ("num_deleted_files", _LONG, False),
        ("schema_id", _LONG, False),
        ("min_partition_stats", _TEXT, True),
        ("max_partition_stats", _TEXT, True),
        ("min_row_id", _LONG, True),
        ("max_row_id", _LONG, True),
    ]
    head = access.metadata.head()
    metas = access.metadata.data_manifests(head) if head else []
    return rows_table(
        columns,
        (
            (
                m.file_name,
                m.file_size,
                m.num_added_files,
                m.num_deleted_files,
                m.schema_id,
                *_partition_bounds(access, m),
                m.min_row_id,
                m.max_row_id,
            )
            for m in metas
        ),
    )


def partitions(access: TableAccess) -> pa.Table:
    """``$partitions``: every partition with live files."""
    columns = [
        ("partition", _TEXT, True),
        ("record_count", _LONG, False),
        ("file_size_in_bytes", _LONG, False),
        ("file_count", _LONG, False),
        ("last_update_time", _TIME, True),
        ("created_at", _TIME, True),
        ("created_by", _TEXT, True),
        ("updated_by", _TEXT, True),
        ("options", _TEXT, True),
        ("total_buckets", _INT, False),
        ("done", pa.bool_(), False),
        ("deleted_record_count", _LONG, True),
    ]
    deleted = _deleted_rows(access)
    rows = []
<<<<<<< HEAD
    for partition, group in _grouped(_live(access), lambda e: e.partition).items():
=======
    for partition, group in _grouped(live_files(access), lambda e: e.partition).items():
>>>>>>> area/read
        rows.append(
            (
                _partition_name(access, partition),
                *_sums(group),
                _newest(group),
                None,
                None,
                None,
                None,
                group[-1].total_buckets,
                False,
                deleted.get(partition, 0),
            )
        )
    return rows_table(columns, sorted(rows, key=lambda row: str(row[0])))


def buckets(access: TableAccess) -> pa.Table:
    """``$buckets``: every bucket with live files."""
    columns = [
        ("partition", _TEXT, True),
        ("bucket", _INT, False),
        ("record_count", _LONG, False),
        ("file_size_in_bytes", _LONG, False),
        ("file_count", _LONG, False),
        ("last_update_time", _TIME, True),
    ]
<<<<<<< HEAD
    groups = _grouped(_live(access), lambda e: (e.partition, e.bucket))
    rows = (
        (_row_text(access, partition), bucket, *_sums(group), _newest(group))
=======
    groups = _grouped(live_files(access), lambda e: (e.partition, e.bucket))
    rows = (
        (row_text(access, partition), bucket, *_sums(group), _newest(group))
>>>>>>> area/read
        for (partition, bucket), group in groups.items()
    )
    return rows_table(columns, sorted(rows, key=lambda row: (row[0], row[1])))


<<<<<<< HEAD
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
    head = access.metadata.head()
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
                _row_text(access, e.partition),
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
            _row_text(access, e.partition),
            e.bucket,
            _path(access, e),
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
        for e in _live(access)
        for stored, path, body in _index_bodies(access, e)
        for index in decode_file_index(body, path=path or e.file.file_name)
    )
    return rows_table(columns, rows)


# ------------------------------------------------------------------------------------------ parts
def _live(access: TableAccess) -> list[ManifestEntry]:
=======
# ------------------------------------------------------------------------------------------ parts
def live_files(access: TableAccess) -> list[ManifestEntry]:
    """The live entries of the newest snapshot."""
>>>>>>> area/read
    return access.live_entries(access.metadata.head())


def _grouped(
    entries: Iterable[ManifestEntry], key: Callable[[ManifestEntry], Any]
) -> Mapping[Any, list[ManifestEntry]]:
    groups: dict[Any, list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return groups


def _sums(group: Sequence[ManifestEntry]) -> tuple[int, int, int]:
    rows = sum(e.file.row_count for e in group)
    return rows, sum(e.file.file_size for e in group), len(group)


def _newest(group: Sequence[ManifestEntry]) -> int | None:
    times = [t for e in group if (t := e.file.creation_time_ms) is not None]
    return max(times, default=None)


<<<<<<< HEAD
def _path(access: TableAccess, entry: ManifestEntry) -> str:
=======
def file_path(access: TableAccess, entry: ManifestEntry) -> str:
    """Where a data file is, as a URI."""
>>>>>>> area/read
    if entry.file.external_path is not None:
        return entry.file.external_path
    path = layout.data_file_path(access.schema, entry.partition, entry.bucket, entry.file)
    return f"{access.storage.uri}/{path}"


<<<<<<< HEAD
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


def _row_text(access: TableAccess, partition: bytes) -> str:
=======
def row_text(access: TableAccess, partition: bytes) -> str:
>>>>>>> area/read
    """``{v1, v2}``, each value cast to STRING."""
    values = _decoded(access.schema.partition_fields, partition)
    return "{" + ", ".join("null" if text is None else text for text in values) + "}"


def _decoded(fields: Sequence[Field], row: bytes) -> list[str | None]:
    values = decode_row([f.type for f in fields], row, path="_PARTITION")
    return [
        None if value is None else value_text(field.type, value, legacy=False)
        for field, value in zip(fields, values, strict=True)
    ]


def _partition_name(access: TableAccess, partition: bytes) -> str:
    """``k1=v1/k2=v2``, not escaped, values cast to STRING; NULL and blank by their name."""
    fields = access.schema.partition_fields
    default = access.options.get(keys_files.PARTITION_DEFAULT_NAME)
    texts = _decoded(fields, partition)
    return "/".join(
        f"{field.name}={default if text is None or not text.strip() else text}"
        for field, text in zip(fields, texts, strict=True)
    )


def _partition_bounds(access: TableAccess, meta: ManifestMeta) -> tuple[str, str]:
    fields = access.schema.partition_fields
    stats = decode_stats(meta.partition_stats, fields, path=meta.file_name)
    lows, highs = (
        [
            "null"
            if f.name not in stats or stats[f.name][side] is None
            else value_text(f.type, stats[f.name][side], legacy=False)
            for f in fields
        ]
        for side in (0, 1)
    )
    return "{" + ", ".join(lows) + "}", "{" + ", ".join(highs) + "}"


def _key_texts(access: TableAccess, file: DataFile) -> tuple[str | None, str | None]:
    """``[k1, k2]`` of the smallest and largest key, as Java prints stored values."""
    fields = access.metadata.schema(file.schema_id).trimmed_key_fields
    if not fields:
        return None, None
    types = [f.type for f in fields]
    low, high = (
        ", ".join(
            _java_text(type_, value)
            for type_, value in zip(types, decode_row(types, key, path=file.file_name), strict=True)
        )
        for key in (file.min_key, file.max_key)
    )
    return f"[{low}]", f"[{high}]"


def _value_texts(access: TableAccess, file: DataFile) -> tuple[str, str, str]:
    """NULL counts, smallest and largest values as ``{a=1, b=null}``, by column name."""
    written = access.metadata.schema(file.schema_id)
    stored = value_ranges(file, written)
    ranges = evolve_ranges(written, access.schema, stored, file.row_count)
    types = {f.id: (f.name, f.type) for f in written.fields}
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for field in sorted(access.schema.fields, key=lambda f: f.name):
        old_name, old_type = types.get(field.id, ("", None))
        known = stored.get(old_name) if old_type == field.type else ranges.get(field.name)
        count = known.null_count if known else None
        texts = (
            "null" if count is None else str(count),
            _java_text(field.type, known.min if known else None),
            _java_text(field.type, known.max if known else None),
        )
        for part, text in zip(found, texts, strict=True):
            part.append(f"{field.name}={text}")
    nulls, lows, highs = ("{" + ", ".join(part) + "}" for part in found)
    return nulls, lows, highs


def _java_text(type_: Any, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):  # Java prints the object's address
        return value.hex()
    return value_text(type_, value, legacy=True)


def _deleted_rows(access: TableAccess) -> dict[bytes, int]:
    """Rows that deletion vectors mark, by partition."""
    head = access.metadata.head()
    found: dict[bytes, int] = defaultdict(int)
    for entry in index_entries(access, head) if head else []:
        found[entry.partition] += sum(r.cardinality or 0 for r in entry.ranges or ())
    return found
