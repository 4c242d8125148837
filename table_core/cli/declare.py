"""Commands on a declared warehouse: ``validate``, ``plan``, ``apply``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from table_core.declaration.document import faults_of, parse
from table_core.declaration.grammar import json_schema
from table_core.declaration.manifest import compiled, digest_of
from table_core.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from table_core.declaration.compare import TablePlan
    from table_core.declaration.model import Declaration

__all__ = ["apply", "plan", "validate"]

File = Annotated[Path, typer.Argument(help="The declaration: a YAML file.", metavar="FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Warehouse = Annotated[
    str | None,
    typer.Option("--warehouse", "-w", envvar="TABLE_CORE_WAREHOUSE", help="Wins over the file's."),
]


def validate(
    file: File,
    compile_to: Annotated[
        Path | None, typer.Option("--compile", help="Write the manifest that Dags load.")
    ] = None,
    pools: Annotated[
        Path | None, typer.Option("--pools", help="Write the pool for `airflow pools import`.")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema.")] = False,
    as_json: AsJson = False,
) -> None:
    """Report every fault of a declaration as file:line:column."""
    if schema:
        typer.echo(json.dumps(json_schema(), indent=2))
        return
    text = _text(file)
    faults = faults_of(text, str(file))
    if as_json:
        members = ("file", "line", "column", "message")
        told = [{name: getattr(fault, name) for name in members} for fault in faults]
        typer.echo(json.dumps({"faults": told}))
    else:
        for fault in faults:
            typer.echo(str(fault))
    if faults:
        raise typer.Exit(1)
    if compile_to is not None:
        compile_to.write_text(compiled(parse(text, str(file)), digest_of(text.encode())))
    if pools is not None:
        pools.write_text(json.dumps(_pools(parse(text, str(file))), indent=2))


def plan(file: File, warehouse: Warehouse = None, as_json: AsJson = False) -> None:
    """Show what would change in the warehouse for it to be as declared.

    Exit status 1 if a part would be refused.
    """
    from table_core.declaration.applying import plan as planned

    declaration = parse(_text(file), str(file))
    plans = planned(declaration, _catalog(declaration, warehouse))
    _show(plans, as_json=as_json)
    if any(one.refused for one in plans):
        raise typer.Exit(1)


def apply(
    file: File,
    warehouse: Warehouse = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="As plan does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the warehouse as declared: create tables, add columns, set options; drop nothing."""
    from table_core.declaration.applying import apply as applied
    from table_core.declaration.applying import plan as planned

    if dry_run:
        plan(file, warehouse, as_json)
        return
    declaration = parse(_text(file), str(file))
    catalog = _catalog(declaration, warehouse)
    _show(applied(planned(declaration, catalog), catalog), as_json=as_json)


def _pools(declaration: Declaration) -> dict[str, Any]:
    """As ``airflow pools import`` reads them; jobs that are waited for in the triggerer count."""
    if declaration.pool is None:
        return {}
    about = f"Jobs on the warehouse {declaration.name}"
    slots = int(declaration.pool["slots"])
    return {
        declaration.pool["name"]: {"slots": slots, "description": about, "include_deferred": True}
    }


def _catalog(declaration: Declaration, warehouse: str | None) -> Any:
    import table_core as tc

    uri = warehouse or declaration.warehouse
    if uri is None:
        raise ArgumentError(
            "no warehouse: pass --warehouse, or declare it", argument="warehouse", value=None
        )
    return tc.open_catalog(uri)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(f"no file {file}", name=str(file), available=[]) from error


def _show(plans: list[TablePlan], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"tables": [one.to_document() for one in plans]}))
        return
    console = Console(highlight=False, soft_wrap=True)
    colours = {"create": "green", "alter": "yellow", "refused": "bold red", "none": "dim"}
    for one in plans:
        console.print(f"[{colours[one.action]}]{one.action:8}[/] {one.table}")
        for line in one.told:
            console.print(f"           {line}", markup=False)
        for line in one.refused:
            console.print(f"           refused: {line}", markup=False)
        for line in one.kept:
            console.print(f"           kept: {line}", markup=False)
    counts = {name: sum(one.action == name for one in plans) for name in colours}
    console.print(", ".join(f"{count} {name}" for name, count in counts.items()))
