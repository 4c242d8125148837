"""System tables of data files: one by one, and by manifest, partition and bucket."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.cast import cast_array
from table_core.datatypes.domain import domain_array, domain_values
from table_core.datatypes.kinds import Atomic
from table_core.datatypes.range import Range
from table_core.errors import DataError, UnsupportedFeatureError
from table_core.ondisk import layout
from table_core.ondisk.binary_row import decode_row
from table_core.ondisk.file_columns import UNKNOWN, FileColumns, Numbers, live_columns
from table_core.ondisk.partition_text import value_text
from table_core.ondisk.stats import decode_stats
from table_core.options import keys_files, keys_write
from table_core.scan.by_partition import PartitionTest
from table_core.scan.prune import value_ranges
from table_core.table.read.state_plan import index_entries
from table_core.table.system_tables.documents import rows_table
from table_core.table.system_tables.state import shown_state

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.data_file import DataFile, ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess

    Keep = Callable[[bytes], bool]

__all__ = [
    "buckets",
    "file_key_ranges",
    "file_path",
    "files",
    "key_texts",
    "live_files",
    "manifests",
    "partition_name",
    "partitions",
    "row_text",
]

_TEXT: Final = pa.string()
_INT: Final = pa.int32()
_LONG: Final = pa.int64()
_TIME: Final = pa.timestamp("ms")
_FILE_COLUMNS: Final = (
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
)
"""What both tables of files begin with."""


def files(access: TableAccess, keep: Keep | None = None) -> pa.Table:
    """``$files``: every live data file, or those of the partitions that ``keep`` wants."""
    columns = [
        *_FILE_COLUMNS,
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
    for entry in placed_files(access, keep):
        file = entry.file
        low, high = key_texts(access, file)
        nulls, lows, highs = _value_texts(access, file)
        rows.append(
            (
                row_text(access, entry.partition),
                entry.bucket,
                file_path(access, entry),
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


def file_key_ranges(access: TableAccess, keep: Keep | None = None) -> pa.Table:
    """``$file_key_ranges``: every live data file with its keys."""
    columns = [
        *_FILE_COLUMNS,
        ("first_row_id", _LONG, True),
    ]
    return rows_table(
        columns,
        (
            (
                row_text(access, e.partition),
                e.bucket,
                file_path(access, e),
                e.file.format,
                e.file.schema_id,
                e.file.level,
                e.file.row_count,
                e.file.file_size,
                *key_texts(access, e.file),
                e.file.first_row_id,
            )
            for e in placed_files(access, keep)
        ),
    )


def manifests(access: TableAccess) -> pa.Table:
    """``$manifests``: those of the newest snapshot, of data and of its changelog."""
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
    head = shown_state(access)
    metas = list(access.metadata.data_manifests(head)) if head else []
    if head and head.changelog_manifest_list is not None:
        metas += access.metadata.manifest_list(head.changelog_manifest_list)
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


def partitions(
    access: TableAccess,
    keep: Keep | None = None,
    *,
    named: Callable[[TableAccess, bytes], str] | None = None,
) -> pa.Table:
    """``$partitions``: every partition with live files; ``named`` says how they are called."""
    name = named or partition_name
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
    rows = (
        (
            name(access, partition),
            count,
            size,
            file_count,
            newest,
            None,
            None,
            None,
            None,
            total_buckets,
            False,
            deleted.get(partition, 0),
        )
        for partition, count, size, file_count, newest, total_buckets in _summed(access, keep)
    )
    return rows_table(columns, sorted(rows, key=lambda row: str(row[0])))


def _summed(
    access: TableAccess, keep: Keep | None
) -> Iterator[tuple[bytes, int, int, int, int | None, int]]:
    """Each partition with live files: rows, bytes and files in it, the newest creation that manifests tell of, buckets."""
    parts = [part.where(part.bucket >= 0) for part in _columns(access, keep)]
    live = live_columns(parts)
    buckets = np.zeros(len(live.partitions), np.int64)
    buckets[live.partition] = live.total_buckets  # of the last file, where they differ
    newest = _newest_of(parts, lambda part: (part.partitions, part.partition))
    sums = _sums(live, live.partition, len(live.partitions))
    for row, (count, size, file_count), total_buckets in zip(
        live.partitions, sums, buckets.tolist(), strict=True
    ):
        if file_count:
            yield row, count, size, file_count, newest[row], total_buckets


def buckets(access: TableAccess, keep: Keep | None = None) -> pa.Table:
    """``$buckets``: every bucket with live files."""
    columns = [
        ("partition", _TEXT, True),
        ("bucket", _INT, False),
        ("record_count", _LONG, False),
        ("file_size_in_bytes", _LONG, False),
        ("file_count", _LONG, False),
        ("last_update_time", _TIME, True),
    ]
    parts = _columns(access, keep)
    live = live_columns(parts)
    places, at = _buckets_of(live)
    newest = _newest_of(parts, _buckets_of)
    texts = {row: row_text(access, row) for row in live.partition_rows()}
    rows = (
        (texts[row], bucket, *sums, newest[row, bucket])
        for (row, bucket), sums in zip(places, _sums(live, at, len(places)), strict=True)
    )
    return rows_table(columns, sorted(rows, key=lambda row: (row[0], row[1])))


# ------------------------------------------------------------------- counted as columns: no entry becomes an object
def _columns(access: TableAccess, keep: Keep | None) -> list[FileColumns]:
    """The entries of each manifest of the state that is shown, or those of the partitions that ``keep`` wants."""
    head = shown_state(access)
    metas = [] if head is None else access.metadata.data_manifests(head)
    if isinstance(keep, PartitionTest):
        metas = [meta for meta in metas if keep.may_hold(meta)]
    parts = [access.metadata.file_columns(meta) for meta in metas]
    return parts if keep is None else [part.of_partitions(keep) for part in parts]


def _buckets_of(files: FileColumns) -> tuple[list[tuple[bytes, int]], Numbers]:
    """The buckets of ``files``, and in which of them each file is."""
    low = int(files.bucket.min(initial=0))
    span = int(files.bucket.max(initial=0)) - low + 1
    codes, at = np.unique(files.partition * span + files.bucket - low, return_inverse=True)
    return [(files.partitions[code // span], code % span + low) for code in codes.tolist()], at


def _sums(files: FileColumns, at: Numbers, groups: int) -> list[list[int]]:
    """Rows, bytes and files of each of ``groups``; ``at``: in which each file is."""
    sums = np.zeros((groups, 3), np.int64)
    np.add.at(sums, at, np.stack([files.rows, files.size, np.ones(len(files), np.int64)], axis=1))
    return sums.tolist()


def _newest_of(
    parts: Iterable[FileColumns],
    groups_of: Callable[[FileColumns], tuple[Sequence[Hashable], Numbers]],
) -> dict[Any, int | None]:
    """The newest creation of each group that manifests tell of, also of files that are gone; None if none does."""
    newest: dict[Any, int] = {}
    for part in parts:
        groups, at = groups_of(part)
        latest = np.full(len(groups), UNKNOWN)
        np.maximum.at(latest, at, part.created_ms)
        for group, at_ms in zip(groups, latest.tolist(), strict=True):
            newest[group] = max(newest.get(group, UNKNOWN), at_ms)
    return {group: None if at_ms == UNKNOWN else at_ms for group, at_ms in newest.items()}


# ------------------------------------------------------------------------------------------ parts
def live_files(access: TableAccess, keep: Keep | None = None) -> list[ManifestEntry]:
    """The live entries of the state that is shown, or those of the partitions that ``keep`` wants."""
    return access.live_entries(shown_state(access), keep_partition=keep)


def placed_files(access: TableAccess, keep: Keep | None = None) -> list[ManifestEntry]:
    """The live entries but those whose rows still wait for their buckets."""
    return [entry for entry in live_files(access, keep) if entry.bucket >= 0]


def file_path(access: TableAccess, entry: ManifestEntry) -> str:
    """Where a data file is, as a URI."""
    if entry.file.external_path is not None:
        return entry.file.external_path
    path = layout.data_file_path(access.schema, entry.partition, entry.bucket, entry.file)
    return f"{access.storage.uri}/{path}"


def row_text(access: TableAccess, partition: bytes) -> str:
    """``{v1, v2}``, each value cast to STRING."""
    values = _decoded(access.schema.partition_fields, partition)
    return "{" + ", ".join("null" if text is None else text for text in values) + "}"


def _decoded(fields: Sequence[Field], row: bytes) -> list[str | None]:
    values = decode_row([f.type for f in fields], row, path="_PARTITION")
    return [
        None if value is None else value_text(field.type, value, legacy=False)
        for field, value in zip(fields, values, strict=True)
    ]


def partition_name(access: TableAccess, partition: bytes) -> str:
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


def key_texts(access: TableAccess, file: DataFile) -> tuple[str | None, str | None]:
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
    old = {f.id: f for f in written.fields}
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for field in sorted(access.schema.fields, key=lambda f: f.name):
        was = old.get(field.id)
        known = Range(null_count=file.row_count) if was is None else stored.get(was.name)
        if known is not None and was is not None and was.type != field.type:
            known = replace(
                known, min=_cast(known.min, was, field), max=_cast(known.max, was, field)
            )
        count = known.null_count if known else None
        texts = (
            "null" if count is None else str(count),
            _java_text(field.type, known.min if known else None),
            _java_text(field.type, known.max if known else None),
        )
        for part, text in zip(parts, texts, strict=True):
            part.append(f"{field.name}={text}")
    nulls, lows, highs = ("{" + ", ".join(part) + "}" for part in parts)
    return nulls, lows, highs


def _cast(value: Any, was: Field, now: Field) -> Any:
    """A bound as the type that the column has now; None where it has no such value."""
    if value is None or not isinstance(now.type, Atomic):
        return None
    try:
        array = cast_array(domain_array([value], was.type), was.type, now.type)
    except (DataError, UnsupportedFeatureError):
        return None
    return domain_values(array, now.type)[0]


def _java_text(type_: Any, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):  # Java prints the object's address
        return value.hex()
    return value_text(type_, value, legacy=True)


def _deleted_rows(access: TableAccess) -> dict[bytes, int]:
    """Rows that deletion vectors mark, by partition; none where vectors are switched off."""
    counts: dict[bytes, int] = defaultdict(int)
    if not access.options.get(keys_write.DELETION_VECTORS_ENABLED):
        return counts
    head = shown_state(access)
    for entry in index_entries(access, head) if head else []:
        counts[entry.partition] += sum(r.cardinality or 0 for r in entry.ranges or ())
    return counts
