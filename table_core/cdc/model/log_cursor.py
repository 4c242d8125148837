"""A place in the bytes of an event of a server's log."""

from __future__ import annotations

from typing import Final

__all__ = ["Cursor"]

_SIZES: Final = {252: 2, 253: 3, 254: 8}


class Cursor:
    """A place in some bytes.  What would lead beyond their end is a ``ValueError``."""

    __slots__ = ("at", "body", "end")

    def __init__(self, body: bytes) -> None:
        self.body, self.at, self.end = body, 0, len(body)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        at = self.at
        self.skip(count)
        return self.body[at : self.at]

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(self.end - self.at)

    def skip(self, count: int) -> None:
        """Leave bytes out."""
        end = self.at + count
        if not self.at <= end <= self.end:
            raise ValueError(f"{count} bytes at {self.at}, and there are {self.end}")
        self.at = end

    def unsigned(self, size: int) -> int:
        """A little-endian number."""
        return int.from_bytes(self.take(size), "little")

    def big(self, size: int) -> int:
        """A big-endian number."""
        return int.from_bytes(self.take(size), "big")

    def packed(self) -> int:
        """A number that tells its own length."""
        first = self.unsigned(1)
        if first < 251:
            return first
        if first not in _SIZES:
            raise ValueError(f"{first} begins no number")
        return self.unsigned(_SIZES[first])

    def text(self) -> str:
        """What comes before the next zero byte."""
        text = self.take(self.body.index(b"\0", self.at) - self.at)
        self.skip(1)
        return text.decode()
