"""Files of object stores as Arrow takes them; their errors are ours."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from table_core.storage.stores.remote_errors import library_errors

if TYPE_CHECKING:
    from table_core.errors import TableError

__all__ = ["RangedFile", "RemoteInput", "RemoteOutput"]


class _Explainer(Protocol):
    def explained(self, error: BaseException, path: str, action: str) -> TableError: ...


class RangedFile:
    """An object that is read with a request for each range, which can be made again."""

    def __init__(self, fs: Any, at: str, size: int) -> None:
        self._fs, self._at, self._size, self._position = fs, at, size, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(begin + offset, 0)
        return self._position

    def tell(self) -> int:
        """The position."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        end = self._size if size < 0 else min(self._position + size, self._size)
        if end <= self._position:
            return b""
        body: bytes = self._fs.cat_file(self._at, start=self._position, end=end)
        self._position += len(body)
        return body

    def close(self) -> None:
        """Nothing is open."""


class RemoteInput(io.RawIOBase):
    """A file that is fetched range by range."""

    def __init__(self, file: Any, storage: _Explainer, path: str) -> None:
        super().__init__()
        self._file, self._storage, self._path = file, storage, path

    @staticmethod
    def of_bytes(body: bytes) -> Any:
        """A file whose bytes are here already."""
        return pa.BufferReader(body)

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position."""
        position: int = self._file.seek(offset, whence)
        return position

    def tell(self) -> int:
        """The position."""
        position: int = self._file.tell()
        return position

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        try:
            body: bytes = self._file.read(size)
        except library_errors() as error:
            raise self._storage.explained(error, self._path, "read") from error
        return body

    def close(self) -> None:
        """Close."""
        self._file.close()
        super().close()


class RemoteOutput(io.RawIOBase):
    """A file that becomes an object when it is closed."""

    def __init__(self, file: Any, storage: _Explainer, path: str) -> None:
        super().__init__()
        self._file, self._storage, self._path = file, storage, path

    def writable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Bytes written."""
        position: int = self._file.tell()
        return position

    def write(self, data: Any) -> int:
        """Add bytes."""
        try:
            self._file.write(bytes(data))
        except library_errors() as error:
            raise self._storage.explained(error, self._path, "write") from error
        return len(data)

    def close(self) -> None:
        """Finish the object."""
        if self.closed:
            return
        super().close()
        try:
            self._file.close()
        except library_errors() as error:
            raise self._storage.explained(error, self._path, "write") from error

    def discard(self) -> None:
        """Give up: no object appears."""
        super().close()
        self._file.discard()
