"""The warehouse of a catalog whose server keeps the names: it has an address, and no folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.errors import UnsupportedFeatureError
from table_core.storage.stores.memory import MemoryStorage
from table_core.storage.stores.wrapped import WrappedStorage

if TYPE_CHECKING:
    from table_core.ports import Storage

__all__ = ["NoFolder"]


@dataclass(frozen=True)
class NoFolder(WrappedStorage):
    """Nothing is in it, and nothing can be put there."""

    inner: Storage = field(default_factory=lambda: MemoryStorage("no-folder"), repr=False)
    address: str = ""

    @property
    def uri(self) -> str:
        """Of the warehouse on its server."""
        return self.address

    def within(self, path: str) -> NoFolder:
        """A folder that is not there either."""
        return NoFolder(address=f"{self.address}/{path}")

    def create(self, path: str, body: bytes) -> bool:  # noqa: ARG002
        """Refuse it.

        Raises:
            UnsupportedFeatureError: always.
        """
        raise UnsupportedFeatureError(
            f"{self.uri} has no folder to write {path} into: the server of a REST catalog says where each table "
            "lies, and nothing else is kept beside them",
            feature="files of the warehouse of a REST catalog",
        )

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        """Refuse it, as ``create``."""
        self.create(path, body)

    def open_output(self, path: str) -> None:
        """Refuse it, as ``create``."""
        self.create(path, b"")
