"""In which order steps can run: writers of a table before its readers, and those of one table in turn.

An action that a flow runs, such as an expiry, makes no rows: it comes after what stands before it in
the file and touches the same table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.declaration.model import Step

__all__ = ["cycle", "ordered", "tables_read"]


def tables_read(step: Step) -> set[str]:
    """The tables that a step reads, but for those that it writes too."""
    reads = dict(step.arguments.get("reads") or {})
    source = (step.arguments.get("merge") or {}).get("source") or {}
    reads |= source.get("reads") or source.get("sources") or {}
    found = {one["table"] if isinstance(one, dict) else str(one) for one in reads.values()}
    if isinstance(source.get("table"), str):
        found.add(source["table"])
    return found - tables_written(step)


def tables_written(step: Step) -> set[str]:
    """The tables that a step writes."""
    pending = step.arguments.get("pending") or {}
    return {step.table, *([pending["table"]] if pending else [])}


def _makes(step: Step) -> set[str]:
    return set() if step.verb == "run" else tables_written(step)


def _used(step: Step, by: Step) -> set[str]:
    return tables_read(step) if by.verb == "run" else set()


def ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps, each after those in its ``after``, which is complete then.

    Steps of a cycle come last, as they were given.
    """
    needs: dict[str, dict[str, None]] = {}
    for index, step in enumerate(steps):
        ours = tables_written(step)
        earlier = [s for s in steps[:index] if ours & (tables_written(s) | _used(s, step))]
        writers = [s for s in steps if s is not step and _makes(s) & tables_read(step)]
        inputs = [s for s in writers if step.name not in s.after]
        names = [*step.after, *(s.name for s in (*earlier, *inputs))]
        needs[step.name] = dict.fromkeys(names)
    known = {step.name: step for step in steps}
    done: list[Step] = []
    while ready := [n for n in needs if not (set(needs[n]) & set(needs)) - {n}]:
        done.extend(replace(known[name], after=tuple(needs.pop(name))) for name in ready)
    return [*done, *(replace(known[name], after=tuple(found)) for name, found in needs.items())]


def cycle(steps: Sequence[Step]) -> list[str]:
    """Names of the steps that wait for each other; none if there is no cycle."""
    left = {step.name: set(step.after) for step in steps}
    while ready := [name for name, after in left.items() if not after & set(left)]:
        for name in ready:
            del left[name]
    return list(left)
