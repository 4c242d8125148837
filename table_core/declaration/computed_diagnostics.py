"""Computed columns of declared tables: what can be computed, and what would make it untrue.

Looked at by ``validate`` only: it tries the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.cdc.model.computed import computed_columns
from table_core.cdc.model.generated import computed_problems
from table_core.datatypes.kinds import with_nullability
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import holds_all
from table_core.declaration.steps import RunStep
from table_core.declaration.table_schema import schema_of
from table_core.declaration.verbs import MAKES_ROWS
from table_core.errors import TableError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.cdc.model.computed import ComputedColumn
    from table_core.declaration.model import Declaration, TableDeclaration
    from table_core.declaration.steps import DeclaredStep

__all__ = ["computed_diagnostics"]

Finding = tuple[tuple[str, ...], str]


def computed_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Computed columns that cannot be, and steps that would write past them."""
    for name, table in declaration.tables.items():
        for column, message in _of_table(table):
            path = ("tables", name, "columns", column, "computed")
            yield path, f"column {column!r}: {message}"
    for step in declaration.steps:
        table_written = declaration.tables.get(step.table)
        if table_written is not None and table_written.computed:
            yield from _of_step(step, table_written)
        waiting = "" if step.pending is None else step.pending.table
        if waiting in declaration.tables and declaration.tables[waiting].computed:
            message = f"rows that wait have no computed columns, as {waiting} has"
            yield ("flows", step.name, "pending", "table"), message


def _of_table(table: TableDeclaration) -> Iterator[tuple[str, str]]:
    parsed: list[ComputedColumn] = []
    for name, text in table.computed.items():
        try:
            parsed += computed_columns([f"{name}={text}"])
        except TableError as error:
            yield name, str(error)
        else:
            if parsed[-1].name != name or any(letter in name for letter in "= "):
                yield name, "a computed column has a name without blanks and ="
                return
    try:
        schema = schema_of(table)
    except TableError:
        return  # told where it stands
    refused = set()
    for name, message in computed_problems(parsed, schema):
        refused.add(name)
        near = (
            hint(message.split("'")[1], schema.by_name) if message.startswith("there is no") else ""
        )
        yield name, f"{message}; {near}" if near.startswith("did") else message
    for column in parsed:
        if column.name in refused:
            continue
        made, declared = column.field(schema.fields).type, schema.by_name[column.name].type
        if not holds_all(made, with_nullability(declared, nullable=True)):
            message = f"{column.function} makes {type_text(made)}, which {type_text(declared)} does not hold"
            yield column.name, f"{message}: declare {type_text(made)}"


def _of_step(step: DeclaredStep, table: TableDeclaration) -> Iterator[Finding]:
    path, names = ("flows", step.name), ", ".join(table.computed)
    if isinstance(step, RunStep) and step.action == "update":
        message = f"run: update would leave {names} as computed before: write the rows again by sql"
        yield (*path, "run"), message
    elif step.verb not in {*MAKES_ROWS, "run"}:
        message = f"{step.verb} does not compute {names}: write the rows by sql"
        yield (*path, step.verb), message
    for name in step.overwrite if isinstance(step.overwrite, dict) else ():
        if name in table.computed:
            message = f"{name!r} is computed of each row: overwrite: partitions"
            yield (*path, "overwrite"), message
    more = step.with_arguments.get("computed_columns") or ()
    for text in more:
        name = str(text).partition("=")[0].strip()
        if name in table.computed:
            message = f"{name!r} is computed as {step.table} declares it: leave it out here"
            yield (*path, "with", "computed_columns"), message
