"""Properties that snapshots carry on, and the snapshots that are read to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError, OutcomeUnknownError
from table_core.ondisk import layout
from table_core.ondisk.properties import CarriedProperties, carried, is_ours
from table_core.ondisk.snapshot import Snapshot
from table_core.position.reader import require_position_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.table.metadata.access import TableAccess

__all__ = [
    "carried_as_of",
    "history",
    "noted_head",
    "position",
    "remembered",
    "snapshots_backwards",
]

_HISTORY_MAX: Final = 10_000
_OVER: Final = 8
"""The oldest are forgotten an eighth at a time: to look for the oldest at each step down would be a step of its own."""


def snapshots_backwards(access: TableAccess, newest: int, oldest: int) -> Iterator[Snapshot]:
    """Snapshots from ``newest`` down to ``oldest`` or the first gap."""
    known = history(access, newest)
    for id in range(newest, oldest - 1, -1):
        snapshot = remembered(access, known, id)
        if snapshot is None:
            return
        yield snapshot


def carried_as_of(access: TableAccess, id: int) -> CarriedProperties:
    """The carried properties as of the snapshot ``id``, the newest."""
    return carried(snapshots_backwards(access, id, 1), access.metadata.floor)


def history(access: TableAccess, newest: int) -> dict[int, Snapshot]:
    """What this handle has read before: a stream of commits reads each snapshot once."""
    known = access.metadata.history
    if known and max(known) > newest:
        known.clear()  # rolled back: the numbers are used again
    return known


def noted_head(access: TableAccess, head: Snapshot) -> None:
    """Remember ``head``, just read, and forget what is known if the table was rolled back before it.

    A rollback takes all snapshots behind its target, so the newest of those that are known tells.  Behind
    a snapshot of ours nothing older is asked, and so nothing is compared.
    """
    known = history(access, head.id)
    same = known.get(head.id, head) == head
    if known and head.id not in known and not is_ours(head):
        newest = max(known)
        same = remembered(access, {}, newest) == known[newest]
    if not same:
        known.clear()
    known[head.id] = head


def remembered(access: TableAccess, known: dict[int, Snapshot], id: int) -> Snapshot | None:
    """The snapshot ``id``, which is ``known`` from now on; None if it is not there."""
    snapshot = known.get(id)
    if snapshot is None:
        try:
            body = access.metadata.snapshot_body(id)
        except NotFoundError:
            return None
        snapshot = Snapshot.from_json(body, path=layout.snapshot_path(id, access.branch))
        known[id] = snapshot
        over = len(known) - _HISTORY_MAX
        if over > _HISTORY_MAX // _OVER:
            for oldest in sorted(known)[:over]:
                del known[oldest]
    return snapshot


def position(access: TableAccess, name: str) -> str | None:
    """See ``Table.position``."""
    require_position_name("name", name)
    head = access.metadata.head()
    if head is None:
        return None
    noted_head(access, head)
    history = carried_as_of(access, head.id)
    if name not in history.properties and not history.complete:
        raise OutcomeUnknownError(
            f"{access.name}: it cannot be known whether property {name!r} was ever set, because "
            "the snapshots that could hold it have expired; set it with a commit before you "
            "continue from it",
            user=None,
            id=head.id,
            floor=access.metadata.floor(),
        )
    return history.properties.get(name)
