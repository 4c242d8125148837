"""Deletes tags past the time for which they were made (format 11.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.table.maintenance.tag_deletion import delete_tags
from table_core.table.metadata.refs.tags import tag_names, tagged
from table_core.table.metadata.timestamps import PointInTime, epoch_ms

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = ["expire_tags", "expired_tags", "next_tag_expiry_ms"]

_NANOS_PER_MS = 1_000_000


def expire_tags(
    access: TableAccess, *, older_than: PointInTime | None, dry_run: bool
) -> ResultDocument:
    """See ``Table.expire_tags``.

    Raises:
        NotFoundError: the table was dropped or renamed.
    """
    access.require_same()
    cutoff_ms = None if older_than is None else epoch_ms("older_than", older_than)
    names = expired_tags(access, older_than_ms=cutoff_ms)
    return delete_tags(access, names, action="expire-tags", dry_run=dry_run)


def expired_tags(access: TableAccess, *, older_than_ms: int | None = None) -> list[str]:
    """Names of the tags that are past their time, sorted.

    One with a retention: when that is over.  With ``older_than_ms`` also those with a retention that
    were made before.  One without a retention never.
    """
    now_ms = access.clock.now_ms()
    local_ms = access.wall_clock.shown(now_ms)
    names = []
    for name in tag_names(access):
        tag = tagged(access, name)
        if tag.retained_ns is None or tag.created_ns is None:
            continue
        created_ms = tag.created_ns // _NANOS_PER_MS
        over = created_ms + tag.retained_ns // _NANOS_PER_MS < local_ms
        made_before = older_than_ms is not None and created_ms < (
            access.wall_clock.shown(older_than_ms)
        )
        if over or made_before:
            names.append(name)
    return names


def next_tag_expiry_ms(access: TableAccess) -> int | None:
    """When the first of the tags expires, epoch ms; None: none ever does."""
    tags = (tagged(access, name) for name in tag_names(access))
    ends = [
        (tag.created_ns + tag.retained_ns) // _NANOS_PER_MS
        for tag in tags
        if tag.retained_ns is not None and tag.created_ns is not None
    ]
    if not ends:
        return None
    return access.wall_clock.moment(min(ends))
