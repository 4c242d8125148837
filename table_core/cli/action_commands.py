"""Commands made of actions: each that ``table_core.jobs.registry`` has is here without a line of its own."""

from __future__ import annotations

import inspect
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.arguments import (
    AsJson,
    CommitIdentifier,
    CommitProperty,
    CommitUser,
    CommitWatermark,
    Database,
    TableName,
    Warehouse,
    commit_as,
    named_once,
    pairs,
)
from table_core.cli.commands import Entry
from table_core.cli.rows import show_records
from table_core.cli.running import run_action
from table_core.errors import ArgumentError
from table_core.jobs.action import Command, Target
from table_core.jobs.registry import ACTIONS
from table_core.shapes.containers import ListOf, MapOf
from table_core.shapes.shape import Flag, Number
from table_core.shapes.times import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.jobs.action import Action, Parameter
    from table_core.shapes.shape import Shape

__all__ = ["action_entries", "entry_of", "moment", "partition_of"]

_TARGETS: Final[Mapping[Target, tuple[str, Any]]] = {
    Target.TABLE: ("table", TableName),
    Target.DATABASE: ("database", Database),
}


def action_entries() -> Iterator[Entry]:
    """A command for each action of the registry that has one."""
    return (entry_of(action) for action in ACTIONS.values() if action.command is not None)


def entry_of(action: Action) -> Entry:
    """The command of ``action``, whether jobs know it or not; it has one."""
    command = action.command or Command()
    return Entry(
        path=command.path or (action.name,),
        heading=command.heading,
        command=_command(action, command),
        example=command.example,
        about=command.about or action.about,
    )


def moment(text: str | None) -> datetime | None:
    """A point in time of the command line.

    Raises:
        ArgumentError: it is none, or lacks an offset from UTC.
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentError(f"{text!r}: {error}", argument="timestamp", value=text) from error


def partition_of(text: str) -> dict[str, Any]:
    """``dt=2026-01-01,hour=5`` as a partition, or the same as JSON, which has NULL and values with commas.

    Raises:
        ArgumentError: a part has no '=', it is no JSON object, or a column is named twice.
    """
    if text.lstrip().startswith("{"):
        try:
            members = json.loads(text, object_pairs_hook=tuple)
        except ValueError as error:
            raise ArgumentError(f"{text}: no JSON: {error}", argument="partition") from error
        return named_once(members, "--partition")
    parts = [part.partition("=") for part in text.split(",")]
    if any(not mark for _, mark, _ in parts):
        raise ArgumentError(f"{text!r}: write dt=2026-01-01,hour=5", argument="partition")
    return named_once(((name.strip(), value) for name, _, value in parts), "--partition")


def _command(action: Action, command: Command) -> Callable[..., None]:
    """What typer makes a command of: its parameters are those of ``action``."""
    target, target_type = _TARGETS[action.target]

    def run(*, warehouse: str, as_json: bool, **arguments: Any) -> None:
        from table_core.table.metadata.results import ResultDocument

        name = arguments.pop(target)
        who = {option: arguments.pop(option, None) for option in _COMMIT}
        result = run_action(
            action,
            warehouse,
            name,
            _arguments(action, arguments),
            as_json=as_json,
            commit=commit_as(*who.values()),
        )
        if not isinstance(result, ResultDocument):
            output.show_health(result, as_json=as_json)
        elif command.shows:
            details = result.details
            show_records([{name: details[name] for name in command.shows}], as_json=as_json)
        else:
            output.show_result(result, as_json=as_json)

    taken = {
        "warehouse": (Warehouse, inspect.Parameter.empty),
        target: (target_type, inspect.Parameter.empty),
        **{name: (of, default) for name, of, default in _options(action)},
        **(_COMMIT if command.commits else {}),
        "as_json": (AsJson, False),
    }
    signature = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=of, default=default)
            for name, (of, default) in taken.items()
        ]
    )
    made: Any = run
    made.__signature__ = signature
    made.__annotations__ = {name: of for name, (of, _) in taken.items()}
    return run


_COMMIT: Final[Mapping[str, tuple[Any, Any]]] = {
    "commit_user": (CommitUser, None),
    "commit_identifier": (CommitIdentifier, None),
    "property_": (CommitProperty, None),
    "watermark": (CommitWatermark, None),
}
"""Who commits, in the order of ``commit_as``."""


def _options(action: Action) -> Iterator[tuple[str, Any, Any]]:
    """Name, type and default of each parameter that a command shows."""
    for parameter in action.parameters:
        option = parameter.option
        if option is None or not option.shown:
            continue
        of: Any = datetime if option.utc else _type(parameter.shape)
        if option.argument:
            told = typer.Argument(metavar=option.argument, help=option.about or None)
            yield parameter.name, Annotated[of, told], inspect.Parameter.empty
            continue
        default = parameter.default if option.default is None else option.default
        flags = [option.flag] if option.flag else []
        if isinstance(parameter.shape, Flag) and default is False and not flags:
            flags = [f"--{parameter.name.replace('_', '-')}"]
        told = typer.Option(*flags, help=option.about or parameter.about)
        must = parameter.required and _type(parameter.shape) is not _REPEATED
        if must:
            yield parameter.name, Annotated[of, told], inspect.Parameter.empty
        else:
            optional = of if default is not None else of | None
            yield parameter.name, Annotated[optional, told], default


def _arguments(action: Action, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the job gets of what the command line has."""
    arguments: dict[str, Any] = {}
    for parameter in action.parameters:
        option = parameter.option
        if option is None or not parameter.job:
            continue
        if not option.shown:
            arguments[parameter.name] = option.default
            continue
        value = values[parameter.name]
        if value is None and parameter.required:  # a list that may be named again and again
            value = []
        if value is not None and (value != [] or parameter.required):
            arguments[parameter.name] = _value(parameter, value)
    return arguments


def _value(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    shape = parameter.shape
    if isinstance(shape, MapOf):
        texts = pairs(value, _flag(parameter))
        return {name: shape.item.of_text(text) for name, text in texts.items()}
    if isinstance(shape, ListOf):
        if isinstance(shape.item, MapOf):
            return [partition_of(text) for text in value]
        return [name.strip() for name in value.split(",")]
    return moment(value) if isinstance(shape, Moment) else value


def _flag(parameter: Parameter) -> str:
    flag = parameter.option.flag if parameter.option else ""
    return flag or f"--{parameter.name.replace('_', '-')}"


_REPEATED: Final = list[str]
"""Of an option that may be repeated."""


def _type(shape: Shape) -> Any:
    """What typer reads for a shape; text by default."""
    if isinstance(shape, MapOf) or (isinstance(shape, ListOf) and isinstance(shape.item, MapOf)):
        return _REPEATED
    if isinstance(shape, Number):
        return int if shape.whole else float
    return bool if isinstance(shape, Flag) else str
