"""Commands that copy tables, also to another warehouse: ``clone`` and ``clone-database``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from table_core.cli import output
from table_core.cli.action_commands import moment
from table_core.cli.arguments import (
    AsJson,
    Database,
    DryRun,
    Snapshot,
    TableName,
    Tag,
    Timestamp,
    Warehouse,
    catalog_of,
)
from table_core.cli.commands import Entry
from table_core.cli.progress import progress_shown
from table_core.jobs.action import Heading

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ENTRIES"]

Including = Annotated[str, typer.Option(help="A regular expression for whole table names.")]
Excluding = Annotated[str, typer.Option(help="A regular expression for whole table names.")]
Positions = Annotated[
    bool,
    typer.Option(help="Whether to copy the positions of the flows and syncs that feed the table."),
]
Parallelism = Annotated[int, typer.Option(help="How many tables to compact at a time.")]


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

    with progress_shown(as_json=as_json):
        result = catalog_of(warehouse).clone_table(
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

    with progress_shown(as_json=as_json):
        result = catalog_of(warehouse).clone_database(
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


ENTRIES: Final[Sequence[Entry]] = (
    Entry(("clone",), Heading.UPKEEP, clone, "shop.orders shop.orders_copy --snapshot 2"),
    Entry(("clone-database",), Heading.UPKEEP, clone_database, "shop backup --including orders"),
)
