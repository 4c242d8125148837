"""A person between a dry run and what it would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
    from paimon_provider._compat import BaseOperator

__all__ = ["approval"]


def approval(dry_run: BaseOperator, *, task_id: str = "approve", **kwargs: Any) -> BaseOperator:
    """A task that waits for somebody to approve what ``dry_run`` has reported.

    Airflow shows the numbers and asks; on "Reject" what follows is skipped.  What follows must keep
    the trigger rule ``all_success``: with another one it begins although nobody answered in time::

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
