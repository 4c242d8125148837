"""What commands take: each argument and option of the command line once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from table_core.cli.catalog_file import open_warehouse
from table_core.cli.completion import (
    WAREHOUSE,
    complete_database,
    complete_option,
    complete_table,
)
from table_core.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "After",
    "AnyDatabase",
    "AsJson",
    "Branch",
    "Columns",
    "CommitIdentifier",
    "CommitProperty",
    "CommitUser",
    "CommitWatermark",
    "Database",
    "DryRun",
    "Format",
    "IfExists",
    "Limit",
    "Options",
    "Output",
    "RowFormat",
    "RowsOptions",
    "Snapshot",
    "TableName",
    "Tag",
    "Timestamp",
    "Warehouse",
    "Where",
    "catalog_of",
    "commit_as",
    "named_once",
    "names",
    "opened",
    "pairs",
    "rows_options",
]

Value = TypeVar("Value")
Warehouse = Annotated[
    str,
    typer.Option("--warehouse", "-w", envvar=WAREHOUSE, help="URI or folder."),
]
TableName = Annotated[
    str,
    typer.Argument(
        help="database.table, or database.table$files",
        metavar="TABLE",
        autocompletion=complete_table,
    ),
]
Database = Annotated[str, typer.Argument(metavar="DATABASE", autocompletion=complete_database)]
AnyDatabase = Annotated[
    str | None,
    typer.Argument(
        metavar="DATABASE", help="All databases if left out.", autocompletion=complete_database
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document, or one JSON row a line.")]
Columns = Annotated[
    str | None, typer.Option(help="Comma-separated columns; s.a is member a of the ROW s.")
]
Where = Annotated[str | None, typer.Option(help="A SQL condition.")]
Limit = Annotated[int | None, typer.Option(help="At most this many rows.")]
Format = Annotated[str, typer.Option("--format", help="table, json, csv or parquet.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Write to this file.")]
Branch = Annotated[str | None, typer.Option(help="Of this branch.")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        help="A table option for this call: key=value. May be repeated.",
        autocompletion=complete_option,
    ),
]
RowFormat = Annotated[
    str | None,
    typer.Option("--format", help="parquet, csv or json, where the names do not tell."),
]
RowsOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--rows-option",
        help="How rows stand in CSV and JSON, name=value: delimiter, quote, escape, encoding, header, skip_lines, "
        "null_values, decimal, thousands, date_format, timestamp_format, timezone. May be repeated.",
    ),
]
After = Annotated[int | None, typer.Option(help="Changes after this snapshot.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only report what would be done.")]

IfExists = Annotated[bool, typer.Option("--if-exists", help="Succeed if it does not exist.")]
Snapshot = Annotated[int | None, typer.Option(help="This snapshot.")]
_COMMIT = "Who commits"
CommitUser = Annotated[
    str | None, typer.Option(help="Who commits; with an identifier.", rich_help_panel=_COMMIT)
]
CommitIdentifier = Annotated[
    int | None,
    typer.Option(
        help="The number of this commit of that user: a second call finds the first.",
        rich_help_panel=_COMMIT,
    ),
]
CommitProperty = Annotated[
    list[str] | None,
    typer.Option(
        "--property", help="key=value, kept in the snapshot. Repeatable.", rich_help_panel=_COMMIT
    ),
]
CommitWatermark = Annotated[
    int | None,
    typer.Option(
        "--watermark",
        help="Rows are complete up to this time, in milliseconds.",
        rich_help_panel=_COMMIT,
    ),
]
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
    catalog = open_warehouse(warehouse)
    if not catalog.storage.exists("") and not catalog.databases():
        raise NotFoundError(
            f"there is nothing at {catalog.warehouse}: is that the right warehouse? If so, create a "
            "database in it first",
            name=catalog.warehouse,
        )
    return catalog


def commit_as(
    user: str | None, identifier: int | None, properties: list[str] | None, watermark: int | None
) -> Any:
    """Who commits, as the options of a command say."""
    from table_core.table.metadata.results import CommitAs

    told = pairs(properties, "--property")
    return CommitAs(user=user, identifier=identifier, properties=told, watermark=watermark)


def names(text: str | None) -> list[str] | None:
    """A list that is separated by commas.

    Raises:
        ArgumentError: a name comes twice, which rows in text cannot show.
    """
    if text is None:
        return None
    columns = [name.strip() for name in text.split(",")]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise ArgumentError(f"{', '.join(twice)} named twice", argument="columns", value=text)
    return columns


def pairs(texts: list[str] | None, flag: str = "--option") -> dict[str, str]:
    """``key=value`` texts of the option ``flag``.

    Raises:
        ArgumentError: one has no ``=``, or a key comes twice.
    """
    assignments = []
    for text in texts or []:
        key, sign, value = text.partition("=")
        if not sign:
            raise ArgumentError(
                f"{flag} {text}: write key=value", argument=flag.lstrip("-"), value=text
            )
        assignments.append((key.strip(), value.strip()))
    return named_once(assignments, flag)


def rows_options(texts: list[str] | None) -> dict[str, Any] | None:
    """The options of ``--rows-option``; None without one.

    Raises:
        ArgumentError: one is unknown, or not of its shape.
    """
    if not texts:
        return None
    from table_core.shapes.rows import ROWS_OPTIONS

    assignments = [text.partition("=") for text in texts]
    for text, (_, sign, _) in zip(texts, assignments, strict=True):
        if not sign:
            raise ArgumentError(
                f"--rows-option {text}: write name=value", argument="rows_options", value=text
            )
    # blanks count: a delimiter may be one
    options = named_once(((name.strip(), value) for name, _, value in assignments), "--rows-option")
    typed = ROWS_OPTIONS.of_members(options)
    ROWS_OPTIONS.require(typed, "rows_options")
    return typed


def named_once(assignments: Iterable[tuple[str, Value]], flag: str) -> dict[str, Value]:
    """The names and values that the option ``flag`` gives, each name once.

    Raises:
        ArgumentError: a name comes twice.
    """
    by_name: dict[str, Value] = {}
    for name, value in assignments:
        if name in by_name:
            raise ArgumentError(
                f"{flag} names {name} twice: say which value is meant",
                argument=flag.lstrip("-"),
                value=name,
            )
        by_name[name] = value
    return by_name
