"""Commands that say what there is: ``databases``, ``tables``, ``describe``, ``snapshots``, ``files``, ``options``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.arguments import (
    AnyDatabase,
    AsJson,
    Branch,
    TableName,
    Warehouse,
    catalog_of,
    opened,
)
from table_core.cli.commands import Entry
from table_core.cli.data_files import data_files, named_shortly
from table_core.cli.grid import Layout
from table_core.cli.rows import show_records
from table_core.errors import TableError
from table_core.jobs.action import Heading
from table_core.options.classes import class_of
from table_core.options.shown_default import default_text
from table_core.options.table import OPTIONS
from table_core.table.metadata.several import failed_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ENTRIES"]

_SNAPSHOTS: Final = Layout(yields=("identifier", "watermark", "changelog", "user", "delta"))
_FILES: Final = Layout(
    yields=("created", "schema", "format", "file", "min_key", "max_key", "partition")
)
_OPTIONS: Final = Layout(wraps=("value", "meaning"))


def databases(warehouse: Warehouse, as_json: AsJson = False) -> None:
    """List the databases of a warehouse."""
    records = [{"database": name} for name in catalog_of(warehouse).databases()]
    show_records(records, as_json=as_json)


def tables(
    warehouse: Warehouse,
    database: AnyDatabase = None,
    as_json: AsJson = False,
) -> None:
    """List tables, with their newest snapshot."""
    catalog = catalog_of(warehouse)
    records: list[dict[str, Any]] = []
    failed: dict[str, Exception] = {}
    for name in [database] if database else catalog.databases():
        try:
            names = catalog.tables(name)
        except TableError as error:
            failed[name] = error
            continue
        for table in names:
            whole = f"{name}.{table}"
            try:
                head = catalog.table(whole).latest_snapshot()
            except TableError as error:
                failed[whole] = error
            else:
                records.append({"table": whole, "snapshot": head.id if head else None})
    show_records(records, as_json=as_json, layout=Layout())
    if failed:
        raise failed_of("tables", failed, [record["table"] for record in records])


def describe(
    warehouse: Warehouse, table: TableName, branch: Branch = None, as_json: AsJson = False
) -> None:
    """Show columns, keys and options of a table."""
    output.show_description(opened(warehouse, table, branch), as_json=as_json)


def snapshots(
    warehouse: Warehouse, table: TableName, branch: Branch = None, as_json: AsJson = False
) -> None:
    """List the snapshots of a table, oldest first; times are in UTC."""
    records = [
        {
            "id": s.id,
            "kind": s.commit_kind.value,
            "time": output.moment_of(s.time_millis),
            "user": s.commit_user,
            "identifier": s.commit_identifier,
            "rows": s.total_record_count,
            "delta": s.delta_record_count,
            "changelog": s.changelog_record_count,
            "watermark": s.watermark,
        }
        for s in opened(warehouse, table, branch).snapshots()
    ]
    show_records(records, as_json=as_json, layout=_SNAPSHOTS)


def files(
    warehouse: Warehouse,
    table: TableName,
    snapshot: Annotated[int | None, typer.Option(help="Of this snapshot.")] = None,
    branch: Branch = None,
    as_json: AsJson = False,
) -> None:
    """List the data files of a state: where they are, their level, rows and size.

    The system table `table$files` has more columns.
    """
    handle = opened(warehouse, table, branch)
    state = handle.latest_snapshot() if snapshot is None else handle.snapshot(snapshot)
    records = data_files(handle, state)
    show_records(named_shortly(records, as_json=as_json), as_json=as_json, layout=_FILES)


def options(
    warehouse: Warehouse,
    table: TableName,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that are not set, with their defaults.")
    ] = False,
    like: Annotated[str, typer.Option(help="Only options whose name contains this.")] = "",
    branch: Branch = None,
    as_json: AsJson = False,
) -> None:
    """List the options of a table: their values, their defaults, and what each does."""
    values = opened(warehouse, table, branch).options
    keys = sorted({*values, *OPTIONS} if every else values)
    records: list[dict[str, Any]] = []
    for key in keys:
        if like not in key:
            continue
        option = OPTIONS.get(key)
        records.append(
            {
                "option": key,
                "value": values.get(key),
                "default": default_text(option) or None if option else None,
                "class": class_of(key),
                "meaning": option.meaning if option else "",
            }
        )
    if not as_json:
        records = [
            {"option": one["option"], "value": _value(one), "meaning": one["meaning"]}
            for one in records
        ]
    show_records(records, as_json=as_json, layout=_OPTIONS)


def _value(option: dict[str, Any]) -> str:
    """The value in force and the default: people want to see them beside each other."""
    value, default = option["value"], option["default"]
    if value is None:
        return "" if default is None else f"{default} (default)"
    return value if default in (None, value) else f"{value} (default: {default})"


ENTRIES: Final[Sequence[Entry]] = (
    Entry(("databases",), Heading.LOOK, databases, ""),
    Entry(("tables",), Heading.LOOK, tables, "shop"),
    Entry(("describe",), Heading.LOOK, describe, "shop.orders"),
    Entry(("snapshots",), Heading.LOOK, snapshots, "shop.orders"),
    Entry(("files",), Heading.LOOK, files, "shop.orders"),
    Entry(("options",), Heading.LOOK, options, "shop.orders --all --like snapshot"),
)
