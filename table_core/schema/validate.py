"""What must hold in a schema that we write.  Every fault is found, not the first.

Read schemas are not judged by this: another writer may know more than we do.

Source: ``org.apache.paimon.schema.SchemaValidation``; format 2.2 to 2.4, 6, 7.7, 8 and 9.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.datatypes.castable import BINARIES
from table_core.datatypes.default_value import default_value
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import DataError, UnsupportedFeatureError
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
from table_core.options.refusal import refusal_of
from table_core.options.refused import Act
from table_core.schema.table_schema import KEY_PREFIX, SYSTEM_NAMES
from table_core.schema.validate_features import feature_option_problems
from table_core.schema.validate_fields import field_option_problems
from table_core.schema.validate_files import file_option_problems
from table_core.schema.validate_scan import scan_option_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.options.table import TableOptions
    from table_core.schema.table_schema import TableSchema

__all__ = [
    "WRITTEN_FORMATS",
    "Unsupported",
    "unsupported_feature",
    "unsupported_option",
    "violations_of",
]

WRITTEN_FORMATS: Final = ("parquet", "orc", "avro")
_INDEXED: Final = re.compile(r"file-index\.[^.]+\.columns")
_NO_KEY_ROOTS: Final = frozenset({Root.VARIANT, Root.BLOB})
_MOD_ROOTS: Final = frozenset({Root.INT, Root.BIGINT})
_TIME_ROOTS: Final = frozenset({Root.INT, Root.BIGINT, Root.TIMESTAMP, Root.TIMESTAMP_LTZ})


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What a table asks for and this release does not do."""

    feature: str
    """An option, a kind of column or of file."""
    why: str
    way_out: str

    def error(self, name: str, what: str) -> UnsupportedFeatureError:
        """The refusal of ``what``, such as ``"write"``, for the table ``name``."""
        return UnsupportedFeatureError(
            f"{name} has {self.feature}: {self.why}, which this release does not do, so it does not "
            f"{what} the table; {self.way_out}",
            feature=self.feature.partition("=")[0],
        )


def unsupported_option(
    options: TableOptions, act: Act, own: Mapping[str, str] | None = None
) -> Unsupported | None:
    """The option that stops ``act``, or None; ``own`` as for ``refusal_of``."""
    refusal = refusal_of(options, act, own)
    if refusal is None:
        return None
    return Unsupported(f"{refusal.key}={options.raw[refusal.key]}", refusal.why, refusal.way_out)


def unsupported_feature(
    schema: TableSchema, own: Mapping[str, str] | None = None
) -> Unsupported | None:
    """What of ``schema`` keeps this release from committing to its table, or None."""
    unsupported = unsupported_option(schema.options, Act.COMMIT, own)
    if unsupported is not None:
        return unsupported
    if (format_ := _unwritten_format(schema.options)) is not None:
        written = f"write files of {', '.join(WRITTEN_FORMATS)}"
        return Unsupported(format_, "its files are to have that format", written)
    if any(isinstance(f.type, Atomic) and f.type.root is Root.BLOB for f in schema.fields):
        return Unsupported("blob", "BLOB columns have files of their own", "use BYTES")
    return None


def _unwritten_format(options: TableOptions) -> str | None:
    """The option that asks for files of a format that this release does not write."""
    for key, name in (
        (keys_files.FILE_FORMAT.key, options.get(keys_files.FILE_FORMAT)),
        (keys_files.CHANGELOG_FILE_FORMAT.key, options.get(keys_files.CHANGELOG_FILE_FORMAT)),
        *(
            (keys_files.FILE_FORMAT_PER_LEVEL.key, name)
            for name in options.get(keys_files.FILE_FORMAT_PER_LEVEL).values()
        ),
    ):
        if name is not None and name.lower() not in WRITTEN_FORMATS:
            return f"{key}={name}"
    return None


