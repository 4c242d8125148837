"""What a source or flow does, one record for each verb: what it takes, what it reads and makes.

What is refused, the JSON Schema, the reference and the name of the operator come from here; ``steps`` makes
typed steps of it.  What stands under ``with`` are the arguments of the verb's action, and a few of Airflow's: a
test of the provider compares them with the operators' signatures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.jobs import registry
from table_core.jobs.action import FlowStep
from table_core.jobs.engine_choice import ENGINES
from table_core.shapes import kinds
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.lengths import SECONDS_MAX, UNITS, length_of_time
from table_core.shapes.problem import Problem
from table_core.shapes.rows import ROWS_OPTIONS
from table_core.shapes.shape import AnyValue, Flag, Number, OneOf, Shape, Text, unexpected
from table_core.shapes.templated import Templated
from table_core.shapes.texts import VIEW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.jobs.action import Action, Parameter
from table_core.shapes.shape import Defs

__all__ = [
    "ACTIONS",
    "COMMON",
    "DURATION",
    "MAKES_ROWS",
    "NAME",
    "OF_AIRFLOW",
    "STEP",
    "TAGS",
    "TEXTS",
    "VERBS",
    "RunAction",
    "Verb",
    "upkeep_shape",
]

DURATION: Final = OneOf(
    what="a length of time, e.g. 30 s, 5 min or 2 h",
    shapes=[
        Number(minimum=0, maximum=SECONDS_MAX, whole=False),
        Text(pattern=length_of_time(*UNITS, bare=True, fraction=True), what="a length of time"),
    ],
)
"""Of Airflow: a number is of seconds."""
TAGS: Final = ListOf(
    about="Tags, which --select tag:daily chooses by.",
    item=Text(pattern="[^,:+*?\\[\\]\\s]+", what="a word without blanks, e.g. daily"),
)
TEXTS: Final = ListOf(item=Text(), what="a list of names")
_PARTITIONS: Final = ListOf(item=MapOf(item=Text(), least=1), least=1, what="a list of partitions")
"""As a file has them: a name without a value is a fault there, not NULL."""
OF_AIRFLOW: Final[Mapping[str, Shape]] = {
    "deferrable": Flag(),
    "pool": Text(),
    "pool_slots": kinds.COUNT,
    "priority_weight": Number(),
    "queue": Text(),
    "retries": Number(minimum=0),
    "retry_delay": DURATION,
    "trigger_rule": Text(
        one_of=(
            *("all_success", "all_failed", "all_done", "all_done_min_one_success", "all_skipped"),
            *("one_success", "one_failed", "one_done", "none_failed", "none_skipped"),
            *("none_failed_min_one_success", "always"),
        )
    ),
}
"""Of every task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAction:
    """What the verb ``run`` may do: its operator, what it takes, and whether rows change by it."""

    operator: str
    """Module and class below ``paimon_provider.operators``."""
    takes: Mapping[str, Shape]
    required: Sequence[str] = ()
    changes_rows: bool = False
    """Whether a reader that stands after it in the file must wait for it."""

    @classmethod
    def of(cls, action: Action, step: FlowStep) -> RunAction:
        """What an action is to a flow: it takes what its operator takes."""
        own = {p.in_operator: p for p in action.parameters if p.in_operator is not None}
        return cls(
            operator=step.operator,
            takes={name: _shape(parameter) for name, parameter in own.items()},
            required=tuple(name for name, p in own.items() if p.required or p.required_by_operator),
            changes_rows=step.changes_rows,
        )

    @property
    def arguments(self) -> Record:
        """What may stand under ``with``."""
        return with_shape(self.takes, self.required)


def _shape(parameter: Parameter) -> Shape:
    shape = _PARTITIONS if parameter.shape is kinds.PARTITIONS else _outline(parameter.shape)
    if parameter.templated and (shape is _PARTITIONS or not isinstance(shape, ListOf | MapOf)):
        return Templated(inner=shape, about=parameter.about)
    return replace(shape, about=parameter.about)


