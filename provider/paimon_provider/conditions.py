"""Which snapshots count?  Pure, so that sensor, trigger and operator cannot disagree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "EVENT_VERSION",
    "ON",
    "NewSnapshots",
    "Seen",
    "SnapshotFacts",
    "SnapshotLike",
    "TableNews",
    "counts",
    "delivers_changes",
    "event_document",
    "matching_partitions",
    "require_known",
    "rows_of",
    "unseen",
]

ON: Final = ("changes", "append", "overwrite", "delete", "compact", "any")
"""What to wait for: ``changes`` are snapshots that a reader of changes gets rows from."""
EVENT_VERSION: Final = 1
_NO_ROWS_ADDED: Final = "TRUNCATE"  # what Paimon calls an overwrite that only takes away


class SnapshotLike(Protocol):
    """The members of a snapshot document that matter here."""

    @property
    def id(self) -> int:
        """Its number."""
        ...

    @property
    def commit_kind(self) -> str:
        """APPEND, COMPACT, OVERWRITE or ANALYZE."""
        ...

    @property
    def commit_user(self) -> str:
        """Who made it."""
        ...

    @property
    def operation(self) -> str | None:
        """The verb behind it, if the writer said."""
        ...

    @property
    def time_millis(self) -> int:
        """When it was made, epoch milliseconds."""
        ...

    @property
    def total_record_count(self) -> int:
        """Rows in all files."""
        ...

    @property
    def delta_record_count(self) -> int:
        """Rows of added files minus rows of deleted files."""
        ...

    @property
    def changelog_record_count(self) -> int | None:
        """Rows in its changelog files."""
        ...

    @property
    def watermark(self) -> int | None:
        """Event time up to which rows are complete, epoch milliseconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFacts:
    """What is known of one snapshot from its document alone."""

    id: int
    kind: str
    operation: str | None
    user: str
    time_millis: int
    total_rows: int
    delta_rows: int
    changelog_rows: int
    watermark: int | None = None

    @classmethod
    def of(cls, snapshot: SnapshotLike) -> SnapshotFacts:
        """Read them off ``snapshot``."""
        return cls(
            id=snapshot.id,
            kind=str(snapshot.commit_kind),
            operation=snapshot.operation,
            user=snapshot.commit_user,
            time_millis=snapshot.time_millis,
            total_rows=snapshot.total_record_count,
            delta_rows=snapshot.delta_record_count,
            changelog_rows=snapshot.changelog_record_count or 0,
            watermark=snapshot.watermark,
        )


def delivers_changes(snapshot: SnapshotFacts, producer: str) -> bool:
    """Whether a reader of changes gets rows from ``snapshot``.

    It does if there are changelog records, whatever the kind.  Without a changelog producer it
    does if rows were added.  An overwrite that replaces as many rows as it takes away says so
    nowhere in its document: it counts, because an event too many is better than one too few.
    """
    if snapshot.changelog_rows:
        return True
    if producer != "none":
        return False
    if snapshot.kind == "OVERWRITE":
        return snapshot.total_rows > 0 and snapshot.operation != _NO_ROWS_ADDED
    return snapshot.kind == "APPEND" and snapshot.delta_rows > 0


def counts(snapshot: SnapshotFacts, producer: str, on: str) -> bool:
    """Whether ``snapshot`` is one of those that ``on`` names.

    Raises:
        ArgumentError: ``on`` is none of ``ON``.
    """
    match on:
        case "any":
            return True
        case "changes":
            return delivers_changes(snapshot, producer)
        case "delete":
            return snapshot.kind == "OVERWRITE" and (
                snapshot.delta_rows < 0 or snapshot.operation in {"DELETE", _NO_ROWS_ADDED}
            )
        case "append" | "overwrite" | "compact":
            return snapshot.kind == on.upper()
    raise _unknown(on)


def require_known(on: str) -> None:
    """Refuse what is none of ``ON``.

    Raises:
        ArgumentError: it is none.
    """
    if on not in ON:
        raise _unknown(on)


