"""The shape of a table's live files, bucket by bucket, from their manifest entries alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.ondisk.file_columns import FileColumns

__all__ = ["BucketShape", "FileShape", "shape_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketShape:
    """One bucket of one partition."""

    partition: bytes
    bucket: int
    files: int
    bytes: int
    sorted_runs: int
    """Files of level 0, and one for each level above that has files; append tables have one."""
    small_files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileShape:
    """All live files."""

    files: int = 0
    bytes: int = 0
    rows: int = 0
    """Physical ones."""
    delete_rows: int = 0
    """Rows that only say that a key is gone."""
    small_files: int = 0
    levels: Mapping[int, int] = field(default_factory=dict)
    """Files of each level."""
    buckets: tuple[BucketShape, ...] = ()
    """Worst first: most sorted runs, then most small files."""

    @property
    def sorted_runs_max(self) -> int:
        """Of any bucket."""
        return max((b.sorted_runs for b in self.buckets), default=0)

    @property
    def small_files_max(self) -> int:
        """Of any bucket."""
        return max((b.small_files for b in self.buckets), default=0)

    @property
    def read_amplification(self) -> float:
        """Sorted runs that a reader merges, on average over the bytes; 1 is best."""
        if not self.bytes:
            return 1.0
        return sum(b.bytes * b.sorted_runs for b in self.buckets) / self.bytes


def shape_of(live: FileColumns, *, keyed: bool, small_bytes: int) -> FileShape:
    """The shape of the ``live`` files; those below ``small_bytes`` are small."""
    if not len(live):
        return FileShape()
    pairs = np.stack((live.partition, live.bucket), axis=1)
    distinct, group = np.unique(pairs, axis=0, return_inverse=True)
    group = group.reshape(-1)
    count = len(distinct)
    files = np.bincount(group, minlength=count)
    size = _sums(group, live.size, count)
    small = np.bincount(group, live.size < small_bytes, minlength=count).astype(np.int64)
    runs = np.bincount(group, live.level == 0, minlength=count).astype(np.int64)
    above = live.level > 0
    levels_above = np.unique(np.stack((group[above], live.level[above]), axis=1), axis=0)
    runs += np.bincount(levels_above[:, 0], minlength=count)
    if not keyed:
        runs = np.ones(count, np.int64)
    buckets = [
        BucketShape(
            partition=live.partitions[int(distinct[i, 0])],
            bucket=int(distinct[i, 1]),
            files=int(files[i]),
            bytes=int(size[i]),
            sorted_runs=int(runs[i]),
            small_files=int(small[i]),
        )
        for i in range(count)
    ]
    buckets.sort(key=lambda b: (-b.sorted_runs, -b.small_files, b.partition, b.bucket))
    levels, of_level = np.unique(live.level, return_counts=True)
    return FileShape(
        files=len(live),
        bytes=int(live.size.sum()),
        rows=int(live.rows.sum()),
        delete_rows=int(live.delete_rows.sum()),
        small_files=int(small.sum()),
        levels=dict(zip(levels.tolist(), of_level.tolist(), strict=True)),
        buckets=tuple(buckets),
    )


def _sums(group: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Sums of integers by group, exact above 2**53 too."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums
