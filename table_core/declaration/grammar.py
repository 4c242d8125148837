"""What may stand in a declaration: the one source of the checks and of the JSON Schema."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from table_core.declaration.shape import (
    AnyValue,
    Flag,
    Following,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Record,
    Shape,
    Text,
)
from table_core.declaration.step_arguments import STEP_ARGUMENTS
from table_core.health.verdict import Thresholds

__all__ = ["DECLARATION", "RUN_ACTIONS", "TABLE", "UPKEEP_ACTIONS", "VERBS", "json_schema"]

_TEXT: Final = Text()
_TEXTS: Final = ListOf(item=_TEXT)
_OPTIONS: Final = MapOf(item=_TEXT, about="Table options of Paimon.")
_PARTITION: Final = MapOf(item=_TEXT)
_READS: Final = MapOf(
    about="View name to the table that it shows, or to {table, mode: snapshot|changes}.",
    item=OneOf(
        what="a table or {table, mode}",
        shapes=[
            _TEXT,
            Record(
                members={
                    "table": Text(),
                    "mode": Text(one_of=("snapshot", "changes")),
                    "position": Text(),
                },
                required=["table"],
            ),
        ],
    ),
)
TABLE: Final = Record(
    members={
        "columns": MapOf(item=_TEXT, about="Name to type, in order, e.g. BIGINT NOT NULL."),
        "primary_key": _TEXTS,
        "partition_by": _TEXTS,
        "options": _OPTIONS,
        "comment": Text(),
    },
    required=["columns"],
)
_SCHEDULE: Final = OneOf(
    about="A cron expression (H: a minute or hour by the name), or tables whose changes start it.",
    what="a cron expression or {changes: [tables]}",
    shapes=[Text(), Record(members={"changes": _TEXTS}, required=["changes"])],
)
_PIPELINE: Final = Record(
    members={
        "schedule": _SCHEDULE,
        "params": MapOf(item=AnyValue(), about="Parameters of the Dag, as JSON Schema or value."),
        "retries": Number(minimum=0),
        "retry_delay": Text(about="e.g. 30 s"),
        "engine": Text(one_of=("spark", "local")),
        "max_active_tasks": Number(minimum=1),
        "drift": Text(
            about="What the first task does where tables differ from the declaration.",
            one_of=("apply", "fail", "ignore"),
        ),
    }
)
VERBS: Final = ("sync", "sql", "rows_uri", "merge", "run")
"""What a source or flow does: exactly one."""
RUN_ACTIONS: Final = tuple(name for name in STEP_ARGUMENTS if name not in VERBS)
"""What the verb ``run`` may name."""
_STEP: Final = Record(
    members={
        "table": Text(about="The table that it writes."),
        "sync": MapOf(item=AnyValue(), about="A source of change events: kind, uri, format …"),
        "source_connection": Text(about="Airflow connection of the source: address and secrets."),
        "sql": Text(about="Spark SQL over the views in reads."),
        "reads": _READS,
        "pending": Record(members={"table": Text(), "sql": Text()}, required=["table", "sql"]),
        "rows_uri": Text(about="Files to append: a glob of Parquet or JSON lines."),
        "rows_position": Text(about="The property that keeps which files were taken."),
        "overwrite": OneOf(what="text or a partition", shapes=[Text(), _PARTITION]),
        "merge": Record(
            members={
                "source": MapOf(item=AnyValue()),
                "on": _TEXTS,
                "when": ListOf(item=MapOf(item=AnyValue())),
            },
            required=["source", "on", "when"],
        ),
        "run": Text(about="Another action.", one_of=RUN_ACTIONS),
        "with": MapOf(item=AnyValue(), about="Arguments of the action."),
        "after": _TEXTS,
        "engine": Text(one_of=("spark", "local")),
        "events": Text(one_of=("changes", "any", "none")),
        "spark_conf": MapOf(item=_TEXT),
    },
    required=["table"],
    exactly_one=VERBS,
    following=Following(member="with", by="run", shapes=STEP_ARGUMENTS),
)
UPKEEP_ACTIONS: Final[dict[str, Shape]] = {
    "compact": Record(
        members={"strategy": Text(one_of=("full", "minor")), "where": Text(), "order_by": _TEXTS}
    ),
    "expire-snapshots": Record(
        members={"retain_max": Number(minimum=1), "retain_min": Number(minimum=1)}
    ),
    "expire-partitions": Record(members={"expiration_time": Text(about="e.g. 7 d")}),
    "expire-tags": Record(members={}),
    "rewrite-manifests": Record(members={}),
    "remove-orphan-files": Record(members={}, about="Files of more than a day that nothing names."),
}
_POLICY_MEMBERS: Final = {
    name: OneOf(what="settings or false", shapes=[Flag(), shape])
    for name, shape in UPKEEP_ACTIONS.items()
}
_THRESHOLDS: Final = Record(
    about="From where on an action is due or urgent.",
    members={field.name: Number() for field in fields(Thresholds)},
)
_RULES: Final = Record(members={**_POLICY_MEMBERS, "thresholds": _THRESHOLDS})
_UPKEEP: Final = Record(
    members={
        "schedule": Text(about="A cron expression; H: a minute or hour by the name."),
        "max_concurrent_jobs": Number(minimum=1),
        "engine": Text(one_of=("spark", "local")),
        "policy": _RULES,
        "databases": MapOf(item=_RULES, about="Patterns of database names, e.g. raw_*."),
        "tables": MapOf(item=_RULES),
    },
    required=["policy"],
)
_CHECK: Final = Record(
    members={
        "table": Text(),
        "not_null": _TEXTS,
        "unique": _TEXTS,
        "range": MapOf(item=ListOf(item=AnyValue()), about="Column to [smallest, largest]."),
        "rows": ListOf(item=AnyValue(), about="[fewest, most]"),
        "sql": Text(about="A query over the table as `rows`: each row that it gives is a fault."),
        "where": Text(),
    },
    required=["table"],
)
_TRIGGER: Final = Record(
    members={
        "table": Text(),
        "on": Text(one_of=("changes", "append", "overwrite", "delete", "compact", "any")),
        "start": Text(one_of=("latest", "earliest")),
        "poll_seconds": Number(minimum=0.1),
        "min_rows": Number(minimum=0),
        "partitions": ListOf(item=_PARTITION),
        "events": Text(one_of=("poll", "snapshot")),
        "report": Record(
            members={"label_column": Text(), "value_column": Text()},
            required=["label_column", "value_column"],
        ),
        "flows": _TEXTS,
    },
    required=["table"],
    exactly_one=("report", "flows"),
)
DECLARATION: Final = Record(
    about="Tables of a warehouse, what fills them and what keeps them in shape.",
    members={
        "version": Number(minimum=1),
        "name": Text(about="Names the Dags: letters, digits, - and _."),
        "connection": Text(about="The Airflow connection; default paimon_default."),
        "catalog": Text(about="The connection's catalog_name, where it has one."),
        "warehouse": Text(about="URI, for table-core plan and apply."),
        "pool": Record(
            about="Airflow's pool for all that works on tables: so many jobs at once in the warehouse.",
            members={"name": Text(), "slots": Number(minimum=1)},
            required=["name", "slots"],
        ),
        "pipeline": _PIPELINE,
        "options": MapOf(item=_TEXT, about="Options of every table that does not set them."),
        "definitions": MapOf(item=AnyValue(), about="Parts to refer to by YAML anchors."),
        "tables": MapOf(item=TABLE),
        "sources": MapOf(item=_STEP),
        "flows": MapOf(item=_STEP),
        "checks": MapOf(item=_CHECK),
        "upkeep": _UPKEEP,
        "triggers": MapOf(item=_TRIGGER),
    },
    required=["version", "name", "tables"],
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a declaration, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Paimon warehouse declaration",
        **DECLARATION.schema(),
    }
