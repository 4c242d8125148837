"""What each argument of an operator, a sensor or a trigger may be: by its name, a shape.

The words are the core's own.  What knows much, the types of columns for one, is asked when such an
argument is checked, not when a Dag is read that has none.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import AssetAlias, BaseAsset, RetryPolicy
from paimon_provider.arguments.timestamps import seconds_of
from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import ENGINES, AutoLimits
from table_core.options.spark_settings import require_settings
from table_core.shapes import kinds
from table_core.shapes.around import Instance, Judged, OrNothing
from table_core.shapes.containers import ListOf, MapOf, Record
from table_core.shapes.problem import Problem
from table_core.shapes.shape import AnyValue, Number, OneOf, Setting, Shape, Text, unexpected
from table_core.shapes.templated import Templated
from table_core.shapes.texts import (
    FILE_NAME,
    FILLED,
    LINE,
    POSITION_NAME,
    TABLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ARGUMENTS",
    "CHANGES",
    "COLUMNS",
    "MERGE_SOURCE",
    "count",
]

CHANGES: Final = (
    *("AddColumn", "DropColumn", "DropPrimaryKey", "RemoveOption", "RenameColumn", "SetOption"),
    *("UpdateColumnComment", "UpdateColumnDefault", "UpdateColumnNullability"),
    *("UpdateColumnPosition", "UpdateColumnType", "UpdateComment"),
)
"""Of a schema; names of ``table_core``."""
_LONGS_END: Final = 2**63


def count(least: int) -> Shape:
    """A whole number of at least ``least``; a template gives it as text."""
    return Templated(inner=Number(minimum=least, maximum=_LONGS_END - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Length(Shape):
    """A length of time above 0: text with its unit, seconds, or a timedelta."""

    def problems(self, value: Any) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, str | int | float | timedelta):
            yield unexpected(value, "a length of time such as '2 h'")
            return
        yield from LINE.problems(value) if isinstance(value, str) else ()
        try:
            seconds = seconds_of(value, "it")
        except ArgumentError as error:
            yield Problem(message=str(error))
            return
        if not 0 < seconds < _LONGS_END:
            yield unexpected(value, "a length of time above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change(Shape):
    """A change of a schema: its class, and the members of that."""

    def problems(self, value: Any) -> Iterator[Problem]:
        import table_core

        wrong = list(kinds.VALUES.problems(value))
        if not wrong:
            named = Record(members={"change": Text(one_of=CHANGES)}, required=["change"])
            wrong = [one for one in named.problems(value) if one.path in {(), ("change",)}]
        if wrong:
            yield from wrong
            return
        members = {field.name: field for field in fields(getattr(table_core, value["change"]))}
        whole = Record(
            members=dict.fromkeys(("change", *members), AnyValue()),
            required=[name for name, field in members.items() if field.default is MISSING],
        )
        yield from whole.problems(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy(Shape):
    """An action of upkeep to its arguments, or to None; and thresholds."""

    def problems(self, value: Any) -> Iterator[Problem]:
        yield from _policy().problems(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Follow(Shape):
    """An action of upkeep to the task or tasks that do it."""

    def problems(self, value: Any) -> Iterator[Problem]:
        from table_core.declaration.grammar import UPKEEP_ACTIONS

        tasks = OneOf(what="a task, or a list of tasks", shapes=(LINE, kinds.SOME_NAMES))
        yield from Record(members=dict.fromkeys(UPKEEP_ACTIONS, tasks)).problems(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SyncSettings(Shape):
    """What a sync takes beside what an operator names."""

    def problems(self, value: Any) -> Iterator[Problem]:
        from table_core.jobs.registry import action_of

        members = {
            one.name: OrNothing(inner=Templated(inner=one.shape))
            for name in ("sync-table", "sync-database")
            for one in action_of(name).parameters
            if one.operator is None
        }
        yield from Record(members=members).problems(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thresholds(Shape):
    """When an action of upkeep becomes due or urgent."""

    def problems(self, value: Any) -> Iterator[Problem]:
        from table_core.declaration.grammar import THRESHOLDS

        number = Number(minimum=0, maximum=_LONGS_END - 1, whole=False)
        yield from Record(members=dict.fromkeys(THRESHOLDS.members, number)).problems(value)


@cache
def _policy() -> Record:
    from table_core.declaration.grammar import UPKEEP_ACTIONS
    from table_core.jobs.registry import action_of

    members: dict[str, Shape] = {"thresholds": OrNothing(inner=_Thresholds())}
    for action in UPKEEP_ACTIONS:
        takes = {
            one.in_operator: OrNothing(inner=ARGUMENTS.get(one.in_operator, one.shape))
            for one in action_of(action).parameters
            if one.in_operator is not None
        }
        members[action] = OrNothing(inner=Record(members=takes))
    return Record(members=members)


def _require_types(columns: Mapping[str, str]) -> None:
    from table_core.declaration.foreign_words import known_type, type_hint

    for column, type_ in columns.items():
        if known_type(type_) is None:
            raise ArgumentError(
                f"[{column!r}]: {type_!r} is no type{type_hint(type_)}", argument="columns"
            )


def _require_options(options: Mapping[str, Any]) -> None:
    from table_core.options.user_options import refuse_wrong

    refuse_wrong(options)


def _require_rules(rules: Mapping[str, Any]) -> None:
    from table_core.table.api.check_rules import sound_rules

    for one in ("sql", "where"):
        OrNothing(inner=FILLED).require(rules.get(one), one)
    sound_rules(rules, against=True)


def _require_json(value: Any) -> None:
    try:
        json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        raise ArgumentError(str(error), argument="parameters") from error


def _plain(value: object) -> str:
    if isinstance(value, date | Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be given to a job")


_VALUES: Final = MapOf(item=AnyValue(), **kinds.NAMED)
MERGE_SOURCE: Final = replace(
    kinds.MERGE_SOURCE,
    members={
        name: shape
        for name, shape in kinds.MERGE_SOURCE.members.items()
        if name not in {"files", "format"}
    },
    exactly_one=("table", "path", "sql"),
    only_with={"sources": "sql"},
)
"""Files are the command line's own."""
COLUMNS: Final = Judged(inner=MapOf(item=LINE, least=1, **kinds.NAMED), judge=_require_types)
_OPTIONS: Final = Judged(inner=MapOf(item=Setting(), **kinds.NAMED), judge=_require_options)
_ASSET: Final = Instance(
    of=(BaseAsset, AssetAlias), what="an asset: write [Asset(…)], or [] for none"
)
_LINE: Final = OrNothing(inner=LINE)
ARGUMENTS: Final[Mapping[str, Shape]] = {
    "table": TABLE,
    "database": FILE_NAME,
    "paimon_conn_id": LINE,
    "catalog": _LINE,
    "engine": OrNothing(inner=Text(one_of=ENGINES)),
    "auto_limits": OrNothing(inner=Judged(inner=_VALUES, judge=AutoLimits.of)),
    "events": kinds.EVENTS,
    "drift": kinds.DRIFT,
    "level": kinds.words("due", "urgent"),
    "ready": kinds.words("changed", "done"),
    "missing": kinds.words("wait", "fail"),
    "file": OneOf(what="a path", shapes=(LINE, Instance(of=PurePath, what="a path"))),
    "label_column": LINE,
    "value_column": LINE,
    "otherwise": _LINE,
    "position": POSITION_NAME,
    "reader": _LINE,
    "source_conn_id": _LINE,
    **dict.fromkeys(("deferrable", "done", "start_from_trigger"), kinds.FLAG),
    "min_rows": count(0),
    "poll_seconds": Number(minimum=0.001, maximum=_LONGS_END - 1, whole=False),
    "at": kinds.MOMENT,
    "after": Templated(inner=kinds.POSITION, or_nothing=True),
    "within": _Length(),
    **dict.fromkeys(
        ("primary_key", "partition_by", "computed_columns", "type_mapping"), kinds.NAMES
    ),
    "changes": ListOf(item=_Change(), least=1),
    "partition": kinds.PARTITION,
    "rules": Judged(inner=_VALUES, judge=_require_rules),
    "policy": _Policy(),
    "thresholds": OrNothing(inner=_Thresholds()),
    "follow": OrNothing(inner=_Follow()),
    "parameters": OrNothing(
        inner=replace(kinds.BOUND, item=Judged(inner=AnyValue(), judge=_require_json))
    ),
    "settings": OrNothing(inner=_SyncSettings()),
    "options": OrNothing(inner=_OPTIONS),
    "spark_conf": OrNothing(inner=Judged(inner=_VALUES, judge=require_settings)),
    "outlets": OrNothing(inner=OneOf(what=_ASSET.what, shapes=(ListOf(item=_ASSET), _ASSET))),
    "retry_policy": OrNothing(inner=Instance(of=RetryPolicy, what="a RetryPolicy of Airflow")),
}
"""What each argument must be that no action describes, or that a Dag can be told is wrong before the verb is asked."""
