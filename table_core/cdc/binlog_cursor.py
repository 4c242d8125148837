"""A place in the bytes of a binlog event."""

from __future__ import annotations

__all__ = ["Cursor"]


class Cursor:
    """A place in some bytes."""

    __slots__ = ("at", "body", "end")

    def __init__(self, body: bytes) -> None:
        self.body, self.at, self.end = body, 0, len(body)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self.at += count
        return self.body[self.at - count : self.at]

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(self.end - self.at)

    def skip(self, count: int) -> None:
        """Leave bytes out."""
        self.at += count

    def unsigned(self, size: int) -> int:
        """A little-endian number."""
        return int.from_bytes(self.take(size), "little")

    def big(self, size: int) -> int:
        """A big-endian number."""
        return int.from_bytes(self.take(size), "big")

    def packed(self) -> int:
        """A number that tells its own length."""
        first = self.unsigned(1)
        return first if first < 251 else self.unsigned({252: 2, 253: 3, 254: 8}[first])
