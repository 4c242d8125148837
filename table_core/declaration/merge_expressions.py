"""Expressions of a declared merge, held against the columns of its two sides.

Looked at by ``validate`` only: a Dag file has no time to parse SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.queries import columns_read, columns_selected
from table_core.declaration.steps import DeclaredView, MergeStep
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.declaration.model import Declaration

__all__ = ["merge_diagnostics"]

_TEMPLATE: Final = "{{"
Finding = tuple[tuple[str, ...], str]
Sides = dict[str, list[str] | None]


def merge_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Columns in ``merge.when`` that the source or the table has not."""
    for step in declaration.steps:
        if not isinstance(step, MergeStep) or step.table not in declaration.tables:
            continue
        sides: Sides = {
            "source": _source_columns(step, declaration),
            "target": [*declaration.tables[step.table].columns],
        }
        path = ("flows", step.name, "merge", "when")
        if sides["source"] is not None and step.sql is not None:
            names = [name for name in step.on if _TEMPLATE not in name]
            for message in _lacking(names, sides["source"], "the source"):
                yield (*path[:-1], "on"), message
        for clause in step.when:
            for sql in (*(clause.get("values") or {}).values(), clause.get("condition")):
                for message in _diagnostics(sql, sides):
                    yield path, message


def _source_columns(step: MergeStep, declaration: Declaration) -> list[str] | None:
    """What the source shows; None where nobody knows."""
    if step.source_table is not None:
        return columns_read(DeclaredView(table=step.source_table), declaration)
    views = {name: columns_read(view, declaration) for name, view in step.views.items()}
    return columns_selected(step.sql, views)


def _diagnostics(sql: Any, sides: Sides) -> Iterator[str]:
    if not isinstance(sql, str) or _TEMPLATE in sql:
        return
    from sqlglot import errors, exp, parse_one

    try:
        tree = parse_one(sql, dialect="spark")
    except (errors.SqlglotError, RecursionError):
        return  # told with its place in the text
    bound = {name.name.casefold() for lam in tree.find_all(exp.Lambda) for name in lam.expressions}
    for column in tree.find_all(exp.Column):
        first, *rest = [part.name for part in column.parts]
        known = sides.get(first.casefold()) if rest else None
        if rest and first.casefold() in sides:
            if known is not None:
                yield from _lacking(rest[:1], known, f"the {first.casefold()}")
            continue
        if first.casefold() in bound or None in sides.values():
            continue
        both = [name for side in sides.values() for name in side or ()]
        if first.casefold() not in {name.casefold() for name in both}:
            near = hint(first, both)
            yield f"{sql!r}: {first!r} is neither source.… nor target.…, nor a column of them; {near}"


def _lacking(names: Sequence[str], known: Sequence[str], where: str) -> Iterator[str]:
    folded = {one.casefold() for one in known}
    for name in names:
        if name.casefold() not in folded:
            yield f"{where} has no column {name!r}; {hint(name, known)}"
