"""The ``table-core`` command: tables for people, ``--json`` for programs.

Exit status: 0 done, 1 failed (kind and facts of the error on stderr), 2 misuse.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from table_core.cli import declare, output, rows, upkeep
from table_core.cli.action_commands import add_actions
from table_core.cli.arguments import (
    After,
    AnyDatabase,
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
    catalog_of,
    names,
    opened,
)
from table_core.cli.groups import GROUPS
from table_core.cli.sync import sync
from table_core.errors import TableError, error_to_document
from table_core.options.shown import shown
from table_core.storage.stores.os_errors import table_error

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Read and keep Apache Paimon tables.",
    pretty_exceptions_enable=False,
)


@app.command()
def databases(warehouse: Warehouse, as_json: AsJson = False) -> None:
    """List the databases of a warehouse."""
    found = [{"database": name} for name in catalog_of(warehouse).databases()]
    rows.show_records(found, as_json=as_json)


@app.command()
def tables(
    warehouse: Warehouse,
    database: AnyDatabase = None,
    as_json: AsJson = False,
) -> None:
    """List tables, with their newest snapshot."""
    catalog = catalog_of(warehouse)
    found = []
    for name in [database] if database else catalog.databases():
        for table in catalog.tables(name):
            head = catalog.table(f"{name}.{table}").latest_snapshot()
            found.append({"table": f"{name}.{table}", "snapshot": head.id if head else None})
    rows.show_records(found, as_json=as_json)


@app.command()
def describe(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """Show columns, keys and options of a table."""
    output.show_description(opened(warehouse, table), as_json=as_json)


@app.command()
def snapshots(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List the snapshots of a table, oldest first."""
    found = [
        {
            "id": s.id,
            "kind": s.commit_kind.value,
            "time": output.utc(s.time_millis),
            "user": s.commit_user,
            "identifier": s.commit_identifier,
            "rows": s.total_record_count,
            "delta": s.delta_record_count,
            "changelog": s.changelog_record_count,
            "watermark": s.watermark,
        }
        for s in opened(warehouse, table).snapshots()
    ]
    rows.show_records(found, as_json=as_json)


@app.command()
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
    watermark: Annotated[int | None, typer.Option(help="Read the state of it.")] = None,
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
    rows.show_rows(scan, "json" if as_json else format, file)


@app.command()
def follow(
    warehouse: Warehouse,
    table: TableName,
    after: After = None,
    consumer: Annotated[
        str | None, typer.Option(help="Go on where this consumer is, and move it on.")
    ] = None,
    poll_seconds: Annotated[float | None, typer.Option(help="How often to look.")] = None,
    branch: Branch = None,
    option: Options = None,
    limit: Annotated[int | None, typer.Option(help="End after this many rows.")] = None,
    format: Annotated[str, typer.Option("--format", help="table, json or csv.")] = "table",
    as_json: AsJson = False,
) -> None:
    """Print changes as they come, until interrupted; first the whole table, unless told otherwise."""
    tables = opened(warehouse, table, branch, option).follow(
        after=after, consumer=consumer, poll_seconds=poll_seconds
    )
    with contextlib.suppress(KeyboardInterrupt):
        rows.show_changes(tables, "json" if as_json else format, limit)


@app.command()
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
    rows.show_rows(scan, "json" if as_json else format, file)


for word, group in GROUPS.items():
    app.add_typer(group, name=word)
add_actions(app, GROUPS)
upkeep.add_to(app)

for command in (
    declare.validate,
    declare.plan,
    declare.apply,
    declare.graph,
    declare.dags,
    declare.init,
    sync,
):
    app.command()(command)


def _run() -> None:
    """The command, to its last byte: what it printed may meet a full disk when it is flushed.

    Raises:
        StorageUnavailableError, AccessDeniedError: what it prints cannot be written.
    """
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough
        _forget_output()
        raise SystemExit(1) from None
    except OSError as error:
        _forget_output()
        raise table_error(error, root="standard output", path="", action="write") from error


def _forget_output() -> None:
    """Let Python end without a second try at what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line; the entry point of ``table-core``."""
    try:
        _run()
    except TableError as error:
        document = error_to_document(error)
        if "--json" in sys.argv:
            sys.stderr.write(json.dumps(document, default=str) + "\n")
        else:
            console = Console(stderr=True, highlight=False, emoji=False)
            console.print(f"[bold red]{error.kind}[/]: {escape(shown(str(error)))}", soft_wrap=True)
            for key, value in error.facts.items():
                console.print(shown(f"  {key}: {value}"), markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
