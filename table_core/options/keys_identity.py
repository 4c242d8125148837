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
    "bucket", parse.integer, -1, "fixed count, −1 dynamic/unaware, −2 postpone"
)
BUCKET_KEY: Final[Option[tuple[str, ...]]] = Option(
    "bucket-key",
    parse.column_list,
    (),
    "comma list; default trimmed PK; mandatory for fixed append",
    immutable=True,
)
BUCKET_FUNCTION_TYPE: Final[Option[str]] = Option(
    "bucket-function.type",
    parse.choice("default", "mod", "hive"),
    "default",
    "how rows find their bucket: default (hash), mod or hive",
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
    "alternative to DDL keys; normalised away on create",
    immutable=True,
)
PARTITION: Final[Option[tuple[str, ...]]] = Option(
    "partition", parse.column_list, (), "alternative to DDL partition keys", immutable=True
)
PRIMARY_KEY_NULLABLE: Final[Option[bool]] = Option(
    "primary-key.nullable", parse.boolean, False, "allow NULL in PK columns", immutable=True
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
    "table, format-table, object-table, materialized-table …; immutable",
    immutable=True,
)
DYNAMIC_BUCKET_TARGET_ROW_NUM: Final[Option[int]] = Option(
    "dynamic-bucket.target-row-num",
    parse.long_integer,
    2000000,
    "keys per dynamic bucket",
    fits=fits.at_least(1),
)
DYNAMIC_BUCKET_INITIAL_BUCKETS: Final[Option[int | None]] = Option(
    "dynamic-bucket.initial-buckets",
    parse.integer,
    None,
    "initial dynamic buckets per assigner",
    immutable=True,
    fits=fits.at_least(1),
)
DYNAMIC_BUCKET_MAX_BUCKETS: Final[Option[int]] = Option(
    "dynamic-bucket.max-buckets",
    parse.integer,
    -1,
    "cap per partition, −1 = none",
    fits=fits.positive_or(-1),
)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM: Final[Option[int | None]] = Option(
    "dynamic-bucket.assigner-parallelism",
    parse.integer,
    None,
    "assigner count",
    fits=fits.at_least(1),
)
CROSS_PARTITION_UPSERT_INDEX_TTL: Final[Option[int | None]] = Option(
    "cross-partition-upsert.index-ttl",
    parse.duration_ms,
    None,
    "TTL of the local cross-partition index",
)
POSTPONE_DEFAULT_BUCKET_NUM: Final[Option[int | None]] = Option(
    "postpone.default-bucket-num",
    parse.integer,
    None,
    "bucket count for first compaction of a partition",
    fits=fits.at_least(1),
)
POSTPONE_TARGET_ROW_NUM_PER_BUCKET: Final[Option[int | None]] = Option(
    "postpone.target-row-num-per-bucket",
    parse.long_integer,
    None,
    "rows of a bucket by which a new partition gets its number of buckets",
    fits=fits.at_least(1),
)
POSTPONE_TARGET_SIZE_PER_BUCKET: Final[Option[int]] = Option(
    "postpone.target-size-per-bucket",
    parse.size_bytes,
    1073741824,
    "the same by size, where rows are not given",
    fits=fits.at_least(1),
)
POSTPONE_MERGE_ON_READ: Final[Option[bool]] = Option(
    "postpone.merge-on-read", parse.boolean, False, "batch reads merge postpone files"
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET: Final[Option[bool]] = Option(
    "postpone.batch-write-fixed-bucket",
    parse.boolean,
    True,
    "accepted, no effect: rows wait until a compaction gives them their buckets",
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
    "cluster a key table by other columns",
    immutable=True,
)
OWNER: Final[Option[str | None]] = Option(
    "owner", parse.text, None, "owner noted by other engines", fits=fits.name
)
AUTO_CREATE: Final[Option[bool]] = Option(
    "auto-create", parse.boolean, False, "create the table at its path when it is missing"
)
