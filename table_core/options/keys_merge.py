"""Table options: merge semantics.

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "AGGREGATION_REMOVE_RECORD_ON_DELETE",
    "FIELDS_DEFAULT_AGGREGATE_FUNCTION",
    "IGNORE_DELETE",
    "IGNORE_UPDATE_BEFORE",
    "MERGE_ENGINE",
    "PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE",
    "PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP",
    "RECORD_LEVEL_EXPIRE_TIME",
    "RECORD_LEVEL_TIME_FIELD",
    "ROWKIND_FIELD",
    "SEQUENCE_FIELD",
    "SEQUENCE_FIELD_SORT_ORDER",
    "SEQUENCE_SNAPSHOT_ORDERING",
    "WRITE_SEQUENCE_NUMBER_INIT_MODE",
]

MERGE_ENGINE: Final[Option[str]] = Option(
    "merge-engine",
    parse.choice("deduplicate", "partial-update", "aggregation", "first-row"),
    "deduplicate",
    "deduplicate / partial-update / aggregation / first-row; immutable",
    immutable=True,
)
SEQUENCE_FIELD: Final[Option[tuple[str, ...]]] = Option(
    "sequence.field", parse.column_list, (), "ordering columns"
)
SEQUENCE_FIELD_SORT_ORDER: Final[Option[str]] = Option(
    "sequence.field.sort-order",
    parse.choice("ascending", "descending"),
    "ascending",
    "ascending / descending",
)
SEQUENCE_SNAPSHOT_ORDERING: Final[Option[bool]] = Option(
    "sequence.snapshot-ordering",
    parse.boolean,
    False,
    "order by snapshot id; immutable",
    immutable=True,
)
WRITE_SEQUENCE_NUMBER_INIT_MODE: Final[Option[str]] = Option(
    "write.sequence-number-init-mode",
    parse.choice("scan", "snapshot"),
    "scan",
    "accepted: existing files always say where the numbers go on",
)
ROWKIND_FIELD: Final[Option[str | None]] = Option(
    "rowkind.field",
    parse.text,
    None,
    "column holding the row kind; immutable",
    immutable=True,
    fits=fits.name,
)
IGNORE_DELETE: Final[Option[bool]] = Option(
    "ignore-delete",
    parse.boolean,
    False,
    "drop -U and -D on write",
    aliases=(
        "partial-update.ignore-delete",
        "first-row.ignore-delete",
        "deduplicate.ignore-delete",
    ),
)
IGNORE_UPDATE_BEFORE: Final[Option[bool]] = Option(
    "ignore-update-before", parse.boolean, False, "drop -U on write"
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE: Final[Option[bool]] = Option(
    "partial-update.remove-record-on-delete",
    parse.boolean,
    False,
    "-D removes the row",
    immutable=True,
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP: Final[Option[tuple[str, ...]]] = Option(
    "partial-update.remove-record-on-sequence-group",
    parse.column_list,
    (),
    "sequence groups whose -D removes the row",
    immutable=True,
)
AGGREGATION_REMOVE_RECORD_ON_DELETE: Final[Option[bool]] = Option(
    "aggregation.remove-record-on-delete",
    parse.boolean,
    False,
    "-D removes the row instead of retracting its values",
    immutable=True,
)
FIELDS_DEFAULT_AGGREGATE_FUNCTION: Final[Option[str | None]] = Option(
    "fields.default-aggregate-function", parse.text, None, "fallback function", fits=fits.name
)
RECORD_LEVEL_EXPIRE_TIME: Final[Option[int | None]] = Option(
    "record-level.expire-time", parse.duration_ms, None, "retention of rows"
)
RECORD_LEVEL_TIME_FIELD: Final[Option[str | None]] = Option(
    "record-level.time-field", parse.text, None, "time column", fits=fits.name
)
