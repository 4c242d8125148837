"""Zoned times in ORC files: as moments, or as the zone of whoever wrote them made of them.

Without ``orc.timestamp-ltz.legacy.type=false`` Apache Paimon in Java shifts them by the zone of its process, and
keeps no word of that zone.  Noon of UTC, by the zone of the process that writes and of the one that reads:

    written by      stored as     Java in UTC    Java in Kathmandu    here
    Java in UTC     12:00 UTC     12:00 UTC      17:45 UTC            12:00 UTC
    Kathmandu       06:15 UTC     06:15 UTC      12:00 UTC            06:15 UTC
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.datatypes.text import type_text
from table_core.options import keys_files

if TYPE_CHECKING:
    from table_core.schema.table_schema import TableSchema

__all__ = ["ORC_MOMENTS", "has_zoned_orc", "may_be_shifted", "with_orc_moments"]

ORC_MOMENTS: Final = "orc.timestamp-ltz.legacy.type"
"""``false``: ORC files hold zoned times as moments."""


def with_orc_moments(schema: TableSchema) -> TableSchema:
    """ORC files of zoned times as moments, which Java reads alike in any zone; unless a user says otherwise."""
    if not has_zoned_orc(schema) or ORC_MOMENTS in schema.raw_options:
        return schema
    return replace(schema, raw_options={**schema.raw_options, ORC_MOMENTS: "false"})


def has_zoned_orc(schema: TableSchema) -> bool:
    """Whether ORC files of the table may hold zoned times, inside others too."""
    options = schema.options
    formats = {
        options.get(keys_files.FILE_FORMAT).lower(),
        (options.get(keys_files.CHANGELOG_FILE_FORMAT) or "").lower(),
        *(name.lower() for name in options.get(keys_files.FILE_FORMAT_PER_LEVEL).values()),
    }
    zoned = any("LOCAL TIME ZONE" in type_text(field.type).upper() for field in schema.fields)
    return "orc" in formats and zoned


def may_be_shifted(schema: TableSchema) -> bool:
    """Whether Java that runs in another zone than UTC reads and writes other moments than we do."""
    asked = schema.raw_options.get(ORC_MOMENTS, "true")
    return asked.strip().lower() != "false" and has_zoned_orc(schema)
