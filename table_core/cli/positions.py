"""Commands on positions: how far what feeds a table has come."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from table_core.cli import output
from table_core.cli.arguments import AsJson, Branch, DryRun, TableName, Warehouse, opened
from table_core.cli.rows import show_records

__all__ = ["positions"]

positions = typer.Typer(no_args_is_help=True, help="How far what feeds a table has come.")
Name = Annotated[str, typer.Argument(metavar="POSITION", help="As 'position list' shows it.")]
Source = Annotated[str | None, typer.Option(help="database.table that is read.")]
Reader = Annotated[str | None, typer.Option(help="Name of the flow, where several share one.")]


@positions.command("list")
def list_positions(
    warehouse: Warehouse, table: TableName, branch: Branch = None, as_json: AsJson = False
) -> None:
    """List positions: of what feeds the table, and of consumers that read it."""
    show_records(opened(warehouse, table, branch).positions.list(), as_json=as_json)


@positions.command("show")
def show_position(
    warehouse: Warehouse, table: TableName, name: Name, branch: Branch = None
) -> None:
    """Print all that a position holds, as JSON."""
    found = opened(warehouse, table, branch).positions.show(name)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


@positions.command("set")
def set_position(
    warehouse: Warehouse,
    table: TableName,
    name: Name,
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
    name: Name,
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
