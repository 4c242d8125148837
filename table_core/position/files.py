"""Which files were taken: by their whole paths, so that order, folder and pattern do not matter.

``FilesTaken`` is for files that are taken whole.  It is exact for a bounded number of files; beyond
that the oldest are remembered by their number and the sum of their digests, and a file of which it
cannot tell is *unclear*, never taken for one or the other.  ``lines.FilesRead`` is for files that grow.

With room for two files, a (time 1), b (2) and c (3) are taken: b and c are known, a is *sealed*: its count,
1, and its number.  A listing of a, b, c finds only a at time 1 or before, whose sum is the sealed one:
nothing is new.  A listing with z of time 1 as well has another sum: a or z is new, and nobody can tell
which, so both are unclear.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.ports import FileInfo

__all__ = ["FILES_MAX", "FileFacts", "FilesTaken", "Look"]

FILES_MAX: Final = 4000
"""So many files are known one by one: about 100 KB of text."""
_PATH: Final = 8
_TIME: Final = 6
_STATE: Final = 4
_RECORD: Final = _PATH + _TIME + _STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """A file as a listing shows it."""

    path: str
    """The whole path or URI, without secrets."""
    size: int
    modified_ms: int
    tag: str = ""
    """What the store says of its content, e.g. an ETag; '' if it says nothing."""

    @classmethod
    def of(cls, root: str, info: FileInfo) -> FileFacts:
        """What the store at the URI ``root`` shows of a file."""
        path = f"{root.rstrip('/')}/{info.path}"
        return cls(path=path, size=info.size, modified_ms=info.modified_ms, tag=info.tag)

    @property
    def key(self) -> bytes:
        """What stands for its path."""
        return hashlib.sha256(self.path.encode()).digest()[:_PATH]

    @property
    def state(self) -> bytes:
        """What stands for its content."""
        text = f"{self.size}|{self.modified_ms}|{self.tag}"
        return hashlib.sha256(text.encode()).digest()[:_STATE]

    @property
    def number(self) -> int:
        """What it adds to the sum of many."""
        return int.from_bytes(hashlib.sha256(self.key + self.state).digest()[:16], "big")


@dataclass(frozen=True, slots=True)
class Look:
    """A listing beside what was taken."""

    new: tuple[FileFacts, ...] = ()
    """To be taken, by path."""
    changed: tuple[FileFacts, ...] = ()
    """Taken, and something else by now."""
    unclear: tuple[FileFacts, ...] = ()
    """As old as files that are not known one by one any more."""


@dataclass(frozen=True, slots=True)
class _Sealed:
    """Files that are known together only."""

    count: int
    sum: int

    @classmethod
    def of(cls, files: Sequence[FileFacts]) -> _Sealed:
        return cls(len(files), sum(file.number for file in files) % (1 << 128))


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTaken:
    """Files that were taken whole."""

    kind: ClassVar[str] = "taken"
    known: Mapping[bytes, tuple[int, bytes]] = field(default_factory=dict, repr=False)
    """By path: when it was modified, and its state."""
    before_ms: int = -1
    """Files that are not known one by one any more were modified at this time or earlier."""
    sealed: _Sealed | None = None

    def look(self, listing: Iterable[FileFacts]) -> Look:
        """What of ``listing`` is new, and what cannot be."""
        new, changed, old = [], [], []
        for file in sorted(listing, key=lambda f: f.path):
            entry = self.known.get(file.key)
            if entry is not None:
                if entry[1] != file.state:
                    changed.append(file)
            elif file.modified_ms <= self.before_ms:
                old.append(file)
            else:
                new.append(file)
        unclear = () if not old or self.sealed == _Sealed.of(old) else tuple(old)
        return Look(tuple(new), tuple(changed), unclear)

    def after(self, listing: Iterable[FileFacts]) -> FilesTaken:
        """This place once all of ``listing`` is taken.

        What is not in the listing is the first that is no longer known one by one.
        """
        files = {file.key: file for file in listing}
        sealed_before = [f for f in files.values() if self._is_sealed(f)]
        known = dict(self.known) | {
            file.key: (file.modified_ms, file.state)
            for file in files.values()
            if not self._is_sealed(file)
        }
        before_ms, sealed = self.before_ms, self.sealed
        if len(known) > FILES_MAX:
            oldest = sorted(known, key=lambda key: (key in files, known[key][0], key))
            gone = oldest[: len(known) - FILES_MAX]
            before_ms = max(before_ms, *(known[key][0] for key in gone))
            forgotten = [files[key] for key in gone if key in files]
            for key in gone:
                del known[key]
            if forgotten or sealed_before:
                sealed = _Sealed.of([*sealed_before, *forgotten])
        return FilesTaken(known=known, before_ms=before_ms, sealed=sealed)

    def _is_sealed(self, file: FileFacts) -> bool:
        return file.key not in self.known and file.modified_ms <= self.before_ms

    @property
    def count(self) -> int:
        """How many files are known."""
        return len(self.known) + (self.sealed.count if self.sealed else 0)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        records = (
            key + ms.to_bytes(_TIME, "big", signed=True) + state
            for key, (ms, state) in sorted(self.known.items())
        )
        document: dict[str, Any] = {
            "kind": self.kind,
            "files": base64.urlsafe_b64encode(b"".join(records)).decode(),
        }
        if self.before_ms >= 0:
            document["before_ms"] = self.before_ms
        if self.sealed is not None:
            document["sealed"] = [self.sealed.count, f"{self.sealed.sum:x}"]
        return document

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> FilesTaken:
        """Read what ``to_document`` made."""
        body = base64.urlsafe_b64decode(members["files"])
        known = {
            body[at : at + _PATH]: (
                int.from_bytes(body[at + _PATH : at + _PATH + _TIME], "big", signed=True),
                body[at + _PATH + _TIME : at + _RECORD],
            )
            for at in range(0, len(body), _RECORD)
        }
        sealed = members.get("sealed")
        return cls(
            known=known,
            before_ms=int(members.get("before_ms", -1)),
            sealed=None if sealed is None else _Sealed(sealed[0], int(sealed[1], 16)),
        )

    def __str__(self) -> str:
        return f"{self.count} files"
