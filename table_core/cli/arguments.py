"""What commands take: each argument and option of the command line once."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from table_core.errors import ArgumentError, NotFoundError

__all__ = [
    "After",
    "AnyDatabase",
    "AsJson",
    "Branch",
    "Columns",
    "Database",
    "DryRun",
    "Format",
    "IfExists",
    "Limit",
    "Options",
    "Output",
    "Snapshot",
    "TableName",
    "Tag",
    "Timestamp",
    "Warehouse",
    "Where",
    "catalog_of",
    "names",
    "opened",
    "pairs",
]

Warehouse = Annotated[
    str,
    typer.Option("--warehouse", "-w", envvar="TABLE_CORE_WAREHOUSE", help="URI or folder."),
]
TableName = Annotated[
    str, typer.Argument(help="database.table, or database.table$files", metavar="TABLE")
]
Database = Annotated[str, typer.Argument(metavar="DATABASE")]
AnyDatabase = Annotated[str | None, typer.Argument(help="All databases if left out.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document, or one JSON row a line.")]
Columns = Annotated[str | None, typer.Option(help="Comma-separated columns.")]
Where = Annotated[str | None, typer.Option(help="A SQL condition.")]
Limit = Annotated[int | None, typer.Option(help="At most this many rows.")]
Format = Annotated[str, typer.Option("--format", help="table, json, csv or parquet.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Write to this file.")]
Branch = Annotated[str | None, typer.Option(help="Of this branch.")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-O", help="A table option for this call: key=value. May be repeated."
    ),
]
After = Annotated[int | None, typer.Option(help="Changes after this snapshot.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]

IfExists = Annotated[bool, typer.Option("--if-exists", help="No error if it is not there.")]
Snapshot = Annotated[int | None, typer.Option(help="This snapshot.")]
Tag = Annotated[str | None, typer.Option(help="The state of this tag.")]
Timestamp = Annotated[
    str | None, typer.Option(help="The newest state at this time, e.g. 2026-01-31T10:00:00+00:00.")
]


def opened(
    warehouse: str, name: str, branch: str | None = None, options: list[str] | None = None
) -> Any:
    """A handle on the table ``name``."""
    return catalog_of(warehouse).table(name, branch=branch, options=pairs(options))


def catalog_of(warehouse: str) -> Any:
    """The catalog of a warehouse that is there.

    Raises:
        NotFoundError: nothing is there; a typing error must not look like an empty warehouse.
    """
    import table_core as tc

    catalog = tc.open_catalog(warehouse)
    if not catalog.storage.exists("") and not catalog.databases():
        raise NotFoundError(
            f"there is nothing at {catalog.warehouse}: is that the right warehouse? If so, create a "
            "database in it first",
            name=catalog.warehouse,
        )
    return catalog


def names(text: str | None) -> list[str] | None:
    """A list that is separated by commas.

    Raises:
        ArgumentError: a name comes twice, which rows in text cannot show.
    """
    if text is None:
        return None
    found = [name.strip() for name in text.split(",")]
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise ArgumentError(f"{', '.join(twice)} named twice", argument="columns", value=text)
    return found


def pairs(given: list[str] | None) -> dict[str, str]:
    """``key=value`` texts.

    Raises:
        ArgumentError: one has no ``=``.
    """
    found = {}
    for text in given or []:
        key, sign, value = text.partition("=")
        if not sign:
            raise ArgumentError(f"--option {text}: write key=value", argument="option", value=text)
        found[key.strip()] = value.strip()
    return found
