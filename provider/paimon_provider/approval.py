"""A person between a dry run and what it would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider.arguments.trigger_rules import begins_whatever_happened
from table_core.errors import ArgumentError

_MARKDOWN: Final = {
    **{mark: f"&#{ord(mark)};" for mark in "&<>|`*_[]()!#\\~"},
    **dict.fromkeys("\n\r\t\x1b", " "),
}
_AS_TEXT: Final = " ".join(
    f"| replace({mark!r}, {entity!r})"
    for mark, entity in sorted(_MARKDOWN.items(), key=lambda pair: pair[0] not in "&#")
)
"""Airflow shows the body as Markdown, and names of files in it are anybody's: no mark of one is one."""

if TYPE_CHECKING:
    from paimon_provider._compat import BaseOperator, Context

__all__ = ["approval", "require_approved"]


def approval(dry_run: BaseOperator, *, task_id: str = "approve", **kwargs: Any) -> BaseOperator:
    """A task that waits for somebody to approve what ``dry_run`` has reported.

    Airflow shows the numbers and asks; on "Reject" what follows is skipped.  Where nobody answers in time,
    a table operator that follows fails and does nothing, also with a trigger rule that lets it begin::

        look = PaimonRemoveOrphanFilesOperator(task_id="look", table="shop.orders", dry_run=True)
        approval(look) >> PaimonRemoveOrphanFilesOperator(task_id="remove", table="shop.orders")

    Args:
        dry_run: a task of this provider with ``dry_run=True``; the approval comes after it.
        task_id: the task's id.
        kwargs: further arguments of Airflow's ``ApprovalOperator``, e.g. ``assigned_users``.
    """
    from airflow.providers.standard.operators.hitl import ApprovalOperator

    pulled = f"ti.xcom_pull(task_ids={dry_run.task_id!r})"
    numbers = "\n".join(
        f"| {text} | {{{{ {pulled}[{name!r}] | string {_AS_TEXT} }}}} |"
        for name, text in (
            ("files_deleted", "files to delete"),
            ("bytes_deleted", "bytes to delete"),
            ("files_before", "files now"),
            ("snapshot_before", "newest snapshot"),
            ("details", "details"),
        )
    )
    subject = f"{{{{ {pulled}['action'] }}}} on {{{{ {pulled}['table'] }}}}?"
    task: BaseOperator = ApprovalOperator(
        **{
            "task_id": task_id,
            "subject": subject,
            "body": f"| | |\n|---|---|\n{numbers}",
            "trigger_rule": "all_success",  # nobody is asked about a dry run that failed
            **kwargs,
        }
    )
    dry_run >> task
    return task


def require_approved(task: BaseOperator, context: Context) -> None:
    """Refuse to go on where ``task`` has begun although an approval before it has failed.

    It asks Airflow only where the trigger rule of ``task`` lets it begin then.  A teardown, and a task that
    begins after failures alone, are there for that.

    Raises:
        ArgumentError: a task before it asks for an approval, and did not get it.
    """
    if task.is_teardown or not begins_whatever_happened(task.trigger_rule):
        return
    gates = [name for name in task.upstream_task_ids if _asks(task.get_dag(), name)]
    if not gates:
        return
    ti: Any = context["ti"]
    by_run = ti.get_task_states(dag_id=ti.dag_id, task_ids=gates, run_ids=[ti.run_id])
    states = {str(state) for state in ((by_run or {}).get(ti.run_id) or {}).values()}
    if states != {"success"}:
        raise ArgumentError(
            f"task {task.task_id!r} begins only when {', '.join(sorted(gates))} has got an approval, and it "
            f"has not: nothing was done.  Its trigger rule {str(task.trigger_rule)!r} lets it begin all "
            "the same; give it all_success",
            argument="trigger_rule",
            value=str(task.trigger_rule),
        )


def _asks(dag: Any, task_id: str) -> bool:
    """Whether a task is Airflow's ``ApprovalOperator``, or a kind of it."""
    task = dag.get_task(task_id)
    kind = getattr(task, "operator_class", type(task))
    return any(one.__name__ == "ApprovalOperator" for one in kind.__mro__)
