"""The groups of commands (tag, branch, consumer, position), beside the commands that actions make."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.action_commands import moment
from table_core.cli.arguments import (
    AsJson,
    Branch,
    DryRun,
    IfExists,
    Snapshot,
    TableName,
    Timestamp,
    Warehouse,
    opened,
)
from table_core.cli.rows import show_records

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GROUPS"]

tags = typer.Typer(no_args_is_help=True, help="Names for snapshots, which live as long as they do.")
branches = typer.Typer(no_args_is_help=True, help="Lines of history of their own.")
consumers = typer.Typer(no_args_is_help=True, help="Readers that expiry waits for.")
positions = typer.Typer(no_args_is_help=True, help="How far what feeds a table has come.")
GROUPS: Final[Mapping[str, typer.Typer]] = {
    "tag": tags,
    "branch": branches,
    "consumer": consumers,
    "position": positions,
}
"""By the word of the command line."""
Name = Annotated[str, typer.Argument(metavar="NAME")]
Position = Annotated[str, typer.Argument(metavar="POSITION", help="As 'position list' shows it.")]
Source = Annotated[str | None, typer.Option(help="database.table that is read.")]
Reader = Annotated[str | None, typer.Option(help="Name of the flow, where several share one.")]
Retained = Annotated[str | None, typer.Option(help="How long the tag holds, e.g. '7 d'.")]


@tags.command("list")
def list_tags(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List tags with their snapshots."""
    handle = opened(warehouse, table)
    rows = []
    for name in handle.tags:
        tag = handle.tags.get(name)
        hours = None if tag.retained_ns is None else tag.retained_ns / 3_600e9
        made = output.utc(tag.snapshot.time_millis)
        rows.append(
            {"tag": name, "snapshot": tag.snapshot.id, "committed": made, "retained_hours": hours}
        )
    show_records(rows, as_json=as_json)


@tags.command("replace")
def replace_tag(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
    snapshot: Snapshot = None,
    timestamp: Timestamp = None,
    time_retained: Retained = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a tag stand for another snapshot, by default the newest."""
    result = opened(warehouse, table).tags.replace(
        name,
        snapshot=snapshot,
        timestamp=moment(timestamp),
        time_retained=time_retained,
        dry_run=dry_run,
    )
    output.show_result(result, as_json=as_json)


@tags.command("rename")
def rename_tag(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
    to: Name,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Give a tag another name."""
    result = opened(warehouse, table).tags.rename(name, to, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@branches.command("list")
def list_branches(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List branches with their newest snapshots."""
    rows: list[dict[str, Any]] = []
    for name in opened(warehouse, table).branches:
        head = opened(warehouse, table, name).latest_snapshot()
        rows.append({"branch": name, "snapshot": head.id if head else None})
    show_records(rows, as_json=as_json)


@branches.command("rename")
def rename_branch(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
    to: Name,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Give a branch another name."""
    result = opened(warehouse, table).branches.rename(name, to, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@branches.command("fast-forward")
def fast_forward(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let main go on as the branch has."""
    result = opened(warehouse, table).branches.fast_forward(name, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@consumers.command("list")
def list_consumers(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List consumers with the snapshots that they read next."""
    found = opened(warehouse, table).consumers.list()
    rows = [{"consumer": id, "next_snapshot": found[id]} for id in sorted(found)]
    show_records(rows, as_json=as_json)


@consumers.command("reset")
def reset_consumer(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
    next_snapshot: Annotated[int, typer.Argument(metavar="SNAPSHOT")],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a consumer go on at a snapshot."""
    result = opened(warehouse, table).consumers.reset(name, next_snapshot, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@consumers.command("delete")
def delete_consumer(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
    if_exists: IfExists = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete a consumer. Expiry no longer waits for it."""
    result = opened(warehouse, table).consumers.delete(name, if_exists=if_exists, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@positions.command("list")
def list_positions(
    warehouse: Warehouse, table: TableName, branch: Branch = None, as_json: AsJson = False
) -> None:
    """List positions: of what feeds the table, and of consumers that read it."""
    show_records(opened(warehouse, table, branch).positions.list(), as_json=as_json)


@positions.command("show")
def show_position(
    warehouse: Warehouse, table: TableName, name: Position, branch: Branch = None
) -> None:
    """Print all that a position holds, as JSON."""
    found = opened(warehouse, table, branch).positions.show(name)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


@positions.command("set")
def set_position(
    warehouse: Warehouse,
    table: TableName,
    name: Position,
    snapshot: Annotated[int | None, typer.Option(help="Go on after it; 0: start.")] = None,
    text: Annotated[str | None, typer.Option(help="Of other sources: stored as it is.")] = None,
    source: Source = None,
    reader: Reader = None,
    branch: Branch = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a reader go on after a snapshot of its source."""
    handle = opened(warehouse, table, branch)
    from_table = None if source is None else opened(warehouse, source)
    result = handle.positions.set(
        name, snapshot=snapshot, text=text, source=from_table, reader=reader, dry_run=dry_run
    )
    output.show_result(result, as_json=as_json)


@positions.command("reset")
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
    """Let a reader start again: everything that its source holds is new to it."""
    handle = opened(warehouse, table, branch)
    from_table = None if source is None else opened(warehouse, source)
    result = handle.positions.reset(name, source=from_table, reader=reader, dry_run=dry_run)
    output.show_result(result, as_json=as_json)
