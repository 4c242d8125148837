"""Storage in the memory of one process, for tests, demos and small work."""

from __future__ import annotations

import io
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from table_core.errors import AlreadyExistsError, NotFoundError, UnsupportedFeatureError
from table_core.ports import FileInfo
from table_core.storage.stores.paths import inside, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["MemoryStorage"]


@dataclass(slots=True)
class _Disk:
    """What several handles share."""

    name: str
    now_ms: Callable[[], int]
    lock: threading.RLock = field(default_factory=threading.RLock)
    files: dict[str, tuple[bytes, int, int]] = field(default_factory=dict)
    """Of each path the bytes, when they were put there, and the how many-th put that was."""
    puts: int = 0
    folders: set[str] = field(default_factory=set)
    """Those that were made."""
    within: dict[str, dict[str, int]] = field(default_factory=lambda: {"": {}})
    """Of each folder the paths in it, and how many files and made folders each is or has below."""

    def enter(self, path: str) -> None:
        """Something is at ``path`` that was not."""
        while path:
            above = path.rpartition("/")[0]
            paths = self.within.setdefault(above, {})
            paths[path] = paths.get(path, 0) + 1
            path = above

    def leave(self, path: str) -> None:
        """What was at ``path`` is not there any more."""
        while path:
            above = path.rpartition("/")[0]
            paths = self.within[above]
            paths[path] -= 1
            if not paths[path]:
                del paths[path]
                if above and not paths:
                    del self.within[above]
            path = above

    def put(self, path: str, body: bytes) -> None:
        """Keep ``body`` under ``path``."""
        if path not in self.files:
            self.enter(path)
        self.puts += 1
        self.files[path] = body, self.now_ms(), self.puts

    def drop(self, path: str) -> bool:
        """Forget the file at ``path``; whether it was there."""
        if self.files.pop(path, None) is None:
            return False
        self.leave(path)
        return True


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class MemoryStorage:
    """Files under ``prefix`` of one disk in memory.  ``within`` shares the disk."""

    __slots__ = ("_disk", "_prefix")

    def __init__(self, name: str = "", *, now_ms: Callable[[], int] = _wall_ms) -> None:
        self._disk = _Disk(name.strip("/"), now_ms)
        self._prefix = ""

    def __reduce__(self) -> NoReturn:
        raise UnsupportedFeatureError(
            f"{self.uri} lives in the memory of one process and cannot be sent to another: "
            "use a file:// or object store warehouse",
            feature="memory storage in another process",
        )

    @property
    def uri(self) -> str:
        """``memory://<name>/<prefix>``."""
        return "memory://" + "/".join(part for part in (self._disk.name, self._prefix) if part)

    def within(self, path: str) -> MemoryStorage:
        """The same disk with the folder ``path`` as root."""
        storage = MemoryStorage.__new__(MemoryStorage)
        storage._disk, storage._prefix = self._disk, joined(self._prefix, path)  # noqa: SLF001
        return storage

    def create(self, path: str, body: bytes) -> bool:
        """Keep ``body`` under ``path`` only if nothing is there."""
        at = self._at(path)
        with self._disk.lock:
            if at in self._disk.files:
                return False
            self._disk.put(at, bytes(body))
            return True

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        """Keep ``body`` under ``path``."""
        at = self._at(path)
        with self._disk.lock:
            self._disk.put(at, bytes(body))

    def read(self, path: str) -> bytes:
        """The bytes at ``path``."""
        file = self._disk.files.get(self._at(path))
        if file is None:
            raise self._missing("read", path)
        return file[0]

    def exists(self, path: str) -> bool:
        """Whether a file or folder is at ``path``."""
        at = self._at(path)
        with self._disk.lock:
            return at in self._disk.files or self._is_folder(at)

    def list(self, folder: str) -> Iterator[FileInfo]:
        """Entries of ``folder`` as it is now."""
        with self._disk.lock:
            paths = list(self._disk.within.get(self._at(folder), ()))
            files = {p: self._disk.files[p] for p in paths if p in self._disk.files}
            folders = sorted(p for p in paths if self._is_folder(p))
        for path, file in files.items():
            yield self._info(path, file)
        for path in folders:
            yield FileInfo(path=self._seen(path), size=0, modified_ms=0, is_dir=True)

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """Every file below ``folder`` as it is now."""
        base = self._at(folder)
        start = f"{base}/" if base else ""
        with self._disk.lock:
            files = [(p, f) for p, f in self._disk.files.items() if p.startswith(start)]
        for path, file in files:
            yield self._info(path, file)

    def delete(self, paths: Iterable[str]) -> int:
        """Forget files; returns how many were there."""
        deleted = 0
        for path in paths:
            at = self._at(path)
            with self._disk.lock:
                deleted += self._disk.drop(at)
        return deleted

    def delete_tree(self, folder: str) -> None:
        """Forget everything below ``folder``."""
        base = self._at(folder)
        with self._disk.lock:
            for path in [p for p in self._disk.files if _below(p, base)]:
                self._disk.drop(path)
            for path in [p for p in self._disk.folders if p == base or _below(p, base)]:
                self._disk.folders.discard(path)
                self._disk.leave(path)

    def delete_empty_folder(self, folder: str) -> bool:
        """Forget ``folder`` if it was made and nothing is in it."""
        base = self._at(folder)
        with self._disk.lock:
            if base not in self._disk.folders or any(True for _ in self.list(folder)):
                return False
            self._disk.folders.discard(base)
            self._disk.leave(base)
            return True

    def make_folder(self, folder: str) -> None:
        """Make ``folder``, which is then listed though nothing is in it."""
        at = self._at(folder)
        with self._disk.lock:
            if at not in self._disk.folders:
                self._disk.folders.add(at)
                self._disk.enter(at)

    def move(self, source: str, target: str) -> None:
        """Rename ``source`` to the absent ``target``."""
        start, end = self._at(source), self._at(target)
        with self._disk.lock:
            if not self.exists(source):
                raise self._missing("move", source)
            if self.exists(target):
                raise AlreadyExistsError(
                    f"cannot move {source} to {target}: it exists already", name=target
                )
            disk = self._disk
            disk.files = {_moved(p, start, end): file for p, file in disk.files.items()}
            disk.folders = {_moved(p, start, end) for p in disk.folders}
            disk.within = {"": {}}
            for path in (*disk.files, *disk.folders):
                disk.enter(path)

    def refuse_links(self, path: str) -> None:
        """There are none."""

    def open_input(self, path: str, size: int | None = None) -> Any:  # noqa: ARG002
        """An Arrow reader of the bytes."""
        return pa.BufferReader(self.read(path))

    def open_output(self, path: str) -> Any:
        """A file whose bytes appear under ``path`` when it is closed."""
        return _Draft(self, path)

    def sync(self, paths: Iterable[str]) -> None:
        """Nothing survives the process; missing files are told all the same."""
        for path in paths:
            self.read(path)

    def _at(self, path: str) -> str:
        return joined(self._prefix, inside(path))

    def _seen(self, at: str) -> str:
        return at[len(self._prefix) + 1 :] if self._prefix else at

    def _info(self, at: str, file: tuple[bytes, int, int]) -> FileInfo:
        body, modified_ms, nth = file
        return FileInfo(path=self._seen(at), size=len(body), modified_ms=modified_ms, tag=str(nth))

    def _is_folder(self, at: str) -> bool:
        return at in self._disk.within or at in self._disk.folders

    def _missing(self, action: str, path: str) -> NotFoundError:
        return NotFoundError(
            f"cannot {action} {self.uri}/{path}: there is no such file",
            name=f"{self.uri}/{path}",
            path=path,
            available=[],
        )


class _Draft(io.BytesIO):
    """A file in the making."""

    def __init__(self, storage: MemoryStorage, path: str) -> None:
        super().__init__()
        self._storage, self._path = storage, path

    def close(self) -> None:
        if not self.closed:
            self._storage.write(self._path, self.getvalue())
        super().close()


def _below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _moved(path: str, start: str, end: str) -> str:
    return end + path[len(start) :] if path == start or _below(path, start) else path
