"""Which columns a column of a table is made from, as far as SQL tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Derivation", "origins"]

Origin = tuple[str, str]
"""A view and a column of it."""
_DIALECT = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """How a task makes rows: a query, or a view as it is, and values set on top."""

    views: Mapping[str, str]
    """Name in the query to the table behind it."""
    sql: str | None = None
    """None takes the rows of the only view."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Column to an expression over ``source``, which is the query; wins over the same name."""


def origins(
    derivation: Derivation, columns: Mapping[str, Sequence[str]]
) -> dict[str, list[Origin]]:
    """Column to the columns that it comes from; those that nobody can tell are left out.

    Args:
        derivation: how the rows are made.
        columns: view to its columns.
    """
    by_column = _of_query(derivation, columns)
    for name, expression in derivation.values.items():
        used = _used(expression)
        by_column[name] = _unique(origin for column in used for origin in by_column.get(column, ()))
    return {name: of for name, of in by_column.items() if of}


def _of_query(
    derivation: Derivation, columns: Mapping[str, Sequence[str]]
) -> dict[str, list[Origin]]:
    if derivation.sql is None:
        return {c: [(view, c)] for view in derivation.views for c in columns.get(view, ())}
    from sqlglot import errors, exp, parse_one
    from sqlglot.lineage import lineage
    from sqlglot.optimizer.qualify import qualify

    # A column's type does not matter here, only that it is there.
    schema: dict[str, object] = {
        view: dict.fromkeys(names, "STRING") for view, names in columns.items()
    }
    by_column = {}
    try:
        query = qualify(
            parse_one(derivation.sql, dialect=_DIALECT), schema=schema, dialect=_DIALECT
        )
        if not isinstance(query, exp.Query):
            return {}
        for name in query.named_selects:
            leaves = (n for n in lineage(name, query, schema=schema, dialect=_DIALECT).walk())
            by_column[name] = _unique(_leaf(node) for node in leaves if not node.downstream)
    except errors.SqlglotError:
        return {}  # SQL of an engine's own: no statement is better than a wrong one
    return by_column


def _leaf(node: Any) -> Origin | None:
    from sqlglot import exp

    if not isinstance(node.source, exp.Table):
        return None  # a constant, or count(*)
    return node.source.name, node.name.rpartition(".")[2].strip('`"')


def _used(expression: str) -> list[str]:
    from sqlglot import errors, exp, parse_one

    try:
        tree = parse_one(expression, dialect=_DIALECT)
    except errors.SqlglotError:
        return []
    return [c.name for c in tree.find_all(exp.Column) if c.table in {"", "source"}]


def _unique(origins: Iterator[Origin | None]) -> list[Origin]:
    return sorted({origin for origin in origins if origin is not None})
