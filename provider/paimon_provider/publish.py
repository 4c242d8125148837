"""Write, audit, publish: rows become visible when they have passed the checks, all at once.

The tasks inside the group write to a branch; rules are held against it; then main takes the branch
over.  Rows that break a rule stay on the branch, for a look, and readers of main never see them::

    with PaimonWriteAuditPublish(
        group_id="publish", table="shop.orders", rules={"unique": ["id"], "rows": [1, None]}
    ) as publish:
        PaimonWriteOperator(task_id="load", table=publish.branch_table, rows_uri="…")
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final, Self

from paimon_provider._compat import NEVER_EXPIRE, TaskGroup, task_state
from paimon_provider.arguments.trigger_rules import fails_with_others
from paimon_provider.operators.branches import (
    PaimonCreateBranchOperator,
    PaimonDeleteBranchOperator,
    PaimonFastForwardOperator,
)
from paimon_provider.operators.check import PaimonCheckOperator
from table_core.errors import AlreadyExistsError, ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from paimon_provider._compat import Context

__all__ = ["PaimonBranchOfRunOperator", "PaimonWriteAuditPublish"]

_SHOWN: Final = 40
_KEY: Final = "paimon_branch"
_IF_ALL_WENT_WELL: Final = {"trigger_rule": "all_success"}
"""Whatever ``default_args`` say: a rule that begins after a failure would publish what failed."""


class PaimonBranchOfRunOperator(PaimonCreateBranchOperator):
    """Make the branch that one run writes to, anew where this run has made it before.

    :param own_name: whether no other run can have the branch's name.  Else a branch of that name
        which this run has not made is left as it is, and the task fails.
    """

    def __init__(self, *, own_name: bool, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "from_head": True, "if_not_exists": False})
        self.own_name = own_name
        self._made_by: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Those of ``table.branches.create``."""
        return {**super().arguments(), "to_publish": True, "made_by": self._made_by}

    def execute(self, context: Context) -> dict[str, Any]:
        """Make it."""
        self.replace = True  # an attempt that is cut short leaves a part of it
        if not self.own_name:
            self._require_own_or_free(context)
        return super().execute(context)

    def _require_own_or_free(self, context: Context) -> None:
        """Refuse the branch of somebody else; the one that this run makes has its name in it.

        A run that is cleared after it has published may find that another one has made the branch since.
        """
        from paimon_provider.failures import airflow_failures

        store: Any = task_state(context)
        whole, kept = f"{self.table}$branch_{self.branch}", store.get(_KEY)
        if kept == whole:  # an earlier release, which said nothing in the branch
            own = ""
        elif isinstance(kept, dict) and kept.get("branch") == whole:
            own = self._made_by = str(kept.get("made_by"))
        else:
            own = None
        with airflow_failures():
            branches = self.hook.table(self.table).branches
            if self.branch in branches and (own is None or branches.maker(self.branch) != own):
                raise AlreadyExistsError(
                    f"{whole} was made by somebody else, maybe with rows that nobody has published: "
                    "give each run a branch of its own, or delete this one "
                    "(PaimonDeleteBranchOperator)",
                    name=self.branch,
                )
        if self._made_by is None:
            self._made_by = uuid.uuid4().hex
            document = {"branch": whole, "made_by": self._made_by}
            store.set(_KEY, document, retention=NEVER_EXPIRE)


