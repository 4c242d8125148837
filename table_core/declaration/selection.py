"""A part of a declaration: the tables that are chosen, and with ``+`` all that leads to them or follows."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.declaration.graph import edges
from table_core.declaration.hints import hint
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.declaration.graph import Node
    from table_core.declaration.model import Declaration

__all__ = ["selected"]


def selected(declaration: Declaration, patterns: Iterable[str]) -> Declaration:
    """``declaration`` with the chosen tables alone.

    A pattern names tables, sources, flows or checks: ``shop.orders``, ``shop.*``, ``sum_orders``.
    ``+shop.sums`` adds what it is made from, ``shop.orders+`` what is made from it.

    Raises:
        ArgumentError: a pattern that nothing fits.
    """
    pairs = edges(declaration)
    nodes = {node for pair in pairs for node in pair}
    nodes |= {("table", name) for name in declaration.tables}
    down: dict[Node, set[Node]] = {}
    up: dict[Node, set[Node]] = {}
    for start, end in pairs:
        down.setdefault(start, set()).add(end)
        up.setdefault(end, set()).add(start)
    chosen: set[Node] = set()
    for pattern in patterns:
        begin = _fitting(nodes, pattern.strip("+"), pattern)
        chosen |= begin
        chosen |= _reached(begin, up) if pattern.startswith("+") else set()
        chosen |= _reached(begin, down) if pattern.endswith("+") else set()
    beside = {
        node
        for one in chosen
        if one[0] != "table"
        for node in up.get(one, set()) | down.get(one, set())
    }
    names = {name for kind, name in chosen | beside if kind == "table"}
    tables = {name: one for name, one in declaration.tables.items() if name in names}
    external = {name: one for name, one in declaration.external.items() if name in names}
    return replace(declaration, tables=tables, external=external)


def _fitting(nodes: set[Node], name: str, pattern: str) -> set[Node]:
    found = {node for node in nodes if fnmatch.fnmatchcase(node[1], name)}
    if not found:
        near = hint(name, sorted({node[1] for node in nodes}))
        raise ArgumentError(f"nothing fits {pattern!r}; {near}", argument="select", value=pattern)
    return found


def _reached(begin: set[Node], along: Mapping[Node, set[Node]]) -> set[Node]:
    seen: set[Node] = set(begin)
    waiting = list(begin)
    while waiting:
        fresh = along.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen
