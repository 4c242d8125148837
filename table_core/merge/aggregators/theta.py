"""Theta sketches: distinct counts as the smallest hashes seen, as Apache DataSketches writes them.

Source: ``org.apache.datasketches.theta.CompactSketch``, serial version 3.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Hashes = np.ndarray[Any, Any]

__all__ = ["Theta", "union_of"]

_WHOLE: Final = 2**63 - 1
"""Theta of a sketch that has thrown nothing away."""
_NOMINAL: Final = 4096
_HASH_TABLES, _COMPACT = {1, 2}, 3
_EMPTY, _SINGLE = 0x04, 0x20
_READ_ONLY_COMPACT_ORDERED: Final = 0x1A


@dataclass(frozen=True, slots=True, eq=False)
class Theta:
    """Every hash below ``theta``.  Shape: ``hashes`` ascending ``int64``."""

    hashes: Hashes
    theta: int
    seed: bytes
    empty: bool

    @classmethod
    def from_bytes(cls, body: bytes) -> Theta:
        """Decode ``body``, compact or updatable.

        Raises:
            ValueError: not a theta sketch of serial version 3, or one cut short.
        """
        if len(body) < 8 or body[1] != 3 or body[2] not in {*_HASH_TABLES, _COMPACT}:
            raise ValueError("not a theta sketch of serial version 3")
        words, family, flags, seed = body[0] & 0x3F, body[2], body[5], body[6:8]
        if flags & _EMPTY:
            return cls(np.zeros(0, np.int64), _WHOLE, seed, empty=True)
        if len(body) < 8 * words:
            raise ValueError(f"a theta sketch of {words} words in {len(body)} bytes")
        theta = _WHOLE
        if family == _COMPACT and words == 1:
            count = 1
        elif family == _COMPACT:
            (count,) = struct.unpack_from("<i", body, 8)
        else:
            count = 1 << body[4]
        if words >= 3:
            (theta,) = struct.unpack_from("<q", body, 16)
        if count < 0 or len(body) < 8 * (words + count):
            raise ValueError(f"a theta sketch of {count} hashes in {len(body)} bytes")
        hashes = np.frombuffer(body, "<i8", count, 8 * words)
        kept = np.unique(hashes[(hashes > 0) & (hashes < theta)])
        return cls(kept, theta, seed, empty=False)

    def to_bytes(self) -> bytes:
        """Encode, compact and ordered."""
        count = len(self.hashes)
        whole = self.theta == _WHOLE
        flags = _READ_ONLY_COMPACT_ORDERED
        words = 1 if whole and count <= 1 else 2 if whole else 3
        if self.empty:
            flags |= _EMPTY
        elif whole and count == 1:
            flags |= _SINGLE
        head = struct.pack("<BBBBBB", words, 3, _COMPACT, 0, 0, flags) + self.seed
        if words > 1:
            head += struct.pack("<if", count, 1.0)
        if words > 2:
            head += struct.pack("<q", self.theta)
        return head + self.hashes.astype("<i8").tobytes()


def union_of(sketches: Sequence[Theta]) -> Theta:
    """Everything that one of ``sketches`` has seen, with the nominal 4096 hashes.

    Raises:
        ValueError: they were made with different seeds.
    """
    if len({sketch.seed for sketch in sketches}) > 1:
        raise ValueError("theta sketches of different seeds")
    theta = min(sketch.theta for sketch in sketches)
    hashes = np.unique(np.concatenate([sketch.hashes for sketch in sketches]))
    hashes = hashes[hashes < theta]
    if len(hashes) > _NOMINAL:
        theta, hashes = int(hashes[_NOMINAL]), hashes[:_NOMINAL]
    return Theta(hashes, theta, sketches[0].seed, all(sketch.empty for sketch in sketches))
