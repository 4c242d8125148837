"""Levels and partitions of the live files, as bounded documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.history.kinds import VERSION
from table_core.ondisk.file_columns import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.ondisk.file_columns import FileColumns

__all__ = [
    "BUCKETS_MAX",
    "PARTITIONS_MAX",
    "levels_document",
    "partition_label",
    "partitions_document",
]

BUCKETS_MAX: Final = 500
PARTITIONS_MAX: Final = 2_000


def partition_label(texts: dict[str, str]) -> str:
    """The values of a partition on one line: ``dt=2026-01-01/hour=5``."""
    return "/".join(f"{name}={value}" for name, value in texts.items())


def levels_document(
    live: FileColumns, *, keyed: bool, text_of: Callable[[bytes], str], most: int = BUCKETS_MAX
) -> dict[str, Any]:
    """What each bucket has on each level: the worst ``most`` buckets, and how many there are.

    A file of level 0 is a sorted run, and so is each level above.  Append tables have one run a bucket.
    """
    if not len(live):
        return {"version": VERSION, "total": 0, "buckets": []}
    groups, of_group = _grouped(np.stack((live.partition, live.bucket, live.level), axis=1))
    count = len(groups)
    files = np.bincount(of_group, minlength=count)
    size, rows = _sums(of_group, live.size, count), _sums(of_group, live.rows, count)
    buckets: dict[tuple[int, int], list[list[int]]] = {}
    for at in range(count):
        partition, bucket, level = (int(value) for value in groups[at])
        told = [level, int(files[at]), int(size[at]), int(rows[at])]
        buckets.setdefault((partition, bucket), []).append(told)
    runs = {
        key: sum(files if level == 0 else 1 for level, files, _, _ in levels) if keyed else 1
        for key, levels in buckets.items()
    }
    shown = sorted(buckets, key=lambda key: (-runs[key], live.partitions[key[0]], key[1]))[:most]
    return {
        "version": VERSION,
        "total": len(buckets),
        "buckets": [
            [text_of(live.partitions[key[0]]), key[1], runs[key], buckets[key]] for key in shown
        ],
    }


def partitions_document(
    live: FileColumns,
    *,
    small_bytes: int,
    texts_of: Callable[[bytes], dict[str, str]],
    most: int = PARTITIONS_MAX,
) -> dict[str, Any]:
    """Size, files and age of each partition: the ``most`` that were written last, and how many there are."""
    if not len(live):
        return {"version": VERSION, "total": 0, "partitions": []}
    there, group = np.unique(live.partition, return_inverse=True)
    group, count = group.reshape(-1), len(there)
    files = np.bincount(group, minlength=count)
    small = np.bincount(group, live.size < small_bytes, minlength=count).astype(np.int64)
    size, rows = _sums(group, live.size, count), _sums(group, live.rows, count)
    newest = np.full(count, UNKNOWN, np.int64)
    np.maximum.at(newest, group, live.created_ms)
    order = np.argsort(-newest, kind="stable")[:most].tolist()
    return {
        "version": VERSION,
        "total": count,
        "partitions": [
            {
                "values": texts_of(live.partitions[int(there[at])]),
                "rows": int(rows[at]),
                "bytes": int(size[at]),
                "files": int(files[at]),
                "small_files": int(small[at]),
                "written_ms": None if int(newest[at]) == UNKNOWN else int(newest[at]),
            }
            for at in order
        ],
    }


def _grouped(rows: Any) -> tuple[Any, Any]:
    groups, of_group = np.unique(rows, axis=0, return_inverse=True)
    return groups, of_group.reshape(-1)


def _sums(group: Any, values: Any, count: int) -> Any:
    """Sums of integers by group, exact above 2**53 too."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums
