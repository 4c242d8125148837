"""The command ``doctor``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer

from table_core.cli.arguments import AsJson  # noqa: TC001 - typer reads the annotations
from table_core.cli.catalog_file import open_warehouse
from table_core.cli.commands import Entry
from table_core.cli.completion import WAREHOUSE
from table_core.cli.doctor.finding import State
from table_core.cli.doctor.machine import machine_findings
from table_core.cli.doctor.packages import package_findings
from table_core.cli.doctor.plugins import plugin_findings
from table_core.cli.doctor.store import refused, store_findings
from table_core.cli.grid import Layout
from table_core.cli.rows import show_records
from table_core.errors import TableError
from table_core.jobs.action import Heading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.cli.doctor.finding import Finding

__all__ = ["ENTRIES"]

_LAYOUT: Final = Layout(wraps=("found",))


def doctor(
    warehouse: Annotated[
        str | None,
        typer.Option("--warehouse", "-w", envvar=WAREHOUSE, help="Look at this warehouse too."),
    ] = None,
    connection: Annotated[
        str | None, typer.Option(help="Look at this connection of Airflow too.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing into the warehouse to try it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look at Java, packages, memory, disk, warehouse and connection, and say what to do.

    Exit status 1 if there is a fault. A warning does not count.
    """
    findings = list(_all(warehouse, connection, write=not read_only))
    faults = sum(one.state is State.FAULT for one in findings)
    if as_json:
        told = {"findings": [one.to_document() for one in findings], "faults": faults}
        typer.echo(json.dumps(told))
    else:
        rows = [
            {
                "state": one.state.value,
                "check": one.check,
                "found": f"{one.observed}\n→ {one.remedy}" if one.remedy else one.observed,
            }
            for one in findings
        ]
        show_records(rows, as_json=False, layout=_LAYOUT)
        typer.echo("no fault" if not faults else f"{faults} fault{'s' if faults > 1 else ''}")
    if faults:
        raise typer.Exit(1)


def _all(warehouse: str | None, connection: str | None, *, write: bool) -> Iterator[Finding]:
    yield from package_findings(warehouse)
    yield from machine_findings()
    yield from plugin_findings(connection)
    if warehouse is not None:
        try:
            catalog = open_warehouse(warehouse)
        except TableError as error:
            yield refused("warehouse", error)
            return
        yield from store_findings(catalog, catalog.clock, write=write)


ENTRIES: Final[Sequence[Entry]] = (Entry(("doctor",), Heading.HERE, doctor, "--read-only"),)
