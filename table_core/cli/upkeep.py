"""Commands that keep tables and whole databases in shape."""

from __future__ import annotations

from typing import Annotated

import typer

from table_core.cli import output
from table_core.cli.arguments import (
    AsJson,
    DryRun,
    Snapshot,
    TableName,
    Tag,
    Timestamp,
    Warehouse,
    opened,
)
from table_core.cli.states import moment
from table_core.errors import ArgumentError

__all__ = ["add_to"]

Database = Annotated[str, typer.Argument(metavar="DATABASE")]
Including = Annotated[str, typer.Option(help="A regular expression for whole table names.")]
Excluding = Annotated[str, typer.Option(help="A regular expression for whole table names.")]
Positions = Annotated[bool, typer.Option(help="Whether the positions of what feeds it come along.")]
Parallelism = Annotated[int, typer.Option(help="So many tables at a time.")]
Partitions = Annotated[
    list[str] | None, typer.Option("--partition", help="dt=2026-01-01,hour=5; may be repeated.")
]
Idle = Annotated[str | None, typer.Option(help="Not written to for so long, e.g. '1 h'.")]


def add_to(app: typer.Typer) -> None:
    """Give ``app`` the commands of this module."""
    for name, command in (
        ("rewrite-manifests", rewrite_manifests),
        ("analyze", analyze),
        ("rescale", rescale),
        ("mark-done", mark_done),
        ("drop-partitions", drop_partitions),
        ("truncate", truncate),
        ("clone", clone),
        ("clone-database", clone_database),
        ("compact-database", compact_database),
    ):
        app.command(name)(command)


def rewrite_manifests(
    warehouse: Warehouse, table: TableName, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Write the manifests of a table anew, as few as may be."""
    output.show_result(opened(warehouse, table).rewrite_manifests(dry_run=dry_run), as_json=as_json)


def analyze(
    warehouse: Warehouse,
    table: TableName,
    columns: Annotated[str | None, typer.Option(help="Comma-separated; default all.")] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Gather statistics for query planners."""
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    output.show_result(opened(warehouse, table).analyze(names, dry_run=dry_run), as_json=as_json)


def rescale(
    warehouse: Warehouse,
    table: TableName,
    buckets: Annotated[int | None, typer.Option(help="Default: what the table has.")] = None,
    partitions: Partitions = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write partitions that have another number of buckets anew."""
    named = None if not partitions else [_partition(text) for text in partitions]
    result = opened(warehouse, table).rescale(buckets, named, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


def mark_done(
    warehouse: Warehouse,
    table: TableName,
    partitions: Partitions = None,
    idle_time: Idle = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Mark partitions as complete: those named, or those that are idle."""
    named = None if not partitions else [_partition(text) for text in partitions]
    result = opened(warehouse, table).mark_done(named, idle_time, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


def drop_partitions(
    warehouse: Warehouse,
    table: TableName,
    partitions: Partitions = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take whole partitions out."""
    named = [_partition(text) for text in partitions or ()]
    result = opened(warehouse, table).drop_partitions(named, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


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


def compact_database(
    warehouse: Warehouse,
    database: Database,
    strategy: Annotated[str, typer.Option(help="full or minor.")] = "minor",
    including: Including = ".*",
    excluding: Excluding = "",
    idle_time: Idle = None,
    parallelism: Parallelism = 1,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Compact the tables of a database."""
    import table_core as tc

    result = tc.open_catalog(warehouse).compact_database(
        database,
        including=including,
        excluding=excluding,
        strategy=strategy,
        idle_time=idle_time,
        parallelism=parallelism,
        dry_run=dry_run,
    )
    output.show_result(result, as_json=as_json)


def _partition(text: str) -> dict[str, str]:
    """``dt=2026-01-01,hour=5`` as a partition.

    Raises:
        ArgumentError: a part has no '='.
    """
    pairs = [part.partition("=") for part in text.split(",")]
    if any(not mark for _, mark, _ in pairs):
        raise ArgumentError(f"{text!r}: write dt=2026-01-01,hour=5", argument="partition")
    return {name.strip(): value for name, _, value in pairs}
