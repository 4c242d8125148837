"""The Dags that a declaration makes, without Airflow: their tasks, and which wait for which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from table_core.declaration.cron import spread
from table_core.declaration.names import APPLY_TASK, CHECK_PREFIX, UPKEEP_SUFFIX, audit_group
from table_core.declaration.order import among, around_gate, audited_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from table_core.declaration.graph import Chosen
    from table_core.declaration.model import Declaration
    from table_core.declaration.steps import Step

__all__ = ["MadeDag", "as_text", "dags_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeDag:
    """One Dag."""

    id: str
    schedule: str
    """In words; '' where it is started by hand."""
    tags: tuple[str, ...] = ()
    tasks: dict[str, list[str]] = field(default_factory=dict)
    """By id, in an order in which they can run: the ids that a task waits for, sorted."""

    def to_document(self) -> dict[str, Any]:
        """JSON-safe members."""
        return {
            "id": self.id,
            "schedule": self.schedule,
            "tags": list(self.tags),
            "tasks": self.tasks,
        }


def dags_of(declaration: Declaration, part: Chosen | None = None) -> list[MadeDag]:
    """What ``load_dags`` makes; with ``part`` what is chosen of it."""
    dags = []
    steps = [s for s in declaration.steps if part is None or s.name in part.steps]
    checks = {c.name for c in declaration.checks if part is None or c.name in part.checks}
    if part is None or steps or checks:
        pipeline = _dag(declaration, "", declaration.pipeline.get("schedule"))
        pipeline.tasks.update(_pipeline(declaration, steps, checks))
        dags.append(pipeline)
    upkeep = declaration.upkeep
    if upkeep is not None and (part is None or part.tables & set(declaration.policies)):
        dag = _dag(declaration, UPKEEP_SUFFIX, upkeep.schedule, upkeep.tags)
        dag.tasks.update({"due": [], "upkeep": ["due"]})
        dags.append(dag)
    for trigger in declaration.triggers:
        if part is None or trigger.name in part.triggers:
            dag = _dag(declaration, trigger.name, {"changes": [trigger.table]}, trigger.tags)
            woken = [step for step in declaration.steps if step.name in trigger.flows]
            own: dict[str, list[str]] = {} if trigger.report is None else {trigger.name: []}
            dag.tasks.update({**own, **_steps(declaration, woken).tasks})
            dags.append(dag)
    return dags


def _dag(declaration: Declaration, suffix: str, trigger: Any, tags: Sequence[str] = ()) -> MadeDag:
    name = f"{declaration.name}_{suffix}" if suffix else declaration.name
    if isinstance(trigger, dict):
        schedule = f"changes of {', '.join(trigger['changes'])}"
    elif trigger is None:
        schedule = ""
    else:
        zone = declaration.pipeline.get("timezone") or "UTC"
        schedule = f"{spread(str(trigger), declaration.name)} {zone}"
    of_pipeline = () if suffix else tuple(declaration.pipeline.get("tags") or ())
    return MadeDag(id=name, schedule=schedule, tags=(*of_pipeline, *tags))


@dataclass(slots=True)
class _Steps:
    """Tasks of steps: by which task each begins, and after which its rows are seen."""

    tasks: dict[str, list[str]] = field(default_factory=dict)
    begin: dict[str, str] = field(default_factory=dict)
    end: dict[str, str] = field(default_factory=dict)
    first: set[str] = field(default_factory=set)


def _steps(declaration: Declaration, steps: Sequence[Step]) -> _Steps:
    after = among(declaration.steps, (step.name for step in steps))
    layout = _Steps()
    for step in steps:
        if step.name in layout.begin:
            continue
        table = audited_in(step, declaration.audited)
        inside = [s for s in steps if audited_in(s, declaration.audited) == table]
        together = inside if table is not None else [step]
        before = {layout.end[n] for one in together for n in after[one.name] if n in layout.end}
        if table is None:
            layout.tasks[step.name] = sorted(before)
            begin = end = step.name
        else:
            begin, end = _audited(declaration, table, together, after, layout.tasks)
            layout.tasks[begin] = sorted(before)
        for one in together:
            layout.begin[one.name], layout.end[one.name] = begin, end
            layout.first |= set() if before else {begin}
    return layout


def _audited(
    declaration: Declaration,
    table: str,
    steps: Sequence[Step],
    after: dict[str, tuple[str, ...]],
    tasks: dict[str, list[str]],
) -> tuple[str, str]:
    group = audit_group(table)
    branch, publish = f"{group}_branch", f"{group}_publish"
    tasks[branch] = []
    names = {step.name for step in steps}
    for step in steps:
        tasks[step.name] = sorted(set(after[step.name]) & names) or [branch]
    waited = {name for one in names for name in tasks[one]}
    checks = [f"{CHECK_PREFIX}{c.name}" for c in declaration.checks if c.table == table]
    for check in checks:
        tasks[check] = sorted({branch, *(names - waited)})
    tasks[publish] = sorted(checks)
    tasks[f"{group}_clean_up"] = [publish]
    return branch, publish


def _pipeline(
    declaration: Declaration, steps: Sequence[Step], checks: Collection[str]
) -> dict[str, list[str]]:
    layout = _steps(declaration, steps)
    tasks = {APPLY_TASK: [], **layout.tasks}
    for begin in layout.first:
        tasks[begin] = _with(tasks[begin], [APPLY_TASK])
    audited = {table for s in steps if (table := audited_in(s, declaration.audited))}
    for check in declaration.checks:
        if check.name not in checks or check.table in audited:
            continue
        name = f"{CHECK_PREFIX}{check.name}"
        early, readers = around_gate(declaration.steps, check.table)
        writers = [s for s in steps if check.table in s.tables_written]
        ends = {layout.end[s.name] for s in writers if not check.gate or s.name in early}
        tasks[name] = sorted(ends) or [APPLY_TASK]
        for reader in readers if check.gate else ():
            if reader in layout.begin:
                begin = layout.begin[reader]
                tasks[begin] = _with(tasks[begin], [name])
    return tasks


def _with(names: Iterable[str], more: Iterable[str]) -> list[str]:
    return sorted({*names, *more})


def as_text(dags: Iterable[MadeDag]) -> str:
    """A line for each Dag and one for each task: what it waits for."""
    return "".join(f"{line}\n" for dag in dags for line in _lines(dag))


def _lines(dag: MadeDag) -> Iterator[str]:
    message = [dag.schedule or "by hand", *(f"tag:{tag}" for tag in dag.tags)]
    yield f"{dag.id}   ({', '.join(message)})"
    for name, after in dag.tasks.items():
        yield f"  {name}" + (f"   (after {', '.join(after)})" if after else "")
