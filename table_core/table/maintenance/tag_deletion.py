"""Deletes tags, and the files that only they kept (format 11.6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.commit.protocol import drive
from table_core.expire.plan import Pins
from table_core.expire.tags import Forgotten, forget_tag
from table_core.table.maintenance.expire_effects import ExpiryEffects
from table_core.table.maintenance.expirer import snapshot_retention
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.refs.other_branches import tag_documents
from table_core.table.metadata.refs.tags import tag_names, tagged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = ["delete_tags", "forget_state"]


def delete_tags(
    access: TableAccess, names: Sequence[str], *, action: str, dry_run: bool
) -> ResultDocument:
    """Delete the tags ``names``, oldest first.

    Raises:
        NotFoundError: one is not there, or the table is not; nothing is deleted then.
    """
    access.require_same()
    started_ms = access.clock.now_ms()
    done, left = forget_tags(access, names, dry_run=dry_run)
    details = {"tags": sorted(done.tags), "tags_kept": left}
    return _told(access, action, done, details, started_ms=started_ms, dry_run=dry_run)


def forget_tags(
    access: TableAccess, names: Sequence[str], *, dry_run: bool = False
) -> tuple[Forgotten, int]:
    """Delete the tags ``names``, oldest first; what went, and how many tags are left.

    Raises:
        NotFoundError: one is not there; nothing is deleted then.
        OutcomeUnknownError: the table was dropped or renamed meanwhile, and tags may have gone along.
    """
    left = {name: tagged(access, name).snapshot for name in tag_names(access)}
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in left:
            tagged(access, name)
    done, what = Forgotten(known=frozenset(left)), f"tags {sorted(names)} were deleted"
    with access.staying(what):
        for name in sorted(names, key=lambda name: (left[name].id, name)):
            state = left.pop(name)
            _forget(access, done, name, state, left.values(), dry_run=dry_run)
    if names and not dry_run:  # what is deleted where the table was is not deleted where it is
        access.require_stayed(what)
    return done, len(left)


def forget_state(
    access: TableAccess, name: str, state: Snapshot, successor: Snapshot, *, dry_run: bool
) -> ResultDocument:
    """Delete what only ``state`` needed, which the tag ``name`` stood for before ``successor``."""
    started_ms, done = access.clock.now_ms(), Forgotten()
    others = tag_documents(access, access.branch)
    if dry_run:
        others = [*others, successor]
        others.remove(state)
    _forget(access, done, None, state, others, dry_run=dry_run)
    details = {"tag": name, "snapshot": successor.id, "replaced": state.id}
    return _told(access, "replace-tag", done, details, started_ms=started_ms, dry_run=dry_run)


def _told(
    access: TableAccess,
    action: str,
    done: Forgotten,
    details: Mapping[str, object],
    *,
    started_ms: int,
    dry_run: bool,
) -> ResultDocument:
    told = {
        **details,
        "metadata_files_deleted": done.metadata,
        "metadata_bytes_deleted": done.metadata_bytes,
    }
    same = unchanged(access, action, told, dry_run=dry_run, started_ms=started_ms)
    return same.having(files_deleted=done.files, bytes_deleted=done.bytes)


def _forget(
    access: TableAccess,
    done: Forgotten,
    name: str | None,
    state: Snapshot,
    others: Iterable[Snapshot],
    *,
    dry_run: bool,
) -> None:
    retention = replace(snapshot_retention(access), dry_run=dry_run)
    tags = tuple(sorted(others, key=lambda tag: tag.id))
    # Branches are listed once the tag is gone: one is made before it looks for its tag again.
    pins = Pins(tags, branches=True)
    drive(forget_tag(done, name, state, retention, pins), ExpiryEffects(access).perform)
