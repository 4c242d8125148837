"""Positions in a declaration: how far each reader has come, kept with the table that it writes.

Two readers of one position take each other's rows for their own: some are never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.declaration.steps import FilesStep, QueryStep
from table_core.errors import ArgumentError
from table_core.position.reader import require_position_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.declaration.model import Declaration
    from table_core.declaration.steps import DeclaredStep

__all__ = ["position_diagnostics"]

_TEMPLATE: Final = "{{"
Finding = tuple[str, tuple[str, ...], str]
"""DeclaredStep, where in it, and what is wrong."""


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


def _positions(step: DeclaredStep, declared: str) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(step, FilesStep) and step.rows_position:
        yield ("rows_position",), step.rows_position
    if not isinstance(step, QueryStep):
        return
    changes = {name: view for name, view in step.views.items() if view.is_of_changes}
    for name, view in changes.items():
        if view.position:
            yield ("reads", name, "position"), view.position
    if any(not view.position for view in changes.values()):
        flow = step.with_arguments.get("flow_name")
        path = ("with", "flow_name") if flow else ("reads",)
        yield path, f"tc.flow.{flow or f'{declared}.{step.name}'}"


def _is_second(step: DeclaredStep, path: tuple[str, ...], name: str) -> bool:
    """Whether an earlier view of the same step has the position."""
    for other, one in _positions(step, ""):
        if other == path:
            return False
        if one == name:
            return True
    return False


def _pending_diagnostics(steps: Sequence[DeclaredStep]) -> Iterator[Finding]:
    """Rows that wait replace all that is in their table."""
    for step in steps:
        if step.pending is None:
            continue
        table, path = step.pending.table, ("pending", "table")
        if table == step.table:
            yield (
                step.name,
                path,
                f"the rows that wait would replace all of {table}: name a table of their own",
            )
        for other in steps:
            if other.name != step.name and other.verb != "run" and table in other.tables_written:
                yield (
                    step.name,
                    path,
                    f"{other.name} writes {table} too, and the rows that wait replace all that is there",
                )
