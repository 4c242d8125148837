"""Manifests: which data files come into a table and which go out, in order.

Source: ``org.apache.paimon.manifest.ManifestFile``; format 4.3 and 4.6.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.ondisk.avro import (
    Container,
    block_records,
    corrupt,
    open_container,
    read_records,
    write_container,
)
from table_core.ondisk.avro_schemas import (
    MANIFEST,
    WRITE_COLS_SEQUENCES,
    schema_of_values,
    with_fields,
)
from table_core.ondisk.avro_shape import mismatches, read_schema
from table_core.ondisk.data_file import DataFile, EntryKind, FileSource, ManifestEntry, SimpleStats
from table_core.ondisk.file_columns import FileColumns
from table_core.ondisk.highest import HighestNumbers
from table_core.ondisk.manifest_columns import columns_at_once, numbers_at_once
from table_core.ondisk.manifest_heads import find_heads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.ondisk.manifest_heads import Heads

__all__ = [
    "FoldedEntries",
    "Head",
    "decode_file_columns",
    "decode_highest",
    "decode_manifest",
    "encode_manifest",
    "fold_entries",
    "highest_of",
]

VERSION: Final = 2
_AT_ONCE: Final = 4096
_KINDS: Final = {int(kind): kind for kind in EntryKind}
_SOURCES: Final[Mapping[int | None, FileSource | None]] = {
    None: None,
    **{int(source): source for source in FileSource},
}
_MEMBERS: Final = frozenset(
    [*(f["name"] for f in MANIFEST["fields"][-1]["type"]["fields"]), WRITE_COLS_SEQUENCES["name"]]
)


def encode_manifest(entries: Sequence[ManifestEntry], *, compression: str = "zstd") -> bytes:
    """The manifest file of ``entries``, in their order."""
    schema: Mapping[str, Any] = MANIFEST
    if any(entry.file.write_cols_sequences is not None for entry in entries):
        schema = with_fields(schema, "_FILE", WRITE_COLS_SEQUENCES)
    unknown = dict.fromkeys(name for entry in entries for name in entry.file.extra)
    for name in unknown:
        member = schema_of_values(name, [entry.file.extra.get(name) for entry in entries])
        if member is not None:
            schema = with_fields(schema, "_FILE", member)
    return write_container(schema, map(_to_record, entries), compression=compression)


def stats_to_record(stats: SimpleStats) -> dict[str, Any]:
    """``stats`` as Avro has them."""
    return {
        "_MIN_VALUES": stats.min_values,
        "_MAX_VALUES": stats.max_values,
        "_NULL_COUNTS": _listed(stats.null_counts),
    }


def stats_from_record(record: Mapping[str, Any]) -> SimpleStats:
    """Statistics as Avro has them."""
    counts = record.get("_NULL_COUNTS")
    return SimpleStats(
        record["_MIN_VALUES"], record["_MAX_VALUES"], None if counts is None else tuple(counts)
    )


def _to_record(entry: ManifestEntry) -> dict[str, Any]:
    file = entry.file
    return {
        "_VERSION": VERSION,
        "_KIND": int(entry.kind),
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_TOTAL_BUCKETS": entry.total_buckets,
        "_FILE": {
            "_FILE_NAME": file.file_name,
            "_FILE_SIZE": file.file_size,
            "_ROW_COUNT": file.row_count,
            "_MIN_KEY": file.min_key,
            "_MAX_KEY": file.max_key,
            "_KEY_STATS": stats_to_record(file.key_stats),
            "_VALUE_STATS": stats_to_record(file.value_stats),
            "_MIN_SEQUENCE_NUMBER": file.min_sequence_number,
            "_MAX_SEQUENCE_NUMBER": file.max_sequence_number,
            "_SCHEMA_ID": file.schema_id,
            "_LEVEL": file.level,
            "_EXTRA_FILES": list(file.extra_files),
            "_CREATION_TIME": file.creation_time_ms,
            "_DELETE_ROW_COUNT": file.delete_row_count,
            "_EMBEDDED_FILE_INDEX": file.embedded_index,
            "_FILE_SOURCE": None if file.file_source is None else int(file.file_source),
            "_VALUE_STATS_COLS": _listed(file.value_stats_cols),
            "_EXTERNAL_PATH": file.external_path,
            "_FIRST_ROW_ID": file.first_row_id,
            "_WRITE_COLS": _listed(file.write_cols),
            "_WRITE_COLS_SEQUENCES": _listed(file.write_cols_sequences),
            **file.extra,
        },
    }


Head: TypeAlias = tuple[bytes, int, int]
"""Partition, bucket and total buckets of an entry."""


def decode_manifest(
    body: bytes,
    *,
    path: str,
    keep: Callable[[Sequence[Head]], Iterable[bool]] | None = None,
    lean: bool = False,
) -> list[ManifestEntry]:
    """The entries of the manifest file ``body``, in order.

    ``keep`` is asked about many entries at a time, and leaves them out before they are made.
    ``lean``: files have no keys, bounds and statistics, for those who only count and delete.

    Raises:
        CorruptFileError: damaged, or no manifest.
        UnsupportedFeatureError: a version other than 2.
    """
    container, unknown = _opened(body, path)
    if keep is not None:
        heads = _plain_heads(container)
        if heads is not None:
            return _kept(container, heads, keep, unknown, path)
    entries = []
    records = read_records(container, path=path)
    while some := list(islice(records, _AT_ONCE)):
        told = [(r["_PARTITION"], r["_BUCKET"], r["_TOTAL_BUCKETS"]) for r in some]
        wanted = keep(told) if keep else repeat(True, len(some))
        for record, head, kept in zip(some, told, wanted, strict=True):
            kind = _kind(record, path)
            if kept:
                file_record = record["_FILE"]
                file = (
                    _lean_file(file_record, path)
                    if lean
                    else _file_from_record(file_record, unknown, path)
                )
                entries.append(ManifestEntry(kind, *head, file))
    return entries


def _plain_heads(container: Container) -> Heads | None:
    """The heads of all entries, if they are of our version, and of kinds that we know."""
    heads = find_heads(container)
    if heads is None or (heads.version != VERSION).any():
        return None
    return heads if bool(((heads.kind == 0) | (heads.kind == 1)).all()) else None


def _kept(
    container: Container,
    heads: Heads,
    keep: Callable[[Sequence[Head]], Iterable[bool]],
    unknown: Iterable[str],
    path: str,
) -> list[ManifestEntry]:
    """The entries that ``keep`` wants; only those are decoded."""
    told = list(heads)
    which = [at for at, wanted in enumerate(keep(told)) if wanted]
    payload = heads.payload(container.payload, which)
    records = block_records(container.plain, len(which), payload, path=path)
    return [
        ManifestEntry(
            _kind(record, path), *told[at], _file_from_record(record["_FILE"], unknown, path)
        )
        for at, record in zip(which, records, strict=True)
    ]


def decode_file_columns(body: bytes, *, path: str) -> FileColumns:
    """The entries of the manifest file ``body`` as columns.

    Raises:
        CorruptFileError, UnsupportedFeatureError: as ``decode_manifest``.
    """
    container, _ = _opened(body, path)
    heads = _plain_heads(container)
    columns = columns_at_once(container, heads) if heads is not None else None
    return FileColumns.gathered(_counted(container, path)) if columns is None else columns


def decode_highest(body: bytes, *, path: str) -> HighestNumbers:
    """The largest numbers of each bucket in the manifest file ``body``.

    Raises:
        CorruptFileError, UnsupportedFeatureError: as ``decode_manifest``.
    """
    container, _ = _opened(body, path)
    heads = _plain_heads(container)
    numbers = numbers_at_once(container, heads) if heads is not None else None
    if numbers is None:
        return highest_of(decode_manifest(body, path=path, lean=True))
    return HighestNumbers.of(numbers)


def highest_of(entries: Iterable[ManifestEntry]) -> HighestNumbers:
    """The largest numbers of each bucket in ``entries``."""
    return HighestNumbers.of(
        (
            e.partition,
            e.bucket,
            e.total_buckets,
            e.file.max_sequence_number,
            e.file.creation_time_ms,
        )
        for e in entries
    )


def _counted(container: Container, path: str) -> Iterator[tuple[Any, ...]]:
    for record in read_records(container, path=path):
        kind, partition, bucket = _kind(record, path), record["_PARTITION"], record["_BUCKET"]
        file = record["_FILE"]
        level, get = file["_LEVEL"], file.get
        identity = (
            partition,
            bucket,
            level,
            file["_FILE_NAME"],
            tuple(file["_EXTRA_FILES"]),
            get("_EMBEDDED_FILE_INDEX"),
            get("_EXTERNAL_PATH"),
        )
        yield (
            identity,
            kind,
            partition,
            bucket,
            level,
            file["_FILE_SIZE"],
            file["_ROW_COUNT"],
            get("_DELETE_ROW_COUNT"),
            get("_CREATION_TIME"),
            record["_TOTAL_BUCKETS"],
        )


def _opened(body: bytes, path: str) -> tuple[Container, tuple[str, ...]]:
    """The container, and the members of ``_FILE`` that this release does not know."""
    container = open_container(body, path=path)
    problems, unknown = _judged(container.metadata["avro.schema"])
    refuse_problems(problems, path)
    return container, unknown


def _kind(record: Mapping[str, Any], path: str) -> EntryKind:
    if record["_VERSION"] != VERSION:
        refuse_version("manifest", record["_VERSION"], path)
    kind = _KINDS.get(record["_KIND"])
    if kind is None:
        raise corrupt(path, f"_KIND: expected 0 or 1, got {record['_KIND']}")
    return kind


@functools.lru_cache(maxsize=64)
def _judged(text: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is wrong with a schema as written, and the members of ``_FILE`` that are unknown."""
    schema = read_schema(text)[1].schema
    problems = tuple(mismatches(schema, MANIFEST))
    types = [f["type"] for f in schema["fields"] if f["name"] == "_FILE"] if not problems else []
    members = [f["name"] for type_ in types for f in type_["fields"]]
    return problems, tuple(name for name in members if name not in _MEMBERS)


def refuse_problems(problems: Sequence[str], path: str) -> None:
    """Refuse a file whose schema lacks members or has them with other types: ``mismatches``."""
    if problems:
        raise CorruptFileError(f"{path}: {'; '.join(problems)}", path=path, problems=list(problems))


def refuse_version(what: str, version: int, path: str) -> None:
    """Refuse a record of a version that this release does not know."""
    raise UnsupportedFeatureError(
        f"{path}: {what} version {version} is not supported", feature=f"{what} version {version}"
    )


def _listed(value: tuple[Any, ...] | None) -> list[Any] | None:
    # fastavro takes a tuple in a union for (branch, value).
    return None if value is None else list(value)


def _names(value: list[Any] | None) -> tuple[Any, ...] | None:
    return None if value is None else tuple(value)


def _lean_file(record: Mapping[str, Any], path: str) -> DataFile:
    get = record.get
    source = get("_FILE_SOURCE")
    if source not in _SOURCES:
        raise corrupt(path, f"_FILE._FILE_SOURCE: expected 0 or 1, got {source}")
    return DataFile(
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        min_sequence_number=record["_MIN_SEQUENCE_NUMBER"],
        max_sequence_number=record["_MAX_SEQUENCE_NUMBER"],
        schema_id=record["_SCHEMA_ID"],
        level=record["_LEVEL"],
        extra_files=tuple(record["_EXTRA_FILES"]),
        creation_time_ms=get("_CREATION_TIME"),
        delete_row_count=get("_DELETE_ROW_COUNT"),
        embedded_index=get("_EMBEDDED_FILE_INDEX"),
        file_source=_SOURCES[source],
        external_path=get("_EXTERNAL_PATH"),
    )


