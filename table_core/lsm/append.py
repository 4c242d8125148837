"""Which files of an append table to pack into larger ones.

Source: ``org.apache.paimon.append.{AppendCompactCoordinator,BucketedAppendCompactManager}``;
format 6, 7, 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.options import keys_files, keys_scan, keys_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from table_core.ondisk.data_file import DataFile
    from table_core.options.table import TableOptions

__all__ = ["DEFAULT_TARGET_SIZE", "PackingRules", "pick_bucket", "pick_unaware"]

DEFAULT_TARGET_SIZE = 256 * 1024 * 1024
"""``target-file-size`` of a table without primary key."""
_FULL_MIN_FILES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingRules:
    """The sizes and counts that packing depends on."""

    target_file_size: int = DEFAULT_TARGET_SIZE
    small_file_ratio: float = 0.7
    min_files: int = 5
    open_file_cost: int = 4 * 1024 * 1024
    delete_ratio: float = 0.2

    @classmethod
    def of(cls, options: TableOptions) -> PackingRules:
        """The rules of a table without primary key."""
        target = options.get(keys_files.TARGET_FILE_SIZE)
        return cls(
            target_file_size=DEFAULT_TARGET_SIZE if target is None else target,
            small_file_ratio=options.get(keys_write.COMPACTION_SMALL_FILE_RATIO),
            min_files=options.get(keys_write.COMPACTION_MIN_FILE_NUM),
            open_file_cost=options.get(keys_scan.SOURCE_SPLIT_OPEN_FILE_COST),
            delete_ratio=options.get(keys_write.COMPACTION_DELETE_RATIO_THRESHOLD),
        )

    @property
    def small_file_size(self) -> int:
        """Files below this are packed."""
        return int(self.target_file_size * self.small_file_ratio)


def pick_unaware(
    files: Iterable[DataFile],
    rules: PackingRules,
    *,
    deleted_rows: Callable[[DataFile], int] = lambda _: 0,
    index_file_of: Callable[[DataFile], str | None] = lambda _: None,
) -> list[tuple[DataFile, ...]]:
    """Pack the files of one partition of a table without buckets.

    Small files, and files of which more than ``delete_ratio`` is deleted, are packed by size:
    a pack is closed when it reaches twice the target size; the last one needs ``min_files``.
    Files whose deletion vectors are in one index file stay together, and always are packed.

    Args:
        files: live files of one partition.
        rules: sizes and counts.
        deleted_rows: how many rows the deletion vector of a file marks.
        index_file_of: the index file that holds it, or None without one.
    """
    chosen = [
        file
        for file in files
        if file.file_size < rules.small_file_size
        or deleted_rows(file) > rules.delete_ratio * file.row_count
    ]
    marked: dict[str, list[DataFile]] = {}
    plain: list[DataFile] = []
    for file in sorted(chosen, key=lambda f: (f.file_size, f.file_name)):
        index_file = index_file_of(file)
        if index_file is None:
            plain.append(file)
        else:
            marked.setdefault(index_file, []).append(file)
    groups = sorted(marked.values(), key=lambda group: sum(f.file_size for f in group))
    packs, rest = _pack(groups, rules)
    if rest:
        packs.append(rest)
    more, rest = _pack([[file] for file in plain], rules)
    if len(rest) >= rules.min_files:
        more.append(rest)
    return [tuple(pack) for pack in packs + more]


def pick_bucket(
    files: Iterable[DataFile],
    rules: PackingRules,
    *,
    everything: bool = False,
    has_deletion_vector: Callable[[DataFile], bool] | None = None,
) -> tuple[DataFile, ...]:
    """Pick neighbours, oldest first, of one bucket of a bucketed append table; () for none.

    The rows of a bucket are in sequence order, so only neighbours may be joined and the result
    takes their place.

    Args:
        files: live files of one bucket.
        rules: sizes and counts.
        everything: a full compaction: all files after the leading large ones, if at least 3
            and most of them small.
        has_deletion_vector: given for tables with deletion vectors, which a full compaction
            always applies.
    """
    ordered = sorted(files, key=lambda f: (f.min_sequence_number, f.file_name))
    if everything:
        return _whole_bucket(ordered, rules.target_file_size, has_deletion_vector)
    window: list[DataFile] = []
    size = 0
    for file in ordered:
        # A large file in the window is let go of at its old end, so that it is not written again.
        window.append(file)
        size += file.file_size
        if len(window) >= rules.min_files:
            return tuple(window)
        if size >= rules.target_file_size:
            size -= window.pop(0).file_size
    return ()


def _whole_bucket(
    ordered: Sequence[DataFile],
    target: int,
    has_deletion_vector: Callable[[DataFile], bool] | None,
) -> tuple[DataFile, ...]:
    marked = has_deletion_vector or (lambda _: False)
    keep = 0
    while keep < len(ordered) and ordered[keep].file_size >= target and not marked(ordered[keep]):
        keep += 1
    chosen = tuple(ordered[keep:])
    if has_deletion_vector is not None:
        return chosen
    small = sum(file.file_size < target for file in chosen)
    return chosen if small > len(chosen) - small and len(chosen) >= _FULL_MIN_FILES else ()


def _pack(
    groups: Sequence[Sequence[DataFile]], rules: PackingRules
) -> tuple[list[list[DataFile]], list[DataFile]]:
    """Full packs, and what is left over.

    Target 10, cost of opening 1, files 2 3 4 8 9: with their costs 3 + 4 + 5 + 9 is 21, which is twice the
    target: one pack of four, and 9 is left over.
    """
    packs: list[list[DataFile]] = []
    pack: list[DataFile] = []
    size = 0
    for group in groups:
        pack += group
        size += sum(file.file_size + rules.open_file_cost for file in group)
        if len(pack) > 1 and size >= 2 * rules.target_file_size:
            packs.append(pack)
            pack, size = [], 0
    return packs, pack
