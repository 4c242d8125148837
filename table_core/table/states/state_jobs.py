"""Jobs on named states of a table: tags, branches, and going back.

Each may be run again after a crash: what an earlier attempt did is found instead of refused, and a
branch that main has taken over already is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.errors import ArgumentError
from table_core.table.results import ResultDocument
from table_core.table.states.fast_forward import FastForward

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.table.table import Table

__all__ = [
    "create_branch",
    "create_tag",
    "delete_branch",
    "delete_tag",
    "fast_forward",
    "rollback",
    "unchanged",
]


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
    return unchanged("create-tag", table, details)


def delete_tag(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``name``, ``if_exists``, ``dry_run``."""
    name = args["name"]
    there = name in table.tags
    if args.get("dry_run"):
        return unchanged("delete-tag", table, {"tag": name, "deleted": there}, dry_run=True)
    deleted = table.tags.delete(name, if_exists=args.get("if_exists", True))
    return unchanged("delete-tag", table, {"tag": name, "deleted": deleted})


def create_branch(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``name``, ``tag``, ``if_not_exists``; with ``from_head`` the tag is made first.

    A tag of the branch's name then holds the state that the branch began with.  ``replace`` forgets
    a branch of that name first.
    """
    name, tag = args["name"], args.get("tag")
    if args.get("replace"):
        table.branches.delete(name, if_exists=True)
        table.tags.delete(_base_of(name), if_exists=True)
    existed = name in table.branches
    if args.get("from_head") and not existed and table.latest_snapshot() is not None:
        tag = _base_of(name)
        table.tags.create(tag, if_not_exists=True)
    table.branches.create(name, tag=tag, if_not_exists=args.get("if_not_exists", True))
    details = {"branch": name, "tag": tag, "created": not existed}
    return unchanged("create-branch", table, details)


def delete_branch(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``name``, ``if_exists``, ``dry_run``; the tag that ``from_head`` made goes too."""
    name = args["name"]
    there = name in table.branches
    if args.get("dry_run"):
        return unchanged("delete-branch", table, {"branch": name, "deleted": there}, dry_run=True)
    deleted = table.branches.delete(name, if_exists=args.get("if_exists", True))
    base = table.tags.delete(_base_of(name), if_exists=True)
    return unchanged("delete-branch", table, {"branch": name, "deleted": deleted, "tag": base})


def _base_of(branch: str) -> str:
    return f"{branch}-base"


def fast_forward(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``branch``, ``force``, ``dry_run``.

    Raises:
        NotFoundError: no such branch, or it has no snapshot.
        ArgumentError: main has gone on since the branch began, and ``force`` is off; or nobody can tell
            whether the branch follows a tag of main.
    """
    found = FastForward.of(table.access, args["branch"])
    if found.is_taken:
        taken = {"snapshots": found.ids[1:], "lost": [], "tags_lost": [], "replayed": True}
        return unchanged("fast-forward", table, {"branch": args["branch"], **taken})
    if found.lost and not args.get("force"):
        raise ArgumentError(
            f"{table.name} has gone on since branch {args['branch']!r} began: its snapshots "
            f"{found.lost} would be lost; make the branch anew, or pass force=True",
            argument="force",
            value=False,
        )
    if not args.get("dry_run"):
        found.perform()
    return found.result(dry_run=bool(args.get("dry_run")), replayed=False)


def rollback(table: Table, args: Mapping[str, Any]) -> ResultDocument:
    """``snapshot``, ``tag`` or ``timestamp``."""
    return table.rollback_to(
        snapshot=args.get("snapshot"), tag=args.get("tag"), timestamp=args.get("timestamp")
    )


def unchanged(
    action: str, table: Table, details: Mapping[str, object], *, dry_run: bool = False
) -> ResultDocument:
    """The result of a verb that makes no snapshot."""
    head = table.latest_snapshot()
    id = head.id if head else None
    return ResultDocument(
        action=action,
        table=table.name,
        snapshot_before=id,
        snapshot_after=id,
        dry_run=dry_run,
        details=details,
    )
