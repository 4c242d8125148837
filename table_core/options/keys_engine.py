"""Table options that steer how Apache Paimon's own engine goes about its work.

They are taken, checked and stored for it; here they change nothing.

Source: ``org.apache.paimon.CoreOptions``.
"""

from __future__ import annotations

from typing import Final

from table_core.options import parse
from table_core.options.option import Option

__all__ = [
    "ASYNC_FILE_WRITE",
    "CACHE_PAGE_SIZE",
    "COMPACTION_FILE_NUM_LIMIT",
    "CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM",
    "FILE_READER_ASYNC_THRESHOLD",
    "LOCAL_KV_DB_BLOCK_SIZE",
    "LOCAL_SORT_MAX_NUM_FILE_HANDLES",
    "LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO",
    "LOOKUP_CACHE_ROWS",
    "LOOKUP_CONTINUOUS_DISCOVERY_INTERVAL",
    "LOOKUP_MERGE_BUFFER_SIZE",
    "LOOKUP_MERGE_RECORDS_THRESHOLD",
    "LOOKUP_REMOTE_FILE_ENABLED",
    "LOOKUP_REMOTE_FILE_LEVEL_THRESHOLD",
    "MANIFEST_SORT_MAX_REWRITE_SIZE",
    "PAGE_SIZE",
    "PARTITION_IDLE_TIME_TO_REPORT_STATISTIC",
    "POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM",
    "SCAN_MANIFEST_PARALLELISM",
    "SCAN_MAX_SPLITS_PER_TASK",
    "SORT_COMPACTION_LOCAL_SAMPLE_MAGNIFICATION",
    "SORT_COMPACTION_RANGE_STRATEGY",
    "SORT_ENGINE",
    "SORT_SPILL_BUFFER_SIZE",
    "WRITE_BATCH_MEMORY",
    "WRITE_BUFFER_FOR_APPEND",
    "WRITE_MAX_WRITERS_TO_SPILL",
    "ZORDER_VAR_LENGTH_CONTRIBUTION",
]

SORT_SPILL_BUFFER_SIZE: Final[Option[int]] = Option(
    "sort-spill-buffer-size", parse.size_bytes, 67108864, "memory of a spilled sort"
)
SORT_ENGINE: Final[Option[str]] = Option(
    "sort-engine", parse.choice("loser-tree", "min-heap"), "loser-tree", "how runs are merged"
)
LOCAL_SORT_MAX_NUM_FILE_HANDLES: Final[Option[int]] = Option(
    "local-sort.max-num-file-handles",
    parse.integer,
    128,
    "most runs of a spilled sort that are merged at once",
)
LOOKUP_MERGE_BUFFER_SIZE: Final[Option[int]] = Option(
    "lookup.merge-buffer-size", parse.size_bytes, 8388608, "memory for the versions of one key"
)
LOOKUP_MERGE_RECORDS_THRESHOLD: Final[Option[int]] = Option(
    "lookup.merge-records-threshold", parse.integer, 1024, "versions of one key kept as objects"
)
LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO: Final[Option[float]] = Option(
    "lookup.cache.high-priority-pool-ratio", parse.number, 0.25, "cache kept for indexes"
)
SORT_COMPACTION_RANGE_STRATEGY: Final[Option[str]] = Option(
    "sort-compaction.range-strategy",
    parse.choice("quantity", "size"),
    "size",
    "how a distributed sort is cut",
)
SORT_COMPACTION_LOCAL_SAMPLE_MAGNIFICATION: Final[Option[int]] = Option(
    "sort-compaction.local-sample.magnification",
    parse.integer,
    1000,
    "size of the sample of each task of a distributed sort",
)
COMPACTION_FILE_NUM_LIMIT: Final[Option[int]] = Option(
    "compaction.file-num-limit",
    parse.integer,
    100000,
    "most files of an append table that are planned at once",
)
WRITE_MAX_WRITERS_TO_SPILL: Final[Option[int]] = Option(
    "write-max-writers-to-spill",
    parse.integer,
    10,
    "number of buckets from which appends are buffered",
)
PAGE_SIZE: Final[Option[int]] = Option(
    "page-size", parse.size_bytes, 65536, "size of a memory page"
)
CACHE_PAGE_SIZE: Final[Option[int]] = Option(
    "cache-page-size", parse.size_bytes, 65536, "size of a memory page of the cache"
)
ASYNC_FILE_WRITE: Final[Option[bool]] = Option(
    "async-file-write", parse.boolean, True, "a separate thread writes files"
)
CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM: Final[Option[int]] = Option(
    "cross-partition-upsert.bootstrap-parallelism",
    parse.integer,
    10,
    "number of tasks that read the keys of a table",
)
FILE_READER_ASYNC_THRESHOLD: Final[Option[int]] = Option(
    "file-reader-async-threshold",
    parse.size_bytes,
    10485760,
    "size from which a separate thread reads a file",
)
LOCAL_KV_DB_BLOCK_SIZE: Final[Option[int]] = Option(
    "local-kv-db.block-size", parse.size_bytes, 4096, "block size of the local key-value store"
)
LOOKUP_CACHE_ROWS: Final[Option[int]] = Option(
    "lookup.cache-rows", parse.long_integer, 10000, "most rows that a lookup join keeps"
)
LOOKUP_CONTINUOUS_DISCOVERY_INTERVAL: Final[Option[int | None]] = Option(
    "lookup.continuous.discovery-interval",
    parse.duration_ms,
    None,
    "how often a lookup join looks for changes",
)
LOOKUP_REMOTE_FILE_ENABLED: Final[Option[bool]] = Option(
    "lookup.remote-file.enabled",
    parse.boolean,
    False,
    "lookup files are also stored beside the data",
)
LOOKUP_REMOTE_FILE_LEVEL_THRESHOLD: Final[Option[int]] = Option(
    "lookup.remote-file.level-threshold",
    parse.integer,
    -(2**31),
    "levels above which lookup files are stored beside the data",
)
MANIFEST_SORT_MAX_REWRITE_SIZE: Final[Option[int]] = Option(
    "manifest-sort.max-rewrite-size",
    parse.size_bytes,
    268435456,
    "manifests that are sorted at once",
)
PARTITION_IDLE_TIME_TO_REPORT_STATISTIC: Final[Option[int]] = Option(
    "partition.idle-time-to-report-statistic",
    parse.duration_ms,
    0,
    "idle time after which a catalog service is told of a partition",
)
POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM: Final[Option[int]] = Option(
    "postpone.batch-write-fixed-bucket.max-parallelism",
    parse.integer,
    2048,
    "most tasks of such a write",
)
SCAN_MANIFEST_PARALLELISM: Final[Option[int | None]] = Option(
    "scan.manifest.parallelism", parse.integer, None, "number of threads that read manifests"
)
SCAN_MAX_SPLITS_PER_TASK: Final[Option[int]] = Option(
    "scan.max-splits-per-task", parse.integer, 10, "most splits that wait at a reading task"
)
WRITE_BATCH_MEMORY: Final[Option[int]] = Option(
    "write.batch-memory", parse.size_bytes, 134217728, "memory of a batch of rows when writing"
)
WRITE_BUFFER_FOR_APPEND: Final[Option[bool]] = Option(
    "write-buffer-for-append", parse.boolean, False, "also buffer rows without a key"
)
ZORDER_VAR_LENGTH_CONTRIBUTION: Final[Option[int]] = Option(
    "zorder.var-length-contribution",
    parse.integer,
    8,
    "bytes of a text that count in a Z-order curve; here all bytes count",
)
