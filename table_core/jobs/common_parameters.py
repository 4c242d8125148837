"""Parameters that several actions have."""

from __future__ import annotations

from typing import Final

from table_core.jobs.action import Option, Parameter
from table_core.jobs.kinds import Kind

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
    name="dry_run", kind=Kind.FLAG, default=False, about="Only say what would be done."
)
IF_NOT_EXISTS: Final = Parameter(
    name="if_not_exists",
    kind=Kind.FLAG,
    default=True,
    about="Leave one of that name as it is.",
    option=Option(shown=False, default=False),
)
IF_EXISTS: Final = Parameter(
    name="if_exists",
    kind=Kind.FLAG,
    default=True,
    about="No error if it is not there.",
    option=Option(default=False),
)
SNAPSHOT: Final = Parameter(
    name="snapshot", kind=Kind.SNAPSHOT, about="This snapshot.", templated=True
)
TAG: Final = Parameter(name="tag", kind=Kind.TEXT, about="The state of this tag.", templated=True)
TIMESTAMP: Final = Parameter(
    name="timestamp",
    kind=Kind.MOMENT,
    about="The newest state at this time, e.g. 2026-01-31T10:00:00+00:00.",
    templated=True,
)
PARTITIONS: Final = Parameter(
    name="partitions",
    kind=Kind.PARTITIONS,
    about="Only these partitions.",
    templated=True,
    option=Option(flag="--partition", about="dt=2026-01-01,hour=5; may be repeated."),
)
IDLE_TIME: Final = Parameter(
    name="idle_time",
    kind=Kind.LENGTH,
    about="Not written to for so long, e.g. '1 h'.",
    templated=True,
)
INCLUDING: Final = Parameter(
    name="including",
    kind=Kind.PATTERN,
    default=".*",
    about="A regular expression for whole table names.",
    templated=True,
)
EXCLUDING: Final = Parameter(
    name="excluding",
    kind=Kind.PATTERN,
    default="",
    about="A regular expression for whole table names.",
    templated=True,
)
NAME: Final = Parameter(
    name="name",
    kind=Kind.TEXT,
    about="Its name.",
    required=True,
    templated=True,
    option=Option(argument="NAME"),
)
"""Of a tag or branch: operators name it after what it is."""
RETAIN_MAX: Final = Parameter(name="retain_max", kind=Kind.COUNT, about="Keep at most so many.")
RETAIN_MIN: Final = Parameter(name="retain_min", kind=Kind.COUNT, about="Keep at least so many.")
MAX_DELETES: Final = Parameter(
    name="max_deletes", kind=Kind.COUNT, about="Delete at most so many at once.", option=None
)
SQL_PARAMETERS: Final = Parameter(
    name="parameters",
    kind=Kind.VALUES,
    about="The values of $name in the SQL, bound.",
    templated=True,
    option=None,
)
