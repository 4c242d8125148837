"""The shape of a table's live files, bucket by bucket, from their manifest entries alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.ondisk.data_file import ManifestEntry

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


@dataclass(slots=True)
class _Tally:
    files: int = 0
    bytes: int = 0
    small: int = 0
    level_zero: int = 0
    above: set[int] = field(default_factory=set)


def shape_of(live: Iterable[ManifestEntry], *, keyed: bool, small_bytes: int) -> FileShape:
    """The shape of the ``live`` files; those below ``small_bytes`` are small."""
    tallies: dict[tuple[bytes, int], _Tally] = {}
    levels: Counter[int] = Counter()
    rows = deletes = 0
    for entry in live:
        file = entry.file
        tally = tallies.setdefault((entry.partition, entry.bucket), _Tally())
        tally.files += 1
        tally.bytes += file.file_size
        tally.small += file.file_size < small_bytes
        if file.level:
            tally.above.add(file.level)
        else:
            tally.level_zero += 1
        levels[file.level] += 1
        rows += file.row_count
        deletes += file.delete_row_count or 0
    buckets = [
        BucketShape(
            partition=partition,
            bucket=bucket,
            files=tally.files,
            bytes=tally.bytes,
            sorted_runs=tally.level_zero + len(tally.above) if keyed else 1,
            small_files=tally.small,
        )
        for (partition, bucket), tally in tallies.items()
    ]
    buckets.sort(key=lambda b: (-b.sorted_runs, -b.small_files, b.partition, b.bucket))
    return FileShape(
        files=sum(b.files for b in buckets),
        bytes=sum(b.bytes for b in buckets),
        rows=rows,
        delete_rows=deletes,
        small_files=sum(b.small_files for b in buckets),
        levels=dict(sorted(levels.items())),
        buckets=tuple(buckets),
    )
