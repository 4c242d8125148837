"""Where in a source a reader stands: everything up to there is taken, nothing after it.

A MySQL transaction begins at binlog.000003:4711 and has ten rows, of which a commit took six: ``order`` is
(3, 4711) and ``skip`` 6.  A log can be read from the begin of a transaction only, so the next run reads all
ten and leaves six out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from table_core.position.files import FilesRead, FilesTaken
from table_core.position.members import checked, is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LogPlace",
    "OffsetsPlace",
    "Place",
    "SnapshotLike",
    "SnapshotPlace",
    "place_from_document",
]


class SnapshotLike(Protocol):
    """The members of a snapshot document that matter here."""

    @property
    def id(self) -> int:
        """Its number."""
        ...

    @property
    def delta_manifest_list(self) -> str:
        """Name of the list of what it changed: made for it, and never used again."""
        ...

    @property
    def time_millis(self) -> int:
        """When it was made."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlace:
    """Everything up to and with a snapshot is taken; ``id`` 0: nothing, the table was empty."""

    kind: ClassVar[str] = "snapshot"
    id: int
    mark: str = ""
    """What tells the snapshot from another of that number; '' if nobody stored it."""
    time_ms: int = 0

    @classmethod
    def of(cls, snapshot: SnapshotLike | None) -> SnapshotPlace:
        """Up to and with ``snapshot``; None: the table has none."""
        if snapshot is None:
            return cls(id=0)
        name = snapshot.delta_manifest_list
        return cls(id=snapshot.id, mark=name, time_ms=snapshot.time_millis)

    def is_at(self, other: SnapshotPlace) -> bool:
        """Whether both are one snapshot, as far as their marks tell."""
        marks_agree = not self.mark or not other.mark or self.mark == other.mark
        return self.id == other.id and marks_agree

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        members = {"kind": self.kind, "id": self.id, "mark": self.mark, "time_ms": self.time_ms}
        return {key: value for key, value in members.items() if value or key in {"kind", "id"}}

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> SnapshotPlace:
        """Read what ``to_document`` made."""
        return checked(cls(**members))

    def __str__(self) -> str:
        return f"snapshot {self.id}" if self.id else "the start"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsPlace:
    """The next offset of every partition of the topics read."""

    kind: ClassVar[str] = "offsets"
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        topics: dict[str, dict[str, int]] = {}
        for (topic, n), offset in sorted(self.offsets.items()):
            topics.setdefault(topic, {})[str(n)] = offset
        return {"kind": self.kind, "topics": topics}

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> OffsetsPlace:
        """Read what ``to_document`` made."""
        offsets = {
            (topic, int(n)): offset
            for topic, partitions in members["topics"].items()
            for n, offset in partitions.items()
        }
        if not all(map(is_whole, offsets.values())):
            raise ValueError(f"offsets are {offsets!r:.80}")
        return cls(offsets=offsets)

    def __str__(self) -> str:
        ends = (f"{topic}[{n}]={offset}" for (topic, n), offset in sorted(self.offsets.items()))
        return f"offsets {', '.join(ends)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Everything before ``order`` in a server's log is taken, and of the transaction there ``skip``."""

    kind: ClassVar[str] = "log"
    order: tuple[int, int]
    """MySQL: number of the file and position; PostgreSQL: LSN and 0."""
    name: str = ""
    """MySQL: the file."""
    gtid: str = ""
    """MySQL, MariaDB: the GTIDs that were taken."""
    skip: int = 0
    rest: Mapping[str, Any] = field(default_factory=dict)
    """What else its source has to know, JSON-safe: e.g. how far a first snapshot has come."""

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        document: dict[str, Any] = {"kind": self.kind, "order": list(self.order)}
        for key in ("name", "gtid", "skip", "rest"):
            if value := getattr(self, key):
                document[key] = value
        return document

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> LogPlace:
        """Read what ``to_document`` made."""
        first, second = members["order"]
        return checked(cls(**{**members, "order": (first, second)}))

    def __str__(self) -> str:
        file, at = self.order
        return f"{self.name}:{at}" if self.name else f"{file >> 32:X}/{file & 0xFFFFFFFF:X}"


Place: TypeAlias = SnapshotPlace | FilesTaken | FilesRead | OffsetsPlace | LogPlace
_KINDS: Final[Mapping[str, type[Any]]] = {
    cls.kind: cls for cls in (SnapshotPlace, FilesTaken, FilesRead, OffsetsPlace, LogPlace)
}


def place_from_document(document: Mapping[str, Any]) -> Place:
    """Read what ``to_document`` of one of them made.

    Raises:
        KeyError: of a kind that this release does not know.
    """
    members = dict(document)
    place: Place = _KINDS[members.pop("kind")].from_document(members)
    return place
