"""Sections: groups of files whose keys overlap, each split into the fewest sorted runs.

A key lives in one section only, so sections are merged one after the other; inside a section its
runs are merged with each other.

Source: ``org.apache.paimon.mergetree.compact.IntervalPartition``; format 7.5.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, TypeAlias

from table_core.lsm.sorted_run import SortedRun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.lsm.sorted_run import Bounds, Key
    from table_core.ondisk.data_file import DataFile

__all__ = ["sections"]

_Ranged: TypeAlias = "tuple[Key, Key, DataFile]"
"""Smallest and largest key of a file, and the file."""


def sections(files: Iterable[DataFile], bounds: Bounds) -> list[list[SortedRun]]:
    """Partition ``files`` (any levels) into sections in key order.

    Guarantees: every file is in one run of one section; the largest key of a section is below
    the smallest of the next; files of a run are disjoint and ascending; a section has as many
    runs as files cover one of its keys at most.

    Files a 1-5, b 3-8, c 6-7, d 9-10: b reaches from a to c, so a, b and c are one section and d another.
    In the first, c goes behind a, which ended first: runs (a, c) and (b).
    """
    files = list(files)
    if len(files) == 1:  # most buckets of a table of many partitions: nobody asks for its keys
        return [[SortedRun.single(files[0])]]
    grouped: list[list[_Ranged]] = []
    reach: Key | None = None
    for low, high, file in _in_key_order(files, bounds):
        if reach is None or reach < low:
            grouped.append([])
            reach = high
        grouped[-1].append((low, high, file))
        reach = max(reach, high)
    return [_runs(section) for section in grouped]


def _in_key_order(files: Iterable[DataFile], bounds: Bounds) -> list[_Ranged]:
    """As ``in_key_order``, with the bounds, which are decoded once."""
    ranged = [(*bounds(file), file) for file in files]
    return sorted(ranged, key=lambda one: (one[0], one[1], one[2].file_name))


def _runs(section: list[_Ranged]) -> list[SortedRun]:
    """Give each file to the run that ended first, or to a new one if that still overlaps."""
    runs: list[list[DataFile]] = []
    ends: list[tuple[Key, int]] = []
    for low, high, file in section:
        if ends and ends[0][0] < low:
            _, index = heapq.heapreplace(ends, (high, ends[0][1]))
            runs[index].append(file)
        else:
            heapq.heappush(ends, (high, len(runs)))
            runs.append([file])
    return [SortedRun(max(file.level for file in run), tuple(run)) for run in runs]
