"""A sorted run: files whose key ranges do not overlap, in key order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from table_core.ondisk.data_file import DataFile

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Bounds", "Key", "SortedRun", "in_key_order", "overlap"]

Key: TypeAlias = tuple[Any, ...]
"""A primary key as Python compares it: ``binary_row.sort_key`` makes one."""
Bounds: TypeAlias = Callable[[DataFile], tuple[Key, Key]]
"""Smallest and largest key of a file, both inclusive."""


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files with disjoint key ranges, smallest key first.

    ``level`` is the level of all of them in ``Levels``.  A run of a section (``overlap``) mixes
    levels; there it is the highest one, and nothing depends on it.
    """

    level: int
    files: tuple[DataFile, ...]

    @classmethod
    def single(cls, file: DataFile) -> SortedRun:
        """The run of one file."""
        return cls(file.level, (file,))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.file_size for file in self.files)


def in_key_order(files: Iterable[DataFile], bounds: Bounds) -> list[DataFile]:
    """``files`` by smallest, then largest key; equal ranges by name, so the order is one."""
    return sorted(files, key=lambda file: (*bounds(file), file.file_name))


def overlap(files: Iterable[DataFile], bounds: Bounds) -> bool:
    """Whether two of ``files`` of one bucket could hold the same key."""
    ordered = in_key_order(files, bounds)
    return any(not bounds(a)[1] < bounds(b)[0] for a, b in pairwise(ordered))
