"""What arguments of operators, sensors and triggers must be, said where they are written.

A wrong one is an error in the Dag, with the nearest spelling, and not of the task hours later.  What a
template gives is checked when the task starts, before anything is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar, Final

from paimon_provider._compat import AssetAlias, BaseAsset, ResolveMixin, RetryPolicy
from paimon_provider.arguments import documents, values
from paimon_provider.arguments.table_identity import is_template
from paimon_provider.arguments.values import Check, optional
from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import ENGINES, AutoLimits
from table_core.options.spark_settings import require_settings

__all__ = [
    "CHECKS",
    "ChecksArguments",
    "require_arguments",
    "require_early",
    "require_values",
    "with_checks",
]

_PARAMETERS: Final = {"dry_run_only": "dry_run"}
"""Arguments that an attribute holds under another name."""


def _settings(value: Any, name: str) -> None:
    documents.mapping(value, name)
    require_settings(value)


def _auto_limits(value: Any, name: str) -> None:
    documents.mapping(value, name)
    AutoLimits.of(value)


def _text(value: Any, name: str) -> None:
    if not isinstance(value, str) or "\0" in value:
        raise values.wrong(name, value, "text")


def _file(value: Any, name: str) -> None:
    values.text(str(value) if isinstance(value, PurePath) else value, name)


def _assets(value: Any, name: str) -> None:
    for one in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(one, BaseAsset | AssetAlias):
            raise values.wrong(name, value, "list of assets: write [Asset(…)], or [] for none")


_OPTIONAL_COUNT: Final = optional(values.count(1))
CHECKS: Final[Mapping[str, Check]] = {
    "table": values.require_table,
    "database": values.name_of_file,
    "paimon_conn_id": values.text,
    "catalog": optional(values.text),
    "engine": optional(values.one_of(*ENGINES)),
    "auto_limits": optional(_auto_limits),
    "events": values.one_of("changes", "any", "none"),
    "strategy": values.one_of("full", "minor"),
    "drift": values.one_of("apply", "fail", "ignore"),
    "level": values.one_of("due", "urgent"),
    "ready": values.one_of("changed", "done"),
    "until": values.one_of("now", "forever"),
    "missing": values.one_of("wait", "fail"),
    "branch": values.branch,
    "tag": optional(values.name_of_file),
    "state": optional(values.text),
    "file": _file,
    "label_column": values.text,
    "value_column": values.text,
    "comment": optional(_text),
    "flow_name": optional(values.text),
    "otherwise": optional(values.text),
    "position": values.position_name,
    "reader": optional(values.text),
    "rows_position": optional(values.position_name),
    "rows_uri": optional(values.text),
    "source_conn_id": optional(values.text),
    "table_prefix": documents.prefix,
    "deferrable": values.flag,
    "dry_run_only": values.flag,
    "if_exists": values.flag,
    "if_not_exists": values.flag,
    "allow_young": values.flag,
    "apply": values.flag,
    "from_head": values.flag,
    "replace": values.flag,
    "force": values.flag,
    "fail": values.flag,
    "positions": values.flag,
    "merge_shards": values.flag,
    "start_from_trigger": values.flag,
    "announce_partitions": values.flag,
    "done": values.flag,
    "retain_max": _OPTIONAL_COUNT,
    "retain_min": _OPTIONAL_COUNT,
    "max_deletes": _OPTIONAL_COUNT,
    "buckets": _OPTIONAL_COUNT,
    "parallelism": values.count(1),
    "min_rows": values.count(0),
    "poll_seconds": values.seconds,
    "older_than": values.moment,
    "timestamp": values.moment,
    "at": values.a_moment,
    "snapshot": values.snapshot,
    "after": values.snapshot,
    "expiration_time": optional(values.duration),
    "idle_time": optional(values.duration),
    "time_retained": optional(values.duration),
    "within": values.length,
    "including": values.pattern,
    "excluding": values.pattern,
    "columns": optional(values.names()),
    "order_by": optional(values.names(1)),
    "primary_key": values.names(),
    "partition_by": values.names(),
    "computed_columns": values.names(),
    "type_mapping": values.names(),
    "partitions": optional(documents.each_partition),
    "changes": documents.changes,
    "when": documents.when,
    "partition": documents.partition,
    "overwrite": optional(documents.overwrite),
    "values": documents.values,
    "rules": documents.rules,
    "policy": documents.policy,
    "follow": optional(documents.follow),
    "parameters": optional(documents.parameters),
    "thresholds": optional(documents.thresholds),
    "settings": optional(documents.sync_settings),
    "options": optional(documents.options),
    "sources": optional(documents.sources),
    "pending": optional(documents.pending),
    "spark_conf": optional(_settings),
    "where": optional(values.written),
    "sql": optional(values.written),
    "against": optional(values.require_table),
    "outlets": optional(_assets),
    "retry_policy": optional(values.anything_of(RetryPolicy, "RetryPolicy of Airflow")),
}
"""What each argument must be, by its name; a class may have its own."""


def with_checks(**own: Check) -> Mapping[str, Check]:
    """``CHECKS`` with some of a class of its own."""
    return {**CHECKS, **own}


class ChecksArguments:
    """Mixin: arguments are checked when they are set, and with ``require_arguments`` once more."""

    checks: ClassVar[Mapping[str, Check]] = CHECKS
    set_when_rendered: ClassVar[Sequence[str]] = ()
    """Attributes that hold what a template field gave, under a name of their own."""
    never_nothing: ClassVar[Sequence[str]] = ()
    """Arguments that may be left out, but whose templates must not render to None: it would mean the opposite."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it; while the task is being made, refuse what it must not be.

        Raises:
            ArgumentError: names the task, the argument and what it must be.
        """
        super().__setattr__(name, value)
        made = getattr(self, "_BaseOperator__instantiated", False)
        if name in self.checks and not made:
            _checked(self, name, value)
        if name in self.never_nothing and not made and _is_open(value):
            vars(self).setdefault("_given", set()).add(name)


def require_early(task: Any, **arguments: Any) -> None:
    """Check arguments of ``task`` before they are set, as ``__setattr__`` does.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name, value in arguments.items():
        _checked(task, name, value)


