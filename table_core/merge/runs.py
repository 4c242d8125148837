"""Runs: where the versions of each key begin and end, and how to fold over them.

Every merge engine works on runs, so none of them loops over rows.  Pure numpy: no storage, no
options, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.merge.ordinal import comparable, single_chunk, validity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

__all__ = ["Groups", "Runs", "joined", "spans", "taken", "where_there"]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The versions of each key among the rows of a table.

    ``order`` lists row positions so that versions of a key stand together, oldest first; None
    when the rows already do.  ``starts`` and ``ends`` (inclusive) are positions in ``order``.
    """

    order: npt.NDArray[np.int64] | None
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

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
        """Runs of ``count`` rows; ``changed[i]``: the key differs from row ``i`` to ``i + 1``."""
        if count == 0:
            return cls(order, np.zeros(0, np.int64), np.zeros(0, np.int64))
        last = np.flatnonzero(changed)
        starts = np.concatenate([np.zeros(1, np.int64), last + 1])
        return cls(order, starts, np.append(last, count - 1))

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
        return self.rows_at(spans(self.starts[which], self.lengths[which]))


def spans(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """``starts[i] … starts[i] + lengths[i] - 1`` one span after the other."""
    total = int(lengths.sum())
    begins = np.cumsum(lengths) - lengths
    at: npt.NDArray[np.int64] = np.arange(total) + np.repeat(starts - begins, lengths)
    return at


def where_there(
    positions: npt.NDArray[np.int64], there: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """``positions``, or -1 where nothing is ``there``; ``np.where`` would take twice as long."""
    return (positions + 1) * there - 1


def taken(column: pa.Array, positions: npt.NDArray[np.int64]) -> pa.Array:
    """``column`` at ``positions``; null where a position is negative."""
    valid, nowhere = validity(column), positions < 0
    gaps = bool(nowhere.any())
    if len(column) and _is_fixed(column.type) and (gaps or valid is not None):
        there = ~nowhere if valid is None else valid[positions] & ~nowhere
        return _taken_where(there, column, np.maximum(positions, 0))
    if gaps and valid is not None:
        positions, gaps = np.where(nowhere, valid.argmin(), positions), False
    return column.take(pa.array(positions, mask=nowhere if gaps else None))


def _taken_where(
    there: npt.NDArray[np.bool_], column: pa.Array, positions: npt.NDArray[np.int64]
) -> pa.Array:
    """``column`` at ``positions``, null but where ``there``; what has no nulls Arrow takes sooner."""
    values = [None, *column.buffers()[1:]]
    whole = pa.Array.from_buffers(column.type, len(column), values, 0, column.offset)
    found = whole.take(pa.array(positions))
    bits = pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(column.type, len(found), [bits, *found.buffers()[1:]])


def _is_fixed(type_: pa.DataType) -> bool:
    """Whether values are of one width, in bytes: what a null slot holds costs nothing then."""
    return bool(
        pa.types.is_decimal(type_)
        or pa.types.is_fixed_size_binary(type_)
        or (pa.types.is_primitive(type_) and not pa.types.is_boolean(type_))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Consecutive spans of a column, to be folded to one value each.

    A span may be empty.  ``retract`` marks values that are taken away instead of added (None:
    none is).  ``removed`` marks groups whose first value is that of a removed row, ``primed``
    those of them that had a first value before.
    """

    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    retract: npt.NDArray[np.bool_] | None = None
    removed: npt.NDArray[np.bool_] | None = None
    primed: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of_lengths(
        cls,
        lengths: npt.NDArray[np.int64],
        retract: npt.NDArray[np.bool_] | None = None,
        removed: npt.NDArray[np.bool_] | None = None,
        primed: npt.NDArray[np.bool_] | None = None,
    ) -> Groups:
        """Groups of ``lengths``, one after the other."""
        stops = np.cumsum(lengths)
        some = retract if retract is not None and bool(retract.any()) else None
        return cls(stops - lengths, stops, some, removed, primed)

    @property
    def gives_way(self) -> npt.NDArray[np.bool_]:
        """Groups whose first value gives way to the next: a removed row is nobody's first."""
        if self.removed is None or self.primed is None:
            return np.zeros(len(self.starts), np.bool_)
        return self.removed & ~self.primed

    @property
    def count(self) -> int:
        """How many values the groups hold."""
        return int(self.stops[-1]) if len(self.stops) else 0

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """The group of each value.  Shape: ``[n]``."""
        return np.repeat(np.arange(len(self.starts)), self.stops - self.starts)

    def adds(self) -> npt.NDArray[np.bool_]:
        """Which values are added.  Shape: ``[n]``."""
        return np.ones(self.count, np.bool_) if self.retract is None else ~self.retract

    def last(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Position of the last value of each group in ``mask``, or -1."""
        before, hits = _ranked(mask)
        at = np.append(hits, -1)[before[self.stops] - 1]
        return where_there(at, at >= self.starts)

    def first(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Position of the first value of each group in ``mask``, or -1."""
        before, hits = _ranked(mask)
        at = np.append(hits, len(mask))[before[self.starts]]
        return where_there(at, at < self.stops)

    def reduce(self, operation: np.ufunc, values: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        """``operation`` over the values of each group; ``empty`` where there are none."""
        filled = self.stops > self.starts
        if filled.all() and len(filled):
            whole: npt.NDArray[Any] = operation.reduceat(values, self.starts)
            return whole
        result = np.full(len(self.starts), empty, values.dtype)
        if filled.any():
            result[filled] = operation.reduceat(values, self.starts[filled])
        return result


def _ranked(
    mask: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How many values before each position are in ``mask``, and which are."""
    before = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask, out=before[1:])
    return before, np.flatnonzero(mask)


def joined(
    rows: pa.Table,
    runs: Runs,
    several: npt.NDArray[np.int64],
    folded: Mapping[str, pa.Array | npt.NDArray[np.int64]],
    instead: npt.NDArray[np.int64] | None = None,
) -> pa.Table:
    """One row a key: ``folded`` for the runs ``several``, the only version for the others.

    A key with one version passes through unchanged (spec 7.5).  ``folded`` has for each column
    the results, or the numbers of the rows that hold them (negative: null).  ``instead[i] >= 0``
    is the row that stands for run ``several[i]`` in place of ``folded``'s.
    """
    alone = runs.rows_at(runs.ends)

    def places(chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        at = alone.copy()
        at[several] = chosen if instead is None else np.where(instead >= 0, instead, chosen)
        return at

    of_results = places(np.arange(len(several)) + rows.num_rows)
    columns = []
    for name in rows.column_names:
        column, result = single_chunk(rows[name]), folded[name]
        if isinstance(result, np.ndarray):
            columns.append(taken(column, places(result)))
        else:
            columns.append(taken(pa.concat_arrays([column, result]), of_results))
    return pa.table(columns, schema=rows.schema)
