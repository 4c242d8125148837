"""Places in lines that were read in order: of files that grow, and of the partitions of topics.

A commit in the middle of a window of lines has taken some of them out of their turn: see ``ahead``.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from table_core.errors import EventError
from table_core.position.ahead import all_taken, lines_of_both, still_ahead
from table_core.position.members import checked, is_whole, natural, written_by
from table_core.position.packed import MANY, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["FilesRead", "LinesPlace", "OffsetsPlace", "Piece", "Taken"]

_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesPlace(ABC):
    """How many lines were taken of each file or partition."""

    beyond: Mapping[str, str] = field(default_factory=dict)
    """Lines behind those that were taken too, by file or partition: ``lines_ahead``; not part of the document."""

    @property
    @abstractmethod
    def names(self) -> Iterable[str]:
        """What was read: paths of files, or a topic and a partition, joined by a zero character."""

    @abstractmethod
    def end_of(self, name: str) -> int:
        """So many lines of ``name`` were taken in turn."""

    @property
    @abstractmethod
    def text(self) -> str:
        """Compact JSON, the same for the same place."""

    @property
    def short(self) -> str:
        """``text`` for people."""
        return self.text

    def covers(self, other: Self) -> bool:
        """Whether everything that ``other`` has taken is taken here too."""
        return all(self.end_of(name) >= other.end_of(name) for name in other.names) and all(
            all_taken(text, self.end_of(name), self.beyond.get(name, ""))
            for name, text in other.beyond.items()
        )

    @property
    def boundary(self) -> Self:
        """This place without what was taken out of turn."""
        return replace(self, beyond={})

    def _beyond_of_both(self, other: Self) -> dict[str, str]:
        texts = {
            name: lines_of_both(
                (self.beyond.get(name, ""), other.beyond.get(name, "")),
                max(self.end_of(name), other.end_of(name)),
            )
            for name in {**self.beyond, **other.beyond}
        }
        return {name: text for name, text in texts.items() if text}


@dataclass(frozen=True, slots=True)
class Taken:
    """How far one file was read."""

    lines: int
    size: int
    """Bytes; 0 for a compressed file that was not read to its end."""
    mark: str = ""
    """What tells the file from another at its path, e.g. a digest of how it begins; '' if nobody looked."""
    state: str = ""
    """How the store showed it then, in a few letters; '' if nobody looked."""


_NOTHING: Final = Taken(0, 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of one file that is still to be read."""

    name: str
    size: int
    """Bytes of the file when it was listed; what is appended later belongs to the next run."""
    lines: int
    """Lines consumed before."""
    offset: int
    """Bytes consumed before; 0 for a compressed file, which is read again from its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRead(LinesPlace):
    """Lines and bytes taken of files that may grow, by their whole paths.

    Paths, not an order, because a file that sorts before others may arrive after them.  ``parse`` reads
    ``text`` and ``short``, which leave out what tells the files from others.
    """

    kind: ClassVar[str] = "read"
    files: Mapping[str, Taken] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> FilesRead:
        """Read what ``text`` wrote; None is the start.

        Raises:
            EventError: the text is no place in files, e.g. that of another kind of source.
        """
        if text is None:
            return cls()
        with written_by("a source of files", text):
            document = json.loads(text)
            if document["v"] != _VERSION:
                raise ValueError(f"version {document['v']!r}")
            files = unpacked(document["packed"]) if "packed" in document else document["files"]
            return cls(
                files={
                    name: Taken(natural(lines), natural(size))
                    for name, (lines, size) in files.items()
                }
            )

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same place."""
        return json.dumps({"v": _VERSION, "files": self._pairs}, separators=(",", ":"))

    @property
    def short(self) -> str:
        """``text`` for people: many files are packed."""
        if len(self.files) <= MANY:
            return self.text
        document = {"v": _VERSION, "files": len(self.files), "packed": packed(self._pairs)}
        return json.dumps(document, separators=(",", ":"))

    @property
    def _pairs(self) -> dict[str, list[int]]:
        return {name: [taken.lines, taken.size] for name, taken in sorted(self.files.items())}

    @property
    def names(self) -> Iterable[str]:
        """Paths of files."""
        return self.files

    def end_of(self, name: str) -> int:
        """So many lines of the file were taken in turn."""
        return self.files.get(name, _NOTHING).lines

    def after(self, name: str, taken: Taken) -> FilesRead:
        """This place once the file ``name`` is ``taken``."""
        beyond = still_ahead(self.beyond, name, taken.lines)
        return FilesRead(files={**self.files, name: taken}, beyond=beyond)

    def renamed(self, names: Callable[[str], str]) -> FilesRead:
        """This place with other names of the files."""
        return FilesRead(
            files={names(name): taken for name, taken in self.files.items()},
            beyond={names(name): text for name, text in self.beyond.items()},
        )

    def only(self, names: Collection[str]) -> FilesRead:
        """This place without the files that are not among ``names``."""
        return FilesRead(
            files={name: taken for name, taken in self.files.items() if name in names},
            beyond={name: text for name, text in self.beyond.items() if name in names},
        )

    def joined(self, other: FilesRead) -> FilesRead:
        """What is taken here or in ``other``, which is newer."""
        further = {
            name: taken
            for name, taken in other.marked_by(self).files.items()
            if _pair(taken) >= _pair(self.files.get(name, _NOTHING))
        }
        return FilesRead(files={**self.files, **further}, beyond=self._beyond_of_both(other))

    def marked_by(self, other: FilesRead) -> FilesRead:
        """This place, with what ``other`` knows of files of which it has read as much."""

        def marked(name: str, taken: Taken) -> Taken:
            known = other.files.get(name, _NOTHING)
            return known if not taken.mark and _pair(known) == _pair(taken) else taken

        return replace(self, files={n: marked(n, taken) for n, taken in self.files.items()})

    def ahead(self, listing: Iterable[tuple[str, int]]) -> list[Piece]:
        """What is left to read of the files (name, size) there are, by name.

        Raises:
            EventError: a file is shorter than what was read of it, so it was replaced.
        """
        pieces = []
        for name, size in sorted(listing):
            taken = self.files.get(name, _NOTHING)
            if size < taken.size:
                raise EventError(
                    f"{name} has {size} bytes, but {taken.size} were read of it before: it was replaced. "
                    "Write events to new files, or append them to old ones",
                    file=name,
                    line=taken.lines,
                )
            if size > taken.size:
                offset = 0 if name.endswith(".gz") else taken.size
                pieces.append(Piece(name, size, taken.lines, offset))
        return pieces

    def to_document(self) -> dict[str, Any]:
        """JSON members: files by folder; many are packed."""
        folders: dict[str, dict[str, list[Any]]] = {}
        for path, taken in sorted(self.files.items()):
            folder, _, name = path.rpartition("/")
            members = [taken.lines, taken.size, taken.mark, taken.state]
            count = 4 if taken.state else 3 if taken.mark else 2
            folders.setdefault(folder, {})[name] = members[:count]
        if len(self.files) > MANY:
            return {"kind": self.kind, "files": len(self.files), "packed": packed(folders)}
        return {"kind": self.kind, "folders": folders}

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> FilesRead:
        """Read what ``to_document`` made."""
        folders = unpacked(members["packed"]) if "packed" in members else members["folders"]
        return cls(
            files={
                f"{folder}/{name}" if folder else name: checked(Taken(*taken))
                for folder, names in folders.items()
                for name, taken in names.items()
            }
        )

    def __str__(self) -> str:
        lines = sum(taken.lines for taken in self.files.values())
        return f"{lines} lines of {len(self.files)} files"


