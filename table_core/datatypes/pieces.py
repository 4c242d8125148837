"""Rows in pieces of so many bytes.

The number of rows tells nothing of their size: 256 rows of a number are 2 kB, 256 documents of 100 kB are 25 MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pieces", "pieces_apart", "wide_bytes"]

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


def pieces_apart(rows: Rows, wide_bytes: int) -> Iterator[Rows]:
    """``rows`` in order, each that takes more than ``wide_bytes`` as a slice of its own.

    >>> table = pa.table({"v": ["a" * 10, "b" * 10, "c" * 1000, "d" * 10]})
    >>> [piece.num_rows for piece in pieces_apart(table, 600)]
    [2, 1, 1]
    """
    start = end = 0
    for piece in pieces(rows, wide_bytes):
        if piece.num_rows == 1 and piece.nbytes > wide_bytes:
            if start < end:
                yield rows.slice(start, end - start)
            yield piece
            start = end + 1
        end += piece.num_rows
    if start < end:
        yield rows.slice(start, end - start)


def wide_bytes(rows: pa.Table | pa.RecordBatch, most_bytes: int) -> int:
    """Bytes of those of ``rows`` that take more than ``most_bytes`` each.

    >>> batch = pa.record_batch({"v": ["a" * 10, "b" * 1000, "c" * 10, "d" * 2000]})
    >>> wide_bytes(batch, 600) // 1000
    3
    """
    if rows.nbytes <= most_bytes:  # as nearly all are
        return 0
    return sum(part.nbytes for part in pieces(rows, most_bytes) if part.nbytes > most_bytes)
