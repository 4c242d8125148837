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
    "how versions of a key are merged: deduplicate, partial-update, aggregation or first-row",
    immutable=True,
)
SEQUENCE_FIELD: Final[Option[tuple[str, ...]]] = Option(
    "sequence.field", parse.column_list, (), "columns that decide which version of a key is newer"
)
SEQUENCE_FIELD_SORT_ORDER: Final[Option[str]] = Option(
    "sequence.field.sort-order",
    parse.choice("ascending", "descending"),
    "ascending",
    "order of sequence.field: ascending or descending",
)
SEQUENCE_SNAPSHOT_ORDERING: Final[Option[bool]] = Option(
    "sequence.snapshot-ordering",
    parse.boolean,
    False,
    "order versions of a key by snapshot id",
    immutable=True,
)
WRITE_SEQUENCE_NUMBER_INIT_MODE: Final[Option[str]] = Option(
    "write.sequence-number-init-mode",
    parse.choice("scan", "snapshot"),
    "scan",
    "accepted, no effect: existing files always say where the numbers continue",
)
ROWKIND_FIELD: Final[Option[str | None]] = Option(
    "rowkind.field",
    parse.text,
    None,
    "column that holds the row kind",
    immutable=True,
    fits=fits.name,
)
IGNORE_DELETE: Final[Option[bool]] = Option(
    "ignore-delete",
    parse.boolean,
    False,
    "drop -U and -D rows on write",
    aliases=(
        "partial-update.ignore-delete",
        "first-row.ignore-delete",
        "deduplicate.ignore-delete",
    ),
)
IGNORE_UPDATE_BEFORE: Final[Option[bool]] = Option(
    "ignore-update-before", parse.boolean, False, "drop -U rows on write"
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
    "fields.default-aggregate-function",
    parse.text,
    None,
    "aggregate function of columns that declare none",
    fits=fits.name,
)
RECORD_LEVEL_EXPIRE_TIME: Final[Option[int | None]] = Option(
    "record-level.expire-time", parse.duration_ms, None, "how long rows are kept"
)
RECORD_LEVEL_TIME_FIELD: Final[Option[str | None]] = Option(
    "record-level.time-field", parse.text, None, "column with the time of a row", fits=fits.name
)
