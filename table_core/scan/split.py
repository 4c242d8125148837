"""Splits: the units of reading.  Each is files of one bucket that are read together.

A batch split is *raw convertible* when every key occurs once in it and no row is a retract: then value
columns are read as they lie.  All others are merged.  A split of changes is never merged.

Source: ``org.apache.paimon.table.source.MergeTreeSplitGenerator``, ``AppendOnlySplitGenerator``;
format 7.6, T47, T50.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from table_core.errors import UnsupportedFeatureError
from table_core.lsm.overlap import sections
from table_core.ondisk.binary_row import decode_row, sort_key
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.index_manifest import DELETION_VECTORS
from table_core.options import keys_merge, keys_scan, keys_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.lsm.sorted_run import Bounds
    from table_core.ondisk.data_file import DataFile, ManifestEntry
    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.options.table import TableOptions
    from table_core.schema.table_schema import TableSchema

__all__ = [
    "DeletionRef",
    "Split",
    "batch_splits",
    "by_bucket",
    "change_splits",
    "deletion_refs",
    "hides_level0",
    "in_bins",
]

T = TypeVar("T")
DeletionRef = tuple[str, int, int, int | None]
"""Index file name, and offset, length and count of the deletion vector of one data file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Files of one bucket, read together.  Picklable: it travels to executors."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFile, ...]
    raw_convertible: bool
    snapshot_id: int
    deletions: Mapping[str, DeletionRef] = field(default_factory=dict)
    """Data file name to where its deletion vector lies."""
    retracts: bool = False
    """Whether all rows are read as ``-D``: files that an OVERWRITE took away, in a stream."""
    inserts: bool = False
    """Whether all rows are read as ``+I``: the state with which a stream begins."""
    branch: str | None = None
    """The branch that describes the files, where it is not that of the handle (fallback)."""
    before: Split | None = None
    """The same bucket in an older state, where the two are compared."""
    part: tuple[int, int] = (0, 1)
    """Which part of its only file it is, the first being 0, and of how many."""

    @property
    def row_count(self) -> int:
        """Physical rows, before merging and deletion vectors; of a part about so many."""
        return sum(file.row_count for file in self.files) // self.part[1]

    @property
    def size(self) -> int:
        """Bytes of all files; of a part about so many."""
        return sum(file.file_size for file in self.files) // self.part[1]


def hides_level0(schema: TableSchema, options: TableOptions) -> bool:
    """Whether batch reads leave level 0 out, because only compaction makes it visible (format T47)."""
    if not schema.is_key_table:
        return False
    if options.get(keys_merge.MERGE_ENGINE) == "first-row":
        return True
    return options.get(keys_write.DELETION_VECTORS_ENABLED) and not options.get(
        keys_write.DELETION_VECTORS_MERGE_ON_READ
    )


def deletion_refs(entries: Iterable[IndexEntry]) -> dict[str, DeletionRef]:
    """Where the deletion vector of each data file lies, from an index manifest.

    Raises:
        UnsupportedFeatureError: an index file lies outside the table.
    """
    refs = {}
    for entry in entries:
        if entry.index_type != DELETION_VECTORS:
            continue
        if entry.external_path is not None:
            raise UnsupportedFeatureError(
                f"deletion vectors at {entry.external_path} lie outside the table",
                feature="external index files",
            )
        for r in entry.ranges or ():
            refs[r.file_name] = (entry.file_name, r.offset, r.length, r.cardinality)
    return refs


def by_bucket(
    entries: Iterable[ManifestEntry],
) -> dict[tuple[bytes, int], list[ManifestEntry]]:
    """Entries by partition and bucket, partitions together, in order of first appearance."""
    partitions: dict[bytes, dict[int, list[ManifestEntry]]] = {}
    for entry in entries:
        partitions.setdefault(entry.partition, {}).setdefault(entry.bucket, []).append(entry)
    return {
        (partition, bucket): group
        for partition, buckets in partitions.items()
        for bucket, group in buckets.items()
    }


