"""Commands that make tables and put rows in: ``create``, ``write``, ``merge-into``, ``truncate``."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.action_commands import entry_of, partition_of
from table_core.cli.arguments import (
    AsJson,
    CommitIdentifier,
    CommitProperty,
    CommitUser,
    CommitWatermark,
    Options,
    RowFormat,
    RowsOptions,
    TableName,
    Warehouse,
    catalog_of,
    commit_as,
    names,
    pairs,
    rows_options,
)
from table_core.cli.catalog_file import open_warehouse
from table_core.cli.clauses import clause_of
from table_core.cli.commands import Entry
from table_core.cli.grid import Layout
from table_core.cli.like import Likeness, like_file
from table_core.cli.rows import show_records
from table_core.cli.running import run_action
from table_core.datatypes.text import parse_type, type_text
from table_core.errors import ArgumentError, DataError
from table_core.jobs.action import Action, Command, Heading
from table_core.jobs.common_parameters import DRY_RUN
from table_core.jobs.registry import action_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ENTRIES"]

_STDIN: Final = "-"
_COLUMNS: Final = Layout(wraps=("type", "first value"), yields=("first value",))


def create(
    warehouse: Warehouse,
    table: TableName,
    column: Annotated[
        list[str] | None,
        typer.Option(help="A column and its type: 'id BIGINT NOT NULL'. May be repeated."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="Take the columns from this Parquet, CSV or JSON file, or all from a schema "
            "document or from what describe --json prints."
        ),
    ] = None,
    format: RowFormat = None,
    rows_option: RowsOptions = None,
    primary_key: Annotated[str | None, typer.Option(help="Comma-separated columns.")] = None,
    partition_by: Annotated[str | None, typer.Option(help="Comma-separated columns.")] = None,
    option: Options = None,
    comment: Annotated[str | None, typer.Option(help="A description of the table.")] = None,
    if_not_exists: Annotated[
        bool,
        typer.Option(
            "--if-not-exists", help="Keep an existing table of that name instead of failing."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the columns, and create nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a table, and its database and warehouse where they are missing.

    Columns that --like guesses are shown first, with a value of each. A number that would lose a zero or a
    plus in front stays text; --column changes a type.
    """
    likeness = _likeness(like, format, rows_options(rows_option))
    args: dict[str, Any] = {
        "columns": {**likeness.columns, **dict(map(_column, column or ()))},
        "primary_key": names(primary_key) or likeness.primary_key,
        "partition_by": names(partition_by) or likeness.partition_by,
        "options": {**likeness.options, **pairs(option)},
        "comment": comment or likeness.comment,
        "if_not_exists": if_not_exists,
    }
    if not args["columns"]:
        raise ArgumentError(
            "a table needs a column: write --column 'id BIGINT', or --like FILE", argument="column"
        )
    if dry_run:
        _show_columns(args["columns"], likeness, sys.stdout, as_json=as_json)
        return
    if likeness.guesses and not as_json:
        _show_columns(args["columns"], likeness, sys.stderr, as_json=False)
    catalog = open_warehouse(warehouse)
    result = run_action(action_of("create-table"), catalog, table, args, as_json=as_json)
    output.show_result(result, as_json=as_json)


def write(
    warehouse: Warehouse,
    table: TableName,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES", help="Parquet, CSV or JSON lines, also .gz. Without: standard input."
        ),
    ] = None,
    format: RowFormat = None,
    rows_option: RowsOptions = None,
    overwrite: Annotated[
        str | None,
        typer.Option(
            help="What the rows take the place of: table, partitions (those that the rows have), "
            "or one partition such as day=2026-01-31."
        ),
    ] = None,
    commit_user: CommitUser = None,
    commit_identifier: CommitIdentifier = None,
    property: CommitProperty = None,
    watermark: CommitWatermark = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and check all rows, and commit nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the rows of files, or of standard input, in one commit.

    Values are read as the types of the table say. The first one that does not fit is named by file, line
    and column, and nothing is written.
    """
    commit = commit_as(commit_user, commit_identifier, property, watermark)
    with _named(files, format) as uris:
        args = {
            "rows_files": uris,
            "rows_format": format,
            "rows_options": rows_options(rows_option),
            "overwrite": _overwrite(overwrite),
            "dry_run": dry_run,
        }
        result = run_action(
            action_of("write"), warehouse, table, args, as_json=as_json, commit=commit
        )
    output.show_result(result, as_json=as_json)


def merge_into(
    warehouse: Warehouse,
    table: TableName,
    on: Annotated[
        str,
        typer.Option(help="Columns that rows are matched on: id, or id=customer_id,day=day."),
    ],
    when: Annotated[
        list[str],
        typer.Option(
            help="What becomes of a row; the first that holds decides: matched-upsert, matched-delete, "
            "not-matched-insert, not-matched-by-source-upsert, not-matched-by-source-delete; behind it "
            "'set a = SQL, b = SQL' and 'where SQL' over source.x and target.x. May be repeated."
        ),
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(help="A file of rows, - for standard input, or database.table. Files repeat."),
    ] = None,
    sql: Annotated[
        str | None, typer.Option(help="The source as one SELECT over the views.")
    ] = None,
    view: Annotated[
        list[str] | None, typer.Option(help="name=database.table, for --sql. May be repeated.")
    ] = None,
    format: RowFormat = None,
    rows_option: RowsOptions = None,
    commit_user: CommitUser = None,
    commit_identifier: CommitIdentifier = None,
    property: CommitProperty = None,
    watermark: CommitWatermark = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the rows of each clause.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Merge rows of files, of a table or of a query into a table, in one commit.

    The source is held in memory, and so are the rows of the table that it is compared with.
    """
    catalog = catalog_of(warehouse)
    commit = commit_as(commit_user, commit_identifier, property, watermark)
    of_files = {"format": format, "options": rows_options(rows_option)}
    with _source(catalog, source or [], sql, pairs(view, "--view"), of_files) as merge_source:
        args = {
            "source": merge_source,
            "on": pairs(on.split(","), "--on") if "=" in on else names(on),
            "when": [clause_of(text) for text in when],
            "dry_run": dry_run,
        }
        result = run_action(
            action_of("merge-into"), catalog, table, args, as_json=as_json, commit=commit
        )
    output.show_result(result, as_json=as_json)


