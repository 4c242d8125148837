"""Table options: retention, tags, partitions.

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "ADD_COLUMN_BEFORE_PARTITION",
    "ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED",
    "CHANGELOG_NUM_RETAINED_MAX",
    "CHANGELOG_NUM_RETAINED_MIN",
    "CHANGELOG_TIME_RETAINED",
    "DISABLE_EXPLICIT_TYPE_CASTING",
    "END_INPUT_CHECK_PARTITION_EXPIRE",
    "PARTITION_END_INPUT_TO_DONE",
    "PARTITION_EXPIRATION_BATCH_SIZE",
    "PARTITION_EXPIRATION_CHECK_INTERVAL",
    "PARTITION_EXPIRATION_MAX_NUM",
    "PARTITION_EXPIRATION_STRATEGY",
    "PARTITION_EXPIRATION_TIME",
    "PARTITION_MARK_DONE_ACTION",
    "PARTITION_TIMESTAMP_FORMATTER",
    "PARTITION_TIMESTAMP_PATTERN",
    "SINK_PROCESS_TIME_ZONE",
    "SINK_WATERMARK_TIME_ZONE",
    "SNAPSHOT_CLEAN_EMPTY_DIRECTORIES",
    "SNAPSHOT_EXPIRE_EXECUTION_MODE",
    "SNAPSHOT_EXPIRE_LIMIT",
    "SNAPSHOT_NUM_RETAINED_MAX",
    "SNAPSHOT_NUM_RETAINED_MIN",
    "SNAPSHOT_TIME_RETAINED",
    "SNAPSHOT_WATERMARK_IDLE_TIMEOUT",
    "TAG_AUTOMATIC_COMPLETION",
    "TAG_AUTOMATIC_CREATION",
    "TAG_BATCH_CUSTOMIZED_NAME",
    "TAG_CREATE_SUCCESS_FILE",
    "TAG_CREATION_DELAY",
    "TAG_CREATION_PERIOD",
    "TAG_CREATION_PERIOD_DURATION",
    "TAG_DEFAULT_TIME_RETAINED",
    "TAG_NUM_RETAINED_MAX",
    "TAG_PERIOD_FORMATTER",
    "TAG_TIME_EXPIRE_ENABLED",
]

SNAPSHOT_NUM_RETAINED_MIN: Final[Option[int]] = Option(
    "snapshot.num-retained.min", parse.integer, 10, "fewest snapshots to keep"
)
SNAPSHOT_NUM_RETAINED_MAX: Final[Option[int]] = Option(
    "snapshot.num-retained.max",
    parse.integer,
    2**31 - 1,
    "most snapshots to keep",
    fits=fits.at_least(1),
)
SNAPSHOT_TIME_RETAINED: Final[Option[int]] = Option(
    "snapshot.time-retained", parse.duration_ms, 3600000, "how long snapshots are kept"
)
SNAPSHOT_EXPIRE_LIMIT: Final[Option[int]] = Option(
    "snapshot.expire.limit",
    parse.integer,
    50,
    "most snapshots that expire in one run",
    fits=fits.at_least(1),
)
SNAPSHOT_EXPIRE_EXECUTION_MODE: Final[Option[str]] = Option(
    "snapshot.expire.execution-mode",
    parse.choice("sync", "async"),
    "sync",
    "when expiry runs: sync or async",
)
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES: Final[Option[bool]] = Option(
    "snapshot.clean-empty-directories",
    parse.boolean,
    False,
    "delete folders that expiry leaves empty",
    aliases=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_WATERMARK_IDLE_TIMEOUT: Final[Option[int | None]] = Option(
    "snapshot.watermark-idle-timeout",
    parse.duration_ms,
    None,
    "tags by watermark: after this long without a snapshot, a commit without rows makes one",
)
CHANGELOG_NUM_RETAINED_MIN: Final[Option[int | None]] = Option(
    "changelog.num-retained.min",
    parse.integer,
    None,
    "fewest changelogs to keep; default: as for snapshots",
    fits=fits.at_least(1),
)
CHANGELOG_NUM_RETAINED_MAX: Final[Option[int | None]] = Option(
    "changelog.num-retained.max",
    parse.integer,
    None,
    "most changelogs to keep; default: as for snapshots",
    fits=fits.at_least(1),
)
CHANGELOG_TIME_RETAINED: Final[Option[int | None]] = Option(
    "changelog.time-retained",
    parse.duration_ms,
    None,
    "how long changelogs are kept; default: as for snapshots",
)
PARTITION_EXPIRATION_TIME: Final[Option[int | None]] = Option(
    "partition.expiration-time",
    parse.duration_ms,
    None,
    "age at which partitions expire; unset: never",
)
PARTITION_EXPIRATION_CHECK_INTERVAL: Final[Option[int]] = Option(
    "partition.expiration-check-interval",
    parse.duration_ms,
    3600000,
    "how often partitions are checked",
)
PARTITION_EXPIRATION_STRATEGY: Final[Option[str]] = Option(
    "partition.expiration-strategy",
    parse.text,
    "values-time",
    "what decides the age of a partition: values-time, update-time or custom",
    fits=fits.one_of("values-time", "update-time", "custom"),
)
PARTITION_EXPIRATION_MAX_NUM: Final[Option[int]] = Option(
    "partition.expiration-max-num",
    parse.integer,
    100,
    "most partitions that expire in one run",
    fits=fits.at_least(1),
)
PARTITION_EXPIRATION_BATCH_SIZE: Final[Option[int | None]] = Option(
    "partition.expiration-batch-size",
    parse.integer,
    None,
    "number of partitions that one commit drops",
    fits=fits.at_least(1),
)
PARTITION_TIMESTAMP_FORMATTER: Final[Option[str | None]] = Option(
    "partition.timestamp-formatter",
    parse.text,
    None,
    "pattern of a partition's time, as in Java's DateTimeFormatter",
    fits=fits.date_pattern,
)
PARTITION_TIMESTAMP_PATTERN: Final[Option[str | None]] = Option(
    "partition.timestamp-pattern",
    parse.text,
    None,
    "how the time is built from partition columns, with `$column`",
    fits=fits.name,
)
END_INPUT_CHECK_PARTITION_EXPIRE: Final[Option[bool]] = Option(
    "end-input.check-partition-expire",
    parse.boolean,
    False,
    "check for expired partitions at the end of the input",
)
PARTITION_MARK_DONE_ACTION: Final[Option[str]] = Option(
    "partition.mark-done-action",
    parse.text,
    "success-file",
    "actions that mark a partition as done, as a list",
    fits=fits.members(
        fits.one_of("success-file", "done-partition", "mark-event", "http-report", "custom")
    ),
)
PARTITION_END_INPUT_TO_DONE: Final[Option[bool]] = Option(
    "partition.end-input-to-done",
    parse.boolean,
    False,
    "mark partitions done at the end of the input",
)
TAG_AUTOMATIC_CREATION: Final[Option[str]] = Option(
    "tag.automatic-creation",
    parse.choice("none", "process-time", "watermark", "batch"),
    "none",
    "what creates tags: none, process-time, watermark or batch",
)
TAG_CREATION_PERIOD: Final[Option[str]] = Option(
    "tag.creation-period",
    parse.choice("daily", "hourly", "two-hours"),
    "daily",
    "period of automatic tags: daily, hourly or two-hours",
)
TAG_CREATION_PERIOD_DURATION: Final[Option[int | None]] = Option(
    "tag.creation-period-duration",
    parse.duration_ms,
    None,
    "period of automatic tags, as a duration",
    fits=fits.at_least(1),
)
TAG_CREATION_DELAY: Final[Option[int]] = Option(
    "tag.creation-delay",
    parse.duration_ms,
    0,
    "how long after the end of a period its tag is created",
)
TAG_PERIOD_FORMATTER: Final[Option[str]] = Option(
    "tag.period-formatter",
    parse.Choice(
        ("with-dashes", "without-dashes", "without-dashes-and-spaces"),
        {
            "with-dashes": "with_dashes",
            "without-dashes": "without_dashes",
            "without-dashes-and-spaces": "without_dashes_and_spaces",
        },
    ),
    "with-dashes",
    "names of automatic tags: with_dashes, without_dashes or without_dashes_and_spaces",
)
SINK_PROCESS_TIME_ZONE: Final[Option[str | None]] = Option(
    "sink.process-time-zone",
    parse.text,
    None,
    "zone of the days and hours of tags by process time; default: the zone of the process",
    fits=fits.zone,
)
SINK_WATERMARK_TIME_ZONE: Final[Option[str]] = Option(
    "sink.watermark-time-zone",
    parse.text,
    "UTC",
    "zone of the days and hours of tags by watermark",
    fits=fits.zone,
)
TAG_NUM_RETAINED_MAX: Final[Option[int | None]] = Option(
    "tag.num-retained-max",
    parse.integer,
    None,
    "most automatic tags to keep",
    fits=fits.at_least(1),
)
TAG_DEFAULT_TIME_RETAINED: Final[Option[int | None]] = Option(
    "tag.default-time-retained",
    parse.duration_ms,
    None,
    "how long a tag is kept if its creator names no time",
)
TAG_TIME_EXPIRE_ENABLED: Final[Option[bool]] = Option(
    "tag.time-expire-enabled", parse.boolean, True, "delete tags whose retention has ended"
)
TAG_AUTOMATIC_COMPLETION: Final[Option[bool]] = Option(
    "tag.automatic-completion", parse.boolean, False, "create missing automatic tags"
)
TAG_BATCH_CUSTOMIZED_NAME: Final[Option[str | None]] = Option(
    "tag.batch.customized-name", parse.text, None, "name of the tag of a batch", fits=fits.name
)
TAG_CREATE_SUCCESS_FILE: Final[Option[bool]] = Option(
    "tag.create-success-file", parse.boolean, False, "write a success file for each new tag"
)
ADD_COLUMN_BEFORE_PARTITION: Final[Option[bool]] = Option(
    "add-column-before-partition",
    parse.boolean,
    False,
    "add new columns before the partition columns",
)
ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED: Final[Option[bool]] = Option(
    "alter-column-null-to-not-null.disabled",
    parse.boolean,
    True,
    "refuse to make a nullable column NOT NULL",
)
DISABLE_EXPLICIT_TYPE_CASTING: Final[Option[bool]] = Option(
    "disable-explicit-type-casting",
    parse.boolean,
    False,
    "allow only implicit casts when a column type changes",
)
