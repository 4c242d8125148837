"""How far a source was read, as text that goes into a snapshot property.

For files: lines and bytes consumed of each file, by name.  Names, not an order, because a file
that sorts before others may arrive after them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.ahead import all_taken, lines_of_both, still_ahead
from table_core.errors import EventError
from table_core.position.files import FilesRead, Taken
from table_core.position.packed import MANY, packed, unpacked
from table_core.position.place import OffsetsPlace
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["POSITION_PROPERTY", "FileMark", "FilesPosition", "OffsetsPosition", "Piece"]

POSITION_PROPERTY: Final = "tc.source.position"
_VERSION: Final = 1
_LONG: Final = range(1 << 63)


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


@dataclass(frozen=True, slots=True)
class FileMark:
    """What tells a file from another one of its name."""

    head: str = ""
    """How it begins; '' if nobody looked."""
    state: str = ""
    """How its store showed it when it was read; '' if nobody looked."""


@dataclass(frozen=True, slots=True)
class FilesPosition:
    """Lines and bytes consumed, by file name.  ``parse`` reads ``text`` and ``short``."""

    consumed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    marks: Mapping[str, FileMark] = field(default_factory=dict)
    """By file; not part of ``text``."""
    beyond: Mapping[str, str] = field(default_factory=dict)
    """Lines behind those that were taken too, by file: ``lines_ahead``; not part of ``text``."""

    @classmethod
    def parse(cls, text: str | None) -> FilesPosition:
        """Read what ``text`` wrote; None is the start.

        Raises:
            EventError: the text is no position of files, e.g. that of another kind of source.
        """
        if text is None:
            return cls()
        problem = EventError(
            f"the table's position {text[:80]!r} was not written by a source of files; "
            "sync it with the source that wrote it, or drop the table to start again",
            position=text,
        )
        try:
            document: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise problem from error
        if not isinstance(document, dict) or document.get("v") != _VERSION:
            raise problem
        files = document.get("files")
        if "packed" in document:
            try:
                files = unpacked(document["packed"])
            except ValueError as error:
                raise problem from error
        if not isinstance(files, dict) or not all(_is_pair(pair) for pair in files.values()):
            raise problem
        return cls({name: (lines, size) for name, (lines, size) in files.items()})

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same position."""
        return json.dumps({"v": _VERSION, "files": self._files}, separators=(",", ":"))

    @property
    def short(self) -> str:
        """``text`` as a snapshot keeps it: many files are packed."""
        if len(self.consumed) <= MANY:
            return self.text
        document = {"v": _VERSION, "files": len(self.consumed), "packed": packed(self._files)}
        return json.dumps(document, separators=(",", ":"))

    @property
    def _files(self) -> dict[str, list[int]]:
        return {name: list(self.consumed[name]) for name in sorted(self.consumed)}

    def after(self, name: str, lines: int, size: int) -> FilesPosition:
        """This position once ``lines`` and ``size`` bytes of ``name`` are consumed in all."""
        beyond = still_ahead(self.beyond, name, lines)
        return FilesPosition({**self.consumed, name: (lines, size)}, self.marks, beyond)

    @property
    def place(self) -> FilesRead:
        """The same for the document of positions; what was taken out of turn is not in it."""
        return FilesRead(
            files={
                name: Taken(lines, size, mark.head, mark.state)
                for name, (lines, size) in self.consumed.items()
                for mark in (self.marks.get(name, FileMark()),)
            }
        )

    @classmethod
    def of_place(cls, place: FilesRead, beyond: Mapping[str, str]) -> FilesPosition:
        """The position at ``place``."""
        return cls(
            {name: (taken.lines, taken.size) for name, taken in place.files.items()},
            {name: FileMark(taken.mark, taken.state) for name, taken in place.files.items()},
            beyond,
        )

    def renamed(self, names: Callable[[str], str]) -> FilesPosition:
        """This position with other names of the files."""
        return FilesPosition(
            {names(n): v for n, v in self.consumed.items()},
            {names(n): v for n, v in self.marks.items()},
            {names(n): v for n, v in self.beyond.items()},
        )

    def covers(self, other: FilesPosition) -> bool:
        """Whether everything that ``other`` consumed is consumed here too."""
        return _covers(self, other)

    def joined(self, other: FilesPosition) -> FilesPosition:
        """What is consumed here or in ``other``."""
        further = {n for n, at in other.consumed.items() if at >= self.consumed.get(n, (0, 0))}
        consumed = {**self.consumed, **{n: other.consumed[n] for n in further}}
        newer = {n: mark for n, mark in other.marks.items() if n in further}
        return FilesPosition(consumed, {**self.marks, **newer}, _beyond_of_both(self, other))

    @property
    def boundary(self) -> FilesPosition:
        """This position without what was taken out of turn."""
        return replace(self, beyond={})

    def ahead(self, listing: Iterable[tuple[str, int]]) -> list[Piece]:
        """What is left to read of the files (name, size) there are, by name.

        Raises:
            EventError: a file is shorter than what was read of it, so it was replaced.
        """
        pieces = []
        for name, size in sorted(listing):
            lines, read = self.consumed.get(name, (0, 0))
            if size < read:
                raise EventError(
                    f"{name} has {size} bytes, but {read} were read of it before: it was replaced. "
                    "Write events to new files, or append them to old ones",
                    file=name,
                    line=lines,
                )
            if size > read:
                pieces.append(Piece(name, size, lines, 0 if name.endswith(".gz") else read))
        return pieces