TRUNCATE: Final = Action(
    name="truncate",
    about="Delete all rows.",
    run=lambda job: job.table.truncate(**job.args),
    parameters=(DRY_RUN,),
    command=Command(heading=Heading.ROWS, example="shop.orders --dry-run"),
)


def _likeness(like: str | None, format: str | None, options: dict[str, Any] | None) -> Likeness:
    if like is not None:
        return like_file(like, format, options)
    if format is not None or options is not None:
        raise ArgumentError(
            "--format and --rows-option say how the file of --like is written, and there is none",
            argument="like",
        )
    return Likeness({})


def _show_columns(
    columns: dict[str, Any], likeness: Likeness, out: IO[str], *, as_json: bool
) -> None:
    """The columns of a table to be, and of those that were guessed a value."""
    examples = {guess.name: guess.example for guess in likeness.guesses}
    rows = []
    for name, one in columns.items():
        text = one if isinstance(one, str) else one["type"]
        value = examples.get(name)
        rows.append({"column": name, "type": type_text(parse_type(text)), "first value": value})
    if not examples:
        rows = [{"column": row["column"], "type": row["type"]} for row in rows]
    show_records(rows, as_json=as_json, layout=_COLUMNS, out=out)


def _column(text: str) -> tuple[str, str]:
    name, _, type_ = text.strip().partition(" ")
    if not type_.strip():
        raise ArgumentError(
            f"--column {text!r}: write a name and a type: 'id BIGINT'",
            argument="column",
            value=text,
        )
    return name, type_.strip()


def _overwrite(text: str | None) -> Any:
    if text is None or not ("=" in text or text.startswith("{")):
        return text
    return partition_of(text)


@contextmanager
def _named(files: Sequence[str] | None, format: str | None) -> Iterator[list[str]]:
    """The files by their names; standard input is one of the local disk meanwhile.

    Raises:
        ArgumentError: nobody pipes rows in, or their format is not said.
    """
    if files and _STDIN not in files:
        yield list(files)
        return
    if sys.stdin.isatty():
        raise ArgumentError(
            "no file is named and nothing is piped in: name files, or pipe rows in with --format",
            argument="files",
        )
    if format is None:
        raise ArgumentError(
            "rows of standard input have no name that tells their format: say --format csv, json or "
            "parquet",
            argument="format",
        )
    with tempfile.TemporaryDirectory(prefix="table-core-") as folder:
        kept = Path(folder, f"rows.{format}")
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield [str(kept) if name == _STDIN else name for name in files or [_STDIN]]
        except DataError as error:
            told = str(error).replace(kept.as_uri(), "standard input")
            raise DataError(told, **{**error.facts, "path": "standard input"}) from error


@contextmanager
def _source(
    catalog: Any, texts: list[str], sql: str | None, views: dict[str, str], of_files: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """What rows come from, as the action takes it."""
    if (sql is None) == (not texts):
        raise ArgumentError("name the rows by --source, or by --sql", argument="source")
    if views and sql is None:
        raise ArgumentError("--view names a table for --sql, and there is none", argument="view")
    is_table = sql is None and _is_table(catalog, texts)
    for name, value in of_files.items():
        if value is not None and (sql is not None or is_table):
            what = "--sql" if sql is not None else f"the table {texts[0]}"
            flag = "--format" if name == "format" else "--rows-option"
            raise ArgumentError(
                f"{flag} is that of files, and the rows come from {what}", argument=name
            )
    if sql is not None:
        yield {"sql": sql, "sources": {name: {"table": table} for name, table in views.items()}}
    elif is_table:
        yield {"table": texts[0]}
    else:
        with _named(texts, of_files["format"]) as files:
            yield {"files": files, **of_files}


def _is_table(catalog: Any, texts: list[str]) -> bool:
    """One name that is no file, of a database that is there."""
    if len(texts) != 1 or texts[0] == _STDIN or Path(texts[0]).exists() or "/" in texts[0]:
        return False
    return texts[0].partition(".")[0] in catalog.databases()


ENTRIES: Final[Sequence[Entry]] = (
    Entry(
        ("create",),
        Heading.ROWS,
        create,
        "shop.returns --column 'id BIGINT' --column 'reason STRING' --primary-key id -O bucket=1",
    ),
    Entry(("write",), Heading.ROWS, write, "shop.orders orders.csv"),
    Entry(
        ("merge-into",),
        Heading.ROWS,
        merge_into,
        "shop.orders --source orders.csv --on id --when matched-upsert --when not-matched-insert",
    ),
    entry_of(TRUNCATE),
)
