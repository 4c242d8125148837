"""What arguments of operators, sensors and triggers must be, said where they are written.

A wrong one is an error in the Dag, with the nearest spelling, and not of the task hours later.  What a
template gives is checked when the task starts, before anything is done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, TypeAlias

from paimon_provider.arguments.table_identity import is_template
from paimon_provider.arguments.timestamps import epoch_ms, seconds_of, snapshot_id
from table_core.errors import ArgumentError
from table_core.options import parse
from table_core.options.nearest import require_one_of
from table_core.options.spark_settings import require_printable, require_settings

__all__ = [
    "CHECKS",
    "ChecksArguments",
    "mapping",
    "one_of",
    "optional",
    "require_arguments",
    "require_early",
    "require_table",
    "seconds",
    "text",
    "with_checks",
]

Check: TypeAlias = Callable[[Any, str], object]
"""Takes a value and the name of its argument; raises ``ArgumentError``."""
_PARAMETERS: Final = {"dry_run_only": "dry_run"}
"""Arguments that an attribute holds under another name."""
_NEXT_TO_A_TEMPLATE: Final = ("", "None")
"""What a template renders to where there is nothing."""


def _wrong(name: str, value: object, expected: str) -> ArgumentError:
    return ArgumentError(f"{name}={value!r} is no {expected}", argument=name, value=value)


def require_table(value: Any, name: str) -> None:
    """Refuse what is no ``database.table``."""
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) < 2 or not all(part.strip() for part in parts) or re.search(r"[/\\]", value):
        raise _wrong(name, value, "table: write database.table")
    require_printable(value, name)


def _written(value: Any, name: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(name, value, "text, or is empty")


def text(value: Any, name: str) -> None:
    """Refuse what is no text of one line, or an empty one."""
    _written(value, name)
    require_printable(value, name)


def _flag(value: Any, name: str) -> None:
    if not isinstance(value, bool):
        raise _wrong(name, value, "True or False")


def _count(least: int) -> Check:
    def check(value: Any, name: str) -> None:
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise _wrong(name, value, f"whole number of at least {least}")

    return check


def seconds(value: Any, name: str) -> None:
    """Refuse what is no number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise _wrong(name, value, "number of seconds above 0")


def _duration(value: Any, name: str) -> None:
    try:
        parse.duration_ms(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        raise _wrong(name, value, f"length of time: {error}") from error


def _length(value: Any, name: str) -> None:
    if isinstance(value, bool) or value is None:
        raise _wrong(name, value, "length of time such as '2 h'")
    seconds_of(value, name)


def _moment(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int | datetime | None):
        raise _wrong(name, value, "point in time: write ISO 8601 with a zone")
    epoch_ms(value, name)


def _snapshot(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | str | None):
        raise _wrong(name, value, "snapshot id")
    if (snapshot_id(value, name) or 0) < 0:
        raise _wrong(name, value, "snapshot id")


def _names(value: Any, name: str) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(o, str) and o for o in value):
        raise _wrong(name, value, "list of names")


def mapping(value: Any, name: str) -> None:
    """Refuse what is no mapping."""
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "mapping of names to values")


def _mappings(value: Any, name: str) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise _wrong(name, value, "list of mappings, one each")


def _pattern(value: Any, name: str) -> None:
    try:
        re.compile(value)
    except (re.error, TypeError) as error:
        raise _wrong(name, value, f"regular expression: {error}") from error


def _settings(value: Any, name: str) -> None:
    mapping(value, name)
    require_settings(value)


def one_of(*known: str) -> Check:
    """A check that takes one of ``known``."""
    return lambda value, name: require_one_of(name, value, known)


def optional(check: Check) -> Check:
    """``check``, and None is taken too."""

    def either(value: Any, name: str) -> None:
        if value is not None:
            check(value, name)

    return either


CHECKS: Final[Mapping[str, Check]] = {
    "table": require_table,
    "database": text,
    "paimon_conn_id": text,
    "catalog": optional(text),
    "engine": one_of("spark", "local"),
    "events": one_of("changes", "any", "none"),
    "strategy": one_of("full", "minor"),
    "branch": text,
    "tag": optional(text),
    "file": text,
    "label_column": text,
    "value_column": text,
    "deferrable": _flag,
    "dry_run_only": _flag,
    "if_exists": _flag,
    "if_not_exists": _flag,
    "allow_young": _flag,
    "from_head": _flag,
    "replace": _flag,
    "force": _flag,
    "fail": _flag,
    "positions": _flag,
    "merge_shards": _flag,
    "start_from_trigger": _flag,
    "announce_partitions": _flag,
    "done": _flag,
    "retain_max": optional(_count(1)),
    "retain_min": optional(_count(1)),
    "max_deletes": optional(_count(1)),
    "buckets": optional(_count(1)),
    "parallelism": _count(1),
    "min_rows": _count(0),
    "poll_seconds": seconds,
    "older_than": _moment,
    "timestamp": _moment,
    "snapshot": _snapshot,
    "after": _snapshot,
    "expiration_time": optional(_duration),
    "idle_time": optional(_duration),
    "time_retained": optional(_duration),
    "within": _length,
    "including": _pattern,
    "excluding": _pattern,
    "columns": optional(_names),
    "order_by": optional(_names),
    "primary_key": _names,
    "partition_by": _names,
    "computed_columns": _names,
    "type_mapping": _names,
    "partitions": optional(_mappings),
    "changes": _mappings,
    "when": _mappings,
    "partition": mapping,
    "values": mapping,
    "rules": mapping,
    "policy": mapping,
    "parameters": optional(mapping),
    "thresholds": optional(mapping),
    "settings": optional(mapping),
    "options": optional(mapping),
    "spark_conf": optional(_settings),
    "where": optional(_written),
    "sql": optional(_written),
    "against": optional(_written),
}
"""What each argument must be, by its name; a class may have its own."""


def with_checks(**own: Check) -> Mapping[str, Check]:
    """``CHECKS`` with some of a class of its own."""
    return {**CHECKS, **own}


class ChecksArguments:
    """Mixin: arguments are checked when they are set, and with ``require_arguments`` once more."""

    checks: ClassVar[Mapping[str, Check]] = CHECKS

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it; while the task is being made, refuse what it must not be.

        Raises:
            ArgumentError: names the task, the argument and what it must be.
        """
        super().__setattr__(name, value)
        made = getattr(self, "_BaseOperator__instantiated", False)
        if name in self.checks and not made:
            _checked(self, name, value)


def require_early(task: Any, **given: Any) -> None:
    """Check arguments of ``task`` before they are set, as ``__setattr__`` does.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name, value in given.items():
        _checked(task, name, value)


def require_arguments(task: Any) -> None:
    """Check every argument of ``task``; templates are rendered by now.

    Raises:
        ArgumentError: names the argument and what it must be.
    """
    for name in task.checks:
        if name in vars(task):
            _checked(task, name, vars(task)[name])


def _checked(task: Any, name: str, value: Any) -> None:
    templated = name in (getattr(task, "template_fields", ()) or ())
    if hasattr(value, "resolve") or (templated and _is_open(value)):
        return
    if templated and isinstance(value, str) and value in _NEXT_TO_A_TEMPLATE:
        return
    argument = _PARAMETERS.get(name, name)
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
    return hasattr(value, "resolve")
