"""A Parquet file in an object store, whose pages are looked at when Arrow fetches them: that makes no request more."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from table_core.storage.parquet.text_lengths import rows_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SmallerBatchesError", "WatchedFile", "is_local", "rows_allowed", "watched"]

_TOO_MANY: Final = 4
"""So many times the rows that may be in a batch: to read again takes more than a batch that is a little too large."""


class SmallerBatchesError(Exception):
    """The texts of a dictionary are too long for so many rows.  Read again: ``WatchedFile.most_rows`` is known now."""


class _Chunk(Protocol):
    """Pages from ``begin`` to ``end``."""

    begin: int
    end: int
    longest: int

    def pages(self, source: Any) -> Iterator[int]: ...


def is_local(source: Any) -> bool:
    """Whether reading from ``source`` takes no round trip."""
    return isinstance(source, pa.OSFile | pa.BufferReader)


def watched(source: Any) -> Any:
    """The open file ``source`` as Arrow should read it."""
    return source if is_local(source) else WatchedFile(source)


def rows_allowed(source: Any, rows: int, most: int | None) -> int:
    """How many of ``rows`` the next batch of ``source`` may have; ``most``: what its texts were said to allow."""
    if not isinstance(source, WatchedFile):
        return min(rows, most or rows)
    source.batch_rows = min(rows, source.most_rows or rows)
    return source.batch_rows


class WatchedFile(io.RawIOBase):
    """The open ``file``, of whose chunks that are watched no page reaches Arrow before it is looked at."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file, self._fetched = file, _Fetched(file)
        self._watches: list[_Watch] = []
        self._footer: list[tuple[int, bytes]] = []
        self._longest = 0
        self.batch_rows = 0
        """How many rows Arrow was told to put into a batch."""

    @property
    def most_rows(self) -> int | None:
        """How many it may put there, for the texts that came so far; None: as many as there are."""
        return rows_of_texts(self._longest)

    def watch(self, chunk: _Chunk) -> None:
        """Look at the pages of ``chunk`` from now on."""
        self._watches.append(_Watch(chunk, self._fetched))

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        position: int = self._file.seek(offset, whence)
        return position

    def tell(self) -> int:
        """The position."""
        position: int = self._file.tell()
        return position

    def read(self, size: int = -1) -> bytes:
        """The next bytes.

        Raises:
            pa.ArrowInvalid: a page in them unpacks to too much; see ``require_pages_fit``.
            SmallerBatchesError: a batch would have too many long texts.
        """
        begin = self._file.tell()
        if size >= 0 and (body := self._again(begin, size)) is not None:
            return body
        body = bytes(self._file.read(size))
        end = begin + len(body)
        self._footer = [] if self.batch_rows else [*self._footer, (begin, body)]
        touched = [watch for watch in self._watches if watch.at < end and begin < watch.end]
        if touched:
            self._fetched.begin, self._fetched.body = begin, body
            for watch in touched:
                watch.look(end)
                self._longest = max(self._longest, watch.chunk.longest)
            self._fetched.body = b""
            self._watches = [watch for watch in self._watches if watch.at < watch.end]
            self._file.seek(end)
            if (self.most_rows or self.batch_rows) * _TOO_MANY < self.batch_rows:
                raise SmallerBatchesError
        return body

    def _again(self, begin: int, size: int) -> bytes | None:
        """What was read already before the first batch: the footer, which is read by Arrow and by us."""
        for at, body in self._footer:
            if at <= begin and begin + size <= at + len(body):
                self._file.seek(begin + size)
                return body[begin - at : begin - at + size]
        return None

    def close(self) -> None:
        """Close."""
        self._file.close()
        super().close()


class _Watch:
    """A chunk, and up to where its pages were looked at."""

    def __init__(self, chunk: _Chunk, fetched: _Fetched) -> None:
        self.chunk, self.at, self.end = chunk, chunk.begin, chunk.end
        self._pages = chunk.pages(fetched)

    def look(self, end: int) -> None:
        """Look at the pages that begin before ``end``."""
        while self.at < min(end, self.end):
            self.at = next(self._pages, self.end)


class _Fetched:
    """Bytes that came just now; others are fetched when they are asked for."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.begin, self.body = 0, b""

    def some_at(self, at: int, size: int, least: int) -> bytes:
        """Up to ``size`` bytes at ``at``, and no fewer than ``least`` unless the file ends."""
        skipped = at - self.begin
        body = self.body[skipped : skipped + size] if skipped >= 0 else b""
        if len(body) < least:
            self._file.seek(at)
            body = bytes(self._file.read(size))
        return body
