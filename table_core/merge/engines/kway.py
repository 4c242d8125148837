"""Many sorted runs as one merged stream, window by window.

A window takes from every run what lies at or below a bound: the smallest last key in hand of a run
that goes on, or less where that would be too many rows.  So all versions of its keys are in it, and
memory is the number of runs times their batch size, one batch more, and a window.

Run A has batches 1 3 5 and 8 9, run B one batch 2 4 6 7::

    bound 5   A takes 1 3 5, B takes 2 4    not 7: A goes on, and may bring another 7
    bound 9   A takes 8 9, B takes 6 7      B has ended, so its 7 bounds nothing

Source: ``org.apache.paimon.mergetree.compact.SortMergeReaderWithLoserTree``; format 7.5.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.merge.ordinal import plain_ordinals
from table_core.merge.sort import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from table_core.merge.engines.engine import MergeEngine

__all__ = ["merge_runs"]

_WINDOW_ROWS: Final = 1 << 16
"""Fewer leave much of the time to Python, more touch fresh memory for longer than that takes."""


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    engine: MergeEngine,
    *,
    window_bytes: int | None = None,
    without: Sequence[str] = (),
) -> Iterator[pa.Table]:
    """Merge sorted ``runs``, given in any order, to tables of ascending keys that never repeat.

    Each run is sorted by key; a key may repeat in a run and go on in its next batch.  It costs
    least when the runs come oldest first.  A window has about ``window_bytes`` or less, but never
    less than all versions of a key.

    ``without``: columns of the order that the result need not have.

    Shape: KV rows to KV rows, one a key; retracts are kept.
    """
    try:
        cursors = [
            cursor for run in runs if (cursor := _RunCursor.of(run, engine.order.key)) is not None
        ]
        while cursors:
            bound = _bound(cursors, _window_rows(cursors, window_bytes))
            window = [part for cursor in cursors for part in cursor.take_to(bound)]
            cursors = [cursor for cursor in cursors if cursor.rows is not None]
            table = pa.Table.from_batches(window)
            del window
            versions = runs_of(table, engine.order)
            merged = engine.merge_runs(table.drop_columns(list(without)), versions)
            del table, versions
            yield merged
            del merged
    finally:
        _close(runs)


def _close(runs: Sequence[Iterator[pa.RecordBatch]]) -> None:
    """Give back what ``runs`` hold at once, also where an error keeps them: a run may be an open file."""
    for run in runs:
        if isinstance(run, Generator):
            run.close()


_Key = tuple[Any, ...]


def _window_rows(cursors: Sequence[_RunCursor], window_bytes: int | None) -> int:
    """How many rows a window should have."""
    if window_bytes is None:
        return _WINDOW_ROWS
    size = sum(cursor.nbytes for cursor in cursors)
    rows: int = sum(cursor.rows.num_rows for cursor in cursors if cursor.rows is not None)
    return max(1, min(_WINDOW_ROWS, window_bytes * rows // max(size, 1)))


def _bound(cursors: Sequence[_RunCursor], window_rows: int) -> _Key:
    """A key up to which there is something to take from all ``cursors`` at once.

    A run that has ended bounds nothing: else the ends of the runs would make a window each.  A bound
    that takes in over twice the rows of a window is moved down in the run that has most of them: not to
    the last row of its share of a window, but to a key, so versions of one key stay together.
    """
    bound: _Key = ()
    for cursor in sorted(cursors, key=lambda cursor: cursor.last):
        bound = cursor.last
        counts = [cursor.rows_to(bound) for cursor in cursors]
        total = sum(counts)
        if total > 2 * window_rows:
            most = max(range(len(cursors)), key=counts.__getitem__)
            return cursors[most].key_at(counts[most] * window_rows // total)
        if cursor.goes_on():
            break
    return bound


@dataclass(slots=True)
class _RunCursor:
    """What is left of a run's batch in hand, and where to get more."""

    source: Iterator[pa.RecordBatch]
    key: Sequence[str]
    rows: pa.RecordBatch | None
    nbytes: int
    """Of ``rows``."""
    first: int
    """How many of ``rows`` were taken."""
    columns: list[_Column]
    last: _Key
    ahead: pa.RecordBatch | None = None
    """The next batch, if it was asked for."""

    @classmethod
    def of(cls, source: Iterator[pa.RecordBatch], key: Sequence[str]) -> _RunCursor | None:
        cursor = cls(source, key, None, 0, 0, [], ())
        cursor._refill()
        return cursor if cursor.rows is not None else None

    def goes_on(self) -> bool:
        """Whether the run has rows after ``rows``."""
        if self.ahead is None:
            self.ahead = next((batch for batch in self.source if batch.num_rows), None)
        return self.ahead is not None

    def _refill(self) -> None:
        self.rows = self.ahead if self.goes_on() else None
        self.ahead = None
        if self.rows is not None:
            self.first, self.nbytes = 0, self.rows.nbytes
            self.columns = [_Column.of(self.rows.column(name)) for name in self.key]
            self.last = tuple(column.at(self.rows.num_rows - 1) for column in self.columns)

    def key_at(self, row: int) -> _Key:
        """The key of ``row``, counted from what is left."""
        return tuple(column.at(self.first + row) for column in self.columns)

    def take_to(self, bound: _Key) -> Iterator[pa.RecordBatch]:
        """Give up the rows at or below ``bound``."""
        while self.rows is not None:
            if self.last <= bound:
                yield self.rows.slice(self.first)
                self._refill()
                continue
            count = self.rows_to(bound)
            if count:
                yield self.rows.slice(self.first, count)
                self.first += count
            return

    def rows_to(self, bound: _Key) -> int:
        """How many of the rows that are left lie at or below ``bound``."""
        assert self.rows is not None
        low, high = self.first, int(self.rows.num_rows)
        for column, value in zip(self.columns, bound, strict=True):
            low, high = column.span(value, low, high)
            if low == high:
                break
        return high - self.first


@dataclass(frozen=True, slots=True)
class _Column:
    """A key column of a batch, as values that compare across batches."""

    array: pa.Array
    numbers: npt.NDArray[np.int64] | None
    """In place of the values, where the type has ordinals without ranking."""

    @classmethod
    def of(cls, array: pa.Array) -> _Column:
        return cls(array, plain_ordinals(array))

    def at(self, row: int) -> _Key:
        """The value of ``row`` as it compares: nothing for null, which is first."""
        if self.numbers is not None:
            is_null = self.array.null_count and not self.array[row].is_valid
            return () if is_null else (int(self.numbers[row]),)
        value = self.array[row].as_py()
        if value is None:
            return ()
        return (value.encode() if isinstance(value, str) else value,)

    def span(self, value: _Key, low: int, high: int) -> tuple[int, int]:
        """The rows of ``value`` among the sorted ``low`` to ``high``, or where it would stand.

        ``searchsorted`` for numbers; texts and columns with nulls, which would have to be ranked or decoded
        as a whole, are looked at in about as many rows as the logarithm of their number, by halving.
        """
        if self.numbers is not None and not self.array.null_count and value:
            part = self.numbers[low:high]
            left = int(np.searchsorted(part, value[0], "left"))
            right = int(np.searchsorted(part, value[0], "right"))
            return low + left, low + right
        left = self._place(value, low, high, past=False)
        return left, self._place(value, left, high, past=True)

    def _place(self, value: _Key, low: int, high: int, *, past: bool) -> int:
        while low < high:
            middle = (low + high) // 2
            here = self.at(middle)
            if here < value or (past and here == value):
                low = middle + 1
            else:
                high = middle
        return low
