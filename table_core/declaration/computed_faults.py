"""Computed columns of declared tables: what can be computed, and what would make it untrue.

Looked at by ``validate`` only: it tries the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.cdc.model.computed import computed_columns
from table_core.cdc.model.generated import computed_problems
from table_core.datatypes.kinds import with_nullability
from table_core.datatypes.text import type_text
from table_core.declaration.hints import hint
from table_core.declaration.table_schema import schema_of
from table_core.declaration.verbs import MAKES_ROWS
from table_core.declaration.widths import holds_all
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.cdc.model.computed import ComputedColumn
    from table_core.declaration.model import Declaration, Step, TableDeclaration

__all__ = ["computed_faults"]

Told = tuple[tuple[str, ...], str]


def computed_faults(found: Declaration) -> Iterator[Told]:
    """Computed columns that cannot be, and steps that would write past them."""
    for name, table in found.tables.items():
        for column, told in _of_table(table):
            path = ("tables", name, "columns", column, "computed")
            yield path, f"column {column!r}: {told}"
    for step in found.steps:
        table_written = found.tables.get(step.table)
        if table_written is not None and table_written.computed:
            yield from _of_step(step, table_written)
        waiting = str((step.arguments.get("pending") or {}).get("table"))
        if waiting in found.tables and found.tables[waiting].computed:
            told = f"rows that wait have no computed columns, as {waiting} has"
            yield ("flows", step.name, "pending", "table"), told


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
    for name, told in computed_problems(parsed, schema):
        refused.add(name)
        near = hint(told.split("'")[1], schema.by_name) if told.startswith("there is no") else ""
        yield name, f"{told}; {near}" if near.startswith("did") else told
    for column in parsed:
        if column.name in refused:
            continue
        made, declared = column.field(schema.fields).type, schema.by_name[column.name].type
        if not holds_all(made, with_nullability(declared, nullable=True)):
            told = f"{column.function} makes {type_text(made)}, which {type_text(declared)} does not hold"
            yield column.name, f"{told}: declare {type_text(made)}"


def _of_step(step: Step, table: TableDeclaration) -> Iterator[Told]:
    path, names = ("flows", step.name), ", ".join(table.computed)
    if step.verb == "run" and step.arguments["run"] == "update":
        told = f"run: update would leave {names} as computed before: write the rows again by sql"
        yield (*path, "run"), told
    elif step.verb not in {*MAKES_ROWS, "run"}:
        told = f"{step.verb} does not compute {names}: write the rows by sql"
        yield (*path, step.verb), told
    overwrite = step.arguments.get("overwrite")
    for name in overwrite if isinstance(overwrite, dict) else ():
        if name in table.computed:
            told = f"{name!r} is computed of each row: overwrite: partitions"
            yield (*path, "overwrite"), told
    more = (step.arguments.get("with") or {}).get("computed_columns") or ()
    for text in more:
        name = str(text).partition("=")[0].strip()
        if name in table.computed:
            told = f"{name!r} is computed as {step.table} declares it: leave it out here"
            yield (*path, "with", "computed_columns"), told
