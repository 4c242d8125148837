"""Names in a declaration that lead nowhere, what goes round in circles, and positions that two readers would share.

A position says how far a reader has come.  Two readers of one position take each other's rows for their own: some
are never read.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Final

from table_core.declaration.located import Diagnostic, Located, place_of
from table_core.declaration.model import newest_name
from table_core.declaration.order import cycle
from table_core.declaration.steps import FilesStep, QueryStep
from table_core.errors import ArgumentError
from table_core.options.nearest import hint
from table_core.position.reader import require_position_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.declaration.model import Declaration
    from table_core.declaration.steps import Step

__all__ = ["reference_diagnostics"]

Finding = tuple[tuple[str, ...], str]
StepFinding = tuple[str, tuple[str, ...], str]
"""Step, where in it, and what is wrong."""
_CHANGES_NOTHING = {"compact"}
"""Kinds of snapshots that no flow which makes rows gives."""


def reference_diagnostics(declaration: Declaration, root: Located, file: str) -> list[Diagnostic]:
    """Names that lead nowhere.  ``declaration`` has what is sound, ``root`` all that is there."""
    tables = list(_names(root, "tables"))
    there = [*tables, *_names(root, "external")]
    findings = [
        *(
            (("external", name), f"{name} is declared in tables too: it is ours or of others")
            for name in _names(root, "external")
            if name.casefold() in {table.casefold() for table in tables}
        ),
        *_of_steps(declaration, root, tables, there),
        *_of_others(declaration, root, there),
        *(
            (("sources" if step in _names(root, "sources") else "flows", step, *path), message)
            for step, path, message in _of_positions(declaration)
        ),
        *_of_triggers(declaration),
        *_of_audits(declaration, root),
        *_of_upkeep(root, tables),
        *_of_moves(root, tables),
    ]
    return [Diagnostic(file, *place_of(root, path), message) for path, message in findings]


def _names(root: Located, group: str) -> Mapping[str, Located]:
    here = root.value.get(group)
    return here.value if here is not None and isinstance(here.value, dict) else {}


def _no_table(name: str, tables: list[str]) -> str:
    ends = [table for table in tables if table.partition(".")[2] == name]
    near = f"did you mean {ends[0]!r}?" if ends else hint(name, tables)
    if "$" in name:
        more = "; name it under external"
    else:
        more = f"; {near}" if near.startswith("did") else ""
    return f"table {name!r} is not declared{more}"


def _no_step(name: str, steps: list[str]) -> str:
    near = hint(name, steps)
    more = f"; {near}" if near.startswith("did") else ""
    return f"no source or flow {name!r}{more}"


def _steps(root: Located) -> list[str]:
    return [*_names(root, "sources"), *_names(root, "flows")]


def _of_steps(
    declaration: Declaration, root: Located, tables: list[str], there: list[str]
) -> Iterator[Finding]:
    names = _steps(root)
    for step in declaration.steps:
        group = "sources" if step.name in _names(root, "sources") else "flows"
        path = (group, step.name)
        written = step.tables_written
        for table in sorted(written | step.tables_read):
            if table not in there:
                yield path, _no_table(table, there)
            elif table in written and table not in tables:
                yield path, f"{table} is external: it may be read, and others write it"
        for name in step.after:
            if name not in names:
                yield (*path, "after"), _no_step(name, names)
            elif name == step.name:
                yield (*path, "after"), f"{name} waits for itself"
    round_trip = cycle(declaration.steps)
    if round_trip:
        seen = (
            "; what is written to an audited table is seen at once" if declaration.audited else ""
        )
        yield ("flows",), f"these wait for each other: {', '.join(round_trip)}{seen}"


def _of_others(declaration: Declaration, root: Located, tables: list[str]) -> Iterator[Finding]:
    for group, entries in (("checks", declaration.checks), ("triggers", declaration.triggers)):
        for entry in entries:
            if entry.table not in tables:
                yield (group, entry.name), _no_table(entry.table, tables)
    for check in declaration.checks:
        if check.against is not None and check.against not in tables:
            yield ("checks", check.name, "against"), _no_table(check.against, tables)
        elif "change" in check.rules and check.against is None:
            yield ("checks", check.name, "change"), "say with `against` what to compare with"
    yield from _of_starts(declaration, root, tables)


def _of_starts(declaration: Declaration, root: Located, tables: list[str]) -> Iterator[Finding]:
    names = _steps(root)
    for trigger in declaration.triggers:
        for name in sorted({one for one in trigger.flows if trigger.flows.count(one) > 1}):
            yield ("triggers", trigger.name, "flows"), f"{name!r} is there twice"
        for name in trigger.flows:
            if name not in names:
                yield ("triggers", trigger.name, "flows"), _no_step(name, names)
    schedule = declaration.pipeline.get("schedule")
    for name in schedule["changes"] if isinstance(schedule, dict) else ():
        if name not in tables:
            yield ("pipeline", "schedule"), _no_table(name, tables)


def _of_audits(declaration: Declaration, root: Located) -> Iterator[Finding]:
    """What cannot be kept back until checks have passed, and what nothing would stop."""
    for table in declaration.audited:
        if not any(_stops(check, table) for check in _names(root, "checks").values()):
            message = "no check of severity error looks at the table: nothing would be kept back"
            yield ("tables", table, "audit"), message
    for step in declaration.steps:
        path = ("sources" if step.name in _names(root, "sources") else "flows", step.name)
        if step.verb == "sync" and step.table in declaration.audited:
            message = (
                f"{step.table} is audited, and a sync tells its source what it has taken before the "
                "rows are checked: sync into a table of its own, and let a flow read that"
            )
            yield path, message
        if step.pending is not None and step.pending.table in declaration.audited:
            message = (
                f"{step.pending.table} is audited, and the rows that wait are written past an audit"
            )
            yield (*path, "pending"), message
        for name, view in step.views.items():
            if view.is_of_changes and view.table == step.table in declaration.audited:
                message = (
                    f"view {name!r} reads the changes of the audited table that the step writes"
                )
                yield path, message


def _stops(check: Located, table: str) -> bool:
    members = check.value if isinstance(check.value, dict) else {}
    looks = "table" in members and members["table"].text == table
    return looks and not ("severity" in members and members["severity"].text == "warn")


def _of_triggers(declaration: Declaration) -> Iterator[Finding]:
    """Triggers that would wake themselves, alone or through others: for ever."""
    written = {step.name: step.tables_written for step in declaration.steps if step.changes_rows}
    wakes: dict[str, set[str]] = {}
    schedule = declaration.pipeline.get("schedule")
    announced = tuple(step.name for step in declaration.steps if step.events != "none")
    starts: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = [
        *(
            (("triggers", trigger.name, "flows"), trigger.table, trigger.flows)
            for trigger in declaration.triggers
            if trigger.watch.get("on") not in _CHANGES_NOTHING
        ),
        *(
            (("pipeline", "schedule"), table, announced)
            for table in (schedule["changes"] if isinstance(schedule, dict) else ())
        ),
    ]
    for _, table, flows in starts:
        for flow in flows:
            wakes.setdefault(table, set()).update(written.get(flow, ()))
    for path, table, flows in starts:
        for flow in flows:
            through = [one for one in sorted(written.get(flow, ())) if _leads(wakes, one, table)]
            if through:
                message = f"{flow} writes {through[0]}, which wakes it again, for ever"
                yield path, message
                break


def _leads(wakes: Mapping[str, set[str]], start: str, end: str) -> bool:
    """Whether a change of ``start`` comes to change ``end``."""
    waiting, seen = [start], {start}
    while waiting:
        here = waiting.pop()
        if here == end:
            return True
        fresh = wakes.get(here, set()) - seen
        seen |= fresh
        waiting += fresh
    return False


def _of_upkeep(root: Located, tables: list[str]) -> Iterator[Finding]:
    upkeep = root.value.get("upkeep")
    if upkeep is None or not isinstance(upkeep.value, dict):
        return
    for name in _names(upkeep, "tables"):
        if name not in tables:
            yield ("upkeep", "tables", name), _no_table(name, tables)
    databases = {name.partition(".")[0] for name in tables}
    for name in _names(upkeep, "databases"):
        if not fnmatch.filter(databases, name):
            yield ("upkeep", "databases", name), f"no database of a table matches {name!r}"


def _of_moves(root: Located, tables: list[str]) -> Iterator[Finding]:
    yield from _moves(root, ("moved",), tables, "table")
    for name, table in _names(root, "tables").items():
        if isinstance(table.value, dict):
            columns = list(_names(table, "columns"))
            yield from _moves(table, ("tables", name, "moved"), columns, "column")


def _moves(node: Located, path: tuple[str, ...], known: list[str], noun: str) -> Iterator[Finding]:
    moved = node.value.get("moved")
    items = moved.value if moved is not None and isinstance(moved.value, list) else []
    seen: set[tuple[str, str | None]] = set()
    pairs = [
        (item.value["from"].text, item.value["to"].text)
        for item in items
        if isinstance(item.value, dict) and {"from", "to"} <= set(item.value)
    ]
    moves = dict(pairs)
    for old, new in pairs:
        if noun == "table" and (old is None or old.count(".") != 1 or "$" in old):
            yield path, f"moved from {old!r}, which is no database.table"
        for side, name in (("from", old), ("to", new)):
            if (side, name) in seen:
                yield path, f"moved {side} {name!r} is there twice"
            seen.add((side, name))
        if old in known:
            yield path, f"moved from {old!r}, which is declared still"
        if newest_name(moves, new) not in known:
            yield path, f"moved to {new!r}, which is no declared {noun}"


_TEMPLATE: Final = "{{"


def _of_positions(declaration: Declaration) -> Iterator[StepFinding]:
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


def _is_second(step: Step, path: tuple[str, ...], name: str) -> bool:
    """Whether an earlier view of the same step has the position."""
    for other, one in _positions(step, ""):
        if other == path:
            return False
        if one == name:
            return True
    return False


def _pending_diagnostics(steps: Sequence[Step]) -> Iterator[StepFinding]:
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
