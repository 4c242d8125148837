"""What a source or flow may say under ``with``: the arguments of its action, and a few of Airflow's.

What ``run`` takes comes from the registry of actions; a test of the provider compares it with the
operators' signatures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.jobs import registry
from table_core.jobs.action import Step
from table_core.shapes import kinds
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.lengths import SECONDS_MAX, UNITS, length_of_time
from table_core.shapes.shape import Flag, Number, OneOf, Text
from table_core.shapes.templated import Templated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.jobs.action import Action, Parameter
    from table_core.shapes.shape import Shape

__all__ = [
    "ACTIONS",
    "DURATION",
    "MERGE_ARGUMENTS",
    "OF_AIRFLOW",
    "SQL_ARGUMENTS",
    "SYNC_ARGUMENTS",
    "SYNC_SETTINGS",
    "TAGS",
    "TEXTS",
    "RunAction",
    "upkeep_shape",
    "with_shape",
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
    def of(cls, action: Action, step: Step) -> RunAction:
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
    takes = RunAction.of(registry.ACTIONS[action], Step(operator="")).takes
    return with_shape({name: shape for name, shape in takes.items() if name not in elsewhere})


MERGE_ARGUMENTS: Final = _beside("merge-into", "source", "on", "when")
SQL_ARGUMENTS: Final = _beside(
    "write",
    *("sql", "sources", "pending", "overwrite", "computed_columns"),
    *("rows_uri", "rows_position", "rows_format"),
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
