"""The groups of commands (tag, branch, consumer, position), beside the commands that actions make."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.action_commands import entry_of
from table_core.cli.arguments import (
    AsJson,
    Branch,
    DryRun,
    TableName,
    Warehouse,
    opened,
)
from table_core.cli.commands import Entry
from table_core.cli.rows import show_records
from table_core.jobs.action import Action, Command, Heading, Option, Parameter
from table_core.jobs.common_parameters import DRY_RUN, IF_EXISTS, NAME
from table_core.jobs.registry import action_of
from table_core.shapes import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.jobs.action import Job
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ENTRIES", "GROUPS"]

tags = typer.Typer(no_args_is_help=True, help="Named snapshots, kept until their tag is deleted.")
branches = typer.Typer(no_args_is_help=True, help="Separate lines of snapshots of one table.")
consumers = typer.Typer(no_args_is_help=True, help="Readers that expiry waits for.")
positions = typer.Typer(no_args_is_help=True, help="How far each flow, sync or file load has read.")
sources = typer.Typer(no_args_is_help=True, help="Databases whose changes tables follow.")
GROUPS: Final[Mapping[str, tuple[Heading, typer.Typer]]] = {
    "tag": (Heading.HISTORY, tags),
    "branch": (Heading.HISTORY, branches),
    "consumer": (Heading.FEEDS, consumers),
    "position": (Heading.FEEDS, positions),
    "source": (Heading.FEEDS, sources),
}
"""By the word of the command line."""
Position = Annotated[str, typer.Argument(metavar="POSITION", help="As 'position list' shows it.")]
Source = Annotated[str | None, typer.Option(help="database.table that is read.")]
Reader = Annotated[
    str | None, typer.Option(help="The name of the flow, if several share the property.")
]


def list_tags(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List tags with their snapshots."""
    handle = opened(warehouse, table)
    rows = []
    for name in handle.tags:
        tag = handle.tags.get(name)
        hours = None if tag.retained_ns is None else tag.retained_ns / 3_600e9
        made = output.moment_of(tag.snapshot.time_millis)
        rows.append(
            {"tag": name, "snapshot": tag.snapshot.id, "committed": made, "retained_hours": hours}
        )
    show_records(rows, as_json=as_json)


def list_branches(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List branches with their newest snapshots."""
    rows: list[dict[str, Any]] = []
    for name in opened(warehouse, table).branches:
        head = opened(warehouse, table, name).latest_snapshot()
        rows.append({"branch": name, "snapshot": head.id if head else None})
    show_records(rows, as_json=as_json)


def list_consumers(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List consumers with the snapshots that they read next."""
    next_snapshots = opened(warehouse, table).consumers.list()
    rows = [{"consumer": id, "next_snapshot": next_snapshots[id]} for id in sorted(next_snapshots)]
    show_records(rows, as_json=as_json)


def list_positions(
    warehouse: Warehouse, table: TableName, branch: Branch = None, as_json: AsJson = False
) -> None:
    """List positions: of what feeds the table, and of consumers that read it."""
    show_records(opened(warehouse, table, branch).positions.list(), as_json=as_json)


def show_position(
    warehouse: Warehouse, table: TableName, name: Position, branch: Branch = None
) -> None:
    """Print all that a position holds, as JSON."""
    records = opened(warehouse, table, branch).positions.show(name)
    sys.stdout.write(json.dumps(records, indent=2) + "\n")


def set_position(
    warehouse: Warehouse,
    table: TableName,
    name: Position,
    snapshot: Annotated[
        int | None, typer.Option(help="Continue after this snapshot. 0: start again.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="The position in a source other than a table. It is stored as given."),
    ] = None,
    source: Source = None,
    reader: Reader = None,
    branch: Branch = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make a reader continue after a snapshot of its source."""
    handle = opened(warehouse, table, branch)
    from_table = None if source is None else opened(warehouse, source)
    result = handle.positions.set(
        name, snapshot=snapshot, text=text, source=from_table, reader=reader, dry_run=dry_run
    )
    output.show_result(result, as_json=as_json)


def reset_position(
    warehouse: Warehouse,
    table: TableName,
    name: Position,
    source: Source = None,
    reader: Reader = None,
    branch: Branch = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make a reader start again, and read everything that its source holds."""
    handle = opened(warehouse, table, branch)
    from_table = None if source is None else opened(warehouse, source)
    result = handle.positions.reset(name, source=from_table, reader=reader, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


_NAME: Final = replace(NAME, shape=kinds.TEXT)
"""The verb knows which names there are."""
_TO: Final = replace(_NAME, name="to")
_NEXT: Final = Parameter(
    name="next_snapshot",
    shape=kinds.INTEGER,
    about="",
    required=True,
    option=Option(argument="SNAPSHOT"),
)


def _called(verb: Callable[..., ResultDocument], job: Job) -> ResultDocument:
    more = dict(job.args)
    return verb(more.pop("name"), **more)


def _verb(
    of: str, verb: str, about: str, run: Callable[[Job], ResultDocument], **more: Any
) -> Entry:
    """A command of a verb that no job has: its arguments are a name, ``parameters``, and ``dry_run``."""
    parameters = (_NAME, *more.pop("parameters", ()), DRY_RUN)
    command = Command(path=(of, verb), heading=GROUPS[of][0], **more)
    name = f"{verb}-{of}"
    return entry_of(Action(name=name, about=about, run=run, parameters=parameters, command=command))


def _entry(group: str, name: str, command: Callable[..., None], example: str) -> Entry:
    return Entry((group, name), GROUPS[group][0], command, example)


ENTRIES: Final[Sequence[Entry]] = (
    _entry("tag", "list", list_tags, "shop.orders"),
    _verb(
        "tag",
        "replace",
        "Move a tag to another snapshot, by default the newest.",
        lambda job: _called(job.table.tags.replace, job),
        parameters=map(
            action_of("create-tag").parameter, ("snapshot", "timestamp", "time_retained")
        ),
        example="shop.orders monday --snapshot 3",
    ),
    _verb(
        "tag",
        "rename",
        "Give a tag another name.",
        lambda job: _called(job.table.tags.rename, job),
        parameters=(_TO,),
        example="shop.orders monday first",
    ),
    _entry("branch", "list", list_branches, "shop.orders"),
    _verb(
        "branch",
        "rename",
        "Give a branch another name.",
        lambda job: _called(job.table.branches.rename, job),
        parameters=(_TO,),
        example="shop.orders trial test",
    ),
    _verb(
        "branch",
        "fast-forward",
        "Fast-forward main to the state of a branch.",
        lambda job: _called(job.table.branches.fast_forward, job),
        example="shop.orders trial --dry-run",
    ),
    _entry("consumer", "list", list_consumers, "shop.orders"),
    _verb(
        "consumer",
        "reset",
        "Make a consumer continue at a snapshot.",
        lambda job: _called(job.table.consumers.reset, job),
        parameters=(_NEXT,),
        example="shop.orders report 2",
    ),
    _verb(
        "consumer",
        "delete",
        "Delete a consumer. Expiry no longer waits for it.",
        lambda job: _called(job.table.consumers.delete, job),
        parameters=(IF_EXISTS,),
        example="shop.orders report --dry-run",
    ),
    _entry("position", "list", list_positions, "shop.cities"),
    _entry("position", "show", show_position, "shop.cities tc.flow.cities"),
    _entry(
        "position",
        "set",
        set_position,
        "shop.cities tc.flow.cities --snapshot 2 --source shop.orders --dry-run",
    ),
    _entry("position", "reset", reset_position, "shop.cities tc.flow.cities --dry-run"),
)