def _outline(shape: Shape) -> Shape:
    """What JSON Schema can say of it: the rest is said in depth, with the place in the warehouse that is meant."""
    if isinstance(shape, Text):
        return replace(shape, judge=None)
    if isinstance(shape, ListOf):
        return replace(shape, item=_outline(shape.item), each_once=False)
    return replace(shape, item=_outline(shape.item)) if isinstance(shape, MapOf) else shape


def with_shape(takes: Mapping[str, Shape], required: Sequence[str] = ()) -> Record:
    """Arguments of an operator and of every task."""
    return Record(about="Arguments.", members={**takes, **OF_AIRFLOW}, required=required)


ACTIONS: Final[Mapping[str, RunAction]] = {
    name: RunAction.of(action, action.step)
    for name, action in sorted(registry.ACTIONS.items())
    if action.step is not None
}
"""By what ``run`` names: the actions that say how a flow runs them."""


def upkeep_shape(action: str, *names: str) -> Record:
    """What a policy says of an action that upkeep does: values, for no template is rendered there."""
    taken = {name: registry.ACTIONS[action].parameter(name) for name in names}
    return Record(members={name: _outline(one.shape) for name, one in taken.items()})


def _beside(action: str, *elsewhere: str) -> Record:
    """The arguments of an action that stand under ``with``: all but those that the verb has members for."""
    takes = RunAction.of(registry.ACTIONS[action], FlowStep(operator="")).takes
    return with_shape({name: shape for name, shape in takes.items() if name not in elsewhere})


MERGE_ARGUMENTS: Final = _beside("merge-into", "source", "on", "when")
SQL_ARGUMENTS: Final = _beside(
    "write",
    *("sql", "sources", "pending", "overwrite", "computed_columns"),
    *("rows_uri", "rows_position", "rows_format", "rows_options"),
)
_SYNC: Final = registry.ACTIONS["sync-table"].parameters
SYNC_SETTINGS: Final = Record(
    about="The other keywords of sync_table.",
    members={p.name: _shape(replace(p, templated=True)) for p in _SYNC if p.operator is None},
)
SYNC_ARGUMENTS: Final = with_shape(
    {
        **{name: _shape(p) for p in _SYNC if (name := p.in_operator) and name != "source"},
        "settings": SYNC_SETTINGS,
    }
)


