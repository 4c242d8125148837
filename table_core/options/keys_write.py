"""Table options: writing and compaction (pk).

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "CHANGELOG_PRODUCER_COMPACTION_INTERVAL",
    "CLUSTERING_COLUMNS",
    "CLUSTERING_STRATEGY",
    "COMPACTION_DELETE_RATIO_THRESHOLD",
    "COMPACTION_FORCE_REWRITE_ALL_FILES",
    "COMPACTION_FORCE_UP_LEVEL_0",
    "COMPACTION_INCREMENTAL_SIZE_THRESHOLD",
    "COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT",
    "COMPACTION_MIN_FILE_NUM",
    "COMPACTION_OFFPEAK_END_HOUR",
    "COMPACTION_OFFPEAK_RATIO",
    "COMPACTION_OFFPEAK_START_HOUR",
    "COMPACTION_OPTIMIZATION_INTERVAL",
    "COMPACTION_SIZE_RATIO",
    "COMPACTION_SMALL_FILE_RATIO",
    "COMPACTION_TOTAL_SIZE_THRESHOLD",
    "DELETION_VECTORS_BITMAP64",
    "DELETION_VECTORS_ENABLED",
    "DELETION_VECTORS_MERGE_ON_READ",
    "DELETION_VECTORS_MODIFIABLE",
    "DELETION_VECTOR_INDEX_FILE_TARGET_SIZE",
    "FORCE_LOOKUP",
    "FULL_COMPACTION_DELTA_COMMITS",
    "LOCAL_MERGE_BUFFER_SIZE",
    "LOOKUP_CACHE_BLOOM_FILTER_ENABLED",
    "LOOKUP_CACHE_BLOOM_FILTER_FPP",
    "LOOKUP_CACHE_FILE_RETENTION",
    "LOOKUP_CACHE_MAX_DISK_SIZE",
    "LOOKUP_CACHE_MAX_MEMORY_SIZE",
    "LOOKUP_CACHE_SPILL_COMPRESSION",
    "LOOKUP_COMPACT",
    "LOOKUP_COMPACT_MAX_INTERVAL",
    "LOOKUP_HASH_LOAD_FACTOR",
    "LOOKUP_WAIT",
    "NUM_LEVELS",
    "NUM_SORTED_RUN_COMPACTION_TRIGGER",
    "NUM_SORTED_RUN_STOP_TRIGGER",
    "SINK_PARALLELISM",
    "SORT_SPILL_THRESHOLD",
    "SPILL_COMPRESSION",
    "SPILL_COMPRESSION_ZSTD_LEVEL",
    "WRITE_BUFFER_SIZE",
    "WRITE_BUFFER_SPILLABLE",
    "WRITE_BUFFER_SPILL_MAX_DISK_SIZE",
    "WRITE_BY_DRIVER_MAX_SIZE",
    "WRITE_BY_SPARK",
    "WRITE_ONE_TASK_MAX_SIZE",
]

WRITE_BUFFER_SIZE: Final[Option[int]] = Option(
    "write-buffer-size",
    parse.size_bytes,
    268435456,
    "memory of a writer for buffering and sorting rows",
    fits=fits.at_least(1),
)
WRITE_BUFFER_SPILLABLE: Final[Option[bool]] = Option(
    "write-buffer-spillable", parse.boolean, True, "spill a full write buffer to the local disk"
)
NUM_SORTED_RUN_COMPACTION_TRIGGER: Final[Option[int]] = Option(
    "num-sorted-run.compaction-trigger",
    parse.integer,
    5,
    "number of sorted runs at which a bucket is compacted",
    fits=fits.at_least(1),
)
NUM_SORTED_RUN_STOP_TRIGGER: Final[Option[int | None]] = Option(
    "num-sorted-run.stop-trigger",
    parse.integer,
    None,
    "number of sorted runs at which writes wait for compaction; default: three more than "
    "the trigger",
    fits=fits.at_least(1),
)
NUM_LEVELS: Final[Option[int | None]] = Option(
    "num-levels",
    parse.integer,
    None,
    "number of levels; default: one more than the compaction trigger",
    fits=fits.at_least(2),
)
COMPACTION_SIZE_RATIO: Final[Option[int]] = Option(
    "compaction.size-ratio",
    parse.integer,
    1,
    "tolerance in percent when sizes of runs are compared",
)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT: Final[Option[int]] = Option(
    "compaction.max-size-amplification-percent",
    parse.integer,
    200,
    "full compaction once the newer runs exceed this percentage of the oldest run",
    fits=fits.at_least(0),
)
COMPACTION_OPTIMIZATION_INTERVAL: Final[Option[int | None]] = Option(
    "compaction.optimization-interval",
    parse.duration_ms,
    None,
    "longest time between full compactions",
)
COMPACTION_TOTAL_SIZE_THRESHOLD: Final[Option[int | None]] = Option(
    "compaction.total-size-threshold",
    parse.size_bytes,
    None,
    "full compaction while all files together are smaller than this",
)
COMPACTION_INCREMENTAL_SIZE_THRESHOLD: Final[Option[int | None]] = Option(
    "compaction.incremental-size-threshold",
    parse.size_bytes,
    None,
    "full compaction once the runs above the last level exceed this size",
)
COMPACTION_FORCE_UP_LEVEL_0: Final[Option[bool]] = Option(
    "compaction.force-up-level-0",
    parse.boolean,
    False,
    "each compaction takes all files of level 0",
)
COMPACTION_FORCE_REWRITE_ALL_FILES: Final[Option[bool]] = Option(
    "compaction.force-rewrite-all-files",
    parse.boolean,
    False,
    "a full compaction rewrites every file",
)
COMPACTION_SMALL_FILE_RATIO: Final[Option[float]] = Option(
    "compaction.small-file-ratio",
    parse.number,
    0.7,
    "files smaller than this share of the target size are merged instead of upgraded",
    fits=fits.between(0, 1),
)
COMPACTION_MIN_FILE_NUM: Final[Option[int]] = Option(
    "compaction.min.file-num",
    parse.integer,
    5,
    "append tables: number of small files that are compacted",
    fits=fits.at_least(1),
)
COMPACTION_DELETE_RATIO_THRESHOLD: Final[Option[float]] = Option(
    "compaction.delete-ratio-threshold",
    parse.number,
    0.2,
    "append tables with deletion vectors: rewrite files with a larger share of deleted rows",
    fits=fits.between(0, 1),
)
FULL_COMPACTION_DELTA_COMMITS: Final[Option[int | None]] = Option(
    "full-compaction.delta-commits",
    parse.integer,
    None,
    "full compaction after this many commits",
    fits=fits.at_least(1),
)
CHANGELOG_PRODUCER_COMPACTION_INTERVAL: Final[Option[int | None]] = Option(
    "changelog-producer.compaction-interval",
    parse.duration_ms,
    None,
    "longest time between full compactions, if full-compaction.delta-commits is not set; "
    "compaction.optimization-interval does this for every table",
)
COMPACTION_OFFPEAK_START_HOUR: Final[Option[int]] = Option(
    "compaction.offpeak.start.hour",
    parse.integer,
    -1,
    "hour at which off-peak hours start",
    fits=fits.between(-1, 23),
)
COMPACTION_OFFPEAK_END_HOUR: Final[Option[int]] = Option(
    "compaction.offpeak.end.hour",
    parse.integer,
    -1,
    "hour at which off-peak hours end",
    fits=fits.between(-1, 23),
)
COMPACTION_OFFPEAK_RATIO: Final[Option[int]] = Option(
    "compaction.offpeak-ratio",
    parse.integer,
    0,
    "additional size ratio in off-peak hours",
    fits=fits.at_least(0),
)
LOOKUP_COMPACT: Final[Option[str]] = Option(
    "lookup-compact",
    parse.choice("radical", "gentle"),
    "radical",
    "radical: each compaction empties level 0; gentle: only one in "
    "lookup-compact.max-interval does",
)
LOOKUP_COMPACT_MAX_INTERVAL: Final[Option[int | None]] = Option(
    "lookup-compact.max-interval",
    parse.integer,
    None,
    "gentle: empty level 0 after this many attempts that picked nothing; default: twice "
    "the trigger",
    fits=fits.at_least(1),
)
LOOKUP_WAIT: Final[Option[bool]] = Option(
    "lookup-wait",
    parse.boolean,
    True,
    "accepted: a commit always waits for its lookup compaction, as Paimon's batch writes do",
    aliases=("changelog-producer.lookup-wait",),
)
FORCE_LOOKUP: Final[Option[bool]] = Option(
    "force-lookup",
    parse.boolean,
    False,
    "compact by lookup without a changelog",
    immutable=True,
)
LOCAL_MERGE_BUFFER_SIZE: Final[Option[int | None]] = Option(
    "local-merge-buffer-size",
    parse.size_bytes,
    None,
    "memory before the write buffer, in which rows of a key are merged before they get a bucket",
)
DELETION_VECTORS_ENABLED: Final[Option[bool]] = Option(
    "deletion-vectors.enabled", parse.boolean, False, "mark deleted rows with deletion vectors"
)
DELETION_VECTORS_BITMAP64: Final[Option[bool]] = Option(
    "deletion-vectors.bitmap64", parse.boolean, False, "write deletion vectors with 64 bits"
)
DELETION_VECTORS_MERGE_ON_READ: Final[Option[bool]] = Option(
    "deletion-vectors.merge-on-read",
    parse.boolean,
    False,
    "with deletion vectors, also read level 0 and merge it",
)
DELETION_VECTORS_MODIFIABLE: Final[Option[bool]] = Option(
    "deletion-vectors.modifiable",
    parse.boolean,
    False,
    "allow changing deletion-vectors.enabled later",
)
DELETION_VECTOR_INDEX_FILE_TARGET_SIZE: Final[Option[int]] = Option(
    "deletion-vector.index-file.target-size",
    parse.size_bytes,
    2097152,
    "append tables: size of an index file with deletion vectors",
    fits=fits.at_least(1),
)
CLUSTERING_COLUMNS: Final[Option[tuple[str, ...]]] = Option(
    "clustering.columns",
    parse.column_list,
    (),
    "a write to an append table without buckets sorts its rows by these columns",
    aliases=("sink.clustering.by-columns",),
)
CLUSTERING_STRATEGY: Final[Option[str]] = Option(
    "clustering.strategy",
    parse.text,
    "auto",
    "order, zorder or hilbert; auto chooses by the number of columns",
    aliases=("sink.clustering.strategy",),
    fits=fits.one_of("auto", "order", "zorder", "hilbert"),
)
LOOKUP_CACHE_MAX_MEMORY_SIZE: Final[Option[int]] = Option(
    "lookup.cache-max-memory-size", parse.size_bytes, 268435456, "memory limit of the lookup cache"
)
LOOKUP_CACHE_MAX_DISK_SIZE: Final[Option[int | None]] = Option(
    "lookup.cache-max-disk-size",
    parse.size_bytes,
    None,
    "disk limit of the lookup cache; default: none",
)
LOOKUP_CACHE_FILE_RETENTION: Final[Option[int]] = Option(
    "lookup.cache-file-retention",
    parse.duration_ms,
    3600000,
    "how long cached lookup files are kept",
)
LOOKUP_CACHE_SPILL_COMPRESSION: Final[Option[str]] = Option(
    "lookup.cache-spill-compression",
    parse.text,
    "zstd",
    "codec of cached lookup files",
    fits=fits.one_of("zstd", "lz4", "none"),
)
LOOKUP_CACHE_BLOOM_FILTER_ENABLED: Final[Option[bool]] = Option(
    "lookup.cache.bloom.filter.enabled",
    parse.boolean,
    True,
    "write bloom filters into lookup files",
)
LOOKUP_CACHE_BLOOM_FILTER_FPP: Final[Option[float]] = Option(
    "lookup.cache.bloom.filter.fpp",
    parse.number,
    0.05,
    "false positive rate of those bloom filters",
    fits=fits.ratio,
)
LOOKUP_HASH_LOAD_FACTOR: Final[Option[float]] = Option(
    "lookup.hash-load-factor", parse.number, 0.75, "accepted, no effect: lookup files are sorted"
)
SINK_PARALLELISM: Final[Option[int | None]] = Option(
    "sink.parallelism",
    parse.integer,
    None,
    "number of Spark tasks that write",
    fits=fits.at_least(1),
)
WRITE_BY_SPARK: Final[Option[bool]] = Option(
    "write.by-spark",
    parse.boolean,
    True,
    "on Spark: append tables that fit are written by Spark's own Parquet writer (an option of this "
    "library)",
)
WRITE_ONE_TASK_MAX_SIZE: Final[Option[int]] = Option(
    "write.one-task.max-size",
    parse.size_bytes,
    67108864,
    "on Spark: rows that are no larger are written without a shuffle: by one task if they are one partition, "
    "by the driver if they are few; 0 shuffles all rows (an option of this library)",
)
WRITE_BY_DRIVER_MAX_SIZE: Final[Option[int]] = Option(
    "write.by-driver.max-size",
    parse.size_bytes,
    4194304,
    "on Spark: rows of files that are one partition, no larger than this, are written by the driver, without a Python "
    "worker; 0 leaves them to a task (an option of this library)",
)
WRITE_BUFFER_SPILL_MAX_DISK_SIZE: Final[Option[int | None]] = Option(
    "write-buffer-spill.max-disk-size",
    parse.size_bytes,
    None,
    "disk limit for spilled write buffers; default: none",
)
SORT_SPILL_THRESHOLD: Final[Option[int | None]] = Option(
    "sort-spill-threshold",
    parse.integer,
    None,
    "number of runs that are merged at once, and of files open for it; default: 64 spilled runs, 128 files or an "
    "eighth of what the process may open",
    fits=fits.at_least(2),
)
SPILL_COMPRESSION: Final[Option[str]] = Option(
    "spill-compression",
    parse.text,
    "zstd",
    "codec of spilled rows: zstd, lz4 or none; a writer packs them only where it is set",
    fits=fits.one_of("zstd", "lz4", "none"),
)
SPILL_COMPRESSION_ZSTD_LEVEL: Final[Option[int]] = Option(
    "spill-compression.zstd-level",
    parse.integer,
    1,
    "zstd level of spilled rows",
    fits=fits.ZSTD_LEVEL,
)
