"""Table options: table identity and buckets.

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "AUTO_CREATE",
    "BLOB_DESCRIPTOR_FIELD",
    "BLOB_FIELD",
    "BLOB_VIEW_FIELD",
    "BUCKET",
    "BUCKET_APPEND_ORDERED",
    "BUCKET_FUNCTION_TYPE",
    "BUCKET_KEY",
    "CROSS_PARTITION_UPSERT_INDEX_TTL",
    "DYNAMIC_BUCKET_ASSIGNER_PARALLELISM",
    "DYNAMIC_BUCKET_INITIAL_BUCKETS",
    "DYNAMIC_BUCKET_MAX_BUCKETS",
    "DYNAMIC_BUCKET_TARGET_ROW_NUM",
    "OWNER",
    "PARTITION",
    "PK_CLUSTERING_OVERRIDE",
    "POSTPONE_BATCH_WRITE_FIXED_BUCKET",
    "POSTPONE_DEFAULT_BUCKET_NUM",
    "POSTPONE_MERGE_ON_READ",
    "POSTPONE_TARGET_ROW_NUM_PER_BUCKET",
    "POSTPONE_TARGET_SIZE_PER_BUCKET",
    "PRIMARY_KEY",
    "PRIMARY_KEY_NULLABLE",
    "TYPE",
]

BUCKET: Final[Option[int]] = Option(
    "bucket",
    parse.integer,
    -1,
    "number of buckets; -1: dynamic with a key, one shared bucket without; -2: postponed",
)
BUCKET_KEY: Final[Option[tuple[str, ...]]] = Option(
    "bucket-key",
    parse.column_list,
    (),
    "columns that decide the bucket; default: the primary key without partition columns; "
    "required for an append table with fixed buckets",
    immutable=True,
)
BUCKET_FUNCTION_TYPE: Final[Option[str]] = Option(
    "bucket-function.type",
    parse.choice("default", "mod", "hive"),
    "default",
    "how rows are assigned to buckets: default (hash), mod or hive",
    immutable=True,
)
BUCKET_APPEND_ORDERED: Final[Option[bool]] = Option(
    "bucket-append-ordered",
    parse.boolean,
    True,
    "accepted: the rows of a bucket always keep their order",
)
PRIMARY_KEY: Final[Option[tuple[str, ...]]] = Option(
    "primary-key",
    parse.column_list,
    (),
    "key columns, as an alternative to declaring them; moved into the schema when the "
    "table is created",
    immutable=True,
)
PARTITION: Final[Option[tuple[str, ...]]] = Option(
    "partition",
    parse.column_list,
    (),
    "partition columns, as an alternative to declaring them",
    immutable=True,
)
PRIMARY_KEY_NULLABLE: Final[Option[bool]] = Option(
    "primary-key.nullable", parse.boolean, False, "allow NULL in key columns", immutable=True
)
TYPE: Final[Option[str]] = Option(
    "type",
    parse.choice(
        "table",
        "format-table",
        "object-table",
        "lance-table",
        "materialized-table",
        "view",
        "materialized-view",
        "iceberg-table",
    ),
    "table",
    "kind of the table: table, format-table, object-table, materialized-table …",
    immutable=True,
)
DYNAMIC_BUCKET_TARGET_ROW_NUM: Final[Option[int]] = Option(
    "dynamic-bucket.target-row-num",
    parse.long_integer,
    2000000,
    "number of keys in a dynamic bucket before the next one is opened",
    fits=fits.at_least(1),
)
DYNAMIC_BUCKET_INITIAL_BUCKETS: Final[Option[int | None]] = Option(
    "dynamic-bucket.initial-buckets",
    parse.integer,
    None,
    "number of dynamic buckets that each assigner starts with",
    immutable=True,
    fits=fits.at_least(1),
)
DYNAMIC_BUCKET_MAX_BUCKETS: Final[Option[int]] = Option(
    "dynamic-bucket.max-buckets",
    parse.integer,
    -1,
    "largest number of dynamic buckets in a partition; -1: no limit",
    fits=fits.positive_or(-1),
)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM: Final[Option[int | None]] = Option(
    "dynamic-bucket.assigner-parallelism",
    parse.integer,
    None,
    "number of tasks that assign dynamic buckets",
    fits=fits.at_least(1),
)
CROSS_PARTITION_UPSERT_INDEX_TTL: Final[Option[int | None]] = Option(
    "cross-partition-upsert.index-ttl",
    parse.duration_ms,
    None,
    "files older than this are not searched for keys of other partitions",
)
POSTPONE_DEFAULT_BUCKET_NUM: Final[Option[int | None]] = Option(
    "postpone.default-bucket-num",
    parse.integer,
    None,
    "number of buckets of a partition at its first compaction",
    fits=fits.at_least(1),
)
POSTPONE_TARGET_ROW_NUM_PER_BUCKET: Final[Option[int | None]] = Option(
    "postpone.target-row-num-per-bucket",
    parse.long_integer,
    None,
    "rows per bucket, from which a new partition gets its number of buckets",
    fits=fits.at_least(1),
)
POSTPONE_TARGET_SIZE_PER_BUCKET: Final[Option[int]] = Option(
    "postpone.target-size-per-bucket",
    parse.size_bytes,
    1073741824,
    "size per bucket, from which a new partition gets its number of buckets if no number "
    "of rows is set",
    fits=fits.at_least(1),
)
POSTPONE_MERGE_ON_READ: Final[Option[bool]] = Option(
    "postpone.merge-on-read",
    parse.boolean,
    False,
    "true: batch reads are refused while rows wait for a bucket; false: they do not see them",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET: Final[Option[bool]] = Option(
    "postpone.batch-write-fixed-bucket",
    parse.boolean,
    True,
    "accepted, no effect: rows wait until a compaction assigns their buckets",
)
BLOB_FIELD: Final[Option[tuple[str, ...]]] = Option(
    "blob-field", parse.column_list, (), "columns stored as blobs", immutable=True
)
BLOB_DESCRIPTOR_FIELD: Final[Option[tuple[str, ...]]] = Option(
    "blob-descriptor-field",
    parse.column_list,
    (),
    "blob columns stored as descriptors",
    immutable=True,
)
BLOB_VIEW_FIELD: Final[Option[tuple[str, ...]]] = Option(
    "blob-view-field", parse.column_list, (), "blob columns stored as views", immutable=True
)
PK_CLUSTERING_OVERRIDE: Final[Option[bool]] = Option(
    "pk-clustering-override",
    parse.boolean,
    False,
    "cluster a key table by columns other than its key",
    immutable=True,
)
OWNER: Final[Option[str | None]] = Option(
    "owner", parse.text, None, "owner of the table, as other engines noted it", fits=fits.name
)
AUTO_CREATE: Final[Option[bool]] = Option(
    "auto-create", parse.boolean, False, "create the table at its path if it is missing"
)
