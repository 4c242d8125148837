"""What a query gives, held against the table that takes it, and what it asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.templates import jinja_problem
from table_core.errors import TableError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from table_core.declaration.model import TableDeclaration

__all__ = ["output_problems", "parameter_problems", "template_problems"]

_UNNAMED: Final = re.compile(r"_col_\d+")
_OF_DBT: Final = re.compile(
    r"\{[{%][^}]*?\b(ref|source|env_var|var|config|is_incremental|this)\s*\("
)
_KIND: Final = "_row_kind"
"""The kind of a row is no column of the table."""


def output_problems(
    query: Any, name: str, table: TableDeclaration, overwritten: Iterable[str]
) -> Iterator[str]:
    """Columns that a qualified query gives and the table has not, and the reverse where one must be."""
    selected = [one.casefold() for one in query.named_selects]
    if "*" in selected or any(not one for one in selected):
        return
    known = {column.casefold(): column for column in table.columns}
    for number, column in enumerate(selected, 1):
        if _UNNAMED.fullmatch(column):
            yield f"column {number} of the query has no name: write … AS and a column of {name}"
        elif column not in known and column != _KIND:
            yield f"the query gives {column!r}, which {name} has not; {hint(column, known.values())}"
        elif known.get(column) in table.computed:
            yield f"the query gives {column!r}, which {name} computes: leave it out"
        elif column in selected[: number - 1]:
            yield f"the query gives {column!r} twice"
    for folded, column in known.items():
        left_out = folded not in selected and column not in {*overwritten, *table.computed}
        if left_out and _is_needed(column, table):
            yield f"the query lacks {column!r}, which is NOT NULL in {name}"


def _is_needed(column: str, table: TableDeclaration) -> bool:
    if column in table.column_defaults:
        return False
    from table_core.datatypes.text import parse_type

    try:
        return column in table.primary_key or not parse_type(table.columns[column]).nullable
    except TableError:
        return False  # told where the type stands


def parameter_problems(query: Any, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Parameters that the query asks for and nobody gives."""
    from sqlglot import exp

    for one in query.find_all(exp.Placeholder):
        if one.name:
            yield f":{one.name} is no parameter: write ${one.name}, with its value in parameters"
    asked = {one.name for one in query.find_all(exp.Parameter)}
    for name in sorted(asked - set(parameters)):
        near = hint(name, parameters)
        more = f"; {near}" if near.startswith("did") else ": give it under with.parameters"
        yield f"${name} has no value{more}"


def template_problems(text: str) -> list[str]:
    """What is wrong with a template, as far as it can be told before it is rendered."""
    for opening, closing in (("{{", "}}"), ("{%", "%}")):
        if text.count(opening) != text.count(closing):
            return [f"a template opens with {opening} and does not close with {closing}"]
    if message := jinja_problem(text):
        return [message]
    macro = _OF_DBT.search(text)
    if macro is not None:
        default_hint = "name the table under reads and its view in SQL"
        other = {"var": "write params.name of pipeline.params", "env_var": "write ${NAME}"}
        return [f"{macro[1]}() of dbt is not known here: {other.get(macro[1], default_hint)}"]
    return []