def _unknown(on: str) -> ArgumentError:
    return ArgumentError(f"on={on!r} is none of {', '.join(ON)}", argument="on", value=on)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSnapshots:
    """Satisfied when snapshots after ``after`` count for ``on`` and hold ``min_rows`` together."""

    after: int = 0
    on: str = "changes"
    min_rows: int = 0

    def __post_init__(self) -> None:
        require_known(self.on)

    def found(self, snapshots: Sequence[SnapshotFacts], producer: str) -> list[SnapshotFacts]:
        """The snapshots that satisfy this, oldest first; none while it is not satisfied."""
        new = sorted(
            (s for s in snapshots if s.id > self.after and counts(s, producer, self.on)),
            key=lambda s: s.id,
        )
        return new if sum(map(rows_of, new)) >= self.min_rows else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How far a watcher has come.  The time tells a table that was made anew from the old one."""

    snapshot_id: int = 0
    time_millis: int = 0

    def to_json(self) -> dict[str, int]:
        """As it is stored."""
        return {"snapshot_id": self.snapshot_id, "time_millis": self.time_millis}

    @classmethod
    def from_json(cls, stored: Any) -> Seen:
        """Read what ``to_json`` made."""
        return cls(snapshot_id=int(stored["snapshot_id"]), time_millis=int(stored["time_millis"]))

    @classmethod
    def up_to(cls, snapshot: SnapshotFacts) -> Seen:
        """Everything up to and with ``snapshot``."""
        return cls(snapshot_id=snapshot.id, time_millis=snapshot.time_millis)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNews:
    """The newest snapshots of a table, as far back as somebody has not seen them."""

    snapshots: tuple[SnapshotFacts, ...] = ()
    """Oldest first; none without a table or without snapshots."""
    since: Seen | None = None
    """How far back they go; None for the head alone."""
    producer: str = "none"
    """The table's changelog producer."""
    partitioned: bool = False

    @property
    def head(self) -> Seen:
        """How far these news go."""
        return Seen.up_to(self.snapshots[-1]) if self.snapshots else Seen()

    def covers(self, seen: Seen) -> bool:
        """Whether nothing is missing for somebody who has come as far as ``seen``."""
        if self.head == seen or not self.snapshots:
            return True
        return self.since is not None and self.since.snapshot_id <= seen.snapshot_id


def unseen(snapshots: Sequence[SnapshotFacts], seen: Seen) -> list[SnapshotFacts]:
    """The snapshots that are new to somebody who has come as far as ``seen``, oldest first.

    After a rollback, or when the table was dropped and made anew, numbers start over: then the
    time decides, and what is younger than the last one seen is new.
    """
    ordered = sorted(snapshots, key=lambda s: s.id)
    if not ordered:
        return []
    at_mark = next((s for s in ordered if s.id == seen.snapshot_id), None)
    restarted = ordered[-1].id < seen.snapshot_id or (
        at_mark is not None and at_mark.time_millis != seen.time_millis
    )
    if restarted:
        return [s for s in ordered if s.time_millis > seen.time_millis]
    return [s for s in ordered if s.id > seen.snapshot_id]


def event_document(
    table: str,
    snapshots: Sequence[SnapshotFacts],
    producer: str,
    partitions: Sequence[Mapping[str, str | None]] | None = None,
) -> dict[str, Any]:
    """Describe ``snapshots`` (oldest first): a watcher's payload and a task's event extra.

    ``rows`` are signed: a compaction that drops old versions has fewer rows after than before.
    ``snapshot_id`` is the newest one; consumers that may see an event twice compare it.
    ``partitions`` are those that the snapshots touched; None if nobody looked or they are many.
    """
    rows: Counter[str] = Counter()
    for snapshot in snapshots:
        rows[snapshot.kind.lower()] += snapshot.delta_rows
        rows["changelog"] += snapshot.changelog_rows
    newest = snapshots[-1]
    return {
        "version": EVENT_VERSION,
        "table": table,
        "snapshot_id": newest.id,
        "snapshots": {"first": snapshots[0].id, "last": newest.id, "count": len(snapshots)},
        "committed_at_ms": newest.time_millis,
        "kinds": dict(Counter(s.kind for s in snapshots)),
        "delivers_changes": any(delivers_changes(s, producer) for s in snapshots),
        "rows": dict(rows),
        "partitions": None if partitions is None else [dict(one) for one in partitions],
    }


def rows_of(snapshot: SnapshotFacts) -> int:
    """How many rows a snapshot touches, for thresholds."""
    return max(snapshot.changelog_rows, abs(snapshot.delta_rows))


def matching_partitions(
    touched: Sequence[Mapping[str, str | None]] | None, wanted: Sequence[Mapping[str, str]]
) -> bool:
    """Whether one of ``touched`` agrees with one of ``wanted``; unknown ones may."""
    if touched is None:
        return True
    return any(all(one.get(k) == v for k, v in want.items()) for one in touched for want in wanted)
