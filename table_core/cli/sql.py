"""The command ``sql``: statements as they are typed, or from a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import rows
from table_core.cli.arguments import (
    AsJson,
    CommitIdentifier,
    CommitUser,
    Output,
    Warehouse,
    pairs,
)
from table_core.cli.catalog_file import open_warehouse
from table_core.cli.commands import Entry
from table_core.cli.output import show_result
from table_core.errors import ArgumentError
from table_core.jobs.action import Heading
from table_core.storage.stores.os_errors import table_error
from table_core.table.metadata.results import CommitAs, ResultDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.table.api.sql.session import SqlResult

__all__ = ["ENTRIES"]


def sql(
    warehouse: Warehouse,
    text: Annotated[
        str | None, typer.Argument(metavar="SQL", help="Statements, separated by semicolons.")
    ] = None,
    script: Annotated[
        str | None,
        typer.Option("-f", "--file", help="Read the statements from this file; - is stdin."),
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", "-d", help="The database of names that have none.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            help="name=value of :name in the SQL, bound, not pasted. Repeatable.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-O", help="A limit of the query: sql.memory-limit=4 gb. Repeatable."
        ),
    ] = None,
    file: Output = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Rows as CSV.")] = False,
    as_json: AsJson = False,
    commit_user: CommitUser = None,
    commit_identifier: CommitIdentifier = None,
) -> None:
    """Run SQL: queries, and statements that define and change tables.

    SQL means what it means in Spark, or is refused. A file that ends in .csv, .json or .parquet gets the
    rows in that format.
    """
    catalog = open_warehouse(warehouse)  # CREATE DATABASE may make it
    if as_json and as_csv:
        raise ArgumentError("--json and --csv ask for two formats: give one", argument="csv")
    statements = _text(text, script)
    session = catalog.sql_session(database, pairs(option))
    values = {name: _value(value) for name, value in pairs(parameter, "--parameter").items()}
    named = commit_user is not None or commit_identifier is not None
    results: Iterator[SqlResult]
    if named or file is not None:
        commit = CommitAs(user=commit_user, identifier=commit_identifier) if named else None
        results = iter([session.sql(statements, values, commit)])
    else:
        results = (result for _, result in session.script(statements, values))
    format = "csv" if as_csv else "json" if as_json else "table"
    for result in results:
        if isinstance(result, ResultDocument):
            show_result(result, as_json=as_json)
        elif result.schema.names:
            rows.show_rows(result, format, file)


def _text(text: str | None, script: str | None) -> str:
    if (text is None) == (script is None):
        raise ArgumentError("give the SQL, or a file of it with -f, one of them", argument="sql")
    if text is not None:
        return text
    if script == "-":
        return sys.stdin.read()
    path = Path(script or "")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"-f {path}: it is no UTF-8 text: {error}", argument="file") from error
    except OSError as error:
        raise table_error(error, root=str(path.parent), path=path.name, action="read") from error


def _value(text: str) -> Any:
    """A number, true, false or null as JSON writes it; every other text is a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if value is None or isinstance(value, bool | int | float | str) else text


ENTRIES: Final[Sequence[Entry]] = (
    Entry(
        ("sql",),
        Heading.LOOK,
        sql,
        '"SELECT city, count(*) AS orders FROM shop.orders GROUP BY city ORDER BY city"',
    ),
)
