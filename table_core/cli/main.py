"""The ``table-core`` command: tables for people, ``--json`` for programs.

Exit status: 0 done, 1 failed (kind and facts of the error on stderr), 2 misuse.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console

from table_core.cli import declare, output
from table_core.errors import TableError, error_to_document

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Read and keep Apache Paimon tables.",
    pretty_exceptions_enable=False,
)
Warehouse = Annotated[
    str,
    typer.Option("--warehouse", "-w", envvar="TABLE_CORE_WAREHOUSE", help="URI or folder."),
]
TableName = Annotated[str, typer.Argument(help="database.table", metavar="TABLE")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document, or one JSON row a line.")]
Columns = Annotated[str | None, typer.Option(help="Comma-separated columns.")]
Where = Annotated[str | None, typer.Option(help="A SQL condition.")]
Limit = Annotated[int | None, typer.Option(help="At most so many rows.")]
Format = Annotated[str, typer.Option("--format", help="table, json, csv or parquet.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Write to this file.")]


def _table(warehouse: str, name: str) -> Any:
    import table_core as tc

    return tc.open_catalog(warehouse).table(name)


def _columns(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


@app.command()
def databases(warehouse: Warehouse, as_json: AsJson = False) -> None:
    """List the databases of a warehouse."""
    import table_core as tc

    rows = [{"database": name} for name in tc.open_catalog(warehouse).databases()]
    output.show_records(rows, as_json=as_json)


@app.command()
def tables(
    warehouse: Warehouse,
    database: Annotated[str | None, typer.Argument(help="All databases if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """List tables, with their newest snapshot."""
    import table_core as tc

    catalog = tc.open_catalog(warehouse)
    rows = []
    for name in [database] if database else catalog.databases():
        for table in catalog.tables(name):
            head = catalog.table(f"{name}.{table}").latest_snapshot()
            rows.append({"table": f"{name}.{table}", "snapshot": head.id if head else None})
    output.show_records(rows, as_json=as_json)


@app.command()
def describe(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """Show columns, keys and options of a table."""
    output.show_description(_table(warehouse, table), as_json=as_json)


@app.command()
def snapshots(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """List the snapshots of a table, oldest first."""
    rows = [
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
        for s in _table(warehouse, table).snapshots()
    ]
    output.show_records(rows, as_json=as_json)


@app.command()
def read(
    warehouse: Warehouse,
    table: TableName,
    columns: Columns = None,
    where: Where = None,
    snapshot: Annotated[int | None, typer.Option(help="Read this snapshot.")] = None,
    tag: Annotated[str | None, typer.Option(help="Read this tag.")] = None,
    limit: Limit = None,
    format: Format = "table",
    file: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print the rows of a table."""
    scan = _table(warehouse, table).read(
        columns=_columns(columns), where=where, snapshot=snapshot, tag=tag, limit=limit
    )
    output.show_rows(scan, "json" if as_json else format, file)


@app.command()
def changes(
    warehouse: Warehouse,
    table: TableName,
    after: Annotated[int | None, typer.Option(help="Changes after this snapshot.")] = None,
    to: Annotated[int | None, typer.Option(help="Up to this snapshot.")] = None,
    columns: Columns = None,
    where: Where = None,
    mode: Annotated[str, typer.Option(help="auto, changelog, delta or diff.")] = "auto",
    format: Format = "table",
    file: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print the changes between snapshots, with their row kinds."""
    scan = _table(warehouse, table).changes(
        after=after, to=to, columns=_columns(columns), where=where, mode=mode
    )
    output.show_rows(scan, "json" if as_json else format, file)


@app.command()
def compact(
    warehouse: Warehouse,
    table: TableName,
    strategy: Annotated[str, typer.Option(help="full or minor.")] = "full",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compact a table."""
    result = _table(warehouse, table).compact(strategy=strategy, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@app.command("expire-snapshots")
def expire_snapshots(
    warehouse: Warehouse,
    table: TableName,
    retain_max: Annotated[int | None, typer.Option(help="Keep at most so many.")] = None,
    retain_min: Annotated[int | None, typer.Option(help="Keep at least so many.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forget old snapshots and the files that only they need."""
    result = _table(warehouse, table).expire_snapshots(
        retain_max=retain_max, retain_min=retain_min, dry_run=dry_run
    )
    output.show_result(result, as_json=as_json)


@app.command("expire-partitions")
def expire_partitions(
    warehouse: Warehouse,
    table: TableName,
    expiration_time: Annotated[str | None, typer.Option(help="e.g. '7 d'.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Drop partitions past their time."""
    result = _table(warehouse, table).expire_partitions(expiration_time, dry_run=dry_run)
    output.show_result(result, as_json=as_json)


@app.command("remove-orphan-files")
def remove_orphan_files(
    warehouse: Warehouse,
    table: TableName,
    older_than: Annotated[
        datetime | None, typer.Option(help="UTC; files changed since stay. Default: a day ago.")
    ] = None,
    allow_young: Annotated[
        bool, typer.Option("--allow-young", help="Permit less than a day; nobody may be writing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete files that nothing names."""
    result = _table(warehouse, table).remove_orphan_files(
        older_than=older_than and older_than.replace(tzinfo=UTC),
        allow_young=allow_young,
        dry_run=dry_run,
    )
    output.show_result(result, as_json=as_json)


@app.command("expire-changelogs")
def expire_changelogs(
    warehouse: Warehouse,
    table: TableName,
    retain_max: Annotated[int | None, typer.Option(help="Keep at most so many.")] = None,
    retain_min: Annotated[int | None, typer.Option(help="Keep at least so many.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forget changelogs that were kept when their snapshots expired."""
    result = _table(warehouse, table).expire_changelogs(
        retain_max=retain_max, retain_min=retain_min, dry_run=dry_run
    )
    output.show_result(result, as_json=as_json)


@app.command("expire-tags")
def expire_tags(
    warehouse: Warehouse,
    table: TableName,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete tags whose time is over."""
    output.show_result(_table(warehouse, table).expire_tags(dry_run=dry_run), as_json=as_json)


@app.command()
def health(warehouse: Warehouse, table: TableName, as_json: AsJson = False) -> None:
    """Say what a table needs: ok, due or urgent, with reasons."""
    output.show_health(_table(warehouse, table).health(), as_json=as_json)


for command in (declare.validate, declare.plan, declare.apply):
    app.command()(command)


def main() -> None:
    """Run the command line; the entry point of ``table-core``."""
    try:
        app()
    except TableError as error:
        document = error_to_document(error)
        if "--json" in sys.argv:
            sys.stderr.write(json.dumps(document, default=str) + "\n")
        else:
            console = Console(stderr=True, highlight=False)
            console.print(f"[bold red]{error.kind}[/]: {error}", soft_wrap=True)
            for key, value in error.facts.items():
                console.print(f"  {key}: {value}", markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
