"""Which snapshots may go: by count, age, consumers, positions.

Source: ``org.apache.paimon.table.ExpireSnapshotsImpl.expire``; format 11.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from table_core.expire import plan as fx
from table_core.ondisk.properties import (
    BROUGHT_BACK_PROPERTY,
    COMMITS_PROPERTY,
    HISTORY_PROPERTY,
    carried_properties,
    is_ours,
    newest_return,
)
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

__all__ = [
    "Steps",
    "choose_end",
    "may_expire",
    "may_have_come_back",
    "newest_positions",
    "newest_snapshots",
]

T = TypeVar("T")
Steps: TypeAlias = "Generator[fx.Effect, fx.Reply, T]"
_NOT_HELD: Final = {BROUGHT_BACK_PROPERTY, COMMITS_PROPERTY, HISTORY_PROPERTY}


def are_few(bounds: fx.Bounds, retention: fx.Retention) -> bool:
    """Whether all of them stay, however old they are."""
    return bounds.latest - bounds.earliest < max(retention.retained_min, 1)


def may_expire(bounds: fx.Bounds, retention: fx.Retention, successor: Snapshot) -> bool:
    """Whether count or age lets the earliest snapshot go, whose ``successor`` this is."""
    if are_few(bounds, retention):
        return False
    if bounds.latest - bounds.earliest >= retention.retained_max:
        return True
    return successor.time_millis < bounds.now_ms - retention.time_retained_ms


def choose_end(
    bounds: fx.Bounds,
    retention: fx.Retention,
    consumer: int | None,
    walked: Sequence[Snapshot],
) -> Steps[tuple[int, fx.HeldBy | None]]:
    """(the first id that stays, what holds it); ids from ``bounds.earliest`` up to it may go.

    Snapshots 1 to 20, at least 10 retained for an hour, a consumer at 6: by count 1 to 10 may go, the consumer
    holds 6, and 1 to 5 go up to the first whose successor is younger than an hour.  The successor, because a
    snapshot is the table until the next one is made.  ``walked``: as of ``newest_snapshots``.
    """
    earliest, latest = bounds.earliest, bounds.latest
    # At least one stays, whatever the options say: the table is its newest snapshot.
    end, held = latest - max(retention.retained_min, 1) + 1, fx.HeldBy.RETAINED_MIN
    if consumer is not None and consumer < end:
        end, held = consumer, fx.HeldBy.CONSUMER
    if earliest + retention.deletes_max < end:
        end, held = earliest + retention.deletes_max, fx.HeldBy.LIMIT
    position = newest_positions(walked)
    if position is not None and position < end:
        end, held = position, fx.HeldBy.POSITION
    # Snapshots beyond ``retained_max`` go whatever their age.
    first = max(latest - retention.retained_max + 1, earliest)
    cutoff_ms = (
        bounds.now_ms - retention.time_retained_ms
        if retention.older_than_ms is None
        else retention.older_than_ms
    )
    for id in range(first, end):
        successor = yield fx.ReadSnapshot(id + 1)
        if isinstance(successor, Snapshot) and successor.time_millis >= cutoff_ms:
            end, held = id, fx.HeldBy.AGE
            break
    if end <= earliest:
        return earliest, held
    return end, held


def newest_snapshots(bounds: fx.Bounds) -> Steps[tuple[Snapshot, ...]]:
    """From the newest down to the first of ours, which names what those before it did, or to the oldest."""
    walked: list[Snapshot] = []
    for id in range(bounds.latest, bounds.earliest - 1, -1):
        head = bounds.head if id == bounds.latest else None
        snapshot = head or (yield fx.ReadSnapshot(id))
        if isinstance(snapshot, Snapshot):
            walked.append(snapshot)
            if is_ours(snapshot):
                break
    return tuple(walked)


def newest_positions(walked: Iterable[Snapshot]) -> int | None:
    """The smallest of the ids that are the newest to hold some ``tc.`` property; None: there are none."""
    newest: dict[str, int] = {}
    for snapshot in walked:
        # That history is incomplete follows as well from its being gone; the list of named commits
        # is worth keeping, but not worth holding expiry.  What came back concerns what is older.
        kept = carried_properties(snapshot).keys() - _NOT_HELD
        for name in kept:
            newest.setdefault(name, snapshot.id)
    return min(newest.values(), default=None)


def may_have_come_back(walked: Sequence[Snapshot], states: Iterable[int]) -> bool:
    """Whether a file may be in one of the ``states`` and in a later one, and in none of those between.

    ``states``: the ids of all snapshots, tags and changelogs.  A file was in 2, 3 took it out, 5 brought it back.  Who
    has 2 and 3 must ask both.  Who has no state below 5, or one, need not: from 5 on what is out stays out.
    """
    returned = newest_return(walked)
    return len({id for id in states if id < returned}) > 1