def violations_of(schema: TableSchema, *, of_handle: bool = False) -> list[str]:
    """Every rule that ``schema`` breaks, in words; empty if it is sound.

    ``of_handle``: whether its options are those of one handle, which may say more of a read.
    """
    violations = [*_names(schema), *_keys(schema)]
    if violations:  # what follows looks columns up
        return violations
    return [
        *_row_tracking(schema),
        *_bucket(schema),
        *_engine(schema),
        *_sequence(schema),
        *_producer(schema),
        *_deletion_vectors(schema),
        *_retention(schema),
        *_expire_field(schema),
        *_named_columns(schema),
        *_partition_options(schema),
        *_defaults(schema),
        *scan_option_problems(schema.options, of_handle=of_handle),
        *field_option_problems(schema),
        *file_option_problems(schema),
        *feature_option_problems(schema),
    ]


def _row_tracking(schema: TableSchema) -> list[str]:
    tracked = schema.options.get(keys_commit.ROW_TRACKING_ENABLED)
    if tracked and (schema.is_key_table or schema.bucket != -1):
        return ["row-tracking.enabled needs a table without primary key and with bucket=-1"]
    return []


def _names(schema: TableSchema) -> Iterator[str]:
    if not schema.fields:
        yield "a table needs at least one column"
    for name, times in Counter(f.name for f in schema.fields).items():
        if times > 1:
            yield f"column {name!r} is there {times} times"
        if name in SYSTEM_NAMES or name.startswith(KEY_PREFIX):
            yield f"column name {name!r} is reserved"
        if not name.strip():
            yield "a column has an empty name"


def _keys(schema: TableSchema) -> Iterator[str]:
    for what, keys in (
        ("primary key", schema.primary_keys),
        ("partition key", schema.partition_keys),
        ("bucket-key", schema.options.get(keys_identity.BUCKET_KEY)),
    ):
        for name, times in Counter(keys).items():
            if times > 1:
                yield f"{what} names {name!r} {times} times"
            field = schema.by_name.get(name)
            if field is None:
                yield f"{what} column {name!r} does not exist"
            elif not isinstance(field.type, Atomic) or field.type.root in _NO_KEY_ROOTS:
                yield f"{what} column {name!r} has a type that cannot be a key"
    if schema.primary_keys and not schema.trimmed_primary_keys:
        yield (
            f"primary key {list(schema.primary_keys)} is made of partition columns only: each "
            "partition would hold one row"
        )


def _bucket(schema: TableSchema) -> Iterator[str]:
    options = schema.options
    bucket, bucket_key = schema.bucket, options.get(keys_identity.BUCKET_KEY)
    if bucket == -2:
        if not schema.is_key_table:
            yield "bucket = -2 (postpone) needs a primary key"
    elif bucket < -2 or bucket == 0:
        yield f"bucket = {bucket}: give a positive number, -1 or -2"
    elif bucket == -1 and bucket_key:
        yield "bucket-key needs a fixed bucket: set bucket to a positive number or drop bucket-key"
    elif bucket > 0 and not schema.bucket_keys:
        yield "a fixed bucket of an append table needs bucket-key"
    if schema.is_key_table and not set(bucket_key) <= set(schema.trimmed_primary_keys):
        yield (
            f"bucket-key {list(bucket_key)} must be part of the primary key without partition "
            f"columns {list(schema.trimmed_primary_keys)}"
        )
    if inside := [name for name in bucket_key if name in schema.partition_keys]:
        yield f"bucket-key must not hold partition columns: {inside}"
    missing = [k for k in schema.partition_keys if k not in schema.primary_keys]
    if schema.is_key_table and missing and bucket != -1:
        yield (
            f"primary key {list(schema.primary_keys)} lacks partition columns {missing}: add them "
            "or use bucket = -1"
        )
    yield from _mod_function(schema)
    unaware = bucket == -1 and not schema.is_key_table
    if unaware and options.is_set(keys_write.FULL_COMPACTION_DELTA_COMMITS):
        yield "full-compaction.delta-commits has no meaning for an append table with bucket = -1"


def _mod_function(schema: TableSchema) -> Iterator[str]:
    if schema.options.get(keys_identity.BUCKET_FUNCTION_TYPE) != "mod":
        return
    types = [f.type for f in schema.select(schema.bucket_keys)]
    if len(types) != 1 or not (isinstance(types[0], Atomic) and types[0].root in _MOD_ROOTS):
        yield "bucket-function.type = mod needs exactly one INT or BIGINT bucket key"