NAME: Final = "[A-Za-z0-9_-]{1,200}"
"""Of what becomes a task or a Dag."""
_OF_AIRFLOW: Final = with_shape({})
_POSITION: Final = Text(
    about="The property that records how far was read. It begins with tc.",
    pattern=r"tc\..+",
    what="a property that begins with tc., e.g. tc.flow.orders",
)
_SOURCE: Final = OneOf(
    what="a table or {table, mode}",
    shapes=[
        Text(),
        Record(
            members={
                "table": Text(),
                "mode": Text(one_of=("snapshot", "changes")),
                "position": _POSITION,
            },
            required=["table"],
        ),
    ],
)
_READS: Final = MapOf(
    about="View name to a table, or to {table, mode: snapshot|changes}.",
    names=VIEW,
    names_are="no name of a view: letters, digits and _, no digit first",
    item=_SOURCE,
    named="reads",
)
_STATES: Final = MapOf(
    about="View name to a table, or to {table}: its newest snapshot.",
    names=VIEW,
    names_are="no name of a view: letters, digits and _, no digit first",
    item=OneOf(
        what="a table or {table}: a merge reads its newest snapshot",
        shapes=[
            Text(),
            Record(
                members={"table": Text(), "mode": Text(one_of=("snapshot",))}, required=["table"]
            ),
        ],
    ),
    named="states",
)
_PARTITION: Final = MapOf(item=Text(), least=1)
_OVERWRITE: Final = OneOf(
    about="What the rows replace: table, partitions, or one partition.",
    what="table, partitions or a partition",
    shapes=[
        Text(
            pattern=r"table|partitions|(.|\n)*\{\{(.|\n)*", what="table, partitions or a partition"
        ),
        _PARTITION,
    ],
)
_MERGE_SOURCE: Final = OneOf(
    what="{table} or {sql, reads}",
    shapes=[
        Record(members={"sql": Text(), "reads": _STATES, "sources": _STATES}, required=["sql"]),
        Record(members={"table": Text()}, required=["table"]),
        Record(members={"path": Text()}, required=["path"]),
    ],
)
_MERGE: Final = Record(
    about="The rows to merge: a table or a query.",
    members={
        "source": _MERGE_SOURCE,
        "on": ListOf(item=Text(), least=1),
        "when": ListOf(
            least=1,
            item=Record(
                members={
                    "action": kinds.CLAUSE,
                    "values": MapOf(item=Text()),
                    "condition": Text(),
                },
                required=["action"],
            ),
        ),
    },
    required=["source", "on", "when"],
)
COMMON: Final[Mapping[str, Shape]] = {
    "table": Text(about="The table that it writes."),
    "after": ListOf(item=Text(), about="Sources and flows that must be done first."),
    "engine": Text(one_of=ENGINES),
    "events": replace(kinds.EVENTS, about="Which commits emit an event of the table's asset."),
    "spark_conf": MapOf(item=Text()),
    "tags": TAGS,
}
"""What every source and flow may say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One way in which a source or flow works on its table."""

    about: str
    operator: str
    """Module and class below ``paimon_provider.operators``; of ``run`` its action says."""
    takes: Mapping[str, Shape]
    """Its members, its own name first."""
    arguments: Record = _OF_AIRFLOW
    """What may stand under ``with``."""

    @property
    def record(self) -> Record:
        """A whole step of this verb."""
        name = next(iter(self.takes))
        members = {**self.takes, "with": self.arguments, **COMMON}
        return Record(
            about=self.about, members=members, required=("table", name), named=f"step_{name}"
        )


