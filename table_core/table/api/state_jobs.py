"""Jobs on named states of a table: tags and branches.

Each may be run again after a crash: what an earlier attempt did is found instead of refused, and a
branch that main has taken over already is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.table.commit_io.deliveries import tell_of
from table_core.table.maintenance.fast_forward import FastForward
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.refs.branches import branch_access

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument

__all__ = [
    "create_branch",
    "create_tag",
    "fast_forward",
]

_NOTHING_LOST: Final[Mapping[str, list[Any]]] = {"lost": [], "tags_lost": [], "schemas_lost": []}


def create_tag(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``name``, and what ``Tags.create`` takes."""
    name = args["name"]
    existed = name in table.tags
    tag = table.tags.create(
        name,
        snapshot=args.get("snapshot"),
        timestamp=args.get("timestamp"),
        time_retained=args.get("time_retained"),
        if_not_exists=args.get("if_not_exists", True),
    )
    details = {"tag": name, "snapshot": tag.snapshot.id, "created": not existed}
    return unchanged(table.access, "create-tag", details)


def create_branch(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """What ``Branches.create`` takes; ``from_head`` is the newest snapshot.

    The tag ``<name>-base`` that an earlier attempt made is what it begins with; one that somebody else
    made is refused.  ``replace`` forgets a branch of that name first.
    """
    name, tag, snapshot = args["name"], args.get("tag"), args.get("snapshot")
    head = table.latest_snapshot()
    if args.get("from_head") and head is not None:
        snapshot = head.id
    return table.branches.create(
        name,
        tag=tag,
        snapshot=snapshot,
        if_not_exists=args.get("if_not_exists", True),
        dry_run=bool(args.get("dry_run")),
        to_publish=bool(args.get("to_publish")),
        made_by=args.get("made_by") or "",
        replace=bool(args.get("replace")),
    )


def fast_forward(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``branch``, ``force``, ``dry_run``; ``state``: nothing but this state of the branch.

    Where neither main nor the branch has a snapshot, there is nothing to do.

    Raises:
        NotFoundError: no such branch, or it has no snapshot and main has one.
        ArgumentError: main has gone on since the branch began, by a commit or a change of its schema, and
            ``force`` is off; or nobody can tell whether the branch follows a tag of main; or the branch is
            not at ``state``.
    """
    state = args.get("state")
    if not state and _has_nothing(table, args["branch"]):
        told = {"branch": args["branch"], "snapshots": [], **_NOTHING_LOST}
        return unchanged(table.access, "fast-forward", {**told, "replayed": False})
    plan = FastForward.of(table.access, args["branch"])
    if state is not None and plan.state != state:
        raise ArgumentError(
            f"branch {args['branch']!r} of {table.name} is at {plan.state}, not at {state}, which was "
            "asked for: somebody has written to it since, or recreated it; check it again",
            argument="state",
            value=state,
        )
    if plan.is_taken:
        _taken_over(plan, plan.own_ids)
        taken = {"branch": args["branch"], "snapshots": plan.own_ids, **_NOTHING_LOST}
        return unchanged(table.access, "fast-forward", {**taken, "replayed": True})
    lost = {"snapshots": plan.lost, "schemas": plan.lost_schemas}
    what, ids = next(((what, ids) for what, ids in lost.items() if ids), ("", []))
    if ids and not args.get("force"):
        raise ArgumentError(
            f"{table.name} has new {what} since branch {args['branch']!r} began: its {what} {ids} would be "
            "lost; create the branch again, or pass force=True",
            argument="force",
            value=False,
        )
    if not args.get("dry_run"):
        plan, untold = FastForward.perform(
            table.access, args["branch"], force=bool(args.get("force"))
        )
        _taken_over(plan, untold)
    return plan.result(dry_run=bool(args.get("dry_run")), replayed=False)


def _taken_over(plan: FastForward, ids: Sequence[int]) -> None:
    """Tell of the snapshots ``ids`` of the branch, which main has now, and do what was left to that."""
    tell_of(plan.main, plan.brought(ids))
    plan.follow(ids)


def _has_nothing(table: Table, branch: str) -> bool:
    """Whether nobody has written anything to the table, on main or on the branch."""
    if table.latest_snapshot() is not None:
        return False
    return branch_access(table.access, branch).metadata.head_id() is None