def _engine(schema: TableSchema) -> Iterator[str]:
    options = schema.options
    engine = options.get(keys_merge.MERGE_ENGINE)
    if not schema.is_key_table and engine != "deduplicate":
        yield f"merge-engine {engine} needs a primary key"
    ignores = options.get(keys_merge.IGNORE_DELETE)
    if engine == "partial-update" and options.get(
        keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE
    ):
        if ignores:
            yield "ignore-delete and partial-update.remove-record-on-delete exclude each other"
        if any(k.endswith(".sequence-group") for k in options.raw):
            yield "sequence groups and partial-update.remove-record-on-delete exclude each other"
    by_group = options.get(keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP)
    if engine == "partial-update" and ignores and by_group:
        yield (
            "ignore-delete and partial-update.remove-record-on-sequence-group exclude each other"
        )
    name = options.get(keys_merge.ROWKIND_FIELD)
    if name is not None:
        field = schema.by_name.get(name)
        if field is None:
            yield f"rowkind.field {name!r} does not exist"
        elif not isinstance(field.type, Atomic) or field.type.root not in {Root.CHAR, Root.VARCHAR}:
            yield f"rowkind.field {name!r} must be a STRING"


def _sequence(schema: TableSchema) -> Iterator[str]:
    fields = schema.options.get(keys_merge.SEQUENCE_FIELD)
    if not fields:
        return
    for name, times in Counter(fields).items():
        if name not in schema.by_name:
            yield f"sequence.field {name!r} does not exist"
        if times > 1:
            yield f"sequence.field names {name!r} {times} times"
        if schema.options.for_column(name, "aggregate-function") is not None:
            yield f"sequence.field {name!r} must not have an aggregate function"
    if schema.options.get(keys_merge.MERGE_ENGINE) == "first-row":
        yield "sequence.field cannot be used with merge-engine first-row"
    if schema.is_key_table and not set(schema.partition_keys) <= set(schema.primary_keys):
        yield "sequence.field cannot be used when the primary key lacks partition columns"


def _producer(schema: TableSchema) -> Iterator[str]:
    options = schema.options
    if not schema.is_key_table:
        if options.get(keys_scan.STREAMING_READ_OVERWRITE):
            yield (
                "streaming-read-overwrite needs a primary key; an append table has "
                "streaming-read-append-overwrite"
            )
        if options.get(keys_scan.TABLE_READ_SEQUENCE_NUMBER_ENABLED):
            yield "table-read.sequence-number.enabled needs a primary key: only its rows are numbered"
        if options.get(keys_identity.PRIMARY_KEY_NULLABLE):
            yield "primary-key.nullable needs a primary key"
    producer = options.get(keys_scan.CHANGELOG_PRODUCER)
    if producer == "none":
        return
    if not schema.is_key_table:
        yield f"changelog-producer {producer} needs a primary key"
    if options.get(keys_merge.MERGE_ENGINE) == "first-row" and producer != "lookup":
        yield f"merge-engine first-row allows changelog-producer none or lookup, not {producer}"
    if producer == "lookup" and options.is_set(keys_write.FULL_COMPACTION_DELTA_COMMITS):
        yield (
            "full-compaction.delta-commits cannot be used with changelog-producer lookup: use "
            "changelog-producer full-compaction, or remove the option"
        )
    if options.get(keys_scan.STREAMING_READ_OVERWRITE) and producer != "input":
        yield f"streaming-read-overwrite with changelog-producer {producer} would repeat changes"


def _deletion_vectors(schema: TableSchema) -> Iterator[str]:
    options = schema.options
    if not options.get(keys_write.DELETION_VECTORS_ENABLED):
        return
    if options.get(keys_scan.CHANGELOG_PRODUCER) == "full-compaction":
        yield "deletion-vectors.enabled cannot be used with changelog-producer full-compaction"
    if options.get(keys_merge.MERGE_ENGINE) == "first-row":
        yield "merge-engine first-row does not need deletion vectors: drop deletion-vectors.enabled"


