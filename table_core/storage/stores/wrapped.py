"""A store around another one, which does what that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.ports import FileInfo, Storage

__all__ = ["WrappedStorage"]


@dataclass(frozen=True)
class WrappedStorage:
    """The store ``inner``; a subclass says what it does itself, and what ``within`` is."""

    inner: Storage

    @property
    def uri(self) -> str:
        """Of the store within."""
        return self.inner.uri

    def create(self, path: str, body: bytes) -> bool:
        """As the store within."""
        return self.inner.create(path, body)

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:
        """As the store within."""
        self.inner.write(path, body, durable=durable)

    def read(self, path: str) -> bytes:
        """As the store within."""
        return self.inner.read(path)

    def exists(self, path: str) -> bool:
        """As the store within."""
        return self.inner.exists(path)

    def list(self, folder: str) -> Iterator[FileInfo]:
        """As the store within."""
        return self.inner.list(folder)

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """As the store within."""
        return self.inner.walk(folder)

    def delete(self, paths: Iterable[str]) -> int:
        """As the store within."""
        return self.inner.delete(paths)

    def delete_tree(self, folder: str) -> None:
        """As the store within."""
        self.inner.delete_tree(folder)

    def delete_empty_folder(self, folder: str) -> bool:
        """As the store within."""
        return self.inner.delete_empty_folder(folder)

    def make_folder(self, folder: str) -> None:
        """As the store within."""
        self.inner.make_folder(folder)

    def move(self, source: str, target: str) -> None:
        """As the store within."""
        self.inner.move(source, target)

    def refuse_links(self, path: str) -> None:
        """As the store within."""
        self.inner.refuse_links(path)

    def open_input(self, path: str, size: int | None = None) -> Any:
        """As the store within."""
        return self.inner.open_input(path, size)

    def open_output(self, path: str) -> Any:
        """As the store within."""
        return self.inner.open_output(path)

    def sync(self, paths: Iterable[str]) -> None:
        """As the store within."""
        self.inner.sync(paths)
