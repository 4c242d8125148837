"""Dynamic buckets: which bucket each key of a partition is in, remembered by its hash.

A bucket takes keys until it has its target number of them; then a new one begins.  A known key goes where
it was put: in another bucket it would have two rows, since no merge sees both.

Target 2, hashes 7 9 7 4 in that order: 7 and 9 fill bucket 0, 4 begins bucket 1.

>>> HashIndex(2).assign(np.array([7, 9, 7, 4], np.int32)).tolist()
[0, 0, 0, 1]

Source: ``org.apache.paimon.index.PartitionIndex``; format 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
    Buckets: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["BUCKETS_MAX", "Filling", "HashIndex", "decode_hashes", "encode_hashes"]

BUCKETS_MAX = 32767
"""How many buckets a partition can have."""


@dataclass(slots=True)
class Filling:
    """Deals out room in the buckets of one partition: each is filled before a new one begins.

    ``counts``: the rows of each bucket, which grow.  Of ``assigners`` this is number ``assigner``,
    which owns each ``assigners``-th bucket.
    """

    counts: dict[int, int]
    target_rows: int
    buckets_max: int = -1
    assigner: int = 0
    assigners: int = 1

    def take(self, count: int) -> npt.NDArray[np.int16]:
        """The buckets of the next ``count`` rows."""
        start, buckets = 0, np.zeros(count, np.int16)
        limit = BUCKETS_MAX if self.buckets_max < 0 else min(self.buckets_max, BUCKETS_MAX)
        own = range(self.assigner, max(limit, self.assigner + 1), self.assigners)
        there = [b for b in sorted(self.counts) if b % self.assigners == self.assigner]
        fresh = (number for number in own if number not in self.counts)
        while start < count:
            bucket = there.pop(0) if there else next(fresh, None)
            if bucket is None:  # all are full: spread over what there is
                known = np.array([b for b in sorted(self.counts) if b in own], np.int16)
                buckets[start:] = known[np.arange(count - start) % len(known)]
                break
            free_rows = self.target_rows - self.counts.get(bucket, 0)
            if free_rows > 0:
                taken = min(free_rows, count - start)
                buckets[start : start + taken] = bucket
                self.counts[bucket] = self.counts.get(bucket, 0) + taken
                start += taken
        return buckets


@dataclass(slots=True)
class HashIndex:
    """The buckets of one partition.  Grows as it assigns."""

    target_rows: int
    buckets_max: int = -1
    """-1: as many as there can be."""
    assigners: int = 1
    """Who deals out buckets: each the keys whose hash is its own, to each ``assigners``-th bucket."""
    touched: set[int] = field(init=False, default_factory=set)
    """Buckets that got new hashes."""
    _hashes: Hashes = field(init=False)
    _buckets: npt.NDArray[np.int16] = field(init=False)
    _counts: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._hashes, self._buckets = np.zeros(0, np.int32), np.zeros(0, np.int16)

    @classmethod
    def of(
        cls,
        buckets: Mapping[int, Hashes],
        target_rows: int,
        buckets_max: int,
        assigners: int = 1,
    ) -> HashIndex:
        """The index that has ``buckets``: bucket number to the hashes in it."""
        index = cls(target_rows, buckets_max, assigners)
        index._counts = {bucket: len(hashes) for bucket, hashes in sorted(buckets.items())}
        if index._counts:
            together = np.concatenate([buckets[bucket] for bucket in index._counts])
            numbers = np.array(list(index._counts), np.int16)
            order = np.argsort(together, kind="stable")
            index._hashes = together[order]
            index._buckets = np.repeat(numbers, list(index._counts.values()))[order]
        return index

    def assign(self, hashes: Hashes) -> Buckets:
        """The bucket of each row, by its hash; new hashes get one, in order of appearance.

        Shape: ``hashes[n]`` to ``int64[n]``.
        """
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        place = np.searchsorted(self._hashes, unique)
        inside = np.minimum(place, max(len(self._hashes) - 1, 0))
        known = np.zeros(len(unique), np.bool_)
        if len(self._hashes):
            known = self._hashes[inside] == unique
        buckets = np.zeros(len(unique), np.int16)
        buckets[known] = self._buckets[inside[known]]
        new = np.flatnonzero(~known)
        if len(new):
            turn = np.argsort(first[new], kind="stable")
            buckets[new[turn]] = self._deal(unique[new[turn]])
            self._hashes = np.insert(self._hashes, place[new], unique[new])
            self._buckets = np.insert(self._buckets, place[new], buckets[new])
        return buckets[inverse].astype(np.int64)

    def hashes_of(self, bucket: int) -> Hashes:
        """Every hash in ``bucket``."""
        hashes: Hashes = self._hashes[self._buckets == bucket]
        return hashes

    def _deal(self, hashes: Hashes) -> npt.NDArray[np.int16]:
        """A bucket for each of ``hashes``, which are new: of those that belong to its assigner."""
        buckets = np.zeros(len(hashes), np.int16)
        assigner = np.abs(hashes.astype(np.int64)) % self.assigners
        for number in np.unique(assigner).tolist():
            mine = assigner == number
            filling = Filling(
                self._counts, self.target_rows, self.buckets_max, number, self.assigners
            )
            buckets[mine] = filling.take(int(mine.sum()))
        self.touched |= set(np.unique(buckets).tolist())
        return buckets


def encode_hashes(hashes: Hashes) -> bytes:
    """A hash index file: nothing but big-endian 32-bit numbers."""
    return hashes.astype(">i4").tobytes()


def decode_hashes(body: bytes) -> Hashes:
    """The hashes of an index file.

    Raises:
        ValueError: not a whole number of them.
    """
    return np.frombuffer(body, ">i4").astype(np.int32)
