"""Parameters that several actions have."""

from __future__ import annotations

from typing import Final

from table_core.jobs.action import Option, Parameter
from table_core.shapes import kinds
from table_core.shapes.texts import FILE_NAME

__all__ = [
    "DRY_RUN",
    "EXCLUDING",
    "IDLE_TIME",
    "INCLUDING",
    "MAX_DELETES",
    "PARTITIONS",
    "RETAIN_MAX",
    "RETAIN_MIN",
    "SNAPSHOT",
    "SQL_PARAMETERS",
    "TAG",
    "TIMESTAMP",
]

DRY_RUN: Final = Parameter(
    name="dry_run", shape=kinds.FLAG, default=False, about="Only report what would be done."
)
IF_NOT_EXISTS: Final = Parameter(
    name="if_not_exists",
    shape=kinds.FLAG,
    default=True,
    about="Keep an existing one of that name instead of failing.",
    option=Option(shown=False, default=False),
)
IF_EXISTS: Final = Parameter(
    name="if_exists",
    shape=kinds.FLAG,
    default=True,
    about="Succeed if it does not exist.",
    option=Option(default=False),
)
SNAPSHOT: Final = Parameter(
    name="snapshot",
    shape=kinds.SNAPSHOT,
    about="This snapshot.",
    templated=True,
    may_render_to_nothing=True,
)
TAG: Final = Parameter(name="tag", shape=FILE_NAME, about="The state of this tag.", templated=True)
TIMESTAMP: Final = Parameter(
    name="timestamp",
    shape=kinds.MOMENT,
    about="The newest state at this time, e.g. 2026-01-31T10:00:00+00:00.",
    templated=True,
    may_render_to_nothing=True,
)
PARTITIONS: Final = Parameter(
    name="partitions",
    shape=kinds.PARTITIONS,
    about="Only these partitions.",
    templated=True,
    option=Option(
        flag="--partition",
        about='E.g. dt=2026-01-01,hour=5, or as JSON: {"dt": null, "city": "a,b"}. Can be repeated.',
    ),
)
IDLE_TIME: Final = Parameter(
    name="idle_time",
    shape=kinds.LENGTH,
    about="Only what nobody has written to for this long, e.g. '1 h'.",
    templated=True,
)
INCLUDING: Final = Parameter(
    name="including",
    shape=kinds.PATTERN,
    default=".*",
    about="A regular expression for whole table names.",
    templated=True,
)
EXCLUDING: Final = Parameter(
    name="excluding",
    shape=kinds.PATTERN,
    default="",
    about="A regular expression for whole table names.",
    templated=True,
)
NAME: Final = Parameter(
    name="name",
    shape=FILE_NAME,
    about="The name.",
    required=True,
    templated=True,
    option=Option(argument="NAME"),
)
"""Of a tag or branch: operators name it after what it is."""
RETAIN_MAX: Final = Parameter(
    name="retain_max", shape=kinds.COUNT, about="Keep at most this many.", templated=True
)
RETAIN_MIN: Final = Parameter(
    name="retain_min", shape=kinds.COUNT, about="Keep at least this many.", templated=True
)
MAX_DELETES: Final = Parameter(
    name="max_deletes",
    shape=kinds.COUNT,
    about="Delete at most this many in one run.",
    option=None,
    templated=True,
)
SQL_PARAMETERS: Final = Parameter(
    name="parameters",
    shape=kinds.VALUES,
    about="The values of $name in the SQL. They are bound, not pasted.",
    templated=True,
    option=None,
)
