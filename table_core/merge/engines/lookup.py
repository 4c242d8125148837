"""Merging where a higher level holds finished values: tables that look old values up.

Such a table merges every row against its old value on the way out of level 0.  So of the versions
of a key above level 0 the one at the lowest level says it all: older ones are not merged again.

Source: ``org.apache.paimon.mergetree.compact.{LookupMergeFunction,
LookupChangelogMergeFunctionWrapper,FirstRowMergeFunctionWrapper}``; format 8, 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import LEVEL_COLUMN
from table_core.merge.engines.aggregate import Aggregation
from table_core.merge.engines.first_row import FirstRow
from table_core.merge.engines.partial_update import PartialUpdate
from table_core.merge.ordinal import comparable, single_chunk
from table_core.merge.runs import Runs
from table_core.merge.sort import KeyOrder, key_order, runs_of
from table_core.merge.take_indices import TakeIndices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from table_core.merge.engines.engine import MergeEngine

__all__ = ["LookupMerge", "LowestLevel", "rows_of_keys"]

_NO_LEVEL: Final = np.int64(1 << 30)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The versions that count, in order, and what is known of each key.

    Key 1 has versions at levels 5, 2 and 0, key 2 has one at level 1::

        rows     key 1 of level 2, key 1 of level 0, key 2    that of level 5 is merged into level 2
        fresh    1: yes  2: no
        settled  1: yes  2: yes
        old      yes, no, yes
    """

    rows: pa.Table
    runs: Runs
    fresh: npt.NDArray[np.bool_]
    """Keys with a version at level 0."""
    settled: npt.NDArray[np.bool_]
    """Keys with a version above level 0."""
    old: npt.NDArray[np.bool_]
    """Rows above level 0: at most one a key."""

    @classmethod
    def of(cls, rows: pa.Table, runs: Runs) -> _Candidates:
        in_order = runs.rows_at(np.arange(rows.num_rows))
        level = single_chunk(rows[LEVEL_COLUMN]).to_numpy().astype(np.int64)[in_order]
        of_run = np.repeat(np.arange(len(runs.starts)), runs.lengths)
        above = np.where(level > 0, level, _NO_LEVEL)
        lowest = np.minimum.reduceat(above, runs.starts) if len(above) else above
        counts = (level == 0) | (level == lowest[of_run])
        plain = rows.drop_columns([LEVEL_COLUMN])
        kept = plain
        if runs.order is not None or not counts.all():
            kept = TakeIndices(in_order[counts]).of_all(plain)
        lengths = np.bincount(of_run[counts], minlength=len(runs.starts))
        stops = np.cumsum(lengths)
        fresh = np.bincount(of_run[level == 0], minlength=len(runs.starts)) > 0
        return cls(
            kept,
            Runs(None, stops - lengths, stops - 1),
            fresh,
            lowest < _NO_LEVEL,
            (level > 0)[counts],
        )


@dataclass(frozen=True, slots=True)
class LowestLevel:
    """An engine where nothing is looked up: of versions above level 0 only the lowest level's counts.

    A key with one version passes through; one that is left of several is folded like any other.
    """

    engine: MergeEngine

    @property
    def order(self) -> KeyOrder:
        """What orders the versions."""
        return self.engine.order

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """What the engine needs."""
        return self.engine.required_columns(projected)

    def merge(self, rows: pa.Table) -> pa.Table:
        """One row a key of ``rows`` in order, which have a ``_LEVEL``; the result has none."""
        return self.merge_runs(rows, Runs.of(rows, self.order.key))

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known."""
        candidates = _Candidates.of(rows, runs)
        left = (runs.lengths > 1) & (candidates.runs.lengths == 1)
        engine = _folding(self.engine, alone=left) if left.any() else self.engine
        return engine.merge_runs(candidates.rows, candidates.runs)


@dataclass(frozen=True, slots=True)
class LookupMerge:
    """An engine for compaction: keys that come from level 0 alone meet their old value.

    A key with one version goes through the engine like any other: it leaves level 0 finished.

    ``find`` gives the newest version, above the levels that are merged, of each of the given keys
    that has one: KV rows in key order.  ``changed`` is told what was there before and what is
    after, of all keys that came from level 0; or None and the rows that are news as they are.
    """

    engine: MergeEngine
    find: Callable[[pa.Table], pa.Table]
    changed: Callable[[pa.Table | None, pa.Table], None] | None = None

    @property
    def order(self) -> KeyOrder:
        """What orders the versions."""
        return self.engine.order

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """What the engine needs."""
        return self.engine.required_columns(projected)

    def merge(self, rows: pa.Table) -> pa.Table:
        """One row a key of ``rows`` in order, which have a ``_LEVEL``; the result has none."""
        return self.merge_runs(rows, Runs.of(rows, self.order.key))

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known."""
        met = _Candidates.of(rows, runs)
        if not met.fresh.any():
            return self._merged(met, met.rows.slice(0, 0))
        key = list(self.order.key)
        firsts = TakeIndices(met.runs.starts).of_all(met.rows.select(key))
        lone = firsts.filter(pa.array(met.fresh & ~met.settled))
        higher = self.find(lone) if lone.num_rows else met.rows.slice(0, 0)
        if isinstance(self.engine, FirstRow):
            return self._first(met, lone, higher)
        merged = self._merged(met, higher)
        if self.changed is not None:
            fresh = np.repeat(met.fresh, met.runs.lengths)
            old = met.rows.filter(pa.array(met.old & fresh))
            before = pa.concat_tables([old, higher.select(old.column_names)])
            before = TakeIndices(key_order(before, key)).of_all(before)
            self.changed(before, rows_of_keys(merged, firsts.filter(pa.array(met.fresh)), key))
        return merged

    def _merged(self, met: _Candidates, higher: pa.Table) -> pa.Table:
        engine = _folding(self.engine, alone=True)
        if not higher.num_rows:
            return engine.merge_runs(met.rows, met.runs)
        rows = pa.concat_tables([met.rows, higher.select(met.rows.column_names)]).combine_chunks()
        return engine.merge_runs(rows, runs_of(rows, self.order))

    def _first(self, met: _Candidates, lone: pa.Table, higher: pa.Table) -> pa.Table:
        """Keys that a higher level has are no news: they are dropped."""
        assert isinstance(self.engine, FirstRow)
        key = list(self.order.key)
        merged = self.engine.only_adds(met.rows, met.runs)
        if higher.num_rows:
            merged = rows_of_keys(merged, higher, key, without=True)
        if self.changed is not None:
            self.changed(None, rows_of_keys(merged, lone, key))
        return merged


def _folding(engine: MergeEngine, *, alone: npt.NDArray[np.bool_] | bool) -> MergeEngine:
    """``engine`` that folds keys with one version too, where ``alone``."""
    if isinstance(engine, Aggregation | PartialUpdate):
        return replace(engine, alone=alone)
    return engine


def rows_of_keys(
    rows: pa.Table, keys: pa.Table, key: Sequence[str], *, without: bool = False
) -> pa.Table:
    """Those ``rows`` whose key is among ``keys``, or is not."""
    both = [_joined(rows[name], keys[name]) for name in key]
    values: npt.NDArray[Any] = comparable(both)
    here = np.isin(values[: rows.num_rows], values[rows.num_rows :], invert=without)
    return rows if bool(here.all()) else rows.filter(pa.array(here))


def _joined(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([single_chunk(left), single_chunk(right)])
