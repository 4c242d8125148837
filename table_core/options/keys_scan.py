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
    "SCAN_FALLBACK_BRANCH",
    "SCAN_FILE_CREATION_TIME_MILLIS",
    "SCAN_IGNORE_CORRUPT_FILES",
    "SCAN_IGNORE_LOST_FILES",
    "SCAN_INFER_PARALLELISM",
    "SCAN_MODE",
    "SCAN_PARALLELISM",
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
    "none / input / lookup / full-compaction",
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE: Final[Option[bool]] = Option(
    "changelog-producer.row-deduplicate", parse.boolean, False, "no -U/+U for identical rows"
)
CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS: Final[Option[tuple[str, ...]]] = Option(
    "changelog-producer.row-deduplicate-ignore-fields",
    parse.column_list,
    (),
    "ignored when comparing",
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
    "where a read begins; see reading.md",
    aliases=("log.scan",),
)
SCAN_SNAPSHOT_ID: Final[Option[int | None]] = Option(
    "scan.snapshot-id", parse.long_integer, None, "start snapshot", fits=fits.at_least(0)
)
SCAN_TAG_NAME: Final[Option[str | None]] = Option(
    "scan.tag-name", parse.text, None, "tag to read", fits=fits.name
)
SCAN_TIMESTAMP: Final[Option[str | None]] = Option(
    "scan.timestamp", parse.text, None, "timestamp text, UTC without a zone", fits=fits.timestamp
)
SCAN_TIMESTAMP_MILLIS: Final[Option[int | None]] = Option(
    "scan.timestamp-millis",
    parse.long_integer,
    None,
    "epoch millis",
    aliases=("log.scan.timestamp-millis",),
    fits=fits.at_least(0),
)
SCAN_WATERMARK: Final[Option[int | None]] = Option(
    "scan.watermark", parse.long_integer, None, "batch: first snapshot with watermark ≥"
)
SCAN_FILE_CREATION_TIME_MILLIS: Final[Option[int | None]] = Option(
    "scan.file-creation-time-millis",
    parse.long_integer,
    None,
    "files created after",
    fits=fits.at_least(0),
)
SCAN_CREATION_TIME_MILLIS: Final[Option[int | None]] = Option(
    "scan.creation-time-millis",
    parse.long_integer,
    None,
    "snapshot or file creation start",
    fits=fits.at_least(0),
)
SCAN_BOUNDED_WATERMARK: Final[Option[int | None]] = Option(
    "scan.bounded.watermark", parse.long_integer, None, "end of bounded stream"
)
SCAN_FALLBACK_BRANCH: Final[Option[str | None]] = Option(
    "scan.fallback-branch", parse.text, None, "branch for missing partitions", fits=fits.name
)
SCAN_PLAN_SORT_PARTITION: Final[Option[bool]] = Option(
    "scan.plan-sort-partition", parse.boolean, False, "sort splits by partition"
)
SCAN_IGNORE_CORRUPT_FILES: Final[Option[bool]] = Option(
    "scan.ignore-corrupt-files", parse.boolean, False, "skip corrupt"
)
SCAN_IGNORE_LOST_FILES: Final[Option[bool]] = Option(
    "scan.ignore-lost-files", parse.boolean, False, "skip missing"
)
INCREMENTAL_BETWEEN: Final[Option[str | None]] = Option(
    "incremental-between", parse.text, None, "ids or tags, (start, end]", fits=fits.two_ends
)
INCREMENTAL_BETWEEN_TIMESTAMP: Final[Option[str | None]] = Option(
    "incremental-between-timestamp", parse.text, None, "timestamps", fits=fits.two_times
)
INCREMENTAL_BETWEEN_SCAN_MODE: Final[Option[str]] = Option(
    "incremental-between-scan-mode",
    parse.choice("auto", "delta", "changelog", "diff"),
    "auto",
    "auto / delta / changelog / diff",
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT: Final[Option[bool]] = Option(
    "incremental-between-tag-to-snapshot", parse.boolean, False, "tags read as delta/changelog"
)
INCREMENTAL_TO_AUTO_TAG: Final[Option[str | None]] = Option(
    "incremental-to-auto-tag", parse.text, None, "diff to previous auto tag", fits=fits.name
)
STREAMING_READ_OVERWRITE: Final[Option[bool]] = Option(
    "streaming-read-overwrite", parse.boolean, False, "emit OVERWRITE snapshots (PK)"
)
STREAMING_READ_APPEND_OVERWRITE: Final[Option[bool]] = Option(
    "streaming-read-append-overwrite", parse.boolean, False, "emit them for append tables"
)
STREAMING_READ_SNAPSHOT_DELAY: Final[Option[int | None]] = Option(
    "streaming.read.snapshot.delay", parse.duration_ms, None, "minimum snapshot age"
)
CONTINUOUS_DISCOVERY_INTERVAL: Final[Option[int]] = Option(
    "continuous.discovery-interval", parse.duration_ms, 10000, "polling", fits=fits.at_least(1)
)
CONSUMER_ID: Final[Option[str | None]] = Option(
    "consumer-id", parse.text, None, "consumer name", fits=fits.name
)
CONSUMER_MODE: Final[Option[str]] = Option(
    "consumer.mode",
    parse.choice("exactly-once", "at-least-once"),
    "exactly-once",
    "exactly-once / at-least-once",
)
CONSUMER_EXPIRATION_TIME: Final[Option[int | None]] = Option(
    "consumer.expiration-time", parse.duration_ms, None, "delete stale consumer files"
)
CONSUMER_IGNORE_PROGRESS: Final[Option[bool]] = Option(
    "consumer.ignore-progress", parse.boolean, False, "ignore stored progress"
)
CONSUMER_CHANGELOG_ONLY: Final[Option[bool]] = Option(
    "consumer.changelog-only", parse.boolean, False, "consumers protect changelogs only"
)
SOURCE_SPLIT_TARGET_SIZE: Final[Option[int]] = Option(
    "source.split.target-size",
    parse.size_bytes,
    134217728,
    "split packing size",
    fits=fits.at_least(1),
)
SOURCE_SPLIT_OPEN_FILE_COST: Final[Option[int]] = Option(
    "source.split.open-file-cost", parse.size_bytes, 4194304, "minimum file weight"
)
SCAN_VERSION: Final[Option[str | None]] = Option(
    "scan.version", parse.text, None, "snapshot id or tag name to read", fits=fits.name
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
    "one task per bucket or split group when no parallelism is given",
)
SCAN_REMOVE_NORMALIZE: Final[Option[bool]] = Option(
    "scan.remove-normalize", parse.boolean, False, "hint of another engine, no effect here"
)
TABLE_READ_SEQUENCE_NUMBER_ENABLED: Final[Option[bool]] = Option(
    "table-read.sequence-number.enabled",
    parse.boolean,
    False,
    "sequence numbers in the audit log and the binlog",
)
