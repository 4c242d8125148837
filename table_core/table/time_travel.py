"""Which snapshot a read means: by id, tag, time, watermark, or the newest.

A tag outlives its snapshot.  A time names the newest snapshot at or before it, a watermark the first
snapshot that reached it (spec 9.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.tag import Tag
from table_core.options import keys_scan
from table_core.table.times import PointInTime, epoch_ms

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.access import TableAccess

__all__ = ["snapshot_to_read", "tag_names", "tagged"]

_PREFIX = "tag-"


def snapshot_to_read(
    access: TableAccess,
    *,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
    watermark: int | None = None,
) -> tuple[Snapshot | None, bool]:
    """The snapshot, and whether it was named (then its own schema applies).

    Arguments come before ``scan.*`` options of the handle.

    Raises:
        ArgumentError: more than one was named.
        NotFoundError: what was named is not there; facts list what is.
    """
    given = {"snapshot": snapshot, "tag": tag, "timestamp": timestamp, "watermark": watermark}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ArgumentError(f"name one of {named}, not several", argument=named[0])
    if not named:
        options = access.options
        snapshot = options.get(keys_scan.SCAN_SNAPSHOT_ID)
        tag = options.get(keys_scan.SCAN_TAG_NAME)
        timestamp = options.get(keys_scan.SCAN_TIMESTAMP_MILLIS)
        watermark = options.get(keys_scan.SCAN_WATERMARK)
    if snapshot is not None:
        return access.metadata.snapshot(snapshot), True
    if tag is not None:
        return tagged(access, tag).snapshot, True
    if timestamp is not None:
        return _at_time(access, epoch_ms("timestamp", timestamp)), True
    if watermark is not None:
        return _at_watermark(access, watermark), True
    return access.metadata.head(), False


def tag_names(access: TableAccess) -> list[str]:
    """Names of all tags, sorted."""
    names = (
        i.path.rpartition("/")[2] for i in access.storage.list(layout.tag_folder(access.branch))
    )
    return sorted(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


def tagged(access: TableAccess, name: str) -> Tag:
    """The tag ``name``.

    Raises:
        NotFoundError: there is none; facts list those there are.
    """
    path = layout.tag_path(name, access.branch)
    try:
        return Tag.from_json(access.storage.read(path), path=path)
    except NotFoundError as error:
        known = tag_names(access)
        raise NotFoundError(
            f"{access.name} has no tag {name!r}; there are {known}", name=name, available=known
        ) from error


def _at_time(access: TableAccess, at_ms: int) -> Snapshot:
    """The newest snapshot at or before ``at_ms``: their times grow with their ids."""
    ids = access.metadata.snapshot_ids()
    low, high = 0, len(ids)
    found: Snapshot | None = None
    while low < high:
        middle = (low + high) // 2
        snapshot = access.metadata.snapshot(ids[middle])
        if snapshot.time_millis <= at_ms:
            found, low = snapshot, middle + 1
        else:
            high = middle
    if found is None:
        raise NotFoundError(
            f"{access.name} has no snapshot at or before {at_ms} ms; the earliest is "
            f"{ids[0] if ids else None}",
            name=str(at_ms),
            available=ids[:1],
        )
    return found


def _at_watermark(access: TableAccess, watermark: int) -> Snapshot:
    for id in access.metadata.snapshot_ids():
        snapshot = access.metadata.snapshot(id)
        if snapshot.watermark is not None and snapshot.watermark >= watermark:
            return snapshot
    raise NotFoundError(
        f"no snapshot of {access.name} has reached watermark {watermark}",
        name=str(watermark),
        available=[],
    )
