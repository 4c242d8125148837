"""The largest numbers that files of each bucket ever had: what new rows are numbered on from.

A file that went counts like one that is there, so an entry needs no other entry to be understood, and what a
manifest says is worked out once for all commits.  The numbers are upper bounds of those of the files that are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Highest", "HighestNumbers", "Numbers"]

Numbers: TypeAlias = "tuple[bytes, int, int, int, int | None]"
"""Of an entry: partition, bucket, total buckets, largest sequence number, creation time."""


class Highest(NamedTuple):
    """Of the files of one bucket."""

    sequence: int
    created_ms: int
    """0 where no file says."""
    totals: frozenset[int]
    """How many buckets their partition had."""

    def joined(self, other: Highest) -> Highest:
        """Of these files and others."""
        return Highest(
            max(self.sequence, other.sequence),
            max(self.created_ms, other.created_ms),
            self.totals | other.totals,
        )


class HighestNumbers(dict[bytes, dict[int, Highest]]):
    """By partition, then by bucket."""

    @classmethod
    def of(cls, entries: Iterable[Numbers]) -> Self:
        """Those of ``entries``."""
        by_partition: dict[bytes, dict[int, tuple[int, int, set[int]]]] = {}
        for partition, bucket, total, sequence, created_ms in entries:
            buckets = by_partition.setdefault(partition, {})
            high, newest, totals = buckets.get(bucket) or (sequence, 0, set())
            totals.add(total)
            buckets[bucket] = (max(high, sequence), max(newest, created_ms or 0), totals)
        return cls(
            (
                row,
                {
                    b: Highest(high, newest, frozenset(totals))
                    for b, (high, newest, totals) in buckets.items()
                },
            )
            for row, buckets in by_partition.items()
        )
