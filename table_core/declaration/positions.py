"""Positions in a declaration: how far each reader has come, kept with the table that it writes.

Two readers of one position take each other's rows for their own: some are never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.order import tables_written
from table_core.declaration.verbs import views_of_step
from table_core.errors import ArgumentError
from table_core.position.reader import require_position_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.declaration.model import Declaration, Step

__all__ = ["position_diagnostics"]

_TEMPLATE: Final = "{{"
Finding = tuple[str, tuple[str, ...], str]
"""Step, where in it, and what is wrong."""


def position_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Positions and pending tables that two would share, or that nobody may have."""
    taken: dict[tuple[str, str], str] = {}
    for step in declaration.steps:
        for path, name in _positions(step, declaration.name):
            if _TEMPLATE in name:
                continue
            try:
                require_position_name(path[-1], name)
            except ArgumentError as error:
                yield step.name, path, str(error)
            other = taken.setdefault((step.table, name), step.name)
            if other != step.name or _is_second(step, path, name):
                message = (
                    f"{other} keeps its position in {step.table} as {name!r} too: "
                    "each reader needs a name of its own, or rows are skipped"
                )
                yield step.name, path, message
    yield from _pending_diagnostics(declaration.steps)


def _positions(step: Step, declared: str) -> Iterator[tuple[tuple[str, ...], str]]:
    arguments: Mapping[str, Any] = step.arguments
    if arguments.get("rows_position"):
        yield ("rows_position",), str(arguments["rows_position"])
    named = (arguments.get("with") or {}).get("flow_name")
    views = views_of_step(step.verb, arguments) if step.verb == "sql" else {}
    changes = {v: view_source for v, view_source in views.items() if _of_changes(view_source)}
    for view, view_source in changes.items():
        if view_source.get("position"):
            yield ("reads", view, "position"), str(view_source["position"])
    if any(not view_source.get("position") for view_source in changes.values()):
        path = ("with", "flow_name") if named else ("reads",)
        yield path, f"tc.flow.{named or f'{declared}.{step.name}'}"


def _of_changes(source: Any) -> bool:
    return isinstance(source, dict) and source.get("mode") == "changes"


def _is_second(step: Step, path: tuple[str, ...], name: str) -> bool:
    """Whether an earlier view of the same step has the position."""
    for other, one in _positions(step, ""):
        if other == path:
            return False
        if one == name:
            return True
    return False


def _pending_diagnostics(steps: Sequence[Step]) -> Iterator[Finding]:
    """Rows that wait replace all that is in their table."""
    for step in steps:
        table = (step.arguments.get("pending") or {}).get("table")
        if table is None:
            continue
        path = ("pending", "table")
        if table == step.table:
            yield (
                step.name,
                path,
                f"the rows that wait would replace all of {table}: name a table of their own",
            )
        for other in steps:
            if other.name != step.name and other.verb != "run" and table in tables_written(other):
                yield (
                    step.name,
                    path,
                    f"{other.name} writes {table} too, and the rows that wait replace all that is there",
                )
