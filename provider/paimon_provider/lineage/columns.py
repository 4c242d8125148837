"""Which columns a column of a table is made from, as far as SQL tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.arguments.table_identity import TableIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Derivation", "origins", "origins_document"]

Origin = tuple[str, str]
"""A view and a column of it."""
_DIALECT = "spark"
_PAIRS_MAX: Final = 100
"""So many origins stand in a result: it goes through XCom and into an event."""


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


def origins_document(
    derivation: Derivation,
    columns: Mapping[str, Sequence[str]],
    own: Sequence[str],
    *,
    catalog: str,
) -> dict[str, Any]:
    """What a result says of the columns of its table.

    Args:
        derivation: how the rows are made.
        columns: view to its columns.
        own: the columns of the table that the rows go to.
        catalog: the name of the catalog in the URIs of assets.

    Returns:
        ``columns_from``: column to pairs of a table's asset URI and a column of it, in the order of
        ``own``; and ``columns_left_out``: how many columns have no room.  Empty where nothing is known.
    """
    by_name = {name.lower(): of for name, of in origins(derivation, columns).items()}
    uris = {
        view.lower(): TableIdentity.of(table, catalog=catalog).uri
        for view, table in derivation.views.items()
    }
    room, left_out = _PAIRS_MAX, 0
    told: dict[str, list[list[str]]] = {}
    for name in own:
        pairs = [
            [uris[view.lower()], column]
            for view, column in by_name.get(name.lower(), ())
            if view.lower() in uris
        ]
        if len(pairs) > room:
            left_out += 1
        elif pairs:
            told[name] = pairs
            room -= len(pairs)
    document: dict[str, Any] = {"columns_from": told} if told else {}
    return {**document, "columns_left_out": left_out} if left_out else document


def _of_query(
    derivation: Derivation, columns: Mapping[str, Sequence[str]]
) -> dict[str, list[Origin]]:
    if derivation.sql is None:
        return {c: [(view, c)] for view in derivation.views for c in columns.get(view, ())}
    from sqlglot import errors, exp, parse_one
    from sqlglot.lineage import lineage
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope

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
        scope = build_scope(query)  # once, not once a column
        for name in query.named_selects:
            node = lineage(name, query, schema, scope=scope, trim_selects=False, dialect=_DIALECT)
            leaves = node.walk()
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
