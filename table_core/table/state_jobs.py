"""Jobs on named states of a table: tags, branches, and going back.

Each may be run again after a crash: what an earlier attempt did is found instead of refused, and a
branch that main has taken over already is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.table.branches import branch_access
from table_core.table.results import ResultDocument
from table_core.table.tags import tag_names

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
        ArgumentError: main has gone on since the branch began, and ``force`` is off.
    """
    name = args["branch"]
    branch = branch_access(table.access, name).metadata
    ids = branch.snapshot_ids()
    if not ids:
        raise NotFoundError(f"branch {name!r} has no snapshot", name=name, available=[])
    main = table.access.metadata
    ours = set(main.snapshot_ids())
    same = {i for i in ids if i in ours and main.snapshot(i) == branch.snapshot(i)}
    lost = sorted(i for i in ours - same if i >= ids[0])
    details = {"branch": name, "snapshots": sorted(set(ids) - same), "lost": lost}
    head = table.latest_snapshot()
    before = head.id if head else None
    if ids[-1] in same:
        taken = {"snapshots": ids[1:], "lost": [], "replayed": True}
        return unchanged("fast-forward", table, details | taken)
    if lost and not args.get("force"):
        raise ArgumentError(
            f"{table.name} has gone on since branch {name!r} began: its snapshots {lost} would be "
            "lost; make the branch anew, or pass force=True",
            argument="force",
            value=False,
        )
    if args.get("dry_run"):
        return unchanged("fast-forward", table, details, dry_run=True)
    _take_tags_along(table, name, same)
    table.branches.fast_forward(name)
    return ResultDocument(
        action="fast-forward",
        table=table.name,
        snapshot_before=before,
        snapshot_after=ids[-1],
        details={**details, "replayed": False},
    )


def _take_tags_along(table: Table, branch: str, shared: set[int]) -> None:
    """Give the branch main's tags on snapshots that both have: main gets the tags of the branch."""
    access = table.access
    theirs = branch_access(access, branch)
    for name in table.tags:
        tag = table.tags.get(name)
        if tag.snapshot.id in shared and name not in tag_names(theirs):
            access.storage.write(layout.tag_path(name, branch), tag.to_json())


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
