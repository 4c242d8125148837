"""Where readers of tables stand: what ``position.decide`` asks for, read off a table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from table_core.ondisk.properties import CarriedProperties
from table_core.position.decide import Diverged, GoOn, Start, TableNow, what_next
from table_core.position.place import SnapshotPlace
from table_core.position.source import TableId
from table_core.table.metadata.carried import carried_as_of, noted_head, position
from table_core.table.metadata.refs.consumers import position_of
from table_core.table.metadata.timeline import TableTimeline, find_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.position.document import Position
    from table_core.position.place import Place
    from table_core.table.metadata.access import TableAccess

Find: TypeAlias = "Callable[[int], Snapshot | None]"
"""The snapshot of that number, or what is kept of it; None: neither is there."""

__all__ = [
    "Find",
    "came_to",
    "place_at",
    "positions_at",
    "positions_of",
    "read_by",
    "standing",
    "table_at",
    "table_id",
    "table_now",
]


def table_at(access: TableAccess) -> TableId:
    """Whatever table is there, as positions name it: nothing is asked for."""
    return TableId(location=access.storage.uri, branch=access.branch)


def table_id(access: TableAccess) -> TableId:
    """The table, as positions name it; asks for its birth."""
    return replace(table_at(access), birth=access.metadata.birth())


def table_now(
    access: TableAccess,
    place: SnapshotPlace | None,
    *,
    source: TableId | None = None,
    head: Snapshot | None = None,
    find: Find | None = None,
) -> TableNow:
    """The table beside ``place``.

    ``source`` and ``head`` are what the caller has read of it, and ``find`` what finds a snapshot; one more request
    is made at most, but where the snapshot is gone.
    """
    find = find or partial(find_snapshot, access)
    newest = head or access.head()
    at = earliest = None
    if place is not None and place.id:
        at = newest if newest is not None and newest.id == place.id else None
        at = at or find(place.id)
        if at is None and newest is not None and newest.id > place.id:
            first = TableTimeline(access).earliest_delivered()
            earliest = None if first is None else find_snapshot(access, first)
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
    snapshot = find_snapshot(access, id) if id > 0 else None
    return SnapshotPlace(id=max(id, 0)) if snapshot is None else SnapshotPlace.of(snapshot)


def positions_of(access: TableAccess, needed: str | None = None) -> CarriedProperties:
    """The properties that hold positions, as of the newest snapshot.

    With ``needed``, the name of one that was not found:

    Raises:
        OutcomeUnknownError: it may have been there, and the snapshot that held it is gone.
    """
    if needed is not None:
        position(access, needed)
    return positions_at(access, access.head())


def positions_at(access: TableAccess, head: Snapshot | None) -> CarriedProperties:
    """The properties that hold positions, as of ``head``, the newest snapshot."""
    if head is None:
        return CarriedProperties(properties={}, complete=True)
    noted_head(access, head)
    return carried_as_of(access, head.id)


def standing(
    access: TableAccess,
    stored: Position | None,
    elsewhere: Callable[[TableId], Sequence[Position]],
    *,
    head: Snapshot | None,
    find: Find,
) -> tuple[TableId, Position | None]:
    """Which table this is, and the position that a reader has in it.

    ``stored`` was found by where the table is.  Where its snapshot is there, it is that table: nothing
    more is asked for.  Otherwise its birth tells, and ``elsewhere`` gives what the reader has read of
    tables of that birth in other places: where its snapshot is here, the table was moved.
    """
    here = table_at(access)
    if stored is not None and _has(find, stored.place, head):
        assert isinstance(stored.source, TableId)
        if stored.source.birth:
            return replace(here, birth=stored.source.birth), stored
    source = table_id(access)
    moved = (one for one in elsewhere(source) if _has(find, one.place, head))
    return source, next(moved, stored)


def _has(find: Find, place: Place, head: Snapshot | None) -> bool:
    """Whether the very snapshot of ``place`` is there."""
    if not isinstance(place, SnapshotPlace) or not place.id or not place.mark:
        return False
    at = head if head is not None and head.id == place.id else find(place.id)
    return at is not None and place.is_at(SnapshotPlace.of(at))


def read_by(access: TableAccess, consumer: str) -> SnapshotPlace | None:
    """Up to where a consumer has read; None if there is no such consumer.

    Raises:
        PositionDivergedError: the table is not what it has read.
    """
    stored = position_of(access, consumer)
    if stored is None:
        return None
    assert isinstance(stored.place, SnapshotPlace)
    if not stored.place.mark:  # nobody kept what would tell
        return stored.place
    return came_to(stored, table_now(access, stored.place))
