"""The actions that the tables page offers, and the strict check of the ``conf`` that asks for one.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.arguments.table_identity import SCHEME, TableIdentity
from table_core.errors import ArgumentError
from table_core.jobs.registry import action_of
from table_core.shapes.problem import abridged
from table_core.shapes.shape import Flag, Number, Text
from table_core.shapes.times import Moment

if TYPE_CHECKING:
    from table_core.jobs.action import Parameter

__all__ = ["ACTIONS", "AskedAction", "TableAction", "asked_action"]

_MEMBERS: Final = ("action", "table", "arguments", "dry_run")
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_TYPES: Final = {Number: "integer", Flag: "boolean", Moment: "datetime"}


@dataclass(frozen=True, slots=True)
class ActionParameter:
    """One argument, as the page asks for it."""

    name: str
    type: str
    """``string``, ``integer``, ``boolean`` or ``datetime``."""
    does: str
    required: bool
    choices: tuple[str, ...]

    @classmethod
    def of(cls, parameter: Parameter) -> ActionParameter:
        """What the action says of it."""
        shape = parameter.shape
        choices = tuple(shape.one_of) if isinstance(shape, Text) else ()
        type_ = _TYPES.get(type(shape), "string")
        return cls(parameter.name, type_, parameter.about, parameter.required, choices)


@dataclass(frozen=True)
class TableAction:
    """One action, and the job that does it."""

    job: str
    title: str
    takes: tuple[str, ...]
    """The parameters of the job that the page asks for."""

    @property
    def name(self) -> str:
        """What a ``conf`` calls it."""
        return self.job.replace("-", "_")

    @cached_property
    def parameters(self) -> tuple[ActionParameter, ...]:
        """Those, as the page asks for them."""
        action = action_of(self.job)
        return tuple(ActionParameter.of(action.parameter(name)) for name in self.takes)


ACTIONS: Final[Mapping[str, TableAction]] = {
    action.name: action
    for action in (
        TableAction("compact", "Compact", ("strategy",)),
        TableAction(
            "expire-snapshots", "Expire snapshots", ("retain_max", "retain_min", "older_than")
        ),
        TableAction("create-tag", "Create a tag", ("name", "snapshot", "time_retained")),
        TableAction("rollback", "Roll back", ("snapshot", "tag")),
    )
}


@dataclass(frozen=True, slots=True)
class AskedAction:
    """What a run is asked to do."""

    action: TableAction
    table: str
    """``database.table`` in lower case."""
    catalog: str | None
    """Of a URI."""
    arguments: Mapping[str, Any]
    """Of the job; a point in time in epoch milliseconds."""
    dry_run: bool


def asked_action(conf: object) -> AskedAction:
    """Check ``conf``: ``{"action", "table", "arguments", "dry_run"}`` and nothing else.

    Raises:
        ArgumentError: names the member that is missing, unknown or of another kind.
    """
    if not isinstance(conf, Mapping):
        raise _wrong("conf", conf, "a mapping with action and table")
    unknown = sorted(str(name) for name in conf if name not in _MEMBERS)
    if unknown:
        raise _wrong("conf", unknown, f"members: there are {', '.join(_MEMBERS)}")
    action = ACTIONS.get(conf["action"]) if isinstance(conf.get("action"), str) else None
    if action is None:
        raise _wrong("action", conf.get("action"), f"one of {', '.join(ACTIONS)}")
    dry_run = conf.get("dry_run", True)
    if not isinstance(dry_run, bool):
        raise _wrong("dry_run", dry_run, "true or false")
    catalog, table = _table(conf.get("table"))
    arguments = conf.get("arguments")
    return AskedAction(action, table, catalog, _arguments(action, arguments or {}), dry_run)


def _table(uri: object) -> tuple[str | None, str]:
    if not isinstance(uri, str) or not _TEXT.fullmatch(uri[:201]):
        raise _wrong("table", uri, "the URI of a table, or database.table")
    if uri.startswith(f"{SCHEME}://"):
        identity = TableIdentity.of_uri(uri)
        if identity is None:
            raise _wrong("table", uri, "paimon://catalog/database/table")
        return identity.catalog, identity.table
    return None, TableIdentity.of(uri, catalog="any").table


def _arguments(asked: TableAction, document: object) -> dict[str, Any]:
    if not isinstance(document, Mapping):
        raise _wrong("arguments", document, "a mapping")
    unknown = sorted(str(name) for name in document if name not in asked.takes)
    if unknown:
        raise _wrong(
            "arguments", unknown, f"arguments of {asked.name}: there are {', '.join(asked.takes)}"
        )
    action, arguments = action_of(asked.job), {}
    for name in asked.takes:
        parameter, value = action.parameter(name), document.get(name)
        if value is not None and value != "":
            arguments[name] = _value(parameter, value)
        elif parameter.required:
            raise _wrong(name, value, f"given: {parameter.about}")
    action.require_together(arguments, {name: name for name in asked.takes})
    return arguments


def _value(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, str) and not _TEXT.fullmatch(value):
        raise _wrong(parameter.name, value, "text of at most 200 characters")
    for problem in parameter.shape.problems(value):
        raise ArgumentError(
            f"conf: {parameter.name}{problem.place}: {problem.message}",
            argument=parameter.name,
            value=abridged(value),
        )
    return parameter.shape.plain(value)


def _wrong(argument: str, value: object, expected: str) -> ArgumentError:
    shown = repr(value)[:200]
    return ArgumentError(
        f"conf: {argument}={shown} is not {expected}", argument=argument, value=shown
    )
