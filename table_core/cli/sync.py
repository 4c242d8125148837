"""The command that keeps tables in step with a source of change events."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import output
from table_core.cli.arguments import AsJson, Warehouse, names, pairs
from table_core.cli.catalog_file import open_warehouse
from table_core.cli.commands import Entry
from table_core.cli.progress import progress_of_sync
from table_core.cli.rows import show_records
from table_core.errors import ArgumentError
from table_core.jobs.action import Heading

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ENTRIES"]

_SECRET: Final = re.compile(r"secret|passw|token|credential|user\.info", re.IGNORECASE)

Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="database.table, or a database for many tables.")
]
Source = Annotated[
    str,
    typer.Option(
        help="JSON as in a job, or a file of it: {'kind': 'mysql', 'host': …, 'password': "
        "{'env': 'DB_PASSWORD'}}."
    ),
]
Events = Annotated[
    str,
    typer.Option(
        help="JSON as in a job, or a file of it: {'kind': 'kafka', 'servers': …, 'topics': […]} or "
        "{'kind': 'files', 'uri': …}."
    ),
]
OfNewTables = Annotated[str | None, typer.Option(help="Of tables that the sync creates.")]
Interval = Annotated[
    str | None,
    typer.Option(help="Until forever: commit at most this often, e.g. '500 ms' (default 1 s)."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A further keyword of the verb, as JSON or text: on_truncate=fail, eager_init=true.",
    ),
]


def sync(
    warehouse: Warehouse,
    target: Target,
    source: Source,
    primary_key: OfNewTables = None,
    partition_by: OfNewTables = None,
    computed_column: Annotated[
        list[str] | None, typer.Option(help="dt=date_format(at, yyyy-MM-dd); may be repeated.")
    ] = None,
    type_mapping: Annotated[str | None, typer.Option(help="Comma-separated.")] = None,
    including: Annotated[str | None, typer.Option(help="Source tables of a database.")] = None,
    excluding: Annotated[str | None, typer.Option(help="Source tables left out.")] = None,
    table_prefix: Annotated[str | None, typer.Option(help="A prefix for table names.")] = None,
    until: Annotated[str, typer.Option(help="now or forever.")] = "now",
    interval: Interval = None,
    max_duration: Annotated[str | None, typer.Option(help="End after e.g. '10 min'.")] = None,
    max_rows: Annotated[int | None, typer.Option(help="End after this many events.")] = None,
    dead_letter: Annotated[str | None, typer.Option(help="A table for bad events.")] = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Apply the change events of a source that its tables have not seen yet."""
    import table_core as tc
    from table_core.cdc.sync.sync import sync_from_spec
    from table_core.table.metadata.results import CommitAs

    arguments = {
        "primary_key": names(primary_key),
        "partition_by": names(partition_by),
        "computed_columns": computed_column or None,
        "type_mapping": names(type_mapping),
        "including": including,
        "excluding": excluding,
        "table_prefix": table_prefix,
        "until": until,
        "interval": interval,
        "max_duration": max_duration,
        "max_rows": max_rows,
        "dead_letter": dead_letter,
        **{key: _json_or_text(text) for key, text in pairs(setting, "--set").items()},
    }
    args = {key: value for key, value in arguments.items() if value is not None}
    one = "." in target
    if one and (wrong := sorted({"including", "excluding", "table_prefix"} & args.keys())):
        raise ArgumentError(f"{', '.join(wrong)}: only for a whole database", argument=wrong[0])
    with progress_of_sync(as_json=as_json) as progress:
        result = sync_from_spec(
            tc.sync_table if one else tc.sync_database,
            open_warehouse(warehouse),
            target,
            {**args, "source": _described(source)},
            CommitAs(),
            progress=progress,
        )
    output.show_result(result, as_json=as_json)


