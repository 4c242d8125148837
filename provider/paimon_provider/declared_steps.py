"""The tasks of a declaration's sources and flows, those of an audited table behind its checks.

What a run writes to an audited table lies on a branch of its own until the table's checks have passed;
then main takes it over, all at once.  See ``paimon_provider.publish``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paimon_provider.operators.check import PaimonCheckOperator
from paimon_provider.publish import PaimonWriteAuditPublish
from table_core.declaration.names import CHECK_PREFIX, audit_group
from table_core.declaration.order import among, audited_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paimon_provider._compat import BaseOperator
    from table_core.declaration.model import CheckDeclaration, Declaration
    from table_core.declaration.steps import Step

__all__ = ["Made", "check_task", "made_steps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A step and what was made of it."""

    step: Step
    begin: BaseOperator
    """What waits for what the step needs: the task, or the one that makes the branch."""
    end: BaseOperator
    """After which the rows are seen: the task, or the one that publishes."""
    is_first: bool
    """Whether no other step comes before it."""


def made_steps(
    declaration: Declaration,
    steps: Sequence[Step],
    task_of: Callable[[Step, str], BaseOperator],
) -> list[Made]:
    """Tasks for ``steps`` in the Dag or group that is open, in their order.

    ``task_of`` makes the task of a step that writes to the table of that name, which is a branch of the
    step's table where that is audited.
    """
    after = among(declaration.steps, (step.name for step in steps))
    made: dict[str, Made] = {}
    for step in steps:
        if step.name in made:
            continue
        table = audited_in(step, declaration.audited)
        if table is None:
            begin = end = task_of(step, step.table)
            together: Sequence[Step] = (step,)
        else:
            together = [one for one in steps if audited_in(one, declaration.audited) == table]
            begin, end = _audited(declaration, table, together, after, task_of)
        before = {
            name: made[name].end for one in together for name in after[one.name] if name in made
        }
        for earlier in {task.task_id: task for task in before.values()}.values():
            earlier >> begin
        for one in together:
            made[one.name] = Made(step=one, begin=begin, end=end, is_first=not before)
    return list(made.values())


def _audited(
    declaration: Declaration,
    table: str,
    steps: Sequence[Step],
    after: Mapping[str, Sequence[str]],
    task_of: Callable[[Step, str], BaseOperator],
) -> tuple[BaseOperator, BaseOperator]:
    """The writers of ``table`` on the branch of a run; the tasks that make it, and that publish it."""
    checks = {
        f"{CHECK_PREFIX}{check.name}": _check_arguments(check)
        for check in declaration.checks
        if check.table == table
    }
    group = PaimonWriteAuditPublish(
        audit_group(table),
        table=table,
        checks=checks,
        prefix_group_id=False,
        where={**_where(declaration), "events": _announced(steps)},
        tooltip=f"What is written to {table} is seen when its checks have passed.",
    )
    tasks: dict[str, BaseOperator] = {}
    with group:
        for step in steps:
            tasks[step.name] = task_of(step, group.branch_table)
            for name in after[step.name]:
                if name in tasks:
                    tasks[name] >> tasks[step.name]
    return group.begin, group.end


def _announced(steps: Sequence[Step]) -> str:
    """Which commits the publishing announces: all that one of the writers would."""
    asked = {step.events for step in steps}
    return next((one for one in ("any", "changes") if one in asked), "none")


def check_task(declaration: Declaration, check: CheckDeclaration) -> BaseOperator:
    """The task of a check that looks at the table as all see it."""
    return PaimonCheckOperator(
        task_id=f"{CHECK_PREFIX}{check.name}",
        table=check.table,
        **_check_arguments(check),
        **_where(declaration),
    )


def _check_arguments(check: CheckDeclaration) -> dict[str, Any]:
    return {
        "rules": check.rules,
        "against": check.against,
        "fail": check.severity == "error",
    }


def _where(declaration: Declaration) -> dict[str, Any]:
    pool = {} if declaration.pool is None else {"pool": declaration.pool["name"]}
    return {"paimon_conn_id": declaration.connection, "catalog": declaration.catalog, **pool}
