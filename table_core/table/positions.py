"""Where readers of tables stand: what ``position.decide`` asks for, read off a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import NotFoundError
from table_core.position.decide import Diverged, GoOn, Start, TableNow, what_next
from table_core.position.place import SnapshotPlace
from table_core.position.source import TableId
from table_core.table.reading.timeline import TableTimeline

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.position.document import Position
    from table_core.table.access import TableAccess

__all__ = ["came_to", "delivered", "place_at", "table_id", "table_now"]


def table_id(access: TableAccess) -> TableId:
    """The table, as positions name it; asks for its birth."""
    birth = access.metadata.birth()
    return TableId(location=access.storage.uri, birth=birth, branch=access.branch)


def table_now(
    access: TableAccess,
    place: SnapshotPlace | None,
    *,
    source: TableId | None = None,
    head: Snapshot | None = None,
) -> TableNow:
    """The table beside ``place``.

    ``source`` and ``head`` are what the caller has read of it; one more request is made at most, but
    where the snapshot is gone.
    """
    newest = head or access.metadata.head()
    at = earliest = None
    if place is not None and place.id:
        at = newest if newest is not None and newest.id == place.id else None
        at = at or delivered(access, place.id)
        if at is None and newest is not None and newest.id > place.id:
            first = TableTimeline(access).earliest_delivered()
            earliest = None if first is None else delivered(access, first)
    return TableNow(
        source=source or table_id(access),
        head=SnapshotPlace.of(newest),
        at=None if at is None else SnapshotPlace.of(at),
        earliest=None if earliest is None else SnapshotPlace.of(earliest),
    )


def came_to(stored: Position | None, now: TableNow) -> SnapshotPlace | None:
    """Up to where a reader has read; None if it starts.

    Raises:
        PositionDivergedError: nobody can tell what comes next.
    """
    match what_next(stored, now):
        case Diverged() as diverged:
            raise diverged.error()
        case GoOn(place):
            assert isinstance(place, SnapshotPlace)
            return place
        case Start():
            return None


def place_at(access: TableAccess, id: int) -> SnapshotPlace:
    """The place after snapshot ``id``, with its mark where the snapshot is there."""
    if id < 1:
        return SnapshotPlace(id=0)
    found = delivered(access, id)
    return SnapshotPlace(id=id) if found is None else SnapshotPlace.of(found)


def delivered(access: TableAccess, id: int) -> Snapshot | None:
    """Snapshot ``id``, or what is kept of it for its changes; None: neither is there."""
    try:
        return TableTimeline(access).delivered(id)
    except NotFoundError:
        return None