def require_arguments(task: Any) -> None:
    """Check every argument of ``task``; templates are rendered by now.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name in vars(task).get("_given", ()):
        if vars(task)[name] is None:
            raise ArgumentError(
                f"task {task.task_id!r}: the template of {name} has rendered to None, and without {name} the "
                "task would do something else: leave it out if that is meant",
                argument=name,
                value=None,
            )
    for name in task.checks:
        if name in vars(task):
            _checked(task, name, vars(task)[name])


def require_values(arguments: Mapping[str, Any], **own: Check) -> None:
    """Check what a trigger is told; a template waits until it is rendered.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name, value in arguments.items():
        if not _is_open(value):
            own.get(name, CHECKS.get(name, _anything))(value, name)


def _anything(value: Any, name: str) -> None:
    """What nobody has a rule for."""


def _checked(task: Any, name: str, value: Any) -> None:
    fields = tuple(getattr(task, "template_fields", ()) or ())
    templated = name in fields or name in task.set_when_rendered
    argument = _PARAMETERS.get(name, name)
    if templated and _is_open(value):
        return
    if isinstance(value, ResolveMixin):
        who = getattr(task, "task_id", None)
        raise ArgumentError(
            f"{'' if who is None else f'task {who!r}: '}{argument} cannot be the result of another task or a mapped value, "
            f"because it is not templated; templated are {', '.join(fields)}. Give it by .expand({argument}=…) to one task "
            "for each value, or write the value",
            argument=argument,
            value=str(value),
        )
    try:
        task.checks[name](value, argument)
    except ArgumentError as error:
        who = getattr(task, "task_id", None)
        if who is None:
            raise
        raise ArgumentError(
            f"task {who!r}: {error}", **{"argument": argument, **error.facts}
        ) from None


def _is_open(value: Any) -> bool:
    """Whether only the run knows all of ``value``: a template, or another task's result, in any depth."""
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(map(_is_open, [*value, *value.values()]))
    if isinstance(value, Sequence | set):
        return any(map(_is_open, value))
    return isinstance(value, ResolveMixin)
