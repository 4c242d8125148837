"""The levels of one bucket: which files are which sorted run.

Level 0: every file is a run of its own, and they overlap.  Levels 1 and up: one run each.

Source: ``org.apache.paimon.mergetree.Levels``; format 7.1, T51.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from table_core.errors import CorruptFileError
from table_core.lsm.sorted_run import SortedRun, in_key_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.lsm.sorted_run import Bounds
    from table_core.ondisk.data_file import DataFile

__all__ = ["Levels"]


@dataclass(frozen=True, slots=True)
class Levels:
    """The sorted runs of one bucket in compaction order: level 0 newest first, then 1, 2, ..."""

    count: int
    """How many levels there are, level 0 included."""
    runs: tuple[SortedRun, ...]

    @classmethod
    def of(cls, files: Iterable[DataFile], bounds: Bounds, count: int) -> Levels:
        """Order the live ``files`` of one bucket.

        ``count`` is what the options ask for; files that another writer put higher raise it.

        Raises:
            CorruptFileError: files of one level above 0 overlap; ``problems`` names all of them.
        """
        by_level = sorted(files, key=lambda file: file.level)
        grouped = {level: list(group) for level, group in groupby(by_level, lambda f: f.level)}
        newest_first = sorted(grouped.pop(0, []), key=_age)
        runs = [SortedRun.single(file) for file in newest_first]
        problems: list[str] = []
        for level, members in grouped.items():
            ordered = in_key_order(members, bounds)
            problems += _overlaps(level, ordered, bounds)
            runs.append(SortedRun(level, tuple(ordered)))
        if problems:
            raise CorruptFileError(
                "files of one level overlap, which no compaction leaves behind; compact the "
                f"bucket with Apache Paimon or rewrite it: {'; '.join(problems)}",
                path="",
                problems=tuple(problems),
            )
        highest = runs[-1].level if runs else 0
        return cls(max(count, highest + 1), tuple(runs))

    @property
    def max_level(self) -> int:
        """The level of a full compaction."""
        return self.count - 1

    @property
    def highest_non_empty(self) -> int:
        """The highest level that holds a file; -1 in an empty bucket."""
        return self.runs[-1].level if self.runs else -1

    @property
    def level_zero(self) -> tuple[DataFile, ...]:
        """The files of level 0, newest first."""
        return tuple(run.files[0] for run in self.runs if run.level == 0)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Every file, in run order."""
        return tuple(file for run in self.runs for file in run.files)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(run.size for run in self.runs)


def _age(file: DataFile) -> tuple[int, int, int, str]:
    """Sorts the files of level 0 newest first."""
    created = file.creation_time_ms if file.creation_time_ms is not None else 0
    return (-file.max_sequence_number, file.min_sequence_number, created, file.file_name)


def _overlaps(level: int, ordered: list[DataFile], bounds: Bounds) -> list[str]:
    return [
        f"level {level}: {before.file_name} and {after.file_name}"
        for before, after in pairwise(ordered)
        if not bounds(before)[1] < bounds(after)[0]
    ]