VERBS: Final[Mapping[str, Verb]] = {
    "sync": Verb(
        about="Follows a source of change events: kind, uri, format …",
        operator="sync.PaimonSyncTableOperator",
        takes={
            "sync": MapOf(item=AnyValue(), least=1),
            "source_connection": Text(about="Airflow connection: address and secrets."),
        },
        arguments=SYNC_ARGUMENTS,
    ),
    "sql": Verb(
        about="Writes the rows of a query.",
        operator="write.PaimonWriteOperator",
        takes={
            "sql": Text(about="Spark SQL over the views in reads."),
            "reads": _READS,
            "pending": Record(
                about="Rows that cannot be used yet. They replace the rows of that table.",
                members={
                    "table": Text(),
                    "sql": Text(),
                    "view": Text(
                        about="The name of the view in SQL. Default: the table's name without its database.",
                        pattern=VIEW,
                        what="a name of letters, digits and _",
                    ),
                },
                required=["table", "sql"],
            ),
            "overwrite": _OVERWRITE,
        },
        arguments=SQL_ARGUMENTS,
    ),
    "rows_uri": Verb(
        about="Appends files.",
        operator="write.PaimonWriteOperator",
        takes={
            "rows_uri": Text(
                about="Files to append: a glob of Parquet, CSV or JSON lines.",
                pattern=r".*\S.*",
                what="a glob of files",
            ),
            "rows_position": Text(
                about="The property that records which files were loaded. It begins with tc.",
                pattern=r"tc\..+",
                what="a property that begins with tc., e.g. tc.files.orders",
            ),
            "rows_format": replace(
                kinds.FILE_FORMAT, about="The format of the files, where their names do not tell."
            ),
            "rows_options": replace(
                ROWS_OPTIONS,
                about="How rows stand in CSV and JSON: `delimiter`, `encoding`, `null_values`, `date_format` and others.",
            ),
            "overwrite": _OVERWRITE,
        },
    ),
    "merge": Verb(
        about="Merges rows into the table.",
        operator="write.PaimonMergeIntoOperator",
        takes={"merge": _MERGE},
        arguments=MERGE_ARGUMENTS,
    ),
    "run": Verb(
        about="Runs another action on the table. Its arguments are in with.",
        operator="",
        takes={"run": Text(one_of=tuple(ACTIONS))},
    ),
}
"""By the member that says what is done; each step has exactly one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step(Shape):
    """A step: the record of the one verb that it has."""

    @property
    def in_words(self) -> str:
        """See there."""
        return "[source or flow](#sources-and-flows)"

    def problems(self, value: Any) -> Iterator[Problem]:
        """Which verb it is, and then what that verb takes."""
        if not isinstance(value, dict):
            yield unexpected(value, "a mapping")
            return
        chosen = [name for name in VERBS if name in value]
        if len(chosen) != 1:
            present = ", ".join(chosen) or "none"
            yield Problem(message=f"give one of {', '.join(VERBS)}; found {present}")
            if not chosen:
                yield from self._unknown(value)
            return
        record = _record_of(chosen[0], value)
        left = {name: item for name, item in value.items() if not _elsewhere(name, record)}
        for name in value.keys() - left.keys():
            others = [verb for verb, one in VERBS.items() if name in one.takes]
            message = f"{name!r} goes with {' or '.join(others)}, not with {chosen[0]}"
            yield Problem(message=message, path=(name,), of_name=True)
        action = (
            ACTIONS.get(value["run"])
            if chosen[0] == "run" and record is not _RECORDS["run"]
            else None
        )
        if action is not None and action.required and "with" not in left:
            needed = f"'with' must have {', '.join(action.required)}"
            yield Problem(message=f"run: {value['run']}: {needed}")
            record = _RECORDS["run"]
        yield from record.problems(left)

    def _unknown(self, value: Mapping[str, Any]) -> Iterator[Problem]:
        """Names that nobody knows: perhaps a verb that is misspelt."""
        known = [*VERBS, *(n for one in _RECORDS.values() for n in one.members)]
        names = Record(members=dict.fromkeys(known, AnyValue()))
        yield from names.problems({name: one for name, one in value.items() if name not in known})

    def plain(self, value: Any) -> dict[str, Any]:
        """Its members, as the verb has them."""
        verb = next(name for name in VERBS if name in value)
        return _record_of(verb, value).plain(value)

    def _schema(self, defs: Defs) -> dict[str, Any]:
        rules = []
        for name in VERBS:
            then = _run_schema(defs) if name == "run" else _RECORDS[name].schema(defs)
            rules.append({"if": {"required": [name]}, "then": then})
        one = [{"required": [name]} for name in VERBS]
        return {"type": "object", "oneOf": one, "allOf": rules}


def _elsewhere(name: str, record: Record) -> bool:
    return name not in record.members and any(name in verb.takes for verb in VERBS.values())


def _record_of(verb: str, value: Mapping[str, Any]) -> Record:
    named = value["run"] if verb == "run" else None
    return (_RUNS.get(named) if isinstance(named, str) else None) or _RECORDS[verb]


def _run_record(name: str) -> Record:
    record, action = _RECORDS["run"], ACTIONS[name]
    members = {**record.members, "with": action.arguments}
    needed = (*record.required, "with") if action.required else record.required
    return replace(record, members=members, required=needed, named=f"run_{name}")


def _run_schema(defs: Defs) -> dict[str, Any]:
    rules = [
        {
            "if": {"properties": {"run": {"const": name}}},
            "then": record.schema(defs),
        }
        for name, record in _RUNS.items()
    ]
    return {"properties": {"run": VERBS["run"].takes["run"].schema(defs)}, "allOf": rules}


_RECORDS: Final = {name: verb.record for name, verb in VERBS.items()}
_RUNS: Final = {name: _run_record(name) for name in ACTIONS}
STEP: Final[Shape] = _Step(named="step")


MAKES_ROWS: Final = frozenset({"sync", "sql", "rows_uri"})
"""Verbs whose rows get the computed columns of their table."""
