"""Taking snapshots back: the line of a table ends at an older one, however many are created meanwhile.

A turn excludes all others who delete snapshots (docs/adr/0026).  What it takes back it notes first, then deletes it, newest
first, then lists again::

    begin ─► list what is above the target ─► nothing of the old line? ─► end ─► list once more ─► done
                  ▲                                  │ some
                  └── delete them, newest first ◄── note them

A commit that lands on the old line meanwhile is taken back too, which is the order "commit, then rollback".  Once
the last snapshot of the old line is gone, commits land on the target and stay.  The look after the end is
for a commit that found its base gone while the turn was under way: it leaves its snapshot to the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from table_core.errors import CommitConflictError
from table_core.ondisk.line import to_withdraw

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "Begin",
    "Effect",
    "End",
    "Note",
    "ReadLater",
    "Reply",
    "TakeBack",
    "clean_after_end",
    "take_back",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin a turn; reply None.   ``CommitConflictError`` if another is under way."""


@dataclass(frozen=True, slots=True)
class ReadLater:
    """Reply a tuple of all snapshots whose id is above ``id``, from a listing of now, ascending.

    Where an id is missing in the listing it is looked for once more: it may have come while others were listed.
    """

    id: int


@dataclass(frozen=True, slots=True)
class Note:
    """Note durably that the turn takes ``snapshots`` back; reply None."""

    snapshots: Sequence[Snapshot]


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Delete the file of ``snapshot``, which was noted; reply None.

    ``CommitConflictError`` if a newer turn is there: whoever holds it took this one for dead.
    """

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class End:
    """Note that the turn has ended; reply None."""


Effect: TypeAlias = Begin | ReadLater | Note | TakeBack | End
Reply: TypeAlias = "tuple[Snapshot, ...] | None"
Steps: TypeAlias = "Generator[Effect, Reply, T]"


def take_back(target: Snapshot) -> Steps[tuple[Snapshot, ...]]:
    """Take back what is above ``target``, within a turn that has begun; which snapshots went."""
    return (yield from _clean_above(target, None))


def _clean_above(target: Snapshot, gone: Sequence[Snapshot] | None) -> Steps[tuple[Snapshot, ...]]:
    """Delete what is above ``target`` and not of the line that goes on from it; ``gone`` with what went.

    ``gone`` None: nobody has looked before, and everything above it goes.
    """
    taken = list(gone or ())
    states = None if gone is None else {snapshot.state for snapshot in taken}
    while True:
        later = yield ReadLater(target.id)
        assert isinstance(later, tuple)
        going = to_withdraw(target, later, states)
        if not going:
            return tuple(taken)
        yield Note(going)
        for snapshot in reversed(going):
            yield TakeBack(snapshot)
        taken.extend(going)
        states = {snapshot.state for snapshot in taken}


def clean_after_end(target: Snapshot, gone: Sequence[Snapshot]) -> Steps[None]:
    """Once the turn has ended: what somebody left to it meanwhile goes, by a turn of its own."""
    later = yield ReadLater(target.id)
    assert isinstance(later, tuple)
    if not to_withdraw(target, later, {snapshot.state for snapshot in gone}):
        return
    try:
        yield Begin()
    except CommitConflictError:
        return  # whoever has turned since looks for it too, or the writer who meets it
    yield from _clean_above(target, gone)
    yield End()
