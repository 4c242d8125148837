"""Table options: changelog and streaming read.

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "CHANGELOG_PRODUCER",
    "CHANGELOG_PRODUCER_ROW_DEDUPLICATE",
    "CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS",
    "CONSUMER_CHANGELOG_ONLY",
    "CONSUMER_EXPIRATION_TIME",
    "CONSUMER_ID",
    "CONSUMER_IGNORE_PROGRESS",
    "CONSUMER_MODE",
    "CONTINUOUS_DISCOVERY_INTERVAL",
    "DELETE_FORCE_PRODUCE_CHANGELOG",
    "INCREMENTAL_BETWEEN",
    "INCREMENTAL_BETWEEN_SCAN_MODE",
    "INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT",
    "INCREMENTAL_BETWEEN_TIMESTAMP",
    "INCREMENTAL_TO_AUTO_TAG",
    "SCAN_BOUNDED_WATERMARK",
    "SCAN_CREATION_TIME_MILLIS",
    "SCAN_DISTRIBUTED_PLANNING_MIN_MANIFESTS",
    "SCAN_FALLBACK_BRANCH",
    "SCAN_FILE_CREATION_TIME_MILLIS",
    "SCAN_IGNORE_CORRUPT_FILES",
    "SCAN_IGNORE_LOST_FILES",
    "SCAN_INFER_PARALLELISM",
    "SCAN_MODE",
    "SCAN_PARALLELISM",
    "SCAN_PARTITIONS",
    "SCAN_PLAN_SORT_PARTITION",
    "SCAN_REMOVE_NORMALIZE",
    "SCAN_SNAPSHOT_ID",
    "SCAN_TAG_NAME",
    "SCAN_TIMESTAMP",
    "SCAN_TIMESTAMP_MILLIS",
    "SCAN_VERSION",
    "SCAN_WATERMARK",
    "SOURCE_SPLIT_OPEN_FILE_COST",
    "SOURCE_SPLIT_TARGET_SIZE",
    "STREAMING_READ_APPEND_OVERWRITE",
    "STREAMING_READ_OVERWRITE",
    "STREAMING_READ_SNAPSHOT_DELAY",
    "TABLE_READ_SEQUENCE_NUMBER_ENABLED",
]

CHANGELOG_PRODUCER: Final[Option[str]] = Option(
    "changelog-producer",
    parse.choice("none", "input", "lookup", "full-compaction"),
    "none",
    "how changes are recorded: none, input, lookup or full-compaction",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE: Final[Option[bool]] = Option(
    "changelog-producer.row-deduplicate",
    parse.boolean,
    False,
    "record no -U/+U pair for rows that did not change",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS: Final[Option[tuple[str, ...]]] = Option(
    "changelog-producer.row-deduplicate-ignore-fields",
    parse.column_list,
    (),
    "columns that this comparison ignores",
)
DELETE_FORCE_PRODUCE_CHANGELOG: Final[Option[bool]] = Option(
    "delete.force-produce-changelog",
    parse.boolean,
    False,
    "accepted: a DELETE always writes the rows that go, so a changelog tells of them",
)
SCAN_MODE: Final[Option[str]] = Option(
    "scan.mode",
    parse.choice(
        "default",
        "full",
        "latest-full",
        "latest",
        "latest-delta",
        "compacted-full",
        "from-timestamp",
        "from-snapshot",
        "from-snapshot-full",
        "from-file-creation-time",
        "from-creation-timestamp",
        "incremental",
    ),
    "default",
    "where a read starts; see reading.md",
    aliases=("log.scan",),
)
SCAN_SNAPSHOT_ID: Final[Option[int | None]] = Option(
    "scan.snapshot-id",
    parse.long_integer,
    None,
    "snapshot at which a read starts",
    fits=fits.at_least(0),
)
SCAN_TAG_NAME: Final[Option[str | None]] = Option(
    "scan.tag-name", parse.text, None, "tag to read", fits=fits.name
)
SCAN_TIMESTAMP: Final[Option[str | None]] = Option(
    "scan.timestamp",
    parse.text,
    None,
    "time at which a read starts, as text; UTC if it has no zone, and in Java the zone of the process",
    fits=fits.timestamp,
)
SCAN_TIMESTAMP_MILLIS: Final[Option[int | None]] = Option(
    "scan.timestamp-millis",
    parse.long_integer,
    None,
    "time at which a read starts, in epoch milliseconds",
    aliases=("log.scan.timestamp-millis",),
    fits=fits.at_least(0),
)
SCAN_WATERMARK: Final[Option[int | None]] = Option(
    "scan.watermark",
    parse.long_integer,
    None,
    "batch: read the first snapshot whose watermark is at least this",
)
SCAN_FILE_CREATION_TIME_MILLIS: Final[Option[int | None]] = Option(
    "scan.file-creation-time-millis",
    parse.long_integer,
    None,
    "read files created after this time, in epoch milliseconds",
    fits=fits.at_least(0),
)
SCAN_CREATION_TIME_MILLIS: Final[Option[int | None]] = Option(
    "scan.creation-time-millis",
    parse.long_integer,
    None,
    "start for from-creation-timestamp, in epoch milliseconds",
    fits=fits.at_least(0),
)
SCAN_BOUNDED_WATERMARK: Final[Option[int | None]] = Option(
    "scan.bounded.watermark", parse.long_integer, None, "watermark at which a stream ends"
)
SCAN_FALLBACK_BRANCH: Final[Option[str | None]] = Option(
    "scan.fallback-branch",
    parse.text,
    None,
    "branch from which missing partitions are read",
    fits=fits.name,
)
SCAN_PARTITIONS: Final[Option[str | None]] = Option(
    "scan.partitions",
    parse.text,
    None,
    "partitions that reads and lookups see: dt=2026-01-01;dt=2026-01-02, max_pt() or max_two_pt()",
    aliases=("lookup.dynamic-partition",),
    fits=fits.partitions,
)
SCAN_PLAN_SORT_PARTITION: Final[Option[bool]] = Option(
    "scan.plan-sort-partition", parse.boolean, False, "sort splits by partition"
)
SCAN_DISTRIBUTED_PLANNING_MIN_MANIFESTS: Final[Option[int]] = Option(
    "scan.distributed-planning.min-manifests",
    parse.integer,
    16,
    "on Spark: from so many manifests on, tasks plan a read; counted as if each were of "
    "manifest.target-file-size (an option of this library)",
    fits=fits.at_least(1),
)
SCAN_IGNORE_CORRUPT_FILES: Final[Option[bool]] = Option(
    "scan.ignore-corrupt-files", parse.boolean, False, "skip corrupt files"
)
SCAN_IGNORE_LOST_FILES: Final[Option[bool]] = Option(
    "scan.ignore-lost-files", parse.boolean, False, "skip missing files"
)
INCREMENTAL_BETWEEN: Final[Option[str | None]] = Option(
    "incremental-between",
    parse.text,
    None,
    "range of snapshots or tags to read, (start, end]",
    fits=fits.two_ends,
)
INCREMENTAL_BETWEEN_TIMESTAMP: Final[Option[str | None]] = Option(
    "incremental-between-timestamp",
    parse.text,
    None,
    "range of times to read: epoch milliseconds, or text; UTC if it has no zone",
    fits=fits.two_times,
)
INCREMENTAL_BETWEEN_SCAN_MODE: Final[Option[str]] = Option(
    "incremental-between-scan-mode",
    parse.choice("auto", "delta", "changelog", "diff"),
    "auto",
    "what to read of the range: auto, delta, changelog or diff",
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT: Final[Option[bool]] = Option(
    "incremental-between-tag-to-snapshot",
    parse.boolean,
    False,
    "read a range of tags as the range of their snapshots",
)
INCREMENTAL_TO_AUTO_TAG: Final[Option[str | None]] = Option(
    "incremental-to-auto-tag",
    parse.text,
    None,
    "difference between this automatic tag and the one before",
    fits=fits.name,
)
STREAMING_READ_OVERWRITE: Final[Option[bool]] = Option(
    "streaming-read-overwrite",
    parse.boolean,
    False,
    "streams of key tables deliver OVERWRITE snapshots",
)
STREAMING_READ_APPEND_OVERWRITE: Final[Option[bool]] = Option(
    "streaming-read-append-overwrite",
    parse.boolean,
    False,
    "streams of append tables deliver OVERWRITE snapshots",
)
STREAMING_READ_SNAPSHOT_DELAY: Final[Option[int | None]] = Option(
    "streaming.read.snapshot.delay",
    parse.duration_ms,
    None,
    "streams read a snapshot only when it is this old",
)
CONTINUOUS_DISCOVERY_INTERVAL: Final[Option[int]] = Option(
    "continuous.discovery-interval",
    parse.duration_ms,
    10000,
    "pause between two checks for new snapshots",
    fits=fits.at_least(1),
)
CONSUMER_ID: Final[Option[str | None]] = Option(
    "consumer-id", parse.text, None, "name of the consumer", fits=fits.name
)
CONSUMER_MODE: Final[Option[str]] = Option(
    "consumer.mode",
    parse.choice("exactly-once", "at-least-once"),
    "exactly-once",
    "guarantee of the consumer: exactly-once or at-least-once",
)
CONSUMER_EXPIRATION_TIME: Final[Option[int | None]] = Option(
    "consumer.expiration-time",
    parse.duration_ms,
    None,
    "delete consumers that have not moved for this long",
)
CONSUMER_IGNORE_PROGRESS: Final[Option[bool]] = Option(
    "consumer.ignore-progress", parse.boolean, False, "ignore the stored progress of the consumer"
)
CONSUMER_CHANGELOG_ONLY: Final[Option[bool]] = Option(
    "consumer.changelog-only", parse.boolean, False, "consumers protect only changelogs from expiry"
)
SOURCE_SPLIT_TARGET_SIZE: Final[Option[int]] = Option(
    "source.split.target-size",
    parse.size_bytes,
    134217728,
    "size of a split",
    fits=fits.at_least(1),
)
SOURCE_SPLIT_OPEN_FILE_COST: Final[Option[int]] = Option(
    "source.split.open-file-cost",
    parse.size_bytes,
    4194304,
    "least weight of a file when splits are packed",
)
SCAN_VERSION: Final[Option[str | None]] = Option(
    "scan.version", parse.text, None, "snapshot id or tag to read", fits=fits.name
)
SCAN_PARALLELISM: Final[Option[int | None]] = Option(
    "scan.parallelism",
    parse.integer,
    None,
    "number of Spark tasks that read",
    fits=fits.at_least(1),
)
SCAN_INFER_PARALLELISM: Final[Option[bool]] = Option(
    "scan.infer-parallelism",
    parse.boolean,
    True,
    "without scan.parallelism, choose the number of tasks by buckets and splits",
)
SCAN_REMOVE_NORMALIZE: Final[Option[bool]] = Option(
    "scan.remove-normalize", parse.boolean, False, "hint of another engine, no effect here"
)
TABLE_READ_SEQUENCE_NUMBER_ENABLED: Final[Option[bool]] = Option(
    "table-read.sequence-number.enabled",
    parse.boolean,
    False,
    "show sequence numbers in the audit log and the binlog",
)
