"""Where in a source a reader stands: everything up to there is taken, nothing after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from table_core.position.files import FilesTaken
from table_core.position.lines import FilesRead, OffsetsPlace
from table_core.position.log import LogPlace
from table_core.position.members import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Place", "SnapshotLike", "SnapshotPlace", "SourcePlace", "place_from_document"]


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
        """Whether both are one snapshot, as far as their marks tell; without them their times, if both have one."""
        if self.id != other.id:
            return False
        if self.mark and other.mark:
            return self.mark == other.mark
        return not (self.time_ms and other.time_ms) or self.time_ms == other.time_ms

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


SourcePlace: TypeAlias = FilesRead | OffsetsPlace | LogPlace
"""Where change capture stands in what it reads."""
Place: TypeAlias = SnapshotPlace | FilesTaken | SourcePlace
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
