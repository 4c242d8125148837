"""Shapes that many arguments have."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from table_core.shapes.around import Instance, Judged, OrNothing
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.rows import ROWS_OPTIONS
from table_core.shapes.shape import AnyValue, Flag, Nothing, Number, OneOf, Setting, Text
from table_core.shapes.texts import FILLED, LINE, POSITION_NAME, TABLE, VIEW
from table_core.shapes.times import Length, Moment

__all__ = [
    "ASSIGNMENTS",
    "BOUND",
    "CLAUSE",
    "CLAUSES",
    "CONDITION",
    "COUNT",
    "COUNT_OR_NONE",
    "DRIFT",
    "EVENTS",
    "FILE_FORMAT",
    "FLAG",
    "HOPS",
    "INTEGER",
    "LENGTH",
    "MERGE_SOURCE",
    "MOMENT",
    "NAMED",
    "NAMES",
    "NAMES_OR_VALUES",
    "NOTHING",
    "NUMBERS",
    "OPTIONS",
    "OVERWRITE",
    "PARTITION",
    "PARTITIONS",
    "PATTERN",
    "PENDING",
    "POSITION",
    "RECORDS",
    "SNAPSHOT",
    "SOME_NAMES",
    "SOURCES",
    "SQL",
    "STATES",
    "TABLE",
    "TEXT",
    "VALUES",
    "source",
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
COUNT_OR_NONE: Final = Number(minimum=0, maximum=_LONG_MAX)
INTEGER: Final = Number(minimum=-_LONG_MAX, maximum=_LONG_MAX)
SNAPSHOT: Final = Number(minimum=1, maximum=_LONG_MAX, what="the id of a snapshot")
POSITION: Final = Number(minimum=0, maximum=_LONG_MAX, what="the id of a snapshot, or 0")
MOMENT: Final = Moment()
LENGTH: Final = Length()
TEXT: Final = Text()
CONDITION: Final = replace(FILLED, what="a SQL condition")
SQL: Final = replace(FILLED, what="a SQL query")
PATTERN: Final = Text(what="a regular expression", judge=_compiles)
CLAUSE: Final = words(
    "matched-upsert",
    "matched-delete",
    "not-matched-insert",
    "not-matched-by-source-upsert",
    "not-matched-by-source-delete",
)
"""What a merge does with a row."""
NAMES: Final = ListOf(item=LINE, each_once=True, what="a list of names")
SOME_NAMES: Final = replace(NAMES, least=1)
"""Where none would mean something else."""
NAMED: Final[dict[str, Any]] = {"names": r"(.|\n)*\S(.|\n)*", "names_are": "no name"}
"""Members whose names are not blank."""
VALUES: Final = MapOf(item=AnyValue(), what="names to values")
OPTIONS: Final = MapOf(item=Setting(), what="options, by name")
NUMBERS: Final = MapOf(item=Number(whole=False), what="names to numbers")
RECORDS: Final = ListOf(item=VALUES, what="a list of mappings")
ASSIGNMENTS: Final = MapOf(
    item=replace(FILLED, what="SQL"), least=1, what="columns to SQL", **NAMED
)
PARTITION: Final = MapOf(
    item=Instance(
        of=(str, int, float, bool, date, datetime, Decimal, type(None)),
        what="a value of a partition column",
    ),
    least=1,
    **NAMED,
)
PARTITIONS: Final = ListOf(item=PARTITION, what="a list of partitions, e.g. [{'dt': '2026-01-01'}]")
OVERWRITE: Final = OneOf(
    what="table, partitions or a partition", shapes=(words("partitions", "table"), PARTITION)
)
_VIEWS: Final[dict[str, Any]] = {
    "names": VIEW,
    "names_are": "no name: letters, digits and _, no digit first",
}
_SOURCE: Final = {"table": TABLE, "position": OrNothing(inner=POSITION_NAME)}
SOURCES: Final = MapOf(
    item=Record(members={**_SOURCE, "mode": words("snapshot", "changes")}, required=["table"]),
    what="view names to {table, mode, position}",
    **_VIEWS,
)
_NEWEST: Final = Text(
    pattern="snapshot", what="snapshot, for a merge reads the newest snapshot of a table"
)
STATES: Final = MapOf(
    item=Record(members={"table": TABLE, "mode": _NEWEST, "position": NOTHING}, required=["table"]),
    **_VIEWS,
)
BOUND: Final = MapOf(item=AnyValue(), what="names to values", **_VIEWS)
"""Values of ``$name`` in SQL."""
PENDING: Final = Record(
    members={"table": TABLE, "sql": FILLED, "view": Text(pattern=VIEW, what="a name")},
    required=["table", "sql"],
)


def source(*one_of: str) -> Judged:
    """A source of change events of one of these kinds, ``files`` where it says none."""

    def judge(members: dict[str, Any]) -> None:
        kind = members.get("kind", "files")
        words(*one_of).require(kind, "kind")
        if kind == "files":
            LINE.require(members.get("uri"), "uri")

    return Judged(inner=MapOf(item=AnyValue(), **NAMED), judge=judge, what="names to values")


EVENTS: Final = words("changes", "any", "none")
"""Which commits of a task emit an event of its table's asset."""
DRIFT: Final = words("apply", "fail", "ignore")
"""What becomes of a table that is not as declared."""
FILE_FORMAT: Final = words("parquet", "csv", "json")
MERGE_SOURCE: Final = Record(
    members={
        "table": TABLE,
        "path": LINE,
        "files": SOME_NAMES,
        "format": OrNothing(inner=FILE_FORMAT),
        "options": OrNothing(inner=ROWS_OPTIONS),
        "sql": FILLED,
        "sources": OrNothing(inner=STATES),
    },
    exactly_one=("table", "path", "files", "sql"),
    only_with={"sources": "sql", "format": "files", "options": "files"},
)
CLAUSES: Final = ListOf(
    item=Record(
        members={
            "action": CLAUSE,
            "values": OrNothing(inner=ASSIGNMENTS),
            "condition": OrNothing(inner=FILLED),
        },
        required=["action"],
    ),
    least=1,
)
"""What a merge does, clause by clause."""
HOPS: Final = ListOf(
    item=Record(
        members={"name": LINE, "action": LINE, "target": LINE, "args": MapOf(item=AnyValue())},
        required=["name", "action", "target"],
    ),
    least=1,
    what="a list of {name, action, target, args}",
)
"""The steps of a pipeline, each as a job of its own would have it."""
NAMES_OR_VALUES: Final = OneOf(what="a list of names, or names to values", shapes=(NAMES, VALUES))
