"""Manifest lists: the manifests of a snapshot, in order, and what each holds.

Source: ``org.apache.paimon.manifest.ManifestList``; format 4.2.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from table_core.ondisk.avro import open_container, read_records, write_container
from table_core.ondisk.avro_schemas import MANIFEST_LIST, schema_of_values, with_fields
from table_core.ondisk.avro_shape import mismatches, read_schema
from table_core.ondisk.binary_row import decode_row, encode_row, sort_key
from table_core.ondisk.data_file import EntryKind, SimpleStats
from table_core.ondisk.manifest import (
    VERSION,
    refuse_problems,
    refuse_version,
    stats_from_record,
    stats_to_record,
)
from table_core.ondisk.manifest_meta import ManifestMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.datatypes.kinds import DataType
    from table_core.ondisk.binary_row import Value
    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["decode_manifest_list", "encode_manifest_list", "summarize"]

_MEMBERS: Final = frozenset(f["name"] for f in MANIFEST_LIST["fields"])


def encode_manifest_list(metas: Sequence[ManifestMeta], *, compression: str = "zstd") -> bytes:
    """The manifest list file of ``metas``, in their order; valid without any (format T14)."""
    schema: Mapping[str, Any] = MANIFEST_LIST
    for name in dict.fromkeys(name for meta in metas for name in meta.extra):
        member = schema_of_values(name, [meta.extra.get(name) for meta in metas])
        if member is not None:
            schema = with_fields(schema, None, member)
    return write_container(schema, map(_to_record, metas), compression=compression)


def _to_record(meta: ManifestMeta) -> dict[str, Any]:
    return {
        "_VERSION": VERSION,
        "_FILE_NAME": meta.file_name,
        "_FILE_SIZE": meta.file_size,
        "_NUM_ADDED_FILES": meta.num_added_files,
        "_NUM_DELETED_FILES": meta.num_deleted_files,
        "_PARTITION_STATS": stats_to_record(meta.partition_stats),
        "_SCHEMA_ID": meta.schema_id,
        "_MIN_BUCKET": meta.min_bucket,
        "_MAX_BUCKET": meta.max_bucket,
        "_MIN_LEVEL": meta.min_level,
        "_MAX_LEVEL": meta.max_level,
        "_MIN_ROW_ID": meta.min_row_id,
        "_MAX_ROW_ID": meta.max_row_id,
        **meta.extra,
    }


@functools.lru_cache(maxsize=64)
def _problems(text: bytes) -> tuple[str, ...]:
    """What is wrong with a schema as written; files of one table mostly have the same."""
    return tuple(mismatches(read_schema(text)[1].schema, MANIFEST_LIST))


def decode_manifest_list(body: bytes, *, path: str) -> list[ManifestMeta]:
    """The manifests that the manifest list file ``body`` names, in order.

    Raises:
        CorruptFileError: damaged, or no manifest list.
        UnsupportedFeatureError: a version other than 2.
    """
    container = open_container(body, path=path)
    refuse_problems(_problems(container.metadata["avro.schema"]), path)
    metas = []
    for record in read_records(container, path=path):
        if record["_VERSION"] != VERSION:
            refuse_version("manifest list", record["_VERSION"], path)
        metas.append(
            ManifestMeta(
                file_name=record["_FILE_NAME"],
                file_size=record["_FILE_SIZE"],
                num_added_files=record["_NUM_ADDED_FILES"],
                num_deleted_files=record["_NUM_DELETED_FILES"],
                partition_stats=stats_from_record(record["_PARTITION_STATS"]),
                schema_id=record["_SCHEMA_ID"],
                min_bucket=record.get("_MIN_BUCKET"),
                max_bucket=record.get("_MAX_BUCKET"),
                min_level=record.get("_MIN_LEVEL"),
                max_level=record.get("_MAX_LEVEL"),
                min_row_id=record.get("_MIN_ROW_ID"),
                max_row_id=record.get("_MAX_ROW_ID"),
                extra={k: v for k, v in record.items() if k not in _MEMBERS and v is not None},
            )
        )
    return metas


def summarize(
    entries: Sequence[ManifestEntry],
    name: str,
    size: int,
    partition_types: Sequence[DataType],
    *,
    schema_id: int = 0,
) -> ManifestMeta:
    """The line of a manifest list about the manifest ``name`` of ``size`` bytes with ``entries``.

    ``schema_id`` is used only where there are no entries to take it from.
    """
    added = sum(entry.kind is EntryKind.ADD for entry in entries)
    firsts = [entry.file.first_row_id for entry in entries]
    known = [first for first in firsts if first is not None]
    has_rows = bool(known) and len(known) == len(firsts)
    lasts = [(e.file.first_row_id or 0) + e.file.row_count - 1 for e in entries]

    def bound(pick: Callable[[list[int]], int], values: list[int]) -> int | None:
        return pick(values) if values else None

    return ManifestMeta(
        file_name=name,
        file_size=size,
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=_partition_stats(entries, partition_types),
        schema_id=max((entry.file.schema_id for entry in entries), default=schema_id),
        min_bucket=bound(min, [entry.bucket for entry in entries]),
        max_bucket=bound(max, [entry.bucket for entry in entries]),
        min_level=bound(min, [entry.file.level for entry in entries]),
        max_level=bound(max, [entry.file.level for entry in entries]),
        min_row_id=min(known) if has_rows else None,
        max_row_id=max(lasts) if has_rows else None,
    )


def _partition_stats(entries: Sequence[ManifestEntry], types: Sequence[DataType]) -> SimpleStats:
    counts = Counter(entry.partition for entry in entries)
    rows = {body: decode_row(types, body, path="_PARTITION") for body in counts}
    mins: list[Value] = []
    maxs: list[Value] = []
    nulls: list[int | None] = []
    for at, type_ in enumerate(types):
        values = [row[at] for row in rows.values() if row[at] is not None]
        ordered = [v for _, v in sorted((sort_key([type_], [v]), v) for v in values)]
        mins.append(ordered[0] if ordered else None)
        maxs.append(ordered[-1] if ordered else None)
        nulls.append(sum(counts[body] for body, row in rows.items() if row[at] is None))
    return SimpleStats(encode_row(types, mins), encode_row(types, maxs), tuple(nulls))
