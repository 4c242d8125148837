"""Table options that steer how Apache Paimon's own engine goes about its work.

They are taken, checked and stored for it; here they change nothing.

Source: ``org.apache.paimon.CoreOptions``.
"""

from __future__ import annotations

from typing import Final

from table_core.options import parse
from table_core.options.option import Option

__all__ = [
    "CACHE_PAGE_SIZE",
    "COMPACTION_FILE_NUM_LIMIT",
    "LOCAL_SORT_MAX_NUM_FILE_HANDLES",
    "LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO",
    "LOOKUP_MERGE_BUFFER_SIZE",
    "LOOKUP_MERGE_RECORDS_THRESHOLD",
    "PAGE_SIZE",
    "SORT_COMPACTION_LOCAL_SAMPLE_MAGNIFICATION",
    "SORT_COMPACTION_RANGE_STRATEGY",
    "SORT_ENGINE",
    "SORT_SPILL_BUFFER_SIZE",
    "WRITE_MAX_WRITERS_TO_SPILL",
]

SORT_SPILL_BUFFER_SIZE: Final[Option[int]] = Option(
    "sort-spill-buffer-size", parse.size_bytes, 67108864, "memory of a spilled sort"
)
SORT_ENGINE: Final[Option[str]] = Option(
    "sort-engine", parse.choice("loser-tree", "min-heap"), "loser-tree", "how runs are merged"
)
LOCAL_SORT_MAX_NUM_FILE_HANDLES: Final[Option[int]] = Option(
    "local-sort.max-num-file-handles", parse.integer, 128, "runs of a spilled sort merged at once"
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
    "sort-compaction.local-sample.magnification", parse.integer, 1000, "sample of each such task"
)
COMPACTION_FILE_NUM_LIMIT: Final[Option[int]] = Option(
    "compaction.file-num-limit", parse.integer, 100000, "files of an append table planned at once"
)
WRITE_MAX_WRITERS_TO_SPILL: Final[Option[int]] = Option(
    "write-max-writers-to-spill", parse.integer, 10, "buckets from which appends are buffered"
)
PAGE_SIZE: Final[Option[int]] = Option("page-size", parse.size_bytes, 65536, "memory page")
CACHE_PAGE_SIZE: Final[Option[int]] = Option(
    "cache-page-size", parse.size_bytes, 65536, "memory page of the cache"
)
