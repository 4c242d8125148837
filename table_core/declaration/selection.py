"""A part of a declaration, chosen as dbt does: by names, tags, and what leads there or follows.

``shop.orders``, ``shop.*``, ``sum_orders``, ``tag:daily``, ``check:orders``; ``+shop.sums`` adds what it is
made from, ``2+shop.sums`` no more than two steps of it, ``shop.orders+`` what is made from it.  Of words
with blanks between them all count, of those with commas between them what is in each.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.declaration.graph import edges
from table_core.declaration.order import audited_in
from table_core.errors import ArgumentError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from table_core.declaration.graph import Node
    from table_core.declaration.model import Declaration

__all__ = ["Chosen", "chosen", "selected"]

_KINDS: Final = {
    "table": "table",
    "flow": "step",
    "source": "step",
    "check": "check",
    "trigger": "trigger",
}
_METHODS: Final = ("tag", *_KINDS)
_WORD: Final = re.compile(
    r"((?P<up>\d*)\+)?((?P<method>[a-z]+):)?(?P<name>[^+]+)(\+(?P<down>\d*))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What words have chosen, and what goes with it."""

    nodes: frozenset[Node]
    """What was named, and what leads there or follows."""
    tables: frozenset[str]
    """The tables, also those that chosen flows and checks read or write."""
    steps: frozenset[str]
    """Sources and flows, also those that write chosen tables."""
    checks: frozenset[str]
    """Checks, also those of chosen tables, and of audited ones that are written."""
    triggers: frozenset[str]


def selected(declaration: Declaration, words: Iterable[str]) -> Declaration:
    """``declaration`` with the chosen tables alone; its sources, flows and checks stay.

    Raises:
        ArgumentError: a word that nothing fits.
    """
    names = chosen(declaration, words).tables
    tables = {name: one for name, one in declaration.tables.items() if name in names}
    external = {name: one for name, one in declaration.external.items() if name in names}
    return replace(declaration, tables=tables, external=external)


def chosen(declaration: Declaration, words: Iterable[str]) -> Chosen:
    """What ``words`` choose.

    Raises:
        ArgumentError: a word that nothing fits, or that is none; says what may have been meant.
    """
    known = _Known.of(declaration)
    nodes: set[Node] = set()
    selectors = [one for text in words for one in text.split()]
    if not selectors:
        raise ArgumentError("nothing is chosen: name a table, a flow or a tag", argument="select")
    for union in selectors:
        parts = [known.fitting(word) for word in union.split(",")]
        nodes |= set.intersection(*parts)
    beside = {
        node
        for one in nodes
        if one[0] != "table"
        for node in known.up.get(one, set()) | known.down.get(one, set())
    }
    tables = {name for kind, name in nodes if kind == "table"}
    writers = {step.name for step in declaration.steps if tables & step.tables_written}
    steps = _names(nodes, "step") | writers
    audited = {audited_in(s, declaration.audited) for s in declaration.steps if s.name in steps}
    return Chosen(
        nodes=frozenset(nodes),
        tables=_names(nodes | beside, "table"),
        steps=steps,
        checks=_names(nodes, "check")
        | {check.name for check in declaration.checks if check.table in tables | audited},
        triggers=_names(nodes, "trigger"),
    )


def _names(nodes: Iterable[Node], kind: str) -> frozenset[str]:
    return frozenset(name for one, name in nodes if one == kind)


@dataclass(slots=True, kw_only=True)
class _Known:
    """All that can be chosen."""

    tags: Mapping[Node, Collection[str]]
    """Everything there is, with its tags."""
    up: dict[Node, set[Node]] = field(default_factory=dict)
    down: dict[Node, set[Node]] = field(default_factory=dict)

    @classmethod
    def of(cls, declaration: Declaration) -> _Known:
        of_pipeline = tuple(declaration.pipeline.get("tags") or ())
        tags: dict[Node, Collection[str]] = {
            **{("table", name): entry.tags for name, entry in declaration.tables.items()},
            **{("table", name): () for name in declaration.external},
            **{("step", entry.name): (*entry.tags, *of_pipeline) for entry in declaration.steps},
            **{("check", entry.name): (*entry.tags, *of_pipeline) for entry in declaration.checks},
            **{("trigger", entry.name): entry.tags for entry in declaration.triggers},
        }
        known = cls(tags=tags)
        for start, end in edges(declaration):
            for node in (start, end):
                tags.setdefault(node, ())
            known.down.setdefault(start, set()).add(end)
            known.up.setdefault(end, set()).add(start)
        return known

    def fitting(self, word: str) -> set[Node]:
        """What one word chooses."""
        parts = _WORD.fullmatch(word)
        if parts is None:
            raise ArgumentError(
                f"no selector {word!r}: name, +name, name+, 2+name, tag:name, with * and ?",
                argument="select",
                value=word,
            )
        begin = self._named(word, parts["method"], parts["name"])
        nodes = set(begin)
        for steps, along in ((parts["up"], self.up), (parts["down"], self.down)):
            if steps is not None:
                nodes |= _reached(begin, along, int(steps) if steps else None)
        return nodes

    def _named(self, word: str, method: str | None, name: str) -> set[Node]:
        if method == "tag":
            names = {tag for tags in self.tags.values() for tag in tags}
            matching = {
                node
                for node, tags in self.tags.items()
                if any(fnmatch.fnmatchcase(tag, name) for tag in tags)
            }
        elif method is None or method in _KINDS:
            kind = _KINDS.get(method or "")
            nodes = {node for node in self.tags if kind is None or node[0] == kind}
            names = {node[1] for node in nodes}
            matching = {node for node in nodes if fnmatch.fnmatchcase(node[1], name)}
        else:
            raise ArgumentError(
                f"no selector {word!r}; {hint(method, _METHODS)}", argument="select", value=word
            )
        if not matching:
            near = hint(name, sorted(names))
            raise ArgumentError(f"nothing fits {word!r}; {near}", argument="select", value=word)
        return matching


def _reached(
    begin: set[Node], along: Mapping[Node, set[Node]], steps: int | None = None
) -> set[Node]:
    """``begin`` and what lies along the edges; a step leads from a table through a flow to the next."""
    seen, edge = set(begin), set(begin)
    count = 0
    while edge and (steps is None or count < 2 * steps):
        edge = {node for one in edge for node in along.get(one, set())} - seen
        seen |= edge
        count += 1
    return seen