def _file_from_record(record: Mapping[str, Any], unknown: Iterable[str], path: str) -> DataFile:
    get = record.get
    source = get("_FILE_SOURCE")
    if source not in _SOURCES:
        raise corrupt(path, f"_FILE._FILE_SOURCE: expected 0 or 1, got {source}")
    return DataFile(
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        min_key=record["_MIN_KEY"],
        max_key=record["_MAX_KEY"],
        key_stats=stats_from_record(record["_KEY_STATS"]),
        value_stats=stats_from_record(record["_VALUE_STATS"]),
        min_sequence_number=record["_MIN_SEQUENCE_NUMBER"],
        max_sequence_number=record["_MAX_SEQUENCE_NUMBER"],
        schema_id=record["_SCHEMA_ID"],
        level=record["_LEVEL"],
        extra_files=tuple(record["_EXTRA_FILES"]),
        creation_time_ms=get("_CREATION_TIME"),
        delete_row_count=get("_DELETE_ROW_COUNT"),
        embedded_index=get("_EMBEDDED_FILE_INDEX"),
        file_source=_SOURCES[source],
        value_stats_cols=_names(get("_VALUE_STATS_COLS")),
        external_path=get("_EXTERNAL_PATH"),
        first_row_id=get("_FIRST_ROW_ID"),
        write_cols=_names(get("_WRITE_COLS")),
        write_cols_sequences=_names(get("_WRITE_COLS_SEQUENCES")),
        extra={n: record[n] for n in unknown if record[n] is not None} if unknown else {},
    )


@dataclass(frozen=True, slots=True)
class FoldedEntries:
    """What entries amount to, taken in order.  Keys are ``ManifestEntry.identity``."""

    live: Mapping[tuple[object, ...], ManifestEntry]
    """Files that are there."""
    deletes: Mapping[tuple[object, ...], ManifestEntry]
    """Deletions of files that no entry added: theirs is in an older manifest, or they conflict."""


def fold_entries(entries: Iterable[ManifestEntry]) -> FoldedEntries:
    """Let additions and deletions of one file cancel out (format 4.6).

    Raises:
        CorruptFileError: a file is added twice.
    """
    live: dict[tuple[object, ...], ManifestEntry] = {}
    deletes: dict[tuple[object, ...], ManifestEntry] = {}
    for entry in entries:
        identity = entry.identity
        if entry.kind is EntryKind.ADD:
            if identity in live:
                name = entry.file.file_name
                raise corrupt("manifest", f"manifests of one snapshot add {name} twice")
            live[identity] = entry
        elif live.pop(identity, None) is None:
            deletes[identity] = entry
    return FoldedEntries(live, deletes)
