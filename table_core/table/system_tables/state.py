"""Which state a system table shows: the one that a read of its table would see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.options import keys_scan
from table_core.scan.time_travel import resolve
from table_core.table.metadata.timeline import TableTimeline

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["STATES", "at_state", "pinned_state", "shown_state"]

STATES: Final = frozenset(
    {
        "buckets",
        "file_indexes",
        "file_key_ranges",
        "files",
        "manifests",
        "partitions",
        "ro",
        "row_tracking",
        "statistics",
        "table_indexes",
    }
)
"""The system tables that show one state; the others show all there is."""
_RANGES: Final = (
    keys_scan.INCREMENTAL_BETWEEN,
    keys_scan.INCREMENTAL_BETWEEN_TIMESTAMP,
    keys_scan.INCREMENTAL_TO_AUTO_TAG,
)
_STARTS: Final = (
    keys_scan.SCAN_MODE,
    keys_scan.SCAN_SNAPSHOT_ID,
    keys_scan.SCAN_TAG_NAME,
    keys_scan.SCAN_TIMESTAMP,
    keys_scan.SCAN_TIMESTAMP_MILLIS,
    keys_scan.SCAN_WATERMARK,
    keys_scan.SCAN_VERSION,
    keys_scan.SCAN_FILE_CREATION_TIME_MILLIS,
    keys_scan.SCAN_CREATION_TIME_MILLIS,
    *_RANGES,
)


def shown_state(access: TableAccess) -> Snapshot | None:
    """The snapshot that ``scan.*`` options name, else the newest; None for a table without any.

    A range of changes has no state of its own: then it is the newest.

    Raises:
        NotFoundError: there is no such snapshot or tag.
    """
    if any(access.options.is_set(option) for option in _RANGES):
        return access.head()
    return resolve(access.options, TableTimeline(access)).snapshot


def pinned_state(access: TableAccess) -> tuple[TableAccess, Snapshot | None]:
    """The same table, which shows one state however often it is asked, and that state."""
    head = shown_state(access)
    if head is None or any(access.options.is_set(option) for option in (*_STARTS, *_RANGES)):
        return access, head
    return at_state(access, snapshot=head.id), head


def at_state(
    access: TableAccess,
    *,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp_ms: int | None = None,
    watermark: int | None = None,
) -> TableAccess:
    """The same table, read at that state in place of what its options say."""
    raw = {k: v for k, v in access.options.raw.items() if k not in {o.key for o in _STARTS}}
    for option, value in (
        (keys_scan.SCAN_SNAPSHOT_ID, snapshot),
        (keys_scan.SCAN_TAG_NAME, tag),
        (keys_scan.SCAN_TIMESTAMP_MILLIS, timestamp_ms),
        (keys_scan.SCAN_WATERMARK, watermark),
    ):
        if value is not None:
            raw[option.key] = str(value)
    return replace(access, schema=replace(access.schema, raw_options=raw))
