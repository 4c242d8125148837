"""In which order steps can run: writers of a table before its readers, and those of one table in turn.

An action that a flow runs, such as an expiry, makes no rows: it comes after what stands before it in
the file and touches the same table.  One that takes rows away or changes them comes before the readers
that stand after it.

What is written to an audited table is seen all at once.  So what waits for one of its writers waits for all
of them, and what one of them waits for all wait for; an action that makes no rows comes after them.

A part of the steps needs of what is left out what ``needs_of`` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from table_core.declaration.model import Declaration
    from table_core.declaration.steps import Step

__all__ = ["Need", "among", "around_gate", "audited_in", "cycle", "needs_of", "ordered"]


def audited_in(step: Step, audited: Collection[str]) -> str | None:
    """The audited table whose rows the step changes, behind its audit; None if there is none."""
    changes = step.table in audited and step.changes_rows
    return step.table if changes else None


def ordered(steps: Sequence[Step], audited: Collection[str] = ()) -> list[Step]:
    """The steps, each after those in its ``after``, which is complete then.

    Steps of a cycle come last, as they were given.
    """
    known = {step.name: step for step in steps}
    needs = _as_seen(steps, _needs(steps, audited), audited)
    in_turn = dict.fromkeys(_in_turn(needs))
    return [
        replace(known[name], after=tuple(needs[name]))
        for name in (*in_turn, *(one for one in needs if one not in in_turn))
    ]


def _needs(steps: Sequence[Step], audited: Collection[str]) -> dict[str, dict[str, None]]:
    """For each step those that must be done first."""
    makers: dict[str, list[str]] = {}
    for step in steps:
        if step.verb != "run" or audited_in(step, audited):
            for table in step.tables_written:
                makers.setdefault(table, []).append(step.name)
    written: dict[str, list[str]] = {}
    changed: dict[str, list[str]] = {}
    read: dict[str, list[str]] = {}
    tended: dict[str, list[str]] = {}
    needs: dict[str, dict[str, None]] = {}
    for step in steps:
        ours, theirs = step.tables_written, step.tables_read
        earlier = [*_of(written, ours), *_of(changed, theirs)]
        if step.verb == "run" and not audited_in(step, audited):
            earlier += [*_of(read, ours), *_of(tended, ours), *_of(makers, ours & {*audited})]
        makes = [name for name in (*earlier, *_of(makers, theirs)) if name != step.name]
        needs[step.name] = dict.fromkeys((*step.after, *makes))
        for table in sorted(ours):
            tends = table in audited and not step.changes_rows
            (tended if tends else written).setdefault(table, []).append(step.name)
            if step.verb == "run" and step.changes_rows:
                changed.setdefault(table, []).append(step.name)
        for table in sorted(theirs):
            read.setdefault(table, []).append(step.name)
    return needs


def _as_seen(
    steps: Sequence[Step], needs: Mapping[str, dict[str, None]], audited: Collection[str]
) -> dict[str, dict[str, None]]:
    """``needs``, where the writers of an audited table are one."""
    inside: dict[str, list[str]] = {}
    table_of = {step.name: audited_in(step, audited) for step in steps}
    for name, table in table_of.items():
        if table is not None:
            inside.setdefault(table, []).append(name)

    def all_of(name: str, reader: str) -> list[str]:
        table = table_of.get(name)
        return [name] if table is None or table == table_of[reader] else inside[table]

    predecessors = {
        name: dict.fromkeys(one for other in direct for one in all_of(other, name))
        for name, direct in needs.items()
    }
    for table, names in inside.items():
        outside = [o for name in names for o in predecessors[name] if table_of.get(o) != table]
        for name in names:
            predecessors[name] = {**dict.fromkeys(outside), **predecessors[name]}
    return predecessors


def _in_turn(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The names, each after those that it needs; without those that wait for each other.

    What needs something that is not among them does not wait for it, nor does one for itself.
    """
    missing = {name: (set(some) & needs.keys()) - {name} for name, some in needs.items()}
    waiting: dict[str, list[str]] = {}
    for name, some in missing.items():
        for other in some:
            waiting.setdefault(other, []).append(name)
    place = {name: number for number, name in enumerate(needs)}
    ready = [name for name, some in missing.items() if not some]
    done: list[str] = []
    while ready:
        done += ready
        freed: list[str] = []
        for name in ready:
            for other in waiting.get(name, ()):
                missing[other].discard(name)
                if not missing[other]:
                    freed.append(other)
        ready = sorted(freed, key=place.__getitem__)
    return done


def _of(by_table: Mapping[str, Sequence[str]], tables: Iterable[str]) -> list[str]:
    return [name for table in sorted(tables) for name in by_table.get(table, ())]


def among(steps: Sequence[Step], names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each of ``names`` those of them that must be done first, also through what is left out."""
    after = {step.name: step.after for step in steps}
    chosen = set(names)
    order: dict[str, tuple[str, ...]] = {}
    for name, needed in after.items():
        if name not in chosen:
            continue
        nearest: dict[str, None] = {}
        seen: set[str] = set()
        waiting = list(needed)
        while waiting:
            other = waiting.pop()
            if other in seen or other not in after:
                continue
            seen.add(other)
            if other in chosen:
                nearest[other] = None
            else:
                waiting += after[other]
        order[name] = tuple(one for one in after if one in nearest)
    return order


def around_gate(steps: Sequence[Step], table: str) -> tuple[list[str], list[str]]:
    """The writers that a gate on ``table`` waits for, and the readers that wait for it.

    It stands before the first reader.  A writer that waits for a reader, a deletion say, comes later::

        load ► gate ► sums ► delete
    """
    before: dict[str, set[str]] = {}
    for step in steps:  # in an order in which they can run
        direct = [name for name in step.after if name in before]
        before[step.name] = {*direct, *(name for one in direct for name in before[one])}
    writers = [step.name for step in steps if table in step.tables_written]
    readers = [s.name for s in steps if table in s.tables_read and s.name not in writers]
    return [name for name in writers if before[name].isdisjoint(readers)], readers


def cycle(steps: Sequence[Step]) -> list[str]:
    """Names of the steps that wait for each other; none if there is no cycle."""
    needs = {step.name: step.after for step in steps}
    done = set(_in_turn(needs))
    return [name for name in needs if name not in done]


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
