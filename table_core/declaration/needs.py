"""What a part of a pipeline needs that the part does not make: tables to be there, flows to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.declaration.model import Declaration

__all__ = ["Need", "needs_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that the part needs before it runs, and needs up to date."""

    table: str | None
    """The table that is read; None where a flow has only to be done first."""
    made_by: tuple[str, ...]
    """The sources and flows left out that write it; none where the declaration says nobody who does."""
    needed_by: tuple[str, ...]
    """The sources and flows of the part that need it."""

    def __str__(self) -> str:
        """For people."""
        readers = ", ".join(self.needed_by)
        if self.table is None:
            return f"{', '.join(self.made_by)} done before {readers}"
        maker = f"written by {', '.join(self.made_by)}" if self.made_by else "kept by others"
        return f"{self.table}, {maker}, for {readers}"


def needs_of(declaration: Declaration, names: Iterable[str]) -> tuple[Need, ...]:
    """What the sources and flows ``names`` need of what is left out, in the order of the work."""
    part = set(names)
    steps = [step for step in declaration.steps if step.name in part]
    left_out = [step for step in declaration.steps if step.name not in part]
    made_here = {table for step in steps for table in step.tables_written}
    needs = []
    covered: set[tuple[str, str]] = set()
    for table in dict.fromkeys(t for step in steps for t in sorted(step.tables_read)):
        makers = tuple(s.name for s in left_out if s.verb != "run" and table in s.tables_written)
        readers = tuple(step.name for step in steps if table in step.tables_read)
        covered |= {(reader, maker) for reader in readers for maker in makers}
        if makers or table not in made_here:
            needs.append(Need(table=table, made_by=makers, needed_by=readers))
    for other in left_out:
        waiting = tuple(
            step.name
            for step in steps
            if other.name in step.after and (step.name, other.name) not in covered
        )
        if waiting:
            needs.append(Need(table=None, made_by=(other.name,), needed_by=waiting))
    return tuple(needs)
