"""Bloom filters of keys: which keys a file surely does not hold.

Source: ``org.apache.paimon.utils.BloomFilter``; ``lookup.cache.bloom.filter.enabled``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Hashes = npt.NDArray[np.int32]

__all__ = ["KeyFilter"]

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True, eq=False)
class KeyFilter:
    """Holds every key that was added, and few others.  Keys are given by ``row_hash``."""

    rounds: int
    size: int
    _bits: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, count: int, fpp: float) -> KeyFilter:
        """For ``count`` keys, of which ``fpp`` is the share of others that it holds."""
        size = max(64, math.ceil(-count * math.log(fpp) / math.log(2) ** 2))
        rounds = min(max(1, round(size / max(count, 1) * math.log(2))), 8)
        return cls(rounds, size, np.zeros(size // 8 + 1, np.uint8))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._bits.nbytes

    def add(self, hashes: Hashes) -> None:
        """Add keys.  Shape: ``hashes[n]``."""
        for byte, bit in self._indices(hashes):  # ``at``: two keys may set bits of one byte
            np.bitwise_or.at(self._bits, byte, bit)

    def may_hold(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Which keys it holds.  Shape: ``hashes[n]`` to ``bool[n]``."""
        result = np.ones(len(hashes), np.bool_)
        for byte, bit in self._indices(hashes):
            result &= (self._bits[byte] & bit) != 0
        return result

    def _indices(
        self, hashes: Hashes
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]:
        # It is never stored, so its places need not be Java's.
        first = hashes.astype(np.uint32).astype(np.uint64)
        step = ((first * _MIX) >> np.uint64(32)) | np.uint64(1)
        for i in range(self.rounds):
            place = ((first + np.uint64(i) * step) % np.uint64(self.size)).astype(np.int64)
            yield place >> 3, np.uint8(1) << (place & 7).astype(np.uint8)
