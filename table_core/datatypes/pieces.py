"""Rows in pieces of so many bytes.

The number of rows tells nothing of their size: 256 rows of a number are 2 kB, 256 documents of 100 kB are 25 MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pieces"]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def pieces(rows: Rows, most_bytes: int) -> Iterator[Rows]:
    """``rows`` in order, cut to slices of at most ``most_bytes``, or of one row.

    A slice that is still too large, because its rows are wider than the others, is cut again.

    >>> table = pa.table({"v": ["a" * 10, "b" * 10, "c" * 1000]})
    >>> [piece.num_rows for piece in pieces(table, 600)]
    [2, 1]
    """
    size, count = rows.nbytes, rows.num_rows
    if count <= 1 or size <= most_bytes:
        yield rows
        return
    step = -(-count // max(min(-(-size // max(most_bytes, 1)), count), 2))
    for start in range(0, count, step):
        yield from pieces(rows.slice(start, step), most_bytes)