def _retention(schema: TableSchema) -> Iterator[str]:
    options = schema.options
    if options.get(keys_files.TARGET_FILE_ROW_NUM) < 1:
        yield "target-file-row-num must be at least 1"
    low = options.get(keys_retention.SNAPSHOT_NUM_RETAINED_MIN)
    high = options.get(keys_retention.SNAPSHOT_NUM_RETAINED_MAX)
    if low < 1:
        yield f"snapshot.num-retained.min must be at least 1, not {low}"
    if high < low:
        yield f"snapshot.num-retained.max {high} is below snapshot.num-retained.min {low}"
    least = options.get(keys_retention.CHANGELOG_NUM_RETAINED_MIN)
    most = options.get(keys_retention.CHANGELOG_NUM_RETAINED_MAX)
    if least is not None and least < 1:
        yield f"changelog.num-retained.min must be at least 1, not {least}"
    least, most = (low if least is None else least), (high if most is None else most)
    if most < least:
        yield (
            f"changelog.num-retained.max {most} is below changelog.num-retained.min {least} "
            "(where one is not given, it is that of snapshots)"
        )


def _named_columns(schema: TableSchema) -> Iterator[str]:
    for option in (
        keys_write.CLUSTERING_COLUMNS,
        keys_scan.CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS,
    ):
        for name in schema.options.get(option):
            if name not in schema.by_name:
                yield f"{option.key} {name!r} does not exist"
    for key, text in schema.options.raw.items():
        for name in parse.column_list(text) if _INDEXED.fullmatch(key) else ():
            if name not in schema.by_name and "[" not in name:
                yield f"{key} {name!r} does not exist"


def _partition_options(schema: TableSchema) -> Iterator[str]:
    """Options that name partition columns; a table without them has nothing to go by."""
    if schema.options.get(keys_commit.MANIFEST_SORT_ENABLED) and not schema.partition_keys:
        yield f"{keys_commit.MANIFEST_SORT_ENABLED.key} needs partition columns"
    first = schema.options.get(keys_commit.MANIFEST_SORT_PARTITION_FIELD)
    if first is not None and first not in schema.partition_keys:
        yield (
            f"{keys_commit.MANIFEST_SORT_PARTITION_FIELD.key} {first!r} is no partition column: "
            f"there are {list(schema.partition_keys)}"
        )
    if not schema.options.get(keys_files.PARTITION_LEGACY_NAME):
        for field in schema.partition_fields:
            if isinstance(field.type, Atomic) and field.type.root is Root.TIMESTAMP_LTZ:
                yield (
                    f"partition column {field.name!r} is TIMESTAMP_LTZ, and Paimon names its folders by the "
                    f"zone of each process while {keys_files.PARTITION_LEGACY_NAME.key} is false: leave "
                    "that true"
                )
    else:
        for field in schema.partition_fields:
            if isinstance(field.type, Atomic) and field.type.root in BINARIES:
                yield (
                    f"partition column {field.name!r} has bytes, and its folders have no name while "
                    f"{keys_files.PARTITION_LEGACY_NAME.key} is true: set that to false"
                )
    pattern = schema.options.get(keys_retention.PARTITION_TIMESTAMP_PATTERN) or ""
    for name in re.findall(r"\$(\w+)", pattern) if schema.partition_keys else ():
        if not name.startswith(schema.partition_keys):  # as $h takes the beginning of $hour
            yield (
                f"{keys_retention.PARTITION_TIMESTAMP_PATTERN.key} names ${name}, which is no "
                f"partition column: there are {list(schema.partition_keys)}"
            )


def _defaults(schema: TableSchema) -> Iterator[str]:
    for field in schema.fields:
        if field.default is None:
            continue
        try:
            default_value(field)
        except DataError as error:
            yield str(error)


def _expire_field(schema: TableSchema) -> Iterator[str]:
    options = schema.options
    name = options.get(keys_merge.RECORD_LEVEL_TIME_FIELD)
    field = schema.by_name.get(name) if name is not None else None
    if name is None and options.get(keys_merge.RECORD_LEVEL_EXPIRE_TIME) is None:
        return
    if field is None and options.get(keys_merge.RECORD_LEVEL_EXPIRE_TIME) is None:
        yield f"record-level.time-field {name!r} does not exist"
    elif field is None:
        yield f"record-level.expire-time needs record-level.time-field; {name!r} does not exist"
    elif not isinstance(field.type, Atomic) or field.type.root not in _TIME_ROOTS:
        yield f"record-level.time-field {name!r} must be INT, BIGINT or a timestamp"
