"""What may stand in a declaration: the one source of the checks and of the JSON Schema."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.difference import WORDS
from table_core.declaration.names import APPLY_TASK, UPKEEP_SUFFIX
from table_core.declaration.verbs import ACTIONS, DURATION, NAME, STEP, TAGS, TEXTS, upkeep_shape
from table_core.health.verdict import Thresholds
from table_core.jobs.engine_choice import ENGINES
from table_core.options import parse
from table_core.options.table import OPTIONS
from table_core.shapes import kinds
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.lengths import length_of_time
from table_core.shapes.problem import Written, value_of
from table_core.shapes.shape import (
    AnyValue,
    Flag,
    Nothing,
    Number,
    OneOf,
    Scalar,
    Shape,
    Text,
    unexpected,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.shapes.problem import Problem

__all__ = [
    "CHECK_RULES",
    "DECLARATION",
    "EXTERNAL",
    "GROUPS",
    "RUN_ACTIONS",
    "TABLE",
    "THRESHOLDS",
    "UPKEEP_ACTIONS",
    "VERSION",
    "json_schema",
]

_FLAGS: Final = frozenset(
    name
    for option in OPTIONS.values()
    if option.parse is parse.boolean
    for name in (option.key, *option.aliases)
)
TABLE_NAME: Final = r"[^./\\\s$][^./\\$]*\.[^./\\\s$][^./\\$]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(MapOf):
    """Options: their texts, and ``yes`` where an option asks for a flag."""

    def plain(self, value: Any) -> dict[str, Any]:
        """Key to text."""
        return {key: _option_text(key, item) for key, item in value.items()}


def _option_text(key: str, setting: Any) -> str:
    text = setting.text if isinstance(setting, Written) else str(setting)
    flag = value_of(setting)
    if isinstance(flag, bool) and (key in _FLAGS or text.lower() in {"true", "false"}):
        return "true" if flag else "false"
    return text


TABLE_OPTIONS: Final = Options(item=Text(), about="Table options of Paimon.")
_DESCRIBED: Final = {"type": Text(), "comment": Text(), "default": Text()}
_COMPUTED: Final = Text(
    about="How flows and syncs compute it from another column, e.g. year(order_time)."
)
_COLUMN: Final = OneOf(
    about="A type, e.g. BIGINT NOT NULL or MAP<STRING, DATE>; or {type, comment, default, computed}.",
    what="a type or {type, comment, default, computed}",
    shapes=[
        Text(),
        Record(members={**_DESCRIBED, "computed": _COMPUTED}, required=["type"]),
    ],
    named="column",
)
_COLUMN_OF_OTHERS: Final = OneOf(
    about="A type, e.g. BIGINT NOT NULL or MAP<STRING, DATE>; or {type, comment, default}.",
    what="a type or {type, comment, default}",
    shapes=[Text(), Record(members=_DESCRIBED, required=["type"])],
    named="column_of_others",
)
FRESHNESS: Final = Text(
    about="The largest age of the newest rows, e.g. 2 h.",
    pattern=length_of_time("s|sec", "min", "m", "h", "d"),
    what="a length of time with its unit, e.g. 2 h",
)
_WORD: Final = Text(one_of=tuple(WORDS))
MOVED: Final = Record(members={"from": Text(), "to": Text()}, required=["from", "to"])
ALLOW: Final = ListOf(item=_WORD, about="What an apply may take away, by words.")
TABLE: Final = Record(
    named="table",
    members={
        "columns": MapOf(item=_COLUMN, about="Column name to type, in order.", least=1),
        "primary_key": TEXTS,
        "partition_by": TEXTS,
        "options": TABLE_OPTIONS,
        "comment": Text(),
        "moved": ListOf(item=MOVED, about="Columns that get another name."),
        "allow": ALLOW,
        "audit": Flag(
            about="Whether readers see what a run writes only after the table's checks have passed."
        ),
        "tags": TAGS,
    },
    required=["columns"],
)
EXTERNAL: Final = Record(
    named="external",
    about="A table that somebody else maintains. It can be read, watched and checked, and is never changed.",
    members={
        "columns": MapOf(
            item=_COLUMN_OF_OTHERS,
            about="The columns that the table needs, with the widest type that each may have.",
            least=1,
        ),
        "comment": Text(),
        "freshness": FRESHNESS,
    },
)


VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version(Shape):
    """The one version of the language that there is."""

    @property
    def in_words(self) -> str:
        """It itself."""
        return f"`{VERSION}`"

    def problems(self, value: Any) -> Iterator[Problem]:
        """1."""
        number = value_of(value)
        if isinstance(number, bool) or number != VERSION:
            yield unexpected(value, f"version {VERSION}")

    def _schema(self, defs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": "integer", "const": VERSION}


_NO_NAME: Final = "no name: a name has letters, digits, - and _ only"
_PARTITION: Final = MapOf(item=Text(), least=1)
_SCHEDULE: Final = OneOf(
    about="A cron expression (H: a minute or hour by the name), or tables whose changes start it.",
    what="a cron expression or {changes: [tables]}",
    shapes=[
        Text(),
        Record(members={"changes": ListOf(item=Text(), least=1)}, required=["changes"]),
    ],
)
_ENGINE: Final = Text(one_of=ENGINES)
_ZONE: Final = "[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*"
_PIPELINE: Final = Record(
    members={
        "schedule": _SCHEDULE,
        "timezone": Text(
            about="The time zone of schedules, e.g. Europe/Oslo. Default: UTC.",
            pattern=_ZONE,
            what="a zone, e.g. Europe/Oslo",
        ),
        "params": MapOf(item=AnyValue(), about="Parameters of the Dag, as JSON Schema or value."),
        "retries": Number(minimum=0),
        "retry_delay": DURATION,
        "engine": _ENGINE,
        "max_active_tasks": Number(minimum=1),
        "tags": TAGS,
        "drift": replace(
            kinds.DRIFT, about="What the first task does if tables differ from the declaration."
        ),
    }
)
RUN_ACTIONS: Final = tuple(ACTIONS)
"""What the verb ``run`` may name."""
UPKEEP_ACTIONS: Final[dict[str, Shape]] = {
    "compact": upkeep_shape("compact", "strategy", "where", "order_by"),
    "expire-snapshots": upkeep_shape("expire-snapshots", "retain_max", "retain_min"),
    "expire-partitions": Record(
        members={"expiration_time": ACTIONS["expire-partitions"].takes["expiration_time"]}
    ),
    "expire-tags": Record(members={}),
    "rewrite-manifests": Record(members={}),
    "remove-orphan-files": Record(members={}, about="Files of more than a day that nothing names."),
}
_POLICY_MEMBERS: Final = {
    name: OneOf(what="settings, true or false", shapes=[Flag(), shape])
    for name, shape in UPKEEP_ACTIONS.items()
}
THRESHOLDS: Final = Record(
    about="When an action becomes due or urgent.",
    members={field.name: Number(minimum=0, whole=False) for field in fields(Thresholds)},
)
_RULES: Final = Record(members={**_POLICY_MEMBERS, "thresholds": THRESHOLDS}, named="rules")
_UPKEEP: Final = Record(
    members={
        "schedule": Text(about="A cron expression; H: a minute or hour by the name."),
        "max_concurrent_jobs": Number(minimum=1),
        "engine": _ENGINE,
        "tags": TAGS,
        "policy": _RULES,
        "databases": MapOf(item=_RULES, about="Patterns of database names, e.g. raw_*."),
        "tables": MapOf(item=_RULES),
    },
    required=["policy"],
)
_CHECKED: Final = ("not_null", "unique", "range", "rows", "change", "freshness", "sql")
CHECK_RULES: Final = (*_CHECKED, "where", "at_most")
"""What the check itself is told; the rest is for the Dag."""
_PAIR: Final = ListOf(
    item=OneOf(
        what="a number of at least 0, or null", shapes=[Number(minimum=0, whole=False), Nothing()]
    ),
    least=2,
    most=2,
)
_CHECK: Final = Record(
    named="check",
    members={
        "table": Text(),
        "not_null": ListOf(item=Text(), least=1),
        "unique": ListOf(
            item=Text(), least=1, about="Columns that together name one row; NULL is no value."
        ),
        "range": MapOf(
            item=ListOf(item=Scalar(), least=2, most=2),
            least=1,
            about="Column to [smallest, largest]. null means no bound.",
        ),
        "rows": ListOf(
            item=OneOf(
                what="a number of rows or null",
                shapes=[Number(minimum=0), Nothing()],
            ),
            least=2,
            most=2,
            about="[fewest, most]. null means no bound.",
        ),
        "sql": Text(about="A query over the table as `rows`: each row that it gives is a fault."),
        "change": replace(_PAIR, about="[lowest, highest] ratio of the row count to `against`'s."),
        "freshness": FRESHNESS,
        "against": Text(
            about="The table that `change` compares with. Default for an audited table: what readers see now."
        ),
        "where": Text(about="Which rows are looked at."),
        "at_most": OneOf(
            about="How many rows may break a rule: a number, or a share such as 1 %.",
            what="a number of rows, or a share such as 1 %",
            shapes=[
                Number(minimum=0),
                Text(pattern=r"[0-9]+(\.[0-9]+)?\s*%", what="a share such as 1 %"),
            ],
        ),
        "severity": Text(about="warn: only told.", one_of=("error", "warn")),
        "gate": Flag(about="Flows that read the table wait until the check has passed."),
        "tags": TAGS,
    },
    required=["table"],
    some_of=_CHECKED,
)
_TRIGGER: Final = Record(
    named="trigger",
    members={
        "table": Text(),
        "on": Text(one_of=("changes", "append", "overwrite", "delete", "compact", "any")),
        "start": Text(one_of=("latest", "earliest")),
        "poll_seconds": Number(minimum=0.1, whole=False),
        "min_rows": Number(minimum=0),
        "partitions": ListOf(item=_PARTITION, least=1),
        "events": Text(one_of=("poll", "snapshot")),
        "report": Record(
            members={"label_column": Text(), "value_column": Text()},
            required=["label_column", "value_column"],
        ),
        "flows": ListOf(item=Text(), least=1),
        "tags": TAGS,
    },
    required=["table"],
    exactly_one=("report", "flows"),
)
_EXTERNAL_NAME: Final = rf"{TABLE_NAME}(\$[^./\\\s]+)?"
_OF_TARGET: Final = (
    "prefix",
    "connection",
    "catalog",
    "warehouse",
    "pool",
    "pipeline",
    "options",
    "allow",
)
_STEPS: Final = MapOf(
    item=STEP,
    names=NAME,
    names_are=_NO_NAME,
    taken=APPLY_TASK,
    taken_by="it is the task that makes tables as declared",
)
_BASE: Final = Record(
    about="The tables of a warehouse, what fills them, and what maintains them.",
    members={
        "version": _Version(),
        "name": Text(
            about="The name of the Dags: letters, digits, - and _.",
            pattern=NAME,
            what="a name of letters, digits, - and _",
        ),
        "connection": Text(about="The Airflow connection; default paimon_default."),
        "catalog": Text(about="The connection's catalog_name, where it has one."),
        "warehouse": Text(
            about="The URI of the warehouse, for table-core plan and apply. A path is relative to the folder of the file."
        ),
        "prefix": Text(
            about="A prefix for the database of each declared table, e.g. dev_.",
            pattern="[A-Za-z0-9_-]*",
            what="letters, digits, - and _",
        ),
        "pool": Record(
            about="The Airflow pool of all tasks that work on tables. It limits how many jobs run at once.",
            members={"name": Text(), "slots": Number(minimum=1)},
            required=["name", "slots"],
        ),
        "pipeline": _PIPELINE,
        "include": ListOf(
            item=Text(), about="Files whose members are added; paths from the folder of this one."
        ),
        "options": Options(
            item=Text(), about="Options of every table that does not set them itself."
        ),
        "allow": ALLOW,
        "moved": ListOf(item=MOVED, about="Tables that get another name."),
        "definitions": MapOf(item=AnyValue(), about="Parts to refer to by YAML anchors."),
        "tables": MapOf(item=TABLE, names=TABLE_NAME, names_are="no database.table"),
        "external": MapOf(
            item=EXTERNAL,
            names=_EXTERNAL_NAME,
            names_are="no database.table, nor one with a branch or a system table after $",
            about="Tables that somebody else maintains.",
        ),
        "sources": _STEPS,
        "flows": _STEPS,
        "checks": MapOf(item=_CHECK, names=NAME, names_are=_NO_NAME),
        "upkeep": _UPKEEP,
        "triggers": MapOf(
            item=_TRIGGER,
            names=NAME,
            names_are=_NO_NAME,
            taken=UPKEEP_SUFFIX,
            taken_by="the Dag of the upkeep ends so",
        ),
    },
    required=["version", "name", "tables"],
)
_TARGET: Final = Record(
    named="target",
    about="What differs in this environment, setting by setting.",
    members={
        **{name: _BASE.members[name] for name in _OF_TARGET},
        "pool": Record(members={"name": Text(), "slots": Number(minimum=1)}),
        "upkeep": Record(members=_UPKEEP.members),
    },
)
DECLARATION: Final = replace(
    _BASE,
    members={
        **_BASE.members,
        "targets": MapOf(
            item=_TARGET,
            names=NAME,
            names_are=_NO_NAME,
            about="Environments. TABLE_CORE_TARGET or --target chooses one.",
        ),
    },
)
GROUPS: Final = ("tables", "external", "sources", "flows", "checks", "triggers")
"""Members whose entries stand for themselves: what is wrong with one says nothing of the others."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a declaration, for editors."""
    defs: dict[str, Any] = {}
    document = DECLARATION.schema(defs)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Paimon warehouse declaration",
        **document,
        "$defs": dict(sorted(defs.items())),
    }