def resync(
    warehouse: Warehouse,
    tables: Annotated[list[str], typer.Argument(metavar="TABLES", help="As database.table.")],
    source: Source,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Read tables of a database again, and replace what is there.

    The sync that feeds a table is run, with its choice of tables. Give further keywords of it with --set.
    """
    import table_core as tc
    from table_core.cdc.sync.readers import source_from_spec

    more = {key: _json_or_text(text) for key, text in pairs(setting, "--set").items()}
    server = source_from_spec(_described(source))
    with progress_of_sync(as_json=as_json) as progress:
        result = tc.resync(open_warehouse(warehouse), tables, server, progress=progress, **more)
    output.show_result(result, as_json=as_json)


def source_audit(
    warehouse: Warehouse,
    tables: Annotated[list[str], typer.Argument(metavar="TABLES", help="As database.table.")],
    source: Source,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write the rows of the source over those that differ.")
    ] = False,
    most: Annotated[int, typer.Option(help="The most differences to print.")] = 1000,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Compare tables with the tables of a database that feed them, row by row.

    The sync that feeds a table is run first, with its choice of tables. Give further keywords of it with
    --set. Ends with 1 if a table differs and was not repaired.
    """
    import table_core as tc
    from table_core.cdc.sync.readers import source_from_spec

    more = {key: _json_or_text(text) for key, text in pairs(setting, "--set").items()}
    server = source_from_spec(_described(source))
    with progress_of_sync(as_json=as_json) as progress:
        result = tc.source_audit(
            open_warehouse(warehouse),
            tables,
            server,
            repair=repair,
            most=most,
            progress=progress,
            **more,
        )
    details: dict[str, Any] = dict(result.details)
    if as_json:
        output.show_result(result, as_json=True)
    else:
        if details["rows"]:
            show_records(details["rows"], as_json=False)
        audits = details["tables"].items()
        show_records([{"table": name, **one} for name, one in audits], as_json=False)
    if details["left"]:
        raise typer.Exit(1)


def replay(
    warehouse: Warehouse,
    target: Target,
    source: Events,
    dead_letter: Annotated[str, typer.Option(help="The table of dead letters.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Apply events to rows that are there, too.")
    ] = False,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Apply dead letters once more, and delete those that were applied.

    Give what the sync was given that wrote them; further keywords of it with --set. A letter whose row is
    in the table by now stays: the row may be newer.
    """
    import table_core as tc
    from table_core.cdc.sync.readers import source_from_spec

    more = {key: _json_or_text(text) for key, text in pairs(setting, "--set").items()}
    read = source_from_spec(_described(source))
    catalog = open_warehouse(warehouse)
    with progress_of_sync(as_json=as_json) as progress:
        result = tc.replay(
            catalog, target, read, dead_letter, overwrite=overwrite, progress=progress, **more
        )
    output.show_result(result, as_json=as_json)


def source_doctor(
    source: Source,
    including: Annotated[str, typer.Option(help="Source tables that are meant.")] = ".*",
    excluding: Annotated[str, typer.Option(help="Source tables left out.")] = "",
    as_json: AsJson = False,
) -> None:
    """Look for what is in the way of a sync of a database or of topics, with effect and remedy."""
    import table_core as tc
    from table_core.cdc.sync.readers import source_from_spec

    findings = tc.source_doctor(source_from_spec(_described(source)), including, excluding)
    show_records([one.to_record() for one in findings], as_json=as_json)
    if any(one.level == "error" for one in findings):
        raise typer.Exit(1)


def _described(text: str) -> dict[str, Any]:
    """The source; secrets may be in a file or in the environment, on no command line."""
    in_line = text.lstrip().startswith("{")
    try:
        body = text if in_line else Path(text).read_text(encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"--source {text}: {error}", argument="source") from error
    try:
        source = json.loads(body)
    except ValueError as error:
        raise ArgumentError(f"--source is no JSON: {error}", argument="source") from error
    if not isinstance(source, dict):
        raise ArgumentError("--source is no JSON object", argument="source")
    if in_line:
        _refuse_secrets(source)
    return source


def _refuse_secrets(members: dict[str, Any]) -> None:
    for name, value in members.items():
        if isinstance(value, dict):
            _refuse_secrets(value)
        elif _SECRET.search(name) and value:
            raise ArgumentError(
                f"--source: {name} would show in the list of processes; write it as "
                '{"env": "VARIABLE"}, or put the JSON into a file',
                argument=name,
            )


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


ENTRIES: Final[Sequence[Entry]] = (
    Entry(("sync",), Heading.FEEDS, sync, "lake.people --source source.json --primary-key id"),
    Entry(
        ("source", "doctor"),
        Heading.FEEDS,
        source_doctor,
        "--source mysql.json --including 'shop\\..*'",
    ),
    Entry(("source", "resync"), Heading.FEEDS, resync, "lake.people --source mysql.json"),
    Entry(("source", "audit"), Heading.FEEDS, source_audit, "lake.people --source mysql.json"),
    Entry(
        ("source", "replay"),
        Heading.FEEDS,
        replay,
        "lake --source kafka.json --dead-letter lake.rejected",
    ),
)
