"""How far a stream has come, as the JSON that a checkpoint keeps.

    {"snapshot": 5, "index": 2, "full": "all"}     two files of the state at 5 are taken
    {"snapshot": 6, "index": 0}                    the changes of 6 come next

and with it what tells the snapshot that was read last from another of its number, and the table's birth:

    "read": {"kind": "snapshot", "id": 5, "mark": "manifest-list-…", "time_ms": …}, "birth": "…"

Earlier releases stored neither: a stream goes on from such a position, and has them from its next one.
Positions grow: the state at a snapshot, then the changes of the snapshots after it, file by file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.position.place import SnapshotPlace
from table_core.scan.follow import Levels, Start

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.scan.split import Split

__all__ = ["NO_LIMIT", "ReadLimit", "StreamOffset", "taken"]

_MEMBERS: Final = frozenset(
    {"snapshot", "index", "full", "created_after_ms", "read", "birth", "began"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """The next thing that a stream reads."""

    snapshot: int
    index: int = 0
    """So many files of it are taken."""
    full: Levels | None = None
    """These levels of the state at ``snapshot``; None for its changes."""
    created_after_ms: int | None = None
    """Of the state, only files created at this time or later."""
    read: SnapshotPlace | None = field(default=None, compare=False)
    """The snapshot that was looked into last: this one if a part of it is taken, else the one before."""
    birth: str = field(default="", compare=False)
    """Of the table; '' where nobody stored it."""
    began: StreamOffset | None = None
    """The beginning of a stream whose first step ends here: nobody else remembers it."""

    @classmethod
    def of(cls, begin: Start) -> StreamOffset:
        """Where a stream stands that begins so."""
        if begin.full is None:
            return cls(snapshot=begin.next_id)
        return cls(
            snapshot=begin.full.id, full=begin.levels, created_after_ms=begin.created_after_ms
        )

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> StreamOffset:
        """The position that ``to_document`` gave.

        Raises:
            ArgumentError: it is no position of a stream; the message shows it.
        """
        snapshot, index = document.get("snapshot"), document.get("index", 0)
        full, created = document.get("full"), document.get("created_after_ms")
        began, read, birth = document.get("began"), document.get("read"), document.get("birth", "")
        if not (
            document.keys() <= _MEMBERS
            and isinstance(snapshot, int)
            and isinstance(index, int)
            and (full is None or full in set(Levels))
            and (created is None or isinstance(created, int))
            and (began is None or isinstance(began, dict))
            and (read is None or _is_place(read))
            and isinstance(birth, str)
        ):
            raise ArgumentError(
                f"{dict(document)!r} is no position of a stream of ours: the checkpoint was made "
                "by another source; start with a new one",
                argument="offset",
                value=dict(document),
            )
        return cls(
            snapshot=snapshot,
            index=index,
            full=None if full is None else Levels(str(full)),
            created_after_ms=created,
            read=_place(read),
            birth=birth,
            began=None if began is None else cls.from_document(began),
        )

    def to_document(self) -> dict[str, object]:
        """JSON-safe members; those that say nothing are left out."""
        document: dict[str, object] = {"snapshot": self.snapshot, "index": self.index}
        if self.full is not None:
            document["full"] = self.full.value
        if self.created_after_ms is not None:
            document["created_after_ms"] = self.created_after_ms
        if self.read is not None and self.read.mark:
            document["read"] = self.read.to_document()
        if self.birth:
            document["birth"] = self.birth
        if self.began is not None:
            document["began"] = self.began.to_document()
        return document

    def at(self, index: int, read: SnapshotPlace | None) -> StreamOffset:
        """The same snapshot, which is ``read``, when ``index`` of its files are taken."""
        return replace(self, index=index, read=read, began=None)

    def beyond(self, read: SnapshotPlace | None) -> StreamOffset:
        """The changes of the snapshot after this one, which is ``read``."""
        return StreamOffset(snapshot=self.snapshot + 1, read=read, birth=self.birth)

    @property
    def order(self) -> tuple[int, int, int]:
        """Compares as streams go on: changes of a snapshot come before its state is complete."""
        return self.snapshot, int(self.full is not None), self.index

    def is_stored_as(self, other: StreamOffset) -> bool:
        """Whether ``other`` is this, to the last member."""
        return self.to_document() == other.to_document()

    def same_snapshot(self, other: StreamOffset) -> bool:
        """Whether both stand in the same snapshot, read the same way."""
        return (self.snapshot, self.full) == (other.snapshot, other.full)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimit:
    """At most so much at once; a single split may be more, or nothing would ever move."""

    snapshots: int | None = None
    files: int | None = None
    rows: int | None = None
    bytes: int | None = None

    @property
    def counts_files(self) -> bool:
        """Whether one has to look at files to know."""
        return not (self.files is None and self.rows is None and self.bytes is None)

    def allows(self, splits: Iterable[Split]) -> bool:
        """Whether ``splits`` together are within the limit of files, rows and bytes."""
        files = rows = size = 0
        for split in splits:
            files += len(split.files)
            rows += split.row_count
            size += split.size
        return (
            (self.files is None or files <= self.files)
            and (self.rows is None or rows <= self.rows)
            and (self.bytes is None or size <= self.bytes)
        )


NO_LIMIT: Final = ReadLimit()
"""All that is there."""


def _is_place(members: object) -> bool:
    """Whether these are members of a place in a table."""
    if not isinstance(members, dict) or members.get("kind") != SnapshotPlace.kind:
        return False
    types = {"kind": str, "id": int, "mark": str, "time_ms": int}
    return "id" in members and all(
        key in types and isinstance(value, types[key]) for key, value in members.items()
    )


def _place(members: object) -> SnapshotPlace | None:
    if not isinstance(members, dict):
        return None
    return SnapshotPlace.from_document({k: v for k, v in members.items() if k != "kind"})


def taken(splits: Iterable[Split], start: int, stop: int | None) -> list[Split]:
    """The splits that hold the files from ``start`` to ``stop``.

    Raises:
        ArgumentError: a split begins before ``start`` and ends after it: it was planned otherwise.
    """
    chosen, before = [], 0
    for split in splits:
        after = before + len(split.files)
        for edge in (start, stop):
            if edge is not None and before < edge < after:
                raise ArgumentError(
                    f"file {edge} of snapshot {split.snapshot_id} is not a place where the "
                    "stream can stop: source.split.* was changed during its first full read; set "
                    "it back until that read is done, or start with a new checkpoint",
                    argument="offset",
                    value=edge,
                )
        if before >= start and (stop is None or after <= stop):
            chosen.append(split)
        before = after
    if start > before or (stop is not None and stop > before):
        raise ArgumentError(
            f"the stream is at file {max(start, stop or 0)} of a snapshot of {before} files: "
            "its checkpoint belongs to another table or to another state of it; start with a "
            "new one",
            argument="offset",
            value=start,
        )
    return chosen
