"""The outside world, as the core asks for it.  Protocols only; nothing here does anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Clock", "FileInfo", "Ids", "Storage"]


class Clock(Protocol):
    """Time, so that tests and simulations can own it."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        ...

    def local_offset_ms(self, at_ms: int) -> int:
        """Offset of the local zone from UTC at ``at_ms`` (Paimon stamps files with local time)."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Let ``duration_ms`` pass."""
        ...


class Ids(Protocol):
    """Randomness, so that tests and simulations can own it."""

    def uuid(self) -> str:
        """A new random UUID, lower-case with dashes."""
        ...

    def jitter(self) -> float:
        """A number in [0, 1)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """One entry of a listing.  ``path`` is relative to the storage root, '/'-separated."""

    path: str
    size: int
    modified_ms: int
    is_dir: bool = False
    is_link: bool = False
    """Whether it is a link of a file system, which nobody follows."""
    tag: str = ""
    """What else changes with the content, where the store says it: an ETag, or a finer time."""

    @property
    def stamp(self) -> tuple[int, int, str]:
        """What tells the file from another one at its path: times alone may be whole seconds."""
        return self.size, self.modified_ms, self.tag


class Storage(Protocol):
    """Files under one root.  ``table_core.testing.storage_contract`` says what it owes.

    Every ``path`` is relative to the root and '/'-separated.  Errors: a missing file is
    ``NotFoundError``, a refusal ``AccessDeniedError``, anything else ``StorageUnavailableError``.
    """

    @property
    def uri(self) -> str:
        """The root as a URI without secrets and without a trailing slash."""
        ...

    def within(self, path: str) -> Storage:
        """The same store with its root moved to the folder ``path``."""
        ...

    def create(self, path: str, body: bytes) -> bool:
        """Write ``path`` whole, only if absent, atomically across machines and durably.

        False means somebody else's file is there, and nothing else.  A write whose fate is
        unknown raises ``OutcomeUnknownError``.
        """
        ...

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:
        """Write ``path`` whole, replacing what is there; readers see the old or the new bytes.

        Without ``durable`` a failing machine may lose it: for hints, and for files that ``sync``
        is called for before anything names them.
        """
        ...

    def read(self, path: str) -> bytes:
        """Return the bytes at ``path``."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or folder is at ``path``."""
        ...

    def list(self, folder: str) -> Iterator[FileInfo]:
        """Entries directly in ``folder``, in no order; none when there is no such folder."""
        ...

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """Every file below ``folder``, streamed, in no order."""
        ...

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files; those already gone are no error.  Returns how many were there.

        A store that does not tell counts all.
        """
        ...

    def delete_tree(self, folder: str) -> None:
        """Delete ``folder`` and everything below it."""
        ...

    def delete_empty_folder(self, folder: str) -> bool:
        """Delete ``folder`` if nothing is in it; whether it was deleted."""
        ...

    def make_folder(self, folder: str) -> None:
        """Make ``folder`` and its parents, so that it is listed though empty; no error if there."""
        ...

    def move(self, source: str, target: str) -> None:
        """Rename the folder or file ``source`` to the absent ``target``.

        ``AlreadyExistsError`` if ``target`` is there.
        """
        ...

    def refuse_links(self, path: str) -> None:
        """Refuse a path that is a link, or has one on the way: ``AccessDeniedError``."""
        ...

    def open_input(self, path: str, size: int | None = None) -> Any:
        """A seekable binary file (Arrow ``NativeFile`` or alike) for reading ``path``.

        ``size``: how many bytes it should have, if that is known: small files are fetched unasked.
        """
        ...

    def open_output(self, path: str) -> Any:
        """A binary file for writing the new data file ``path``; parents are made."""
        ...

    def sync(self, paths: Iterable[str]) -> None:
        """Make new files that ``open_output`` wrote durable, before a commit names them."""
        ...
