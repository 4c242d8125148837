"""The newest value of each key, put in its place chunk by chunk: rows are not brought together first.

Half of a partial update is nulls; a chunk of nothing else costs nothing here.

Keys 1 1 1 2 and two chunks, [5, NULL] and [7, 9]::

    groups                 0 0 0 1
    after the first chunk  5 _       row 0 puts 5 in place 0; row 1 has nothing to put
    after the second       7 9       row 2 puts 7 over it

So rows must come oldest first: the last one that has a value stays.  Numpy keeps the last of several
values for one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.merge.arrays import at, empty, numbers
from table_core.merge.ordinal import slots, validity
from table_core.merge.take_indices import TakeIndices, set_bits, slot_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from table_core.merge.runs import Groups, Runs

__all__ = ["LatestNonNull"]


@dataclass(frozen=True, eq=False)
class LatestNonNull:
    """Finds newest values in rows whose versions come oldest first."""

    groups: npt.NDArray[np.int64]
    """Which key each row has, by its number among the keys.  Shape: ``[n]``."""
    count: int
    """Of keys: each has a row."""

    @classmethod
    def of(cls, runs: Runs, groups: Groups) -> LatestNonNull:
        """Where ``runs`` are ``steady``; ``groups``: the same, as spans."""
        if runs.order is None:
            return cls(groups.ids, len(runs.starts))
        by_row = empty(len(groups.ids))
        by_row[runs.order] = groups.ids
        return cls(by_row, len(runs.starts))

    def in_column(self, column: pa.ChunkedArray) -> pa.Array:
        """The newest value of each key that is not null; null where there is none."""
        dtype = slot_type(column.type)
        if dtype is None:
            return self._by_row(column)
        values, there = empty(self.count, dtype), None
        if column.null_count:
            values.fill(0)
            there = np.zeros(self.count, np.bool_)
        for chunk, rows, groups in self._parts(column):
            in_chunk = slots(chunk, dtype)
            values[groups] = in_chunk if rows is None else at(in_chunk, rows)
            if there is not None:
                there[groups] = True
        bits = None if there is None else set_bits(there)
        return pa.Array.from_buffers(column.type, self.count, [bits, pa.py_buffer(values)])

    def _by_row(self, column: pa.ChunkedArray) -> pa.Array:
        """``in_column`` where values are not of one width."""
        chosen = empty(self.count)
        chosen.fill(-1)
        chunks, first = [], 0
        for chunk, rows, groups in self._parts(column):
            chosen[groups] = (numbers(len(chunk)) if rows is None else rows) + first
            chunks.append(chunk)
            first += len(chunk)
        if not chunks:
            return pa.nulls(self.count, column.type)
        return TakeIndices(chosen).of(chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks))

    def _parts(
        self, column: pa.ChunkedArray
    ) -> Iterator[tuple[pa.Array, npt.NDArray[np.int64] | None, npt.NDArray[np.int64]]]:
        """Chunks with values, rows in them that have one (None: all), and the keys of these."""
        first = 0
        for chunk in column.chunks:
            groups = self.groups[first : first + len(chunk)]
            first += len(chunk)
            if chunk.null_count == len(chunk):
                continue
            valid = validity(chunk)
            if valid is None:
                yield chunk, None, groups
            else:
                rows = np.flatnonzero(valid)
                yield chunk, rows, at(groups, rows)
