"""The actions that the tables page offers, and the strict check of the ``conf`` that asks for one.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from paimon_provider.arguments.table_identity import SCHEME, TableIdentity
from table_core.errors import ArgumentError

__all__ = ["ACTIONS", "AskedAction", "TableAction", "asked_action"]

_MEMBERS: Final = ("action", "table", "arguments", "dry_run")
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_COUNT_MAX: Final = 2**62


@dataclass(frozen=True, slots=True)
class ActionParameter:
    """One argument, as the page asks for it."""

    name: str
    type: str
    """``string``, ``integer``, ``boolean`` or ``datetime``."""
    does: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableAction:
    """One action, and the job that does it."""

    name: str
    job: str
    title: str
    parameters: tuple[ActionParameter, ...]


_SNAPSHOT: Final = ActionParameter("snapshot", "integer", "The id of the snapshot.")
ACTIONS: Final[Mapping[str, TableAction]] = {
    action.name: action
    for action in (
        TableAction(
            "compact",
            "compact",
            "Compact",
            (
                ActionParameter(
                    "strategy",
                    "string",
                    "full: each bucket becomes one sorted run; minor: what an automatic compaction would do.",
                    choices=("full", "minor"),
                ),
            ),
        ),
        TableAction(
            "expire_snapshots",
            "expire-snapshots",
            "Expire snapshots",
            (
                ActionParameter("retain_max", "integer", "Keep at most so many."),
                ActionParameter("retain_min", "integer", "Keep at least so many."),
                ActionParameter("older_than", "datetime", "Only those from before this time."),
            ),
        ),
        TableAction(
            "create_tag",
            "create-tag",
            "Create a tag",
            (
                ActionParameter("name", "string", "The name of the tag.", required=True),
                ActionParameter("snapshot", "integer", "The snapshot; default: the newest."),
                ActionParameter("time_retained", "string", "How long the tag holds, e.g. 7 d."),
            ),
        ),
        TableAction(
            "rollback",
            "rollback",
            "Roll back",
            (_SNAPSHOT, ActionParameter("tag", "string", "A tag, instead of a snapshot.")),
        ),
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


def _arguments(action: TableAction, document: object) -> dict[str, Any]:
    if not isinstance(document, Mapping):
        raise _wrong("arguments", document, "a mapping")
    known = {parameter.name: parameter for parameter in action.parameters}
    unknown = sorted(str(name) for name in document if name not in known)
    if unknown:
        raise _wrong(
            "arguments", unknown, f"arguments of {action.name}: there are {', '.join(known)}"
        )
    arguments = {}
    for name, parameter in known.items():
        value = document.get(name)
        if value is None or value == "":
            if parameter.required:
                raise _wrong(name, value, f"given: {parameter.does}")
            continue
        arguments[name] = _value(parameter, value)
    if action.name == "rollback" and len(arguments) != 1:
        raise _wrong(
            "arguments", sorted(arguments), "a snapshot or a tag to roll back to, and not both"
        )
    return arguments


def _value(parameter: ActionParameter, value: Any) -> Any:
    name = parameter.name
    match parameter.type:
        case "integer":
            fits = isinstance(value, int) and not isinstance(value, bool) and 0 < value < _COUNT_MAX
            if not fits:
                raise _wrong(name, value, "a whole number of at least 1")
            return value
        case "boolean":
            if not isinstance(value, bool):
                raise _wrong(name, value, "true or false")
            return value
        case "datetime":
            return _millis(name, value)
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise _wrong(name, value, "text of at most 200 characters")
    if parameter.choices and value not in parameter.choices:
        raise _wrong(name, value, f"one of {', '.join(parameter.choices)}")
    return value


def _millis(name: str, value: Any) -> int:
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise _wrong(name, value, "a point in time in ISO 8601") from error
    if at.tzinfo is None:
        raise _wrong(name, value, "a point in time with a zone, e.g. 2026-01-31T10:00:00Z")
    return int(at.timestamp() * 1000)


def _wrong(argument: str, value: object, expected: str) -> ArgumentError:
    shown = repr(value)[:200]
    return ArgumentError(
        f"conf: {argument}={shown} is not {expected}", argument=argument, value=shown
    )
