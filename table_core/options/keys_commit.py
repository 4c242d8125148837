"""Table options: manifests, commit.

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "COMMIT_DISCARD_DUPLICATE_FILES",
    "COMMIT_FORCE_COMPACT",
    "COMMIT_FORCE_CREATE_SNAPSHOT",
    "COMMIT_MAX_RETRIES",
    "COMMIT_MAX_RETRY_WAIT",
    "COMMIT_MIN_RETRY_WAIT",
    "COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT",
    "COMMIT_TIMEOUT",
    "COMMIT_USER_PREFIX",
    "DATA_EVOLUTION_ENABLED",
    "DYNAMIC_PARTITION_OVERWRITE",
    "MANIFEST_COMPRESSION",
    "MANIFEST_DELETE_FILE_DROP_STATS",
    "MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE",
    "MANIFEST_MERGE_MIN_COUNT",
    "MANIFEST_MERGE_OPTIMIZE_ENABLED",
    "MANIFEST_SORT_ENABLED",
    "MANIFEST_SORT_PARTITION_FIELD",
    "MANIFEST_TARGET_FILE_SIZE",
    "OVERWRITE_UPGRADE",
    "ROW_TRACKING_ENABLED",
    "SNAPSHOT_IGNORE_EMPTY_COMMIT",
    "WRITE_ONLY",
]

MANIFEST_TARGET_FILE_SIZE: Final[Option[int]] = Option(
    "manifest.target-file-size",
    parse.size_bytes,
    8388608,
    "size of a manifest",
    fits=fits.at_least(1),
)
MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE: Final[Option[int]] = Option(
    "manifest.full-compaction-threshold-size",
    parse.size_bytes,
    16777216,
    "size of changed manifests at which all manifests are merged",
)
MANIFEST_MERGE_MIN_COUNT: Final[Option[int]] = Option(
    "manifest.merge-min-count",
    parse.integer,
    30,
    "number of small manifests at which they are merged",
    fits=fits.at_least(1),
)
MANIFEST_COMPRESSION: Final[Option[str]] = Option(
    "manifest.compression", parse.text, "zstd", "codec of manifests", fits=fits.codec_of("avro")
)
MANIFEST_DELETE_FILE_DROP_STATS: Final[Option[bool]] = Option(
    "manifest.delete-file-drop-stats",
    parse.boolean,
    False,
    "write DELETE entries without statistics",
)
MANIFEST_MERGE_OPTIMIZE_ENABLED: Final[Option[bool]] = Option(
    "manifest.merge-optimize.enabled", parse.boolean, True, "accepted, no effect on what is stored"
)
MANIFEST_SORT_ENABLED: Final[Option[bool]] = Option(
    "manifest-sort.enabled",
    parse.boolean,
    False,
    "a full merge of manifests sorts entries by partition, so that scans open fewer manifests",
)
MANIFEST_SORT_PARTITION_FIELD: Final[Option[str | None]] = Option(
    "manifest-sort.partition-field",
    parse.text,
    None,
    "partition column to sort by first; default: the table's order",
    fits=fits.name,
)
COMMIT_FORCE_COMPACT: Final[Option[bool]] = Option(
    "commit.force-compact",
    parse.boolean,
    False,
    "accepted: a commit always waits for its compaction",
)
COMMIT_FORCE_CREATE_SNAPSHOT: Final[Option[bool]] = Option(
    "commit.force-create-snapshot",
    parse.boolean,
    False,
    "a stream makes a snapshot even without rows",
)
SNAPSHOT_IGNORE_EMPTY_COMMIT: Final[Option[bool | None]] = Option(
    "snapshot.ignore-empty-commit",
    parse.boolean,
    None,
    "make no snapshot for a commit without changes; default: true for batches, false for streams",
)
COMMIT_MAX_RETRIES: Final[Option[int]] = Option(
    "commit.max-retries",
    parse.integer,
    10,
    "how often a commit is tried again after a lost race",
    fits=fits.at_least(0),
)
COMMIT_MIN_RETRY_WAIT: Final[Option[int]] = Option(
    "commit.min-retry-wait", parse.duration_ms, 10, "first pause between attempts"
)
COMMIT_MAX_RETRY_WAIT: Final[Option[int]] = Option(
    "commit.max-retry-wait", parse.duration_ms, 10000, "longest pause between attempts"
)
COMMIT_TIMEOUT: Final[Option[int | None]] = Option(
    "commit.timeout", parse.duration_ms, None, "time limit for all attempts of a commit"
)
COMMIT_USER_PREFIX: Final[Option[str | None]] = Option(
    "commit.user-prefix", parse.text, None, "prefix of random commit users", fits=fits.name
)
COMMIT_DISCARD_DUPLICATE_FILES: Final[Option[bool]] = Option(
    "commit.discard-duplicate-files",
    parse.boolean,
    False,
    "an APPEND drops files that are committed already",
)
COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT: Final[Option[int | None]] = Option(
    "commit.strict-mode.last-safe-snapshot",
    parse.long_integer,
    None,
    "refuse a commit if another user compacted or overwrote after this snapshot",
    fits=fits.at_least(-1),
)
DYNAMIC_PARTITION_OVERWRITE: Final[Option[bool]] = Option(
    "dynamic-partition-overwrite",
    parse.boolean,
    True,
    "accepted, no effect: each write says whether it replaces partitions or the table",
)
OVERWRITE_UPGRADE: Final[Option[bool]] = Option(
    "overwrite-upgrade", parse.boolean, True, "an overwrite puts its files on the highest level"
)
WRITE_ONLY: Final[Option[bool]] = Option(
    "write-only",
    parse.boolean,
    False,
    "writers neither compact nor expire",
    aliases=("write.compaction-skip",),
)
ROW_TRACKING_ENABLED: Final[Option[bool]] = Option(
    "row-tracking.enabled", parse.boolean, False, "give each row an id", immutable=True
)
DATA_EVOLUTION_ENABLED: Final[Option[bool]] = Option(
    "data-evolution.enabled",
    parse.boolean,
    False,
    "files that hold only some of the columns",
    immutable=True,
)
