"""Write, audit, publish: rows become visible when they have passed the checks, all at once.

The tasks inside the group write to a branch; rules are held against it; then main takes the branch
over.  Rows that break a rule stay on the branch, for a look, and readers of main never see them::

    with PaimonWriteAuditPublish(
        group_id="publish", table="shop.orders", rules={"unique": ["id"], "rows": [1, None]}
    ) as publish:
        PaimonWriteOperator(task_id="load", table=publish.branch_table, rows_uri="…")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from paimon_provider._compat import BaseOperator, TaskGroup
from paimon_provider.operators.branches import (
    PaimonCreateBranchOperator,
    PaimonDeleteBranchOperator,
    PaimonFastForwardOperator,
)
from paimon_provider.operators.check import PaimonCheckOperator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

__all__ = ["PaimonWriteAuditPublish"]


class PaimonWriteAuditPublish(TaskGroup):
    """A task group around the tasks that write: branch, the tasks, check, fast-forward, clean up.

    Only one run at a time should publish to a table: a branch that main has outrun is refused.

    :param table: ``database.table``.
    :param rules: what must hold, as for ``PaimonCheckOperator``; ``change`` compares with main.
    :param branch: the branch's name; default has the run's id, so that runs do not meet.
    :param where: further arguments of all four operators, e.g. ``paimon_conn_id``, ``catalog``.
    """

    def __init__(
        self,
        group_id: str | None = None,
        *,
        table: str,
        rules: Mapping[str, Any],
        branch: str = "wap_{{ run_id | replace('/', '_') }}",
        where: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(group_id=group_id, **kwargs)
        self.table = table
        self.rules = rules
        self.branch = branch
        self.where = dict(where or {})

    @property
    def branch_table(self) -> str:
        """The table as the branch has it, for ``table=`` of the tasks inside."""
        return f"{self.table}$branch_{self.branch}"

    def __enter__(self) -> Self:
        """Begin the group; what is made now writes to the branch."""
        super().__enter__()
        self._begin = PaimonCreateBranchOperator(
            task_id="branch",
            table=self.table,
            branch=self.branch,
            from_head=True,
            replace=True,
            events="none",
            **self.where,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the group: check what is on the branch, publish it, forget the branch."""
        if kind is None:
            inside = [task for task in self.iter_tasks() if task is not self._begin]
            names = {task.task_id for task in inside}
            common = {"table": self.table, **self.where}
            audit = PaimonCheckOperator(
                task_id="audit",
                rules=self.rules,
                against=self.table if "change" in self.rules else None,
                **{**common, "table": self.branch_table},
            )
            publish = PaimonFastForwardOperator(task_id="publish", branch=self.branch, **common)
            clean = PaimonDeleteBranchOperator(
                task_id="clean_up", branch=self.branch, events="none", **common
            )
            for task in inside:
                if not task.upstream_task_ids & names:
                    self._begin >> task
                if not task.downstream_task_ids & names and isinstance(task, BaseOperator):
                    task >> audit
            self._begin >> audit >> publish >> clean
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
