"""Options of features that this release does not have, where they contradict the columns.

Paimon refuses to open such a table, so we do not make one, though the options would change nothing here.

Source: ``org.apache.paimon.schema.SchemaValidation``: BLOB and vector columns, layouts of MAP, shredding of
VARIANT, chain tables, clustered keys, incremental clustering, snapshot ordering, upsert keys, indexes of
key tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, Map, Root, Vector
from table_core.options import (
    keys_commit,
    keys_files,
    keys_identity,
    keys_merge,
    keys_retention,
    keys_scan,
    keys_write,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.datatypes.kinds import DataType
    from table_core.schema.table_schema import TableSchema

__all__ = ["feature_option_problems"]

_LAYOUT: Final = re.compile(r"fields\.(?P<column>.+)\.map\.storage-layout")
_CARDINALITY: Final = "variant.shredding.minFieldCardinalityRatio"
_RETENTION: Final = "variant.shredding.adaptive.retentionRatio"
_BLOB_LISTS: Final = ("blob-field", "blob-descriptor-field", "blob-view-field")
_KEY_INDEXES: Final = tuple(
    f"pk-{kind}.index.columns" for kind in ("vector", "btree", "bitmap", "full-text")
)


def feature_option_problems(schema: TableSchema) -> Iterator[str]:
    """What such options say that cannot be."""
    yield from _typed_columns(schema)
    yield from _map_layouts(schema)
    yield from _shredding(schema)
    yield from _upsert_key(schema)
    yield from _snapshot_ordering(schema)
    yield from _clustered_keys(schema)
    yield from _incremental_clustering(schema)
    yield from _evolution(schema)
    yield from _chain(schema)
    yield from _key_indexes(schema)


def _flag(schema: TableSchema, key: str) -> bool:
    return schema.options.raw.get(key, "").strip().lower() == "true"


def _listed(schema: TableSchema, key: str) -> list[str]:
    text = schema.options.raw.get(key)
    return [] if text is None else [name.strip() for name in text.split(",")]


def _typed_columns(schema: TableSchema) -> Iterator[str]:
    """``vector-field`` and ``blob-…-field`` name columns of that very type."""
    checks: list[tuple[str, str, Callable[[DataType], bool]]] = [
        ("vector-field", "VECTOR", lambda type_: isinstance(type_, Vector))
    ]
    checks += [
        (key, "BLOB", lambda type_: isinstance(type_, Atomic) and type_.root is Root.BLOB)
        for key in _BLOB_LISTS
    ]
    for key, what, fits in checks:
        for name in _listed(schema, key):
            if not name and key == "vector-field":
                continue
            field = schema.by_name.get(name)
            if field is None:
                yield f"{key} {name!r} does not exist"
            elif not fits(field.type):
                yield f"{key} {name!r} is no {what} column"
    for name in set(_listed(schema, "blob-view-field")) & set(
        _listed(schema, "blob-descriptor-field")
    ):
        yield f"{name!r} is in blob-view-field and in blob-descriptor-field: take it out of one"


def _map_layouts(schema: TableSchema) -> Iterator[str]:
    for key, value in schema.options.raw.items():
        match = _LAYOUT.fullmatch(key)
        if match is None:
            continue
        field = schema.by_name.get(match["column"])
        if field is None:
            continue  # told of all options of columns
        if not isinstance(field.type, Map):
            yield f"{key}: column {field.name!r} is no MAP"
        elif value.strip().lower() == "shared-shredding":
            yield from _shared_shredding(schema, key, field.type)
        elif value.strip().lower() != "default":
            yield f"{key} is default or shared-shredding, not {value!r}"


def _shared_shredding(schema: TableSchema, key: str, type_: Map) -> Iterator[str]:
    options, of = schema.options, f"{key}=shared-shredding"
    text = isinstance(type_.key, Atomic) and type_.key.root in {Root.CHAR, Root.VARCHAR}
    if not text or type_.key.nullable:
        yield f"{of} needs keys of type STRING NOT NULL"
    formats = {
        options.get(keys_files.FILE_FORMAT),
        options.get(keys_files.CHANGELOG_FILE_FORMAT) or "parquet",
        *options.get(keys_files.FILE_FORMAT_PER_LEVEL).values(),
    }
    if others := sorted(name for name in formats if name not in {"parquet", "orc"}):
        yield f"{of} needs parquet or orc files, not {', '.join(others)}"
    if schema.bucket == -2:
        yield f"{of} cannot be used with bucket = -2"


def _shredding(schema: TableSchema) -> Iterator[str]:
    raw = schema.options.raw
    for key in (
        "variant.shredding.maxInferBufferRow",
        "variant.shredding.adaptive.maxInferBufferRow",
    ):
        if key in raw and (not _adaptive(key) or _mode(schema) == "adaptive"):
            try:
                if int(raw[key]) < 1:
                    yield f"{key} must be at least 1"
            except ValueError:
                yield f"{key} must be a whole number, not {raw[key]!r}"
    try:
        least = float(raw.get(_CARDINALITY, 0.1))
        kept = float(raw[_RETENTION]) if _mode(schema) == "adaptive" and _RETENTION in raw else None
    except ValueError:
        yield f"{_CARDINALITY} and {_RETENTION} must be numbers"
        return
    if not 0 <= least <= 1:
        yield f"{_CARDINALITY} must be from 0 to 1"
    elif kept is not None and not 0 <= kept <= least:
        yield f"{_RETENTION} must be from 0 to {_CARDINALITY}, {least}"


def _adaptive(key: str) -> bool:
    return ".adaptive." in key


def _mode(schema: TableSchema) -> str:
    return schema.options.raw.get("variant.shredding.inferenceMode", "").strip().lower()


def _upsert_key(schema: TableSchema) -> Iterator[str]:
    names = [name for name in _listed(schema, "upsert-key") if name]
    if names and schema.is_key_table:
        yield f"upsert-key {names} cannot be used with a primary key"
    for name in names:
        if name not in schema.by_name:
            yield f"upsert-key column {name!r} does not exist"


def _snapshot_ordering(schema: TableSchema) -> Iterator[str]:
    options, key = schema.options, keys_merge.SEQUENCE_SNAPSHOT_ORDERING.key
    if not options.get(keys_merge.SEQUENCE_SNAPSHOT_ORDERING):
        return
    if not schema.is_key_table:
        yield f"{key} needs a primary key"
    if options.get(keys_merge.SEQUENCE_FIELD):
        yield f"{key} and sequence.field exclude each other"
    if not options.get(keys_commit.WRITE_ONLY):
        yield f"{key} needs write-only=true"


def _clustered_keys(schema: TableSchema) -> Iterator[str]:
    options, key = schema.options, keys_identity.PK_CLUSTERING_OVERRIDE.key
    if not options.get(keys_identity.PK_CLUSTERING_OVERRIDE):
        return
    engine = options.get(keys_merge.MERGE_ENGINE)
    if not options.get(keys_write.CLUSTERING_COLUMNS):
        yield f"{key} needs clustering.columns"
    if not options.get(keys_write.DELETION_VECTORS_ENABLED) and engine != "first-row":
        yield f"{key} needs deletion-vectors.enabled"
    if options.get(keys_merge.RECORD_LEVEL_EXPIRE_TIME) is not None:
        yield f"{key} cannot be used with record-level.expire-time"
    if engine not in {"deduplicate", "first-row"}:
        yield f"{key} cannot be used with merge-engine {engine}"
    if options.get(keys_merge.SEQUENCE_FIELD):
        yield f"{key} cannot be used with sequence.field"
    if options.get(keys_scan.CHANGELOG_PRODUCER) not in {"none", "input"}:
        yield f"{key} needs changelog-producer none or input"


def _incremental_clustering(schema: TableSchema) -> Iterator[str]:
    if not _flag(schema, "clustering.incremental"):
        return
    if schema.is_key_table:
        yield "clustering.incremental cannot be used with a primary key"
    if schema.bucket != -1:
        if schema.options.get(keys_identity.BUCKET_APPEND_ORDERED):
            yield "clustering.incremental with buckets needs bucket-append-ordered=false"
        if schema.options.get(keys_write.DELETION_VECTORS_ENABLED):
            yield "clustering.incremental with buckets cannot be used with deletion-vectors.enabled"


def _evolution(schema: TableSchema) -> Iterator[str]:
    if not schema.options.get(keys_commit.DATA_EVOLUTION_ENABLED):
        return
    if not schema.options.get(keys_commit.ROW_TRACKING_ENABLED):
        yield "data-evolution.enabled needs row-tracking.enabled"
    if _flag(schema, "clustering.incremental"):
        yield "data-evolution.enabled cannot be used with clustering.incremental"


def _chain(schema: TableSchema) -> Iterator[str]:
    if not _flag(schema, "chain-table.enabled"):
        return
    options = schema.options
    needs = (
        (schema.is_key_table, "a primary key"),
        (bool(schema.partition_keys), "partition columns"),
        (schema.bucket > 0, "a positive bucket"),
        (bool(options.get(keys_merge.SEQUENCE_FIELD)), "sequence.field"),
        (
            options.get(keys_scan.CHANGELOG_PRODUCER) in {"none", "input"},
            "changelog-producer none or input",
        ),
        (
            options.get(keys_retention.PARTITION_TIMESTAMP_PATTERN) is not None,
            "a timestamp pattern",
        ),
        (
            options.get(keys_retention.PARTITION_TIMESTAMP_FORMATTER) is not None,
            "a timestamp formatter",
        ),
    )
    for held, what in needs:
        if not held:
            yield f"chain-table.enabled needs {what}"


def _key_indexes(schema: TableSchema) -> Iterator[str]:
    """One index a column, of columns that exist, on tables that have what an index needs."""
    seen: dict[str, str] = {}
    for key in _KEY_INDEXES:
        for name in parse.column_list(schema.options.raw.get(key, "")):
            if name in seen:
                yield f"column {name!r} is in {seen[name]} and in {key}: it takes one index"
            seen[name] = key
            if name not in schema.by_name:
                yield f"{key} {name!r} does not exist"
    if not seen:
        return
    options, keys = schema.options, ", ".join(sorted(set(seen.values())))
    first_row = options.get(keys_merge.MERGE_ENGINE) == "first-row"
    if not schema.is_key_table:
        yield f"{keys} needs a primary key"
    if not options.get(keys_write.DELETION_VECTORS_ENABLED) and not (
        first_row
        and set(seen.values()) <= {"pk-vector.index.columns", "pk-full-text.index.columns"}
    ):
        yield f"{keys} needs deletion-vectors.enabled"
    if options.get(keys_write.DELETION_VECTORS_MERGE_ON_READ):
        yield f"{keys} cannot be used with deletion-vectors.merge-on-read"
    if schema.bucket == -1:
        yield f"{keys} needs a fixed bucket or bucket=-2"