def _pair(taken: Taken) -> tuple[int, int]:
    return taken.lines, taken.size


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsPlace(LinesPlace):
    """The next offset of every partition of the topics read.  ``parse`` reads ``text``."""

    kind: ClassVar[str] = "offsets"
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> OffsetsPlace:
        """Read what ``text`` wrote; None is the start.

        Raises:
            EventError: it is the place of another kind of source.
        """
        if text is None:
            return cls()
        with written_by("a source of Kafka topics", text):
            return cls(offsets=_offsets(json.loads(text)["topics"], natural))

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same place."""
        return json.dumps({"v": _VERSION, "topics": self._topics}, separators=(",", ":"))

    @property
    def _topics(self) -> dict[str, dict[str, int]]:
        topics: dict[str, dict[str, int]] = {}
        for (topic, n), offset in sorted(self.offsets.items()):
            topics.setdefault(topic, {})[str(n)] = offset
        return topics

    @property
    def names(self) -> Iterable[str]:
        """Topics and partitions."""
        return [f"{topic}\0{n}" for topic, n in self.offsets]

    def end_of(self, name: str) -> int:
        """So many records of the partition were taken in turn."""
        topic, _, n = name.rpartition("\0")
        return self.next_of(topic, int(n))

    def next_of(self, topic: str, partition: int) -> int:
        """The offset that comes next."""
        return self.offsets.get((topic, partition), 0)

    def after(self, places: Iterable[tuple[str, int, int]]) -> OffsetsPlace:
        """This place once records (topic, partition, offset) are consumed."""
        ends: dict[tuple[str, int], int] = {}
        for topic, n, offset in places:
            ends[topic, n] = max(offset + 1, ends.get((topic, n), 0))
        return self.ended(ends)

    def ended(self, ends: Mapping[tuple[str, int], int]) -> OffsetsPlace:
        """This place once partitions were read up to ``ends``, whatever stands before them.

        Behind the last record may be the marks of transactions, and records of those that were aborted: a
        topic with the records 0 and 1 and a mark ends at 3.
        """
        offsets, beyond = dict(self.offsets), self.beyond
        for at, end in ends.items():
            offsets[at] = max(end, offsets.get(at, 0))
            if beyond:
                beyond = still_ahead(beyond, f"{at[0]}\0{at[1]}", offsets[at])
        return OffsetsPlace(offsets=offsets, beyond=beyond)

    def joined(self, other: OffsetsPlace) -> OffsetsPlace:
        """What is taken here or in ``other``."""
        further = {at: n for at, n in other.offsets.items() if n >= self.offsets.get(at, 0)}
        beyond = self._beyond_of_both(other)
        return OffsetsPlace(offsets={**self.offsets, **further}, beyond=beyond)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        return {"kind": self.kind, "topics": self._topics}

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> OffsetsPlace:
        """Read what ``to_document`` made."""
        offsets = _offsets(members["topics"], lambda offset: offset)
        if not all(map(is_whole, offsets.values())):
            raise ValueError(f"offsets are {offsets!r:.80}")
        return cls(offsets=offsets)

    def __str__(self) -> str:
        ends = (f"{topic}[{n}]={offset}" for (topic, n), offset in sorted(self.offsets.items()))
        return f"offsets {', '.join(ends)}"


def _offsets(topics: Any, read: Callable[[Any], int]) -> dict[tuple[str, int], int]:
    return {
        (topic, int(n)): read(offset)
        for topic, partitions in topics.items()
        for n, offset in partitions.items()
    }
