"""Commands that no action makes: they empty a table, or copy between two warehouses."""

from __future__ import annotations

from typing import Annotated

import typer

from table_core.cli import output
from table_core.cli.action_commands import moment
from table_core.cli.arguments import (
    AsJson,
    Database,
    DryRun,
    Snapshot,
    TableName,
    Tag,
    Timestamp,
    Warehouse,
    opened,
)

__all__ = ["add_to"]

Including = Annotated[str, typer.Option(help="A regular expression for whole table names.")]
Excluding = Annotated[str, typer.Option(help="A regular expression for whole table names.")]
Positions = Annotated[bool, typer.Option(help="Whether the positions of what feeds it come along.")]
Parallelism = Annotated[int, typer.Option(help="So many tables at a time.")]


def add_to(app: typer.Typer) -> None:
    """Give ``app`` the commands of this module."""
    for name, command in (
        ("truncate", truncate),
        ("clone", clone),
        ("clone-database", clone_database),
    ):
        app.command(name)(command)


def truncate(
    warehouse: Warehouse, table: TableName, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Take every row out."""
    output.show_result(opened(warehouse, table).truncate(dry_run=dry_run), as_json=as_json)


def clone(
    warehouse: Warehouse,
    table: TableName,
    to: Annotated[str, typer.Argument(help="database.table", metavar="TO")],
    to_warehouse: Annotated[str | None, typer.Option(help="Default: the same.")] = None,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    positions: Positions = True,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Copy one state of a table to a new table."""
    import table_core as tc

    result = tc.open_catalog(warehouse).clone_table(
        table,
        to,
        snapshot=snapshot,
        tag=tag,
        timestamp=moment(timestamp),
        to=tc.open_catalog(to_warehouse) if to_warehouse else None,
        dry_run=dry_run,
        positions=positions,
    )
    output.show_result(result, as_json=as_json)


def clone_database(
    warehouse: Warehouse,
    database: Database,
    to: Annotated[str, typer.Argument(metavar="TO")],
    to_warehouse: Annotated[str | None, typer.Option(help="Default: the same.")] = None,
    including: Including = ".*",
    excluding: Excluding = "",
    parallelism: Parallelism = 1,
    positions: Positions = True,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Copy the newest state of the tables of a database."""
    import table_core as tc

    result = tc.open_catalog(warehouse).clone_database(
        database,
        to,
        to=tc.open_catalog(to_warehouse) if to_warehouse else None,
        including=including,
        excluding=excluding,
        parallelism=parallelism,
        dry_run=dry_run,
        positions=positions,
    )
    output.show_result(result, as_json=as_json)
