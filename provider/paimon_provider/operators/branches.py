"""Let a table go two ways: make a branch, drop it, or let main follow it."""

from __future__ import annotations

from typing import Any

from paimon_provider.operators.base import PaimonTableOperator

__all__ = ["PaimonCreateBranchOperator", "PaimonDeleteBranchOperator", "PaimonFastForwardOperator"]


class PaimonCreateBranchOperator(PaimonTableOperator):
    """Create a branch. Other operators use it as ``table="shop.orders$branch_<name>"``.

    :param branch: the name; it must not be ``main`` or a number. (templated)
    :param tag: start from the state of this tag. (templated)
    :param from_head: start from the newest state, which is kept as the tag ``<branch>-base``.
        Without ``tag`` and ``from_head`` the branch is empty.
    :param if_not_exists: if the branch exists, leave it unchanged instead of failing.
    :param replace: delete an existing branch of that name first.
    """

    action = "create-branch"
    never_nothing = ("tag",)
    branch: str

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
        self._take_arguments(locals())


class PaimonDeleteBranchOperator(PaimonTableOperator):
    """Delete a branch, and the tag that its creation left.

    The next ``PaimonRemoveOrphanFilesOperator`` deletes data files that only the branch needed.

    :param branch: the name.  (templated)
    :param if_exists: succeed if the branch does not exist.
    :param dry_run: only report whether it exists.
    """

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
        self._take_arguments(locals())


class PaimonFastForwardOperator(PaimonTableOperator):
    """Fast-forward main to the state of a branch.

    Fails without a retry if main has snapshots or schemas of its own since the branch was created,
    because they would be lost. Running it again after a success changes nothing.

    :param branch: the branch.  (templated)
    :param force: discard main's own snapshots and schemas since the branch was created.
    :param state: accept only this state of the branch: ``details["state"]`` in the result of the
        ``PaimonCheckOperator`` that checked it. (templated)
    :param dry_run: only report which snapshots main would gain and lose.
    """

    action = "fast-forward"
    never_nothing = ("state",)

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
        self._take_arguments(locals())
