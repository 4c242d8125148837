"""What is known of a snapshot, and what follows from it.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from table_core.position.place import SnapshotPlace

__all__ = [
    "TRUNCATE",
    "NoteLike",
    "SnapshotFacts",
    "SnapshotLike",
    "delivers_changes",
    "rows_of",
]

TRUNCATE: Final = "TRUNCATE"
"""What Paimon calls an overwrite that only takes rows away."""
_STATEMENTS: Final = frozenset({"DELETE", "UPDATE", "MERGE"})


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

    @property
    def delta_manifest_list(self) -> str:
        """Name of the list of what it changed: made for it, and never used again."""
        ...


class NoteLike(Protocol):
    """What the core tells of a commit: ``table_core.table.commit_io.deliveries.CommitNote``."""

    def to_document(self) -> dict[str, Any]:
        """JSON-safe members."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFacts:
    """What is known of one snapshot from its document alone, or of neighbours that are alike."""

    id: int
    """Of several the newest."""
    kind: str | None
    """None: it has landed and is expired, and what it was is known no more."""
    operation: str | None
    user: str
    time_millis: int
    total_rows: int
    delta_rows: int
    changelog_rows: int
    watermark: int | None = None
    mark: str = field(default="", compare=False)
    """What tells it from another snapshot of that number; '' if nobody kept it."""
    first: int | None = None
    """Of several the number of the oldest."""
    count: int = 1
    added: int | None = None
    """Rows that came, were changed in their place, were taken away; None of writers that do not say."""
    updated: int | None = None
    deleted: int | None = None
    partitions: tuple[Mapping[str, str | None], ...] | None = None
    """Those whose rows changed; None where nobody can tell, or where they are many."""
    partitions_total: int | None = None
    producer: str | None = field(default=None, compare=False)
    """The changelog producer that it was written under; None: nobody said."""

    @classmethod
    def expired(cls, first: int, last: int) -> SnapshotFacts:
        """Snapshots that are gone before anybody has seen what they were."""
        return cls(
            id=last,
            first=first,
            kind=None,
            operation=None,
            user="",
            time_millis=0,
            total_rows=0,
            delta_rows=0,
            changelog_rows=0,
        )

    @property
    def place(self) -> SnapshotPlace:
        """Up to and with it."""
        return SnapshotPlace(id=self.id, mark=self.mark, time_ms=self.time_millis)

    @property
    def is_known(self) -> bool:
        """Whether its writer has said what it delivers."""
        return self.added is not None

    @property
    def touched(self) -> int | None:
        """Rows that came, changed or went; None of writers that do not say."""
        if self.added is None:
            return None
        return self.added + (self.updated or 0) + (self.deleted or 0)

    @classmethod
    def told(cls, note: NoteLike | Mapping[str, Any]) -> SnapshotFacts:
        """Read them off a note of the core, or off its document in the result of a job."""
        told = note if isinstance(note, Mapping) else note.to_document()
        partitions, known = told["partitions"], told["partitions_total"] or told["partitions"]
        rows = dict.fromkeys(("added", "updated", "deleted"))
        if told.get("recorded", True):
            rows = {name: None if told[name] is None else int(told[name]) for name in rows}
        uncounted = told["kind"] == "COMPACT" and told["changelog_rows"]
        if uncounted and not any(rows.values()):
            rows = dict.fromkeys(rows)  # nobody has counted what the compaction found out
        return cls(
            id=told["last"],
            first=told["first"],
            count=told["count"],
            kind=told["kind"],
            operation=told["operation"],
            user=told["user"],
            time_millis=told["committed_at_ms"] or 0,
            total_rows=told["total_rows"],
            delta_rows=told["delta_rows"],
            changelog_rows=told["changelog_rows"],
            watermark=told["watermark"],
            mark=mark_of(told.get("mark", "")),
            partitions=None if partitions is None else tuple(partitions),
            partitions_total=told["partitions_total"] if known is not None else None,
            producer=told.get("producer"),
            **rows,
        )

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
            mark=mark_of(snapshot.delta_manifest_list),
        )


def mark_of(name: str) -> str:
    """A short digest of the name of a file that only one snapshot has."""
    return hashlib.sha256(name.encode()).hexdigest()[:12] if name else ""


def delivers_changes(snapshot: SnapshotFacts, producer: str) -> bool:
    """Whether a reader of changes gets rows from ``snapshot``.

    It does if there are changelog records, whatever the kind.  Without a changelog producer it
    does if rows were added, changed or deleted by a statement.  A foreign overwrite that replaces as
    many rows as it takes away says so nowhere in its document: it counts, because an event too many
    is better than one too few.

    ``producer``: the table's, for a snapshot that does not say under which it was written.
    """
    producer = snapshot.producer or producer
    if snapshot.changelog_rows or snapshot.kind is None:
        return True
    if producer != "none":
        return False
    if snapshot.kind == "OVERWRITE":
        if snapshot.operation in _STATEMENTS and snapshot.is_known:
            return bool(snapshot.touched)
        adds = snapshot.added is None or snapshot.added > 0
        return adds and snapshot.total_rows > 0 and snapshot.operation != TRUNCATE
    return snapshot.kind == "APPEND" and snapshot.delta_rows > 0


def rows_of(snapshot: SnapshotFacts) -> int:
    """How many rows a snapshot touches, for thresholds."""
    touched = snapshot.touched
    known = abs(snapshot.delta_rows) if touched is None else touched
    if touched and snapshot.kind == "COMPACT":
        return touched  # its changelog has two rows of an update
    return max(snapshot.changelog_rows, known)
