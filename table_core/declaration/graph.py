"""What a declaration does, as a picture, and a part of it, chosen by names, tags, and what leads there or follows.

``shop.orders``, ``shop.*``, ``sum_orders``, ``tag:daily``, ``check:orders``; ``+shop.sums`` adds what it is
made from, ``2+shop.sums`` no more than two steps of it, ``shop.orders+`` what is made from it, as dbt does.  Of words
with blanks between them all count, of those with commas between them what is in each.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.declaration.order import audited_in
from table_core.errors import ArgumentError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from table_core.declaration.model import Declaration

__all__ = ["Chosen", "as_mermaid", "as_text", "chosen", "edges", "selected"]

_SHAPES: Final = {
    "table": ("[(", ")]"),
    "step": ("[", "]"),
    "check": ("{{", "}}"),
    "trigger": ("([", "])"),
}
Node = tuple[str, str]
"""Kind and name."""


def edges(declaration: Declaration) -> list[tuple[Node, Node]]:
    """What leads where, in the order of the work; each once."""
    return list(dict.fromkeys(_edges(declaration)))


def _edges(declaration: Declaration) -> Iterator[tuple[Node, Node]]:
    for step in declaration.steps:
        node = ("step", step.name)
        for table in sorted(step.tables_read):
            yield ("table", table), node
        for table in sorted(step.tables_written):
            yield node, ("table", table)
    for check in declaration.checks:
        yield ("table", check.table), ("check", check.name)
    for trigger in declaration.triggers:
        node = ("trigger", trigger.name)
        yield ("table", trigger.table), node
        for flow in trigger.flows:
            yield node, ("step", flow)


def as_mermaid(declaration: Declaration) -> str:
    """A flowchart for Markdown."""
    pairs = edges(declaration)
    nodes = dict.fromkeys([*(node for pair in pairs for node in pair), *_tables(declaration)])
    lines = ["flowchart LR"]
    for kind, name in nodes:
        left, right = _SHAPES[kind]
        lines.append(f'  {_id(kind, name)}{left}"{name}"{right}')
    lines += [f"  {_id(*start)} --> {_id(*end)}" for start, end in pairs]
    return "\n".join(lines) + "\n"


def _tables(declaration: Declaration) -> list[Node]:
    return [("table", name) for name in declaration.tables]


def _id(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', lambda match: f'_{ord(match[0]):x}_', name)}"


def as_text(declaration: Declaration) -> str:
    """A line for each step, check and trigger: what it reads and what it makes."""
    lines = []
    for step in declaration.steps:
        read, made = ", ".join(sorted(step.tables_read)), ", ".join(sorted(step.tables_written))
        after = f"   (after {', '.join(step.after)})" if step.after else ""
        lines.append(f"{read or step.verb} -> {step.name} -> {made}{after}")
    lines += [f"{check.table} -> check {check.name}" for check in declaration.checks]
    for trigger in declaration.triggers:
        lines.append(f"{trigger.table} -> trigger {trigger.name} -> {_woken(trigger.flows)}")
    return "\n".join(lines) + "\n"


def _woken(flows: tuple[str, ...]) -> str:
    return ", ".join(flows) or "a report"


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
