"""Bloom filters of file indexes: whether a value may be among those of a column.

Four bytes big endian say how many hashes a value has; the rest are bits.  NULL is never in it.

Source: ``org.apache.paimon.fileindex.bloomfilter``, ``org.apache.paimon.utils.BloomFilter64``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, DataType, Root

if TYPE_CHECKING:
    from table_core.datatypes.domain import Value

__all__ = ["BloomFilter", "decode_bloom_filter", "hash_of"]

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_MOST_HASHES: Final = 64
_LONGS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.DATE, Root.TIME}
)
_TIMES: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_PRIMES: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """One filter."""

    hashes: int
    bits: bytes

    def may_hold(self, hash64: int) -> bool:
        """Whether a value with this hash may have been put in; False is certain."""
        count = len(self.bits) * 8
        low, high = hash64 & 0xFFFF_FFFF, hash64 >> 32
        for turn in range(1, self.hashes + 1):
            mixed = (low + turn * high) & 0xFFFF_FFFF
            at = (mixed ^ 0xFFFF_FFFF if mixed >> 31 else mixed) % count
            if not self.bits[at >> 3] >> (at & 7) & 1:
                return False
        return True


def decode_bloom_filter(body: bytes) -> BloomFilter:
    """The filter in ``body``.

    Raises:
        ValueError: there is none.
    """
    if len(body) < 5:
        raise ValueError(f"a bloom filter of {len(body)} bytes")
    (hashes,) = struct.unpack_from(">i", body)
    if not 1 <= hashes <= _MOST_HASHES or not any(body[4:]):
        raise ValueError(f"a bloom filter with {hashes} hashes")
    return BloomFilter(hashes, body[4:])


def hash_of(value: Value, type_: DataType) -> int | None:
    """The hash of ``value`` of the domain, None for types that are not looked up.

    Floats are not: 0.0 equals -0.0 and hashes otherwise.  Nor is CHAR, which may be padded.
    """
    if not isinstance(type_, Atomic) or value is None:
        return None
    if type_.root is Root.VARCHAR:
        return _xx_hash(str(value).encode("utf-8", "surrogatepass"))
    if type_.root in {Root.VARBINARY, Root.BINARY}:
        return _xx_hash(bytes(value))
    if type_.root in _LONGS:
        return _long_hash(int(value))
    if type_.root in _TIMES:
        return _long_hash(int(value) // (1_000_000 if type_.precision <= 3 else 1_000))
    return None


def _long_hash(value: int) -> int:
    """Thomas Wang's hash of 64 bits, with Java's shifts, which keep the sign."""
    key = value & _MASK
    key = (~key + (key << 21)) & _MASK
    key ^= _shifted(key, 24)
    key = (key + (key << 3) + (key << 8)) & _MASK
    key ^= _shifted(key, 14)
    key = (key + (key << 2) + (key << 4)) & _MASK
    key ^= _shifted(key, 28)
    return (key + (key << 31)) & _MASK


def _shifted(key: int, by: int) -> int:
    signed = key - (1 << 64) if key >> 63 else key
    return (signed >> by) & _MASK


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotated((lane + word * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK


def _xx_hash(body: bytes) -> int:
    """XXH64 with seed 0."""
    at, size = 0, len(body)
    digest = _PRIMES[4]
    if size >= 32:
        lanes = [(_PRIMES[0] + _PRIMES[1]) & _MASK, _PRIMES[1], 0, -_PRIMES[0] & _MASK]
        for at in range(0, size - 31, 32):
            words = struct.unpack_from("<4Q", body, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        at += 32
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        digest = sum(_rotated(lane, by) for lane, by in turns) & _MASK
        for lane in lanes:
            digest = ((digest ^ _round(0, lane)) * _PRIMES[0] + _PRIMES[3]) & _MASK
    digest = (digest + size) & _MASK
    while at + 8 <= size:
        (word,) = struct.unpack_from("<Q", body, at)
        digest = (_rotated(digest ^ _round(0, word), 27) * _PRIMES[0] + _PRIMES[3]) & _MASK
        at += 8
    if at + 4 <= size:
        (half,) = struct.unpack_from("<I", body, at)
        digest = (
            _rotated(digest ^ half * _PRIMES[0] & _MASK, 23) * _PRIMES[1] + _PRIMES[2]
        ) & _MASK
        at += 4
    for byte in body[at:]:
        digest = _rotated(digest ^ byte * _PRIMES[4] & _MASK, 11) * _PRIMES[0] & _MASK
    digest = (digest ^ digest >> 33) * _PRIMES[1] & _MASK
    digest = (digest ^ digest >> 29) * _PRIMES[2] & _MASK
    return digest ^ digest >> 32