def _is_pair(pair: object) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(n) is int and n in _LONG for n in pair)
    )


def _whole(number: object) -> int:
    if type(number) is not int or number not in _LONG:
        raise ValueError(f"{number!r} is no offset")
    return number


@dataclass(frozen=True, slots=True)
class OffsetsPosition:
    """The next offset of every partition of the topics read."""

    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    beyond: Mapping[str, str] = field(default_factory=dict)
    """Records behind those that were taken too, by topic and partition; not part of ``text``."""

    @classmethod
    def parse(cls, text: str | None) -> OffsetsPosition:
        """Read what ``text`` wrote; None is the start.

        Raises:
            EventError: it is the position of another kind of source.
        """
        if text is None:
            return cls()
        problem = EventError(
            f"the table's position {text[:80]!r} was not written by a source of Kafka topics; "
            "sync it with the source that wrote it, or drop the table to start again",
            position=text,
        )
        try:
            return cls(
                {
                    (topic, int(n)): _whole(offset)
                    for topic, partitions in json.loads(text)["topics"].items()
                    for n, offset in partitions.items()
                }
            )
        except UNFORESEEN as error:
            raise problem from error

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same position."""
        topics: dict[str, dict[str, int]] = {}
        for (topic, n), offset in sorted(self.offsets.items()):
            topics.setdefault(topic, {})[str(n)] = offset
        return json.dumps({"v": _VERSION, "topics": topics}, separators=(",", ":"))

    def next_of(self, topic: str, partition: int) -> int:
        """The offset that comes next."""
        return self.offsets.get((topic, partition), 0)

    @property
    def consumed(self) -> dict[str, tuple[int, int]]:
        """Records consumed, by partition, as ``FilesPosition`` has lines by file."""
        return {f"{topic}\0{n}": (offset, 0) for (topic, n), offset in self.offsets.items()}

    def after(self, places: Iterable[tuple[str, int, int]]) -> OffsetsPosition:
        """This position once records (topic, partition, offset) are consumed."""
        offsets = dict(self.offsets)
        for topic, n, offset in places:
            offsets[topic, n] = max(offset + 1, offsets.get((topic, n), 0))
        beyond = self.beyond
        for (topic, n), offset in offsets.items():
            if beyond:
                beyond = still_ahead(beyond, f"{topic}\0{n}", offset)
        return OffsetsPosition(offsets, beyond)

    def ended(self, ends: Mapping[tuple[str, int], int]) -> OffsetsPosition:
        """This position once partitions were read up to ``ends``, whatever stands before them.

        Behind the last record may be the marks of transactions, and records of those that were aborted: a
        topic with the records 0 and 1 and a mark ends at 3.
        """
        offsets = dict(self.offsets)
        for at, end in ends.items():
            offsets[at] = max(end, offsets.get(at, 0))
        beyond = self.beyond
        for (topic, n), end in ends.items():
            if beyond:
                beyond = still_ahead(beyond, f"{topic}\0{n}", end)
        return OffsetsPosition(offsets, beyond)

    @property
    def place(self) -> OffsetsPlace:
        """The same for the document of positions; what was taken out of turn is not in it."""
        return OffsetsPlace(offsets=self.offsets)

    @classmethod
    def of_place(cls, place: OffsetsPlace, beyond: Mapping[str, str]) -> OffsetsPosition:
        """The position at ``place``."""
        return cls(place.offsets, beyond)

    def covers(self, other: OffsetsPosition) -> bool:
        """Whether everything that ``other`` consumed is consumed here too."""
        return _covers(self, other)

    def joined(self, other: OffsetsPosition) -> OffsetsPosition:
        """What is consumed here or in ``other``."""
        further = {at: n for at, n in other.offsets.items() if n >= self.offsets.get(at, 0)}
        return OffsetsPosition({**self.offsets, **further}, _beyond_of_both(self, other))

    @property
    def boundary(self) -> OffsetsPosition:
        """This position without what was taken out of turn."""
        return replace(self, beyond={})


def _covers(at: FilesPosition | OffsetsPosition, other: FilesPosition | OffsetsPosition) -> bool:
    ends = {name: lines for name, (lines, _) in at.consumed.items()}
    return all(ends.get(name, 0) >= lines for name, (lines, _) in other.consumed.items()) and all(
        all_taken(text, ends.get(name, 0), at.beyond.get(name, ""))
        for name, text in other.beyond.items()
    )


def _beyond_of_both(
    one: FilesPosition | OffsetsPosition, other: FilesPosition | OffsetsPosition
) -> dict[str, str]:
    ends = {
        name: max(at.consumed.get(name, (0, 0))[0] for at in (one, other))
        for name in {**one.beyond, **other.beyond}
    }
    texts = {
        name: lines_of_both((one.beyond.get(name, ""), other.beyond.get(name, "")), end)
        for name, end in ends.items()
    }
    return {name: text for name, text in texts.items() if text}
