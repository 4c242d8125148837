"""Index manifests: every index file of a table at one snapshot, complete each time.

Source: ``org.apache.paimon.manifest.IndexManifestFile``, ``IndexManifestFileHandler``;
format 4.8 and T13.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import CommitConflictError
from table_core.ondisk.avro import corrupt, open_container, read_records, write_container
from table_core.ondisk.avro_schemas import INDEX_MANIFEST, schema_of_values, with_fields
from table_core.ondisk.avro_shape import mismatches, read_schema
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.deletion_vector import DeletionRange
from table_core.ondisk.manifest import refuse_problems, refuse_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "DELETION_VECTORS",
    "HASH",
    "GlobalIndex",
    "IndexEntry",
    "combine",
    "decode_index_manifest",
    "encode_index_manifest",
]

DELETION_VECTORS: Final = "DELETION_VECTORS"
HASH: Final = "HASH"
_VERSION: Final = 1
_MEMBERS: Final = frozenset(f["name"] for f in INDEX_MANIFEST["fields"])


@dataclass(frozen=True, slots=True)
class GlobalIndex:
    """What a global index covers.  Kept and written back; this release builds none."""

    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One index file."""

    kind: EntryKind = EntryKind.ADD
    partition: bytes
    bucket: int
    index_type: str
    file_name: str
    file_size: int
    row_count: int
    """Hashes of a HASH file; data files with a vector of a DELETION_VECTORS file."""
    ranges: tuple[DeletionRange, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndex | None = None
    extra: Mapping[str, object] = field(default_factory=dict, compare=False)
    """Members that this release does not know."""


def encode_index_manifest(entries: Sequence[IndexEntry], *, compression: str = "zstd") -> bytes:
    """The index manifest file of ``entries``, in their order."""
    schema: Mapping[str, Any] = INDEX_MANIFEST
    for name in dict.fromkeys(name for entry in entries for name in entry.extra):
        member = schema_of_values(name, [entry.extra.get(name) for entry in entries])
        if member is not None:
            schema = with_fields(schema, None, member)
    return write_container(schema, map(_to_record, entries), compression=compression)


def _to_record(entry: IndexEntry) -> dict[str, Any]:
    return {
        "_VERSION": _VERSION,
        "_KIND": int(entry.kind),
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_INDEX_TYPE": entry.index_type,
        "_FILE_NAME": entry.file_name,
        "_FILE_SIZE": entry.file_size,
        "_ROW_COUNT": entry.row_count,
        "_DELETIONS_VECTORS_RANGES": None
        if entry.ranges is None
        else [
            {"f0": r.file_name, "f1": r.offset, "f2": r.length, "_CARDINALITY": r.cardinality}
            for r in entry.ranges
        ],
        "_EXTERNAL_PATH": entry.external_path,
        "_GLOBAL_INDEX": _global_to_record(entry.global_index),
        **entry.extra,
    }


def _global_to_record(index: GlobalIndex | None) -> dict[str, Any] | None:
    if index is None:
        return None
    extra = index.extra_field_ids
    return {
        "_ROW_RANGE_START": index.row_range_start,
        "_ROW_RANGE_END": index.row_range_end,
        "_INDEX_FIELD_ID": index.index_field_id,
        "_EXTRA_FIELD_IDS": None if extra is None else list(extra),
        "_INDEX_META": index.index_meta,
        "_SOURCE_META": index.source_meta,
    }


@functools.lru_cache(maxsize=64)
def _problems(text: bytes) -> tuple[str, ...]:
    """What is wrong with a schema as written; files of one table mostly have the same."""
    return tuple(mismatches(read_schema(text)[1].schema, INDEX_MANIFEST))


def decode_index_manifest(body: bytes, *, path: str) -> list[IndexEntry]:
    """The entries of the index manifest file ``body``, in order.

    Raises:
        CorruptFileError: damaged, or no index manifest.
        UnsupportedFeatureError: a version other than 1.
    """
    container = open_container(body, path=path)
    refuse_problems(_problems(container.metadata["avro.schema"]), path)
    entries = []
    for record in read_records(container, path=path):
        if record["_VERSION"] != _VERSION:
            refuse_version("index manifest", record["_VERSION"], path)
        if record["_KIND"] not in {0, 1}:
            raise corrupt(path, f"_KIND: expected 0 or 1, got {record['_KIND']}")
        if not -(2**31) <= record["_BUCKET"] < 2**31:
            raise corrupt(path, f"_BUCKET: {record['_BUCKET']} is no int")
        entries.append(
            IndexEntry(
                kind=EntryKind(record["_KIND"]),
                partition=record["_PARTITION"],
                bucket=record["_BUCKET"],
                index_type=record["_INDEX_TYPE"],
                file_name=record["_FILE_NAME"],
                file_size=record["_FILE_SIZE"],
                row_count=record["_ROW_COUNT"],
                ranges=_ranges(record.get("_DELETIONS_VECTORS_RANGES")),
                external_path=record.get("_EXTERNAL_PATH"),
                global_index=_global_index(record.get("_GLOBAL_INDEX")),
                extra={k: v for k, v in record.items() if k not in _MEMBERS and v is not None},
            )
        )
    return entries


def _ranges(records: list[dict[str, Any] | None] | None) -> tuple[DeletionRange, ...] | None:
    if records is None:
        return None
    return tuple(
        DeletionRange(r["f0"], r["f1"], r["f2"], r.get("_CARDINALITY"))
        for r in records
        if r is not None
    )


def _global_index(record: Mapping[str, Any] | None) -> GlobalIndex | None:
    if record is None:
        return None
    extra = record.get("_EXTRA_FIELD_IDS")
    return GlobalIndex(
        record["_ROW_RANGE_START"],
        record["_ROW_RANGE_END"],
        record["_INDEX_FIELD_ID"],
        None if extra is None else tuple(extra),
        record.get("_INDEX_META"),
        record.get("_SOURCE_META"),
    )


def combine(
    current: Iterable[IndexEntry], changes: Iterable[IndexEntry], *, bucketed: bool
) -> list[IndexEntry]:
    """The complete state after ``changes`` (additions and deletions) to ``current``.

    HASH files, and the deletion vectors of ``bucketed`` tables, are one a bucket: an addition
    replaces what the bucket had.  Other files go by their names.  Nothing is lost that ``changes``
    do not speak of (format T13).

    Raises:
        CommitConflictError: a file to delete is not there, or not any more; or a data file would
            have two deletion vectors.
    """
    by_key = {_key(entry, bucketed=bucketed): entry for entry in current}
    changes = list(changes)
    for entry in changes:
        if entry.kind is EntryKind.DELETE:
            there = by_key.pop(_key(entry, bucketed=bucketed), None)
            if there is None or there.file_name != entry.file_name:
                raise _conflict(f"index file {entry.file_name} to delete is not there")
    for entry in changes:
        if entry.kind is EntryKind.ADD:
            by_key[_key(entry, bucketed=bucketed)] = entry
    _refuse_two_vectors(by_key.values())
    return list(by_key.values())


def _conflict(what: str) -> CommitConflictError:
    return CommitConflictError(
        f"{what}: another commit changed the index files; read the newest snapshot and try again",
        conflicts=[what],
    )


def _key(entry: IndexEntry, *, bucketed: bool) -> tuple[object, ...]:
    if entry.index_type == HASH or (entry.index_type == DELETION_VECTORS and bucketed):
        return entry.partition, entry.bucket, entry.index_type
    return (entry.file_name,)


def _refuse_two_vectors(entries: Iterable[IndexEntry]) -> None:
    seen: set[tuple[bytes, int, str]] = set()
    for entry in entries:
        if entry.index_type != DELETION_VECTORS:
            continue
        for range_ in entry.ranges or ():
            named = (entry.partition, entry.bucket, range_.file_name)
            if named in seen:
                raise _conflict(f"data file {range_.file_name} has two deletion vectors")
            seen.add(named)
