"""Shapes that many arguments have."""

from __future__ import annotations

import re
from typing import Final

from table_core.shapes.containers import ListOf, MapOf
from table_core.shapes.shape import AnyValue, Flag, Nothing, Number, OneOf, Setting, Text
from table_core.shapes.times import Length, Moment

__all__ = [
    "ASSIGNMENTS",
    "CLAUSE",
    "CONDITION",
    "COUNT",
    "FLAG",
    "INTEGER",
    "LENGTH",
    "MOMENT",
    "NAMES",
    "NAMES_OR_VALUES",
    "NOTHING",
    "NUMBERS",
    "OPTIONS",
    "PARTITIONS",
    "PATTERN",
    "POSITION",
    "RECORDS",
    "SNAPSHOT",
    "SQL",
    "TABLE",
    "TEXT",
    "TEXT_OR_VALUES",
    "VALUES",
    "words",
]


def _compiles(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        return str(error)
    return ""


def words(*one_of: str) -> Text:
    """One of a few words."""
    return Text(one_of=one_of)


_LONG_MAX: Final = 2**63 - 1
"""Counts, ids and times are stored in 64 bits."""
NOTHING: Final = Nothing()
FLAG: Final = Flag()
COUNT: Final = Number(minimum=1, maximum=_LONG_MAX)
INTEGER: Final = Number(minimum=-_LONG_MAX, maximum=_LONG_MAX)
SNAPSHOT: Final = Number(minimum=1, maximum=_LONG_MAX, what="the id of a snapshot")
POSITION: Final = Number(minimum=0, maximum=_LONG_MAX, what="the id of a snapshot, or 0")
MOMENT: Final = Moment()
LENGTH: Final = Length()
TEXT: Final = Text()
CONDITION: Final = Text(what="a SQL condition")
SQL: Final = Text(what="a SQL query")
PATTERN: Final = Text(what="a regular expression", judge=_compiles)
CLAUSE: Final = words(
    "matched-upsert",
    "matched-delete",
    "not-matched-insert",
    "not-matched-by-source-upsert",
    "not-matched-by-source-delete",
)
"""What a merge does with a row."""
NAMES: Final = ListOf(item=TEXT, what="a list of names")
VALUES: Final = MapOf(item=AnyValue(), what="names to values")
OPTIONS: Final = MapOf(item=Setting(), what="options, by name")
TABLE: Final = Text(pattern=r"[^./\\\s]+\.[^./\\\s]+", what="database.table")
NUMBERS: Final = MapOf(item=Number(whole=False), what="names to numbers")
RECORDS: Final = ListOf(item=VALUES, what="a list of mappings")
ASSIGNMENTS: Final = MapOf(item=Text(what="SQL"), least=1, what="columns to SQL")
PARTITIONS: Final = ListOf(item=VALUES, what="a list of partitions, e.g. [{'dt': '2026-01-01'}]")
NAMES_OR_VALUES: Final = OneOf(what="a list of names, or names to values", shapes=(NAMES, VALUES))
TEXT_OR_VALUES: Final = OneOf(what="text, or names to values", shapes=(TEXT, VALUES))
