"""What stands for the bytes of a file that grows: sums that go on where they were left.

Two checksums of 32 bits, CRC and Adler: each goes on from its own value, so nothing of what was read
before has to be read again.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ContentSum"]


class ContentSum:
    """Sums bytes as they are read, up to any place behind the one before.

    >>> whole, parts = ContentSum(0), ContentSum(0)
    >>> _, _ = list(whole.of([b"abcd"])), list(parts.of([b"ab"]))
    >>> later = ContentSum(2, parts.up_to(2))
    >>> _ = list(later.of([b"cd"]))
    >>> whole.up_to(4) == later.up_to(4)
    True
    """

    def __init__(self, offset: int, before: str = "") -> None:
        self._at, self._waiting = offset, bytearray()
        self._known = not offset or bool(before)
        self._crc = int(before[:8], 16) if before else 0
        self._adler = int(before[8:], 16) if before else 1

    def of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks, from the offset on."""
        for chunk in chunks:
            if self._known:
                self._waiting += chunk
            yield chunk

    def after(self, chunk: bytes) -> str:
        """The same once the next bytes are summed too."""
        self._waiting += chunk
        return self.up_to(self._at + len(self._waiting))

    def up_to(self, offset: int) -> str:
        """Sixteen letters; '' if nobody knows what stands before."""
        if not self._known:
            return ""
        length = max(offset - self._at, 0)
        part = bytes(memoryview(self._waiting)[:length])
        self._crc, self._adler = zlib.crc32(part, self._crc), zlib.adler32(part, self._adler)
        del self._waiting[:length]
        self._at += len(part)
        return f"{self._crc:08x}{self._adler:08x}"
