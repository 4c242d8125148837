"""Commands that print rows: ``read``, ``changes``, ``follow``."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from table_core.cli import rows
from table_core.cli.arguments import (
    After,
    AsJson,
    Branch,
    Columns,
    Format,
    Limit,
    Options,
    Output,
    TableName,
    Warehouse,
    Where,
    names,
    opened,
)
from table_core.cli.commands import Entry
from table_core.jobs.action import Heading

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ENTRIES"]


def read(
    warehouse: Warehouse,
    table: TableName,
    columns: Columns = None,
    where: Where = None,
    snapshot: Annotated[int | None, typer.Option(help="Read this snapshot.")] = None,
    tag: Annotated[str | None, typer.Option(help="Read this tag.")] = None,
    timestamp: Annotated[
        datetime | None, typer.Option(help="Read the state of this time, in UTC.")
    ] = None,
    watermark: Annotated[
        int | None, typer.Option(help="Read the first state that is complete up to this time.")
    ] = None,
    branch: Branch = None,
    option: Options = None,
    limit: Limit = None,
    format: Format = "table",
    file: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print the rows of a table, or write them to a file."""
    scan = opened(warehouse, table, branch, option).read(
        columns=names(columns),
        where=where,
        snapshot=snapshot,
        tag=tag,
        timestamp=timestamp and timestamp.replace(tzinfo=UTC),
        watermark=watermark,
        limit=limit,
    )
    rows.show_rows(scan, rows.asked_format(format, as_json=as_json), file)


def follow(
    warehouse: Warehouse,
    table: TableName,
    after: After = None,
    consumer: Annotated[
        str | None, typer.Option(help="Go on where this consumer is, and move it on.")
    ] = None,
    poll_seconds: Annotated[float | None, typer.Option(help="How often to look.")] = None,
    columns: Columns = None,
    branch: Branch = None,
    option: Options = None,
    limit: Annotated[int | None, typer.Option(help="End after this many rows.")] = None,
    format: Annotated[str, typer.Option("--format", help="table, json or csv.")] = "table",
    as_json: AsJson = False,
) -> None:
    """Print the whole table, then changes as they come, until interrupted. --after skips the table."""
    tables = opened(warehouse, table, branch, option).follow(
        after=after, consumer=consumer, poll_seconds=poll_seconds, columns=names(columns)
    )
    with contextlib.suppress(KeyboardInterrupt):
        rows.show_changes(tables, rows.asked_format(format, as_json=as_json), limit)


def changes(
    warehouse: Warehouse,
    table: TableName,
    after: After = None,
    to: Annotated[int | None, typer.Option(help="Up to this snapshot.")] = None,
    columns: Columns = None,
    where: Where = None,
    mode: Annotated[str, typer.Option(help="auto, changelog, delta or diff.")] = "auto",
    branch: Branch = None,
    option: Options = None,
    format: Format = "table",
    file: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print the changes between snapshots, with their row kinds."""
    scan = opened(warehouse, table, branch, option).changes(
        after=after, to=to, columns=names(columns), where=where, mode=mode
    )
    rows.show_rows(scan, rows.asked_format(format, as_json=as_json), file)


ENTRIES: Final[Sequence[Entry]] = (
    Entry(("read",), Heading.LOOK, read, "shop.orders --where \"city = 'Oslo'\" --limit 2"),
    Entry(("changes",), Heading.LOOK, changes, "shop.orders --after 1 --to 3"),
    Entry(("follow",), Heading.LOOK, follow, "shop.orders --after 2 --limit 1"),
)
