"""What an argument of many parts must be: sources of a query, clauses of a merge, a policy of upkeep.

The words are the core's own; it is asked for them when such an argument is checked, not when a Dag is
read that has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from paimon_provider.arguments.values import (
    Check,
    count,
    duration,
    flag,
    keys,
    name_of_file,
    names,
    number,
    one_of,
    optional,
    position_name,
    require_table,
    text,
    written,
    wrong,
)
from table_core.errors import ArgumentError, TableError
from table_core.options.nearest import require_one_of

__all__ = [
    "changes",
    "columns",
    "each_partition",
    "follow",
    "mapping",
    "merge_source",
    "of_members",
    "options",
    "overwrite",
    "parameters",
    "partition",
    "pending",
    "policy",
    "prefix",
    "rules",
    "server_source",
    "sources",
    "sync_settings",
    "sync_source",
    "thresholds",
    "values",
    "when",
]

_VIEW: Final = re.compile(r"[^\W\d]\w*")
_VALUES: Final = (str, int, float, bool, date, datetime, Decimal, None.__class__)
"""What a partition value may be."""
CHANGES: Final = (
    *("AddColumn", "DropColumn", "DropPrimaryKey", "RemoveOption", "RenameColumn", "SetOption"),
    *("UpdateColumnComment", "UpdateColumnDefault", "UpdateColumnNullability"),
    *("UpdateColumnPosition", "UpdateColumnType", "UpdateComment"),
)
"""Of a schema; names of ``table_core``."""
MODES: Final = ("snapshot", "changes")
SYNC_KINDS: Final = ("files", "kafka", "mysql", "postgres")
"""As ``table_core.cdc.sync.source_kinds`` has them, which loads Arrow."""


def mapping(value: Any, name: str) -> None:
    """Refuse what is no mapping from texts."""
    keys(value, name)


def of_members(required: Sequence[str] = (), /, **checks: Check) -> Check:
    """A check for a mapping that has no members but ``checks``, each as it says."""

    def check(value: Any, name: str) -> None:
        keys(value, name, checks)
        for member in required:
            if value.get(member) is None:
                raise wrong(name, value, f"mapping with {member!r}")
        for member, content in value.items():
            checks[member](content, f"{name}[{member!r}]")

    return check


def each_of(check: Check, least: int = 0) -> Check:
    """A check for a list of at least ``least``, each as ``check`` says."""

    def whole(value: Any, name: str) -> None:
        if not isinstance(value, list | tuple) or len(value) < least:
            raise wrong(name, value, f"list of at least {least}" if least else "list")
        for place, one in enumerate(value):
            check(one, f"{name}[{place}]")

    return whole


def _view(value: Any, name: str) -> None:
    text(value, name)
    if not _VIEW.fullmatch(value):
        raise wrong(name, value, "name of a view: letters, digits and _, no digit first")


_SOURCE: Final = of_members(
    ("table",), table=require_table, mode=one_of(*MODES), position=optional(position_name)
)


def sources(value: Any, name: str) -> None:
    """Refuse what is not view name to ``{"table", "mode", "position"}``."""
    keys(value, name)
    for view, source in value.items():
        _view(view, f"{name}: view")
        _SOURCE(source, f"{name}[{view!r}]")


pending: Final = of_members(("table", "sql"), table=require_table, sql=written, view=_view)
"""Refuses what is not ``{"table", "sql"}``, maybe with ``view``."""


def merge_source(value: Any, name: str) -> None:
    """Refuse what is not one of ``{"table"}``, ``{"path"}`` and ``{"sql", "sources"}``."""
    checks = {"table": require_table, "path": text, "sql": written, "sources": optional(sources)}
    of_members(**checks)(value, name)
    if sum(value.get(one) is not None for one in ("table", "path", "sql")) != 1:
        raise wrong(name, value, "source: give one of table, path and sql")
    if value.get("sources") is not None and "sql" not in value:
        raise wrong(name, value, "source: sources are for sql")
    for view, one in (value.get("sources") or {}).items():
        if one.get("mode", "snapshot") != "snapshot" or one.get("position"):
            raise wrong(
                f"{name}: sources[{view!r}]",
                one,
                "source: a merge reads the newest snapshot of a table",
            )


def partition(value: Any, name: str) -> None:
    """Refuse what is not column to value."""
    keys(value, name)
    if not value or not all(isinstance(one, _VALUES) for one in value.values()):
        raise wrong(name, value, "partition: write column to value, e.g. {'dt': '2026-01-01'}")


def each_partition(value: Any, name: str) -> None:
    """Refuse what is no list of partitions."""
    each_of(partition)(value, name)


def overwrite(value: Any, name: str) -> None:
    """Refuse what is neither ``partitions``, nor ``table``, nor a partition."""
    if isinstance(value, Mapping):
        partition(value, name)
    else:
        require_one_of(name, value, ("partitions", "table"))


def columns(value: Any, name: str) -> None:
    """Refuse what is not column to the text of a type."""
    from table_core.declaration.foreign_types import known_type, type_hint

    keys(value, name)
    if not value:
        raise wrong(name, value, "columns: name one at least")
    for column, type_ in value.items():
        text(type_, f"{name}[{column!r}]")
        if known_type(type_) is None:
            raise wrong(f"{name}[{column!r}]", type_, f"type{type_hint(type_)}")


def options(value: Any, name: str) -> None:
    """Refuse what is not option to value, or a value that the option does not take."""
    from table_core.options.user_options import refuse_wrong

    keys(value, name)
    for option, setting in value.items():
        if not isinstance(setting, str | int | float | bool):
            raise wrong(f"{name}[{option!r}]", setting, "text")
    try:
        refuse_wrong(value)
    except TableError as error:
        raise ArgumentError(f"{name}: {error}", **{**error.facts, "argument": name}) from error


def parameters(value: Any, name: str) -> None:
    """Refuse what is not name to a value that JSON can hold, so that SQL can be given it."""
    keys(value, name)
    for parameter, argument in value.items():
        _view(parameter, f"{name}: name")
        try:
            json.dumps(argument, default=_plain)
        except (TypeError, ValueError) as error:
            raise wrong(f"{name}[{parameter!r}]", argument, f"value: {error}") from error


def _plain(value: object) -> str:
    if isinstance(value, date | Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be given to a job")


def rules(value: Any, name: str) -> None:
    """Refuse rules that there are not, of another form, or that check nothing."""
    from table_core.table.api.check_rules import sound_rules

    keys(value, name)
    for one in ("sql", "where"):
        optional(written)(value.get(one), f"{name}[{one!r}]")
    try:
        sound_rules(value, against=True)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}", **{**error.facts, "argument": name}) from error


def changes(value: Any, name: str) -> None:
    """Refuse what is no list of changes of a schema, each with its members."""
    import table_core

    def one(change: Any, where: str) -> None:
        keys(change, where)
        require_one_of(f"{where}['change']", change.get("change"), CHANGES)
        members = {field.name: field for field in fields(getattr(table_core, change["change"]))}
        keys(change, where, {"change": None, **members})
        for member, field in members.items():
            if field.default is MISSING and member not in change:
                raise wrong(where, change, f"{change['change']}: it has no {member!r}")

    each_of(one, 1)(value, name)


def values(value: Any, name: str) -> None:
    """Refuse what is not column to SQL."""
    keys(value, name)
    if not value:
        raise wrong(name, value, "mapping of columns to SQL")
    for column, sql in value.items():
        written(sql, f"{name}[{column!r}]")


def when(value: Any, name: str) -> None:
    """Refuse what is no list of clauses of a merge."""
    from table_core.declaration.verbs import CLAUSES

    clause = of_members(
        ("action",),
        action=one_of(*CLAUSES),
        values=optional(values),
        condition=optional(written),
    )
    each_of(clause, 1)(value, name)


def thresholds(value: Any, name: str) -> None:
    """Refuse what is not a threshold of ``table.health`` to a number."""
    from table_core.declaration.grammar import THRESHOLDS

    of_members(**dict.fromkeys(THRESHOLDS.members, number))(value, name)


def _upkeep() -> dict[str, Check]:
    """What upkeep may be told, by action."""
    told: dict[str, Check] = {
        "strategy": one_of("full", "minor"),
        "where": optional(written),
        "order_by": optional(names(1)),
        "retain_max": optional(count(1)),
        "retain_min": optional(count(1)),
        "max_deletes": optional(count(1)),
        "expiration_time": optional(duration),
        "partitions": optional(each_partition),
        "dry_run": flag,
    }
    from table_core.declaration.grammar import UPKEEP_ACTIONS
    from table_core.declaration.step_arguments import ACTIONS

    return {
        action: of_members(**{m: told.get(m, lambda *_: None) for m in ACTIONS[action].takes})
        for action in UPKEEP_ACTIONS
    }


def policy(value: Any, name: str) -> None:
    """Refuse what is not an action of upkeep to its arguments, or to None."""
    actions = {action: optional(check) for action, check in _upkeep().items()}
    of_members(**{"thresholds": optional(thresholds), **actions})(value, name)


def follow(value: Any, name: str) -> None:
    """Refuse what is not an action of upkeep to the task or tasks that do it."""
    from table_core.declaration.grammar import UPKEEP_ACTIONS

    def tasks(action_tasks: Any, where: str) -> None:
        (text if isinstance(action_tasks, str) else names(1))(action_tasks, where)

    of_members(**dict.fromkeys(UPKEEP_ACTIONS, tasks))(value, name)


def sync_source(value: Any, name: str) -> None:
    """Refuse what names no source of change events; its kind looks at the rest."""
    keys(value, name)
    require_one_of(f"{name}['kind']", value.get("kind", "files"), SYNC_KINDS)
    if value.get("kind", "files") == "files":
        text(value.get("uri"), f"{name}['uri']")


def server_source(value: Any, name: str) -> None:
    """Refuse what names no database server."""
    keys(value, name)
    require_one_of(f"{name}['kind']", value.get("kind"), ("mysql", "postgres"))


def sync_settings(value: Any, name: str) -> None:
    """Refuse settings of a sync that are of a wrong kind; the sync knows their names."""
    keys(value, name)
    told = one_of("apply", "ignore", "fail")
    checks: dict[str, Check] = {
        "on_truncate": told,
        "on_drop": told,
        "on_rewrite": one_of("resync", "fail"),
        "resync_rows": optional(count(1)),
        "dead_letter": optional(require_table),
        "fill_defaults": flag,
        "commit_rows": optional(count(1)),
        "max_columns": optional(count(1)),
        "max_rows": optional(count(1)),
        "max_duration": optional(duration),
        "options": optional(options),
    }
    for setting, choice in value.items():
        if setting in checks:
            checks[setting](choice, f"{name}[{setting!r}]")


def prefix(value: Any, name: str) -> None:
    """Refuse what cannot begin the name of a table; '' can."""
    if value != "":
        name_of_file(value, name)
