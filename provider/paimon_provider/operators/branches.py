"""Let a table go two ways: make a branch, drop it, or let main follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PaimonCreateBranchOperator", "PaimonDeleteBranchOperator", "PaimonFastForwardOperator"]


class PaimonCreateBranchOperator(PaimonTableOperator):
    """Make a branch.  Other operators reach it as ``table="shop.orders$branch_<name>"``.

    :param branch: the name: not ``main``, no number.  (templated)
    :param tag: begin with the state of this tag.  (templated)
    :param from_head: begin with the newest state; it is kept as the tag ``<branch>-base``.
        Without ``tag`` and ``from_head`` the branch is empty.
    :param if_not_exists: leave a branch of that name as it is, instead of failing.
    :param replace: forget a branch of that name first.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "branch", "tag")
    action = "create-branch"

    def __init__(
        self,
        *,
        branch: str,
        tag: str | None = None,
        from_head: bool = False,
        if_not_exists: bool = True,
        replace: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.branch = branch
        self.tag = tag
        self.replace = replace
        self.from_head = from_head
        self.if_not_exists = if_not_exists


class PaimonDeleteBranchOperator(PaimonTableOperator):
    """Forget a branch, and the tag that its creation left.

    Data files that only it needed go with the next ``PaimonRemoveOrphanFilesOperator``.

    :param branch: the name.  (templated)
    :param if_exists: succeed where there is no such branch.
    :param dry_run: only report whether it is there.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "branch")
    action = "delete-branch"

    def __init__(
        self,
        *,
        branch: str,
        if_exists: bool = True,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.branch = branch
        self.if_exists = if_exists
        self.dry_run_only = dry_run


class PaimonFastForwardOperator(PaimonTableOperator):
    """Let main continue as a branch has.

    Fails, without a retry, when main has got snapshots of its own since the branch began: they
    would be lost.  Run again after it has worked, it changes nothing.

    :param branch: the branch.  (templated)
    :param force: lose what main has done since the branch began.
    :param state: take over nothing but this state of the branch: ``details["state"]`` in the result
        of the ``PaimonCheckOperator`` that has looked at it.  (templated)
    :param dry_run: only report which snapshots main would get and lose.
    """

    template_fields: Sequence[str] = (*PaimonTableOperator.template_fields, "branch", "state")
    action = "fast-forward"

    def __init__(
        self,
        *,
        branch: str,
        force: bool = False,
        state: str | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.branch = branch
        self.force = force
        self.state = state
        self.dry_run_only = dry_run
