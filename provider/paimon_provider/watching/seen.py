"""How far somebody who watches a table has come, and what is new to them.  Pure.

A place names a snapshot by its number *and* by what tells it from another of that number, and remembers some
before it: so a table that was away is known again, one that was recreated is not taken for it, and after a
rollback or a fast-forward only what was not there before is new.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.position.place import SnapshotPlace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider.watching.snapshot_facts import SnapshotFacts

__all__ = ["Seen", "Since", "UnseenSnapshots", "reaches", "since", "unseen"]

_NOWHERE: Final = SnapshotPlace(id=0)
_PATH_MAX: Final = 64
_NEWEST: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How far a watcher has come, and what it has seen and not told yet."""

    place: SnapshotPlace = _NOWHERE
    """``id`` 0: nothing; the table was empty, or not there."""
    birth: str = ""
    """What tells the table from another of its name; '' if nobody looked."""
    path: tuple[tuple[int, str], ...] = ()
    """Number and mark of snapshots up to this one, the older the fewer."""
    pending: tuple[Mapping[str, Any], ...] = ()
    """``events.Gathered`` documents of what counts and is too little yet."""
    due: bool = False
    """Whether what is pending, and what comes next, is told however little it is."""

    def to_json(self) -> dict[str, Any]:
        """As it is stored; empty members are left out."""
        members = {
            "snapshot_id": self.place.id,
            "time_millis": self.place.time_ms,
            "mark": self.place.mark,
            "birth": self.birth,
            "path": [[id, mark] for id, mark in self.path],
            "pending": [dict(one) for one in self.pending],
            "due": self.due,
        }
        always = ("snapshot_id", "time_millis")
        return {key: value for key, value in members.items() if value or key in always}

    @classmethod
    def from_json(cls, stored: Any) -> Seen:
        """Read what ``to_json`` made.

        Raises:
            ArgumentError: somebody else has written it.
        """
        try:
            return cls(
                place=SnapshotPlace(
                    id=int(stored["snapshot_id"]),
                    mark=str(stored.get("mark", "")),
                    time_ms=int(stored["time_millis"]),
                ),
                birth=str(stored.get("birth", "")),
                path=tuple((int(id), str(mark)) for id, mark in stored.get("path", ())),
                pending=tuple(stored.get("pending", ())),
                due=bool(stored.get("due", False)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"expected the place of a snapshot, as a sensor notes it, found {stored!r:.60}",
                argument="place",
            ) from error

    @classmethod
    def up_to(cls, snapshot: SnapshotFacts) -> Seen:
        """Everything up to and with ``snapshot``."""
        return cls(place=snapshot.place, path=_path((), [snapshot]))

    def moved(self, to: SnapshotFacts, over: Sequence[SnapshotFacts], birth: str = "") -> Seen:
        """This place, moved to ``to`` over what lies between; nothing is pending there."""
        passed = [s for s in over if s.id <= to.id]
        return replace(
            Seen.up_to(to), birth=birth or self.birth, path=_path(self.path, [*passed, to])
        )


def _path(
    path: Sequence[tuple[int, str]], more: Sequence[SnapshotFacts]
) -> tuple[tuple[int, str], ...]:
    """``path`` and ``more``, thinned where it is old."""
    new = {(s.id, s.mark): None for s in more if s.mark}
    steps = [*(one for one in path if one not in new), *new]
    while len(steps) > _PATH_MAX:
        steps = [*steps[:-_NEWEST:2], *steps[-_NEWEST:]]
    return tuple(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenSnapshots:
    """The newest snapshots of a table, as far back as somebody has not seen them."""

    snapshots: tuple[SnapshotFacts, ...] = ()
    """Oldest first; none without a table or without snapshots."""
    since: Seen | None = None
    """How far back they go; None for the head alone."""
    producer: str = "none"
    """The table's changelog producer."""
    partitioned: bool = False
    birth: str = ""
    """What tells the table from another of its name, where that was looked at."""
    catalog: str = ""
    """The name of the catalog that was looked into."""
    whole: bool = False
    """Whether there is nothing older."""

    @property
    def head(self) -> Seen:
        """How far these news go."""
        if not self.snapshots:
            return Seen(birth=self.birth)
        return replace(Seen.up_to(self.snapshots[-1]), birth=self.birth)

    def covers(self, seen: Seen) -> bool:
        """Whether nothing is missing for somebody who has come as far as ``seen``."""
        if not self.snapshots or self.head.place.is_at(seen.place) or self.whole:
            return True
        for snapshot in self.snapshots:
            if (snapshot.id, snapshot.mark) in seen.path or snapshot.place.is_at(seen.place):
                return True
        numbers = (self.snapshots[0].id, self.snapshots[-1].id)
        if numbers[0] <= seen.place.id or numbers[1] < seen.place.id:
            return numbers[0] == 1  # what was seen is there no more
        return self.since is not None and self.since.place.id <= seen.place.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What is new to somebody."""

    new: tuple[SnapshotFacts, ...] = ()
    """Oldest first."""
    gap: tuple[int, int] | None = None
    """The first and the last of the numbers that expired before they were seen."""
    reset: str | None = None
    """``rolled-back`` (or fast-forwarded), ``made-anew``, or ``unknown``: the last one seen is there no more,
    though it did not expire."""


def since(snapshots: Sequence[SnapshotFacts], seen: Seen, birth: str = "") -> Since:
    """What of ``snapshots`` is new to somebody who has come as far as ``seen``.

    ``birth`` is that of the table now, where it was looked at.
    """
    ordered = sorted(snapshots, key=lambda s: s.id)
    if not ordered:
        return Since()  # away: what it was is known when it is back
    earliest, place = ordered[0], seen.place
    if place.id == 0:
        missed = (1, earliest.id - 1) if earliest.id > 1 else None
        return Since(new=tuple(ordered), gap=missed)
    at = next((s for s in ordered if s.id == place.id), None)
    anew = bool(birth and seen.birth and birth != seen.birth)
    if at is not None:
        goes_on = place.is_at(at.place)
    else:
        later = earliest.id > place.id and earliest.time_millis >= place.time_ms
        goes_on = later and not anew
    if goes_on:
        gap = at is None and earliest.id > place.id + 1
        return Since(
            new=tuple(s for s in ordered if s.id > place.id),
            gap=(place.id + 1, earliest.id - 1) if gap else None,
        )
    told = "made-anew" if anew else "rolled-back" if birth and seen.birth else "unknown"
    new = _after_reset(ordered, seen, anew=anew)
    lost = (1, earliest.id - 1) if anew and earliest.id > 1 else None
    return Since(new=tuple(new), gap=lost, reset=told)


def _after_reset(ordered: list[SnapshotFacts], seen: Seen, *, anew: bool) -> list[SnapshotFacts]:
    """What came in the place of what was seen: after the newest that is there still.

    Where none of those is remembered, what is as old as the oldest that is was there before it.
    """
    known = set(seen.path)
    there = [s.id for s in ordered if (s.id, s.mark) in known]
    if there:
        return [s for s in ordered if s.id > max(there)]
    if anew:
        return ordered
    if not known:  # nothing is remembered, e.g. of a number that an event told: the time decides
        return [s for s in ordered if s.time_millis > seen.place.time_ms]
    oldest = min(id for id, _ in known)
    return [s for s in ordered if s.id >= oldest or s.time_millis > seen.place.time_ms]


def unseen(snapshots: Sequence[SnapshotFacts], seen: Seen) -> list[SnapshotFacts]:
    """The snapshots that are new to somebody who has come as far as ``seen``, oldest first."""
    return list(since(snapshots, seen).new)


def reaches(oldest: SnapshotFacts, since: Seen, head_id: int) -> bool:
    """Whether nothing below ``oldest`` can be new to somebody who has come to ``since``."""
    if oldest.id <= 1 or (oldest.id, oldest.mark) in since.path:
        return True
    place = since.place
    if oldest.place.is_at(place):
        return True
    if place.id < oldest.id and place.id <= head_id:
        return False
    remembered = min((id for id, _ in since.path), default=oldest.id + 1)
    return oldest.id < remembered and 0 < oldest.time_millis <= place.time_ms
