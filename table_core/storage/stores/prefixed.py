"""Storage on a file system of fsspec that has folders and no conditional put: HDFS, SFTP, SMB ...

Such a store is opened behind a lock only (``lock.LockedStorage``): ``create`` looks, writes a draft
beside the target and moves it there, which is safe only while nobody else does the same.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from table_core.errors import AlreadyExistsError, NotFoundError, OutcomeUnknownError
from table_core.storage.stores.object_store import ObjectStorage
from table_core.storage.stores.paths import inside, joined
from table_core.storage.stores.remote_errors import library_errors
from table_core.storage.stores.remote_file import RemoteOutput

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PrefixedStorage"]


@dataclass(frozen=True, slots=True)
class PrefixedStorage(ObjectStorage):
    """Files below the folder ``prefix`` of the fsspec file system ``fs``."""

    authority: str = ""
    """Host and port, as the URI gives them."""
    has_folders: ClassVar[bool] = True

    @property
    def uri(self) -> str:
        """``<scheme>://<host>/<folder>``."""
        return f"{self.scheme}://{self.authority}/{self.prefix.strip('/')}".rstrip("/")

    def within(self, path: str) -> PrefixedStorage:
        """The same file system with the folder ``path`` as root."""
        return PrefixedStorage(self.fs, self.scheme, joined(self.prefix, path), self.authority)

    def create(self, path: str, body: bytes) -> bool:
        """Put ``body`` at ``path`` if nothing is there; only a lock makes that safe."""
        target = self._at(path)
        folder, _, name = target.rpartition("/")
        draft = f"{folder}/.{name}.{uuid.uuid4()}.tmp"
        with self._explained(path, "create"):
            if self.fs.exists(target):
                return False
            self.fs.makedirs(folder, exist_ok=True)
            self.fs.pipe_file(draft, body)
        try:
            self.fs.mv(draft, target)
        except library_errors() as error:
            reason = self.explained(error, path, "create")
            try:
                if self.read(path) == body:
                    return True
            except NotFoundError:
                raise reason from error
            raise OutcomeUnknownError(
                f"creating {self.uri}/{path} failed half-way ({reason}): look at the file before "
                "doing anything else",
                path=path,
                reason=str(reason),
            ) from error
        return True

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        """Put ``body`` at ``path``."""
        self._parent(path, "write")
        with self._explained(path, "write"):
            self.fs.pipe_file(self._at(path), body)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files; returns how many were there."""
        deleted = 0
        for path in paths:
            try:
                with self._explained(path, "delete"):
                    self.fs.rm_file(self._at(inside(path)))
            except NotFoundError:
                continue
            deleted += 1
        return deleted

    def delete_empty_folder(self, folder: str) -> bool:
        """Delete ``folder`` if nothing is in it."""
        if not self.exists(folder) or any(True for _ in self.list(folder)):
            return False
        with self._explained(folder, "delete"):
            self.fs.rmdir(self._at(folder))
        return True

    def make_folder(self, folder: str) -> None:
        """Make ``folder`` and its parents."""
        with self._explained(folder, "create"):
            self.fs.makedirs(self._at(folder), exist_ok=True)

    def move(self, source: str, target: str) -> None:
        """Rename ``source`` to the absent ``target``."""
        if not self.exists(source):
            raise NotFoundError(
                f"cannot move {self.uri}/{source}: there is no such file",
                name=f"{self.uri}/{source}",
                path=source,
                available=[],
            )
        if self.exists(target):
            raise AlreadyExistsError(
                f"cannot move {source} to {target}: it exists already", name=target
            )
        self._parent(target, "move")
        with self._explained(source, "move"):
            self.fs.mv(self._at(source), self._at(target), recursive=True)

    def open_output(self, path: str) -> Any:
        """A file for writing ``path``; its folder is made."""
        self._parent(path, "create")
        with self._explained(path, "create"):
            return RemoteOutput(self.fs.open(self._at(path), "wb"), self, path)

    def _parent(self, path: str, action: str) -> None:
        with self._explained(path, action):
            self.fs.makedirs(self._at(path).rpartition("/")[0], exist_ok=True)
