"""Runs: where the versions of each key begin and end, and how to fold over them.

Every merge engine works on runs, so none of them loops over rows.  Pure numpy: no storage, no
options, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.merge.arrays import at, empty
from table_core.merge.ordinal import comparable, single_chunk
from table_core.merge.take_indices import taken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

__all__ = ["Groups", "Runs", "joined", "ranges"]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The versions of each key among the rows of a table.

    ``order`` lists row positions so that versions of a key stand together, oldest first; None
    when the rows already do.  ``starts`` and ``ends`` (inclusive) are positions in ``order``.

    Keys 7, 3, 7, 3, in order of arrival: key 3 has rows 1 and 3, key 7 has rows 0 and 2::

        order   [1, 3, 0, 2]
        starts  [0,    2   ]
        ends    [   1,    3]    rows_at(ends) = [3, 2], the newest row of each key
    """

    order: npt.NDArray[np.int64] | None
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    steady: bool = False
    """Whether it is known that a key's versions stand among the rows oldest first."""

    @classmethod
    def of(cls, rows: pa.Table, key: Sequence[str]) -> Runs:
        """Find the runs of equal ``key`` in rows that are in order already.

        Shape: ``rows[n]`` to ``starts[r]``, ``ends[r]`` with ``r <= n``.
        """
        values = comparable([single_chunk(rows[name]) for name in key])
        return cls.between(None, values[1:] != values[:-1], rows.num_rows)

    @classmethod
    def between(
        cls, order: npt.NDArray[np.int64] | None, changed: npt.NDArray[np.bool_], count: int
    ) -> Runs:
        """Steady runs of ``count`` rows; ``changed[i]``: the key differs from row ``i`` to ``i + 1``."""
        if count == 0:
            return cls(order, np.zeros(0, np.int64), np.zeros(0, np.int64), steady=True)
        last = np.flatnonzero(changed)
        starts, ends = empty(len(last) + 1), empty(len(last) + 1)
        starts[0], ends[-1] = 0, count - 1
        np.add(last, 1, out=starts[1:])
        ends[:-1] = last
        return cls(order, starts, ends, steady=True)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many versions each key has."""
        return self.ends - self.starts + 1

    def rows_at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Row numbers at ``positions`` of the order."""
        rows: npt.NDArray[np.int64] = positions if self.order is None else self.order[positions]
        return rows

    @property
    def are_rows(self) -> bool:
        """Whether every row is the only version of its key, and the rows are in order."""
        return self.order is None and len(self.starts) == (
            0 if len(self.ends) == 0 else int(self.ends[-1]) + 1
        )

    def versions_of(self, which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Row numbers of every version of the runs ``which``, run by run."""
        return self.rows_at(ranges(self.starts[which], self.lengths[which]))


def ranges(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """``starts[i] … starts[i] + lengths[i] - 1`` one span after the other.

    >>> ranges(np.array([10, 20]), np.array([3, 2])).tolist()
    [10, 11, 12, 20, 21]
    """
    total = int(lengths.sum())
    begins = np.cumsum(lengths) - lengths
    positions: npt.NDArray[np.int64] = np.arange(total) + np.repeat(starts - begins, lengths)
    return positions


@dataclass(frozen=True, eq=False)
class Groups:
    """Consecutive spans of a column, to be folded to one value each.

    A span may be empty.  ``retract`` marks values that are taken away instead of added (None:
    none is).  ``removed`` marks groups whose first value is that of a removed row, ``initialized``
    those of them that had a first value before.

    >>> groups = Groups.of_lengths(np.array([3, 0, 2]))
    >>> groups.starts.tolist(), groups.stops.tolist(), groups.ids.tolist()
    ([0, 3, 3], [3, 3, 5], [0, 0, 0, 2, 2])
    >>> groups.last(np.array([True, True, False, False, False])).tolist()
    [1, -1, -1]
    """

    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    retract: npt.NDArray[np.bool_] | None = None
    removed: npt.NDArray[np.bool_] | None = None
    initialized: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of_lengths(
        cls,
        lengths: npt.NDArray[np.int64],
        retract: npt.NDArray[np.bool_] | None = None,
        removed: npt.NDArray[np.bool_] | None = None,
        initialized: npt.NDArray[np.bool_] | None = None,
    ) -> Groups:
        """Groups of ``lengths``, one after the other."""
        stops = np.cumsum(lengths)
        some = retract if retract is not None and bool(retract.any()) else None
        return cls(stops - lengths, stops, some, removed, initialized)

    @property
    def gives_way(self) -> npt.NDArray[np.bool_]:
        """Groups whose first value gives way to the next: a removed row is nobody's first."""
        if self.removed is None or self.initialized is None:
            return np.zeros(len(self.starts), np.bool_)
        return self.removed & ~self.initialized

    @property
    def count(self) -> int:
        """How many values the groups hold."""
        return int(self.stops[-1]) if len(self.stops) else 0

    @cached_property
    def ids(self) -> npt.NDArray[np.int64]:
        """The group of each value.  Shape: ``[n]``.

        A running sum of ones at the starts; an empty group would put two ones in one place, so there
        ``repeat`` does it.
        """
        if not self._filled:
            return np.repeat(np.arange(len(self.starts)), self.stops - self.starts)
        steps = empty(self.count)
        steps.fill(0)
        steps[self.starts[1:]] = 1
        return np.cumsum(steps, out=steps)

    @cached_property
    def _filled(self) -> bool:
        """Whether no group is empty."""
        return bool((self.stops > self.starts).all())

    def adds(self) -> npt.NDArray[np.bool_]:
        """Which values are added.  Shape: ``[n]``."""
        return np.ones(self.count, np.bool_) if self.retract is None else ~self.retract

    def last(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Position of the last value of each group in ``mask``, or -1."""
        return self._at_edges(mask, slice(None, -1), -1)

    def first(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Position of the first value of each group in ``mask``, or -1."""
        return self._at_edges(mask, slice(1, None), 0)

    def _at_edges(
        self, mask: npt.NDArray[np.bool_], inner: slice, outermost: int
    ) -> npt.NDArray[np.int64]:
        """Positions in ``mask`` where the group differs from that of a neighbour, by group.

        ``hits`` 0 1 4 of groups 0 0 2: the last ones are 1 and 4, because a hit of another group, or
        none, follows them.  The first ones are 0 and 4.
        """
        hits = np.flatnonzero(mask)
        if not len(hits):
            return np.full(len(self.starts), -1)
        owner = at(self.ids, hits)
        edges = empty(len(hits), np.bool_)
        np.not_equal(owner[1:], owner[:-1], out=edges[inner])
        edges[outermost] = True
        chosen = np.flatnonzero(edges)
        positions = at(hits, chosen)
        if len(positions) == len(self.starts):
            return positions
        result = empty(len(self.starts))
        result.fill(-1)
        result[at(owner, chosen)] = positions
        return result

    def reduce(self, operation: np.ufunc, values: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        """``operation`` over the values of each group; ``empty`` where there are none."""
        if self._filled and len(self.starts):
            return self._reduced(operation, values)
        result = np.full(len(self.starts), empty, values.dtype)
        filled = self.stops > self.starts
        if filled.any():
            result[filled] = operation.reduceat(values, self.starts[filled])
        return result

    def _reduced(self, operation: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``reduce`` where no group is empty; ``reduceat`` takes twice as long as what adds up.

        The sums of 5 9 7 | 2 1: running 5 14 21 23 24, at the ends 21 24, each less the one before
        it: 21 3.
        """
        if values.dtype == np.int64:
            if operation is np.add:  # what wraps on the way wraps back
                sums = np.cumsum(values, out=empty(len(values)))[self.stops - 1]
                sums[1:] -= sums[:-1]
                return sums
            if operation is np.maximum:
                return self._greatest(values)
            if operation is np.minimum:
                return ~self._greatest(~values)
        whole: npt.NDArray[Any] = operation.reduceat(values, self.starts)
        return whole

    def _greatest(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The greatest value of each group: behind the group's number, it is the greatest so far.

        5 9 7 | 2 1 as pairs 0·4 0·8 0·6 1·1 1·0 (the least, 1, is taken off): the greatest so far is
        0·4 0·8 0·8 1·1 1·1, because a pair of a later group is above all pairs of an earlier one.
        """
        low = int(values.min())
        width = (int(values.max()) - low).bit_length()
        if width + len(self.starts).bit_length() > 63:
            whole: npt.NDArray[np.int64] = np.maximum.reduceat(values, self.starts)
            return whole
        numbered = np.left_shift(self.ids, width, out=empty(len(values)))
        numbered += values
        numbered -= low
        best = np.maximum.accumulate(numbered, out=numbered)[self.stops - 1]
        return (best & ((1 << width) - 1)) + low


def joined(
    rows: pa.Table,
    runs: Runs,
    several: npt.NDArray[np.int64],
    folded: Mapping[str, pa.Array | npt.NDArray[np.int64]],
    instead: npt.NDArray[np.int64] | None = None,
) -> pa.Table:
    """One row a key: ``folded`` for the runs ``several``, the only version for the others.

    A key with one version passes through unchanged (format 7.5).  ``folded`` has for each column
    the results, or the numbers of the rows that hold them (negative: null).  ``instead[i] >= 0``
    is the row that stands for run ``several[i]`` in place of ``folded``'s.

    Keys 1 1 2, so ``several`` is [0] and the row of key 2 goes through::

        folded["sum"] = pa.array([12])    values [5, 7, 9] + [12], taken at [3, 2]: [12, 9]
        folded["last"] = np.array([1])    values [5, 7, 9], taken at [1, 2]: [7, 9]
    """
    alone = runs.rows_at(runs.ends)

    def indices_of(chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        at = alone.copy()
        at[several] = chosen if instead is None else np.where(instead >= 0, instead, chosen)
        return at

    of_results = indices_of(np.arange(len(several)) + rows.num_rows)
    columns = []
    for name in rows.column_names:
        column, result = single_chunk(rows[name]), folded[name]
        if isinstance(result, np.ndarray):
            columns.append(taken(column, indices_of(result)))
        else:
            columns.append(taken(pa.concat_arrays([column, result]), of_results))
    return pa.table(columns, schema=rows.schema)