class PaimonWriteAuditPublish(TaskGroup):
    """A task group around the tasks that write: branch, the tasks, check, fast-forward, clean up.

    Only the state that was checked is published.  Where a task inside fails or is skipped, nothing
    is published, and the branch stays.  To do a run again, clear the whole group.

    Only one run at a time should publish to a table: a branch that main has outrun is refused.

    :param table: ``database.table``.
    :param rules: what must hold, as for ``PaimonCheckOperator``; ``change`` compares with main.
    :param checks: instead of ``rules`` several checks, each a task of its own: task id to the arguments
        of its ``PaimonCheckOperator``, e.g. ``{"ids": {"rules": {"unique": ["id"]}, "fail": False}}``.
    :param branch: the branch's name; default is made of Dag, group and run, so that no two meet.
    :param where: further arguments of all four operators, e.g. ``paimon_conn_id``, ``catalog``.
    """

    def __init__(
        self,
        group_id: str | None = None,
        *,
        table: str,
        rules: Mapping[str, Any] | None = None,
        checks: Mapping[str, Mapping[str, Any]] | None = None,
        branch: str | None = None,
        where: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(group_id=group_id, **kwargs)
        self.table = table
        if (rules is None) == (not checks):
            raise ArgumentError("give either rules or checks", argument="rules", value=rules)
        self.checks = {self._own("audit"): {"rules": rules}} if rules is not None else checks or {}
        self.own_name = branch is None
        self.branch = self._branch_of_run() if branch is None else branch
        self.where = dict(where or {})
        self._is_closed = False

    @property
    def branch_table(self) -> str:
        """The table as the branch has it, for ``table=`` of the tasks inside."""
        return f"{self.table}$branch_{self.branch}"

    def __enter__(self) -> Self:
        """Begin the group; what is made now writes to the branch."""
        super().__enter__()
        self._begin = PaimonBranchOfRunOperator(
            task_id=self._own("branch"),
            table=self.table,
            branch=self.branch,
            own_name=self.own_name,
            **{**self.where, "events": "none"},
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
            audits = [self._audit(name, arguments) for name, arguments in self.checks.items()]
            for task in inside:
                if not task.upstream_task_ids & names:
                    self._begin >> task
            for audit in audits:
                for task in (self._begin, *_last_of(inside)):
                    task >> audit
            self._end, clean = self._ending(audits)
            audits >> self._end >> clean
            self._is_closed = True
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]  # Airflow leaves it untyped

    def add(self, task: Any) -> Any:
        """Add a task, while the group is open.

        Raises:
            ArgumentError: the audit is there already, and would not wait for the task.
        """
        if self._is_closed:
            raise ArgumentError(
                f"{task.node_id!r} comes after group {self.group_id!r} has ended: make it inside the "
                "with statement, so that it is audited",
                argument="task_group",
                value=str(task.node_id),
            )
        return super().add(task)

    @property
    def begin(self) -> Any:
        """The task that makes the branch: what all tasks inside wait for waits there."""
        return self._begin

    @property
    def end(self) -> Any:
        """The task that publishes; there is one when the ``with`` statement has ended."""
        return self._end

    def child_id(self, label: str) -> str:
        """The id of a task inside: without ``prefix_group_id`` as it would be outside."""
        if self.prefix_group_id or self.parent_group is None:
            return str(super().child_id(label))  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        return str(self.parent_group.child_id(label))

    def _own(self, name: str) -> str:
        """The id of one of the group's own tasks, which has to be told from that of another group."""
        return name if self.prefix_group_id else f"{self._group_id}_{name}"

    def _audit(self, task_id: str, arguments: Mapping[str, Any]) -> Any:
        compares = "change" in (arguments.get("rules") or {})
        against = (
            self.table
            if compares and arguments.get("against") is None
            else arguments.get("against")
        )
        return PaimonCheckOperator(
            task_id=task_id,
            **{
                "fail": True,
                **arguments,
                **self.where,
                **_IF_ALL_WENT_WELL,
                "against": against,
                "do_xcom_push": True,  # what it has looked at is what may be published
                "table": self.branch_table,
            },
        )

    def _ending(self, audits: list[Any]) -> tuple[Any, Any]:
        common = {"table": self.table, **self.where, **_IF_ALL_WENT_WELL}
        index = self._index_of_run()
        pulled = ", ".join(f"ti.xcom_pull(task_ids={one.task_id!r}{index})" for one in audits)
        states = f"[{pulled}] | map(attribute='details.state') | map('default', '', true)"
        publish = PaimonFastForwardOperator(
            task_id=self._own("publish"),
            branch=self.branch,
            state=f"{{{{ {states} | unique | join(' ') }}}}",
            force=False,
            dry_run=False,
            **common,
        )
        clean = PaimonDeleteBranchOperator(
            task_id=self._own("clean_up"),
            branch=self.branch,
            dry_run=False,
            **{**common, "events": "none"},
        )
        return publish, clean

    def _is_mapped(self) -> bool:
        """Whether there are several of this group in a run."""
        return next(self.iter_mapped_task_groups(), None) is not None

    def _index_of_run(self) -> str:
        return ", map_indexes=ti.map_index" if self._is_mapped() else ""

    def _branch_of_run(self) -> str:
        """A template: something to read, and a digest of what tells this group of this run apart."""
        group = str(self.group_id)
        index = " ~ ti.map_index" if self._is_mapped() else ""
        name = f"ti.dag_id ~ '\\n' ~ {group!r} ~ '\\n' ~ ti.run_id ~ '\\n'{index}"
        shown = " ~ '_' ~ ".join(("ti.dag_id", repr(group), "ti.run_id"))
        plain = f"({shown}) | urlencode | replace('/', '_') | replace('%', '_')"
        digest = f"macros.uuid.uuid5(macros.uuid.NAMESPACE_URL, {name}).hex"
        return f"wap_{{{{ ({plain})[:{2 * _SHOWN}] }}}}_{{{{ {digest} }}}}"


def _last_of(tasks: list[Any]) -> Iterator[Any]:
    """The tasks that the audit has to wait for by itself; what a teardown takes down comes before it.

    They are those that no other one waits for, or only such as begin although a task has failed: that a
    task has failed must reach the audit.
    """
    work = {task.task_id for task in tasks if not task.is_teardown}
    by_name = {task.task_id: task for task in tasks}

    def is_followed(task: Any) -> bool:
        """Whether work waits for ``task`` and fails with it, be it behind a teardown."""
        after, seen = list(task.downstream_task_ids), set()
        while after:
            name = after.pop()
            if name in work and fails_with_others(by_name[name].trigger_rule):
                return True
            if name in by_name and name not in work and name not in seen:
                seen.add(name)
                after += by_name[name].downstream_task_ids
        return False

    return (task for task in tasks if not task.is_teardown and not is_followed(task))
