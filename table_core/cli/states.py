"""Commands on named states of a table, beside those that actions make: tags, branches, consumers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from table_core.cli import output
from table_core.cli.action_commands import moment
from table_core.cli.arguments import (
    AsJson,
    DryRun,
    IfExists,
    Snapshot,
    TableName,
    Timestamp,
    Warehouse,
    opened,
)
from table_core.cli.rows import show_records

__all__ = ["branches", "consumers", "tags"]

tags = typer.Typer(no_args_is_help=True, help="Names for snapshots, which live as long as they do.")
branches = typer.Typer(no_args_is_help=True, help="Lines of history of their own.")
consumers = typer.Typer(no_args_is_help=True, help="Readers that expiry waits for.")
Name = Annotated[str, typer.Argument(metavar="NAME")]
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
    """Forget a consumer: expiry no longer waits for it."""
    result = opened(warehouse, table).consumers.delete(name, if_exists=if_exists, dry_run=dry_run)
    output.show_result(result, as_json=as_json)
