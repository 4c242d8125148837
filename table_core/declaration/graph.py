"""What a declaration does, as a picture: sources, tables, flows, checks and triggers, and what leads where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.declaration.model import Declaration

__all__ = ["as_mermaid", "as_text", "edges"]

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