def batch_splits(
    schema: TableSchema,
    options: TableOptions,
    entries: Iterable[ManifestEntry],
    *,
    snapshot_id: int,
    bounds: Bounds,
    deletions: Mapping[str, DeletionRef] | None = None,
) -> list[Split]:
    """The splits of one state of a table; ``entries`` are its visible files, oldest first.

    Partitions come by creation, or by value with ``scan.plan-sort-partition``.
    """
    groups = by_bucket(e for e in entries if e.bucket >= 0)  # the others wait for one
    if options.get(keys_scan.SCAN_PLAN_SORT_PARTITION) and schema.partition_keys:
        types = [f.type for f in schema.partition_fields]
        ordered = sorted(
            groups, key=lambda key: (sort_key(types, decode_row(types, key[0])), key[1])
        )
        groups = {key: groups[key] for key in ordered}
    splits = []
    for (partition, bucket), group in groups.items():
        files = [entry.file for entry in group]
        for chosen, raw in _packed(schema, options, files, bounds):
            splits.append(
                Split(
                    partition=partition,
                    bucket=bucket,
                    total_buckets=group[0].total_buckets,
                    files=chosen,
                    raw_convertible=raw,
                    snapshot_id=snapshot_id,
                    deletions=_deletions_of(chosen, deletions),
                )
            )
    return splits


def _deletions_of(
    files: Iterable[DataFile], deletions: Mapping[str, DeletionRef] | None
) -> dict[str, DeletionRef]:
    if not deletions:
        return {}
    return {f.file_name: deletions[f.file_name] for f in files if f.file_name in deletions}


def _packed(
    schema: TableSchema, options: TableOptions, files: Sequence[DataFile], bounds: Bounds
) -> list[tuple[tuple[DataFile, ...], bool]]:
    """Files of one bucket as groups, each with whether it is raw convertible."""
    if len(files) == 1:
        return [((files[0],), not schema.is_key_table or files[0].delete_row_count == 0)]
    target = options.get(keys_scan.SOURCE_SPLIT_TARGET_SIZE)
    open_cost = options.get(keys_scan.SOURCE_SPLIT_OPEN_FILE_COST)

    def weight(group: Sequence[DataFile]) -> int:
        return max(sum(file.file_size for file in group), open_cost)

    if not schema.is_key_table:
        ordered = sorted(files, key=lambda file: file.min_sequence_number)
        return [
            (tuple(group), True) for group in in_bins(ordered, lambda file: weight([file]), target)
        ]
    if _needs_no_merge(options, files):
        return [
            (tuple(group), all(file.delete_row_count == 0 for file in group))
            for group in in_bins(files, lambda file: weight([file]), target)
        ]
    parts = [[file for run in section for file in run.files] for section in sections(files, bounds)]
    groups = []
    for group in in_bins(parts, weight, target):
        chosen = tuple(file for part in group for file in part)
        groups.append((chosen, len(chosen) == 1 and chosen[0].delete_row_count == 0))
    return groups


def _needs_no_merge(options: TableOptions, files: Sequence[DataFile]) -> bool:
    """Whether every key occurs once in ``files``."""
    if not all(file.level > 0 and not file.delete_row_count for file in files):
        return False
    return (
        options.get(keys_write.DELETION_VECTORS_ENABLED)
        or options.get(keys_merge.MERGE_ENGINE) == "first-row"
        or len({file.level for file in files}) == 1
    )


def in_bins(items: Iterable[T], weight: Callable[[T], int], target: int) -> list[list[T]]:
    """Bins of consecutive items; a bin is closed before it would exceed ``target``."""
    bins: list[list[T]] = []
    filled = 0
    for item in items:
        heavy = weight(item)
        if not bins or filled + heavy > target:
            bins.append([])
            filled = 0
        bins[-1].append(item)
        filled += heavy
    return bins


def change_splits(
    entries: Iterable[ManifestEntry], *, snapshot_id: int, with_deleted: bool = False
) -> list[Split]:
    """The splits of the changes of one snapshot: one a bucket, files as listed, nothing merged.

    ``entries`` are those of its changelog or delta.  With ``with_deleted`` files that the snapshot
    took away come first, as ``-D`` rows.
    """
    splits = []
    for (partition, bucket), group in by_bucket(entries).items():
        for kind in (EntryKind.DELETE, EntryKind.ADD) if with_deleted else (EntryKind.ADD,):
            files = tuple(e.file for e in group if e.kind is kind)
            if files:
                splits.append(
                    Split(
                        partition=partition,
                        bucket=bucket,
                        total_buckets=group[0].total_buckets,
                        files=files,
                        raw_convertible=False,
                        snapshot_id=snapshot_id,
                        retracts=kind is EntryKind.DELETE,
                    )
                )
    return splits
