"""Deduplicate: the newest version of each key wins.

Source: ``org.apache.paimon.mergetree.compact.DeduplicateMergeFunction``; format 8.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from table_core.merge.runs import Groups, Runs
from table_core.merge.sort import KeyOrder, is_retract
from table_core.merge.take_indices import TakeIndices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["Deduplicate", "passed", "picked_adds"]


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """The ``deduplicate`` merge engine."""

    order: KeyOrder
    ignore_delete: bool = False

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """``projected`` and what orders the versions."""
        return tuple(dict.fromkeys((*projected, *self.order.key, *self.order.sequence_fields)))

    def merge(self, rows: pa.Table) -> pa.Table:
        """The newest version of each key of ``rows``, which are in order; ``-D`` is kept.

        Shape: ``rows[n]`` to ``result[r]``, same columns.
        """
        return self.merge_runs(rows, Runs.of(rows, self.order.key))

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known."""
        if runs.are_rows:
            return rows
        if not self.ignore_delete:
            return TakeIndices(runs.rows_at(runs.ends)).of_all(rows)
        return TakeIndices(picked_adds(rows, runs, newest=True)).of_all(rows)


def passed(rows: pa.Table, runs: Runs) -> pa.Table:
    """``rows`` of which every one is the only version of its key, in key order."""
    return rows if runs.order is None else TakeIndices(runs.order).of_all(rows)


def picked_adds(rows: pa.Table, runs: Runs, *, newest: bool) -> npt.NDArray[np.int64]:
    """The newest or oldest added version of each key; the only one, whatever its kind.

    Keys with several versions, all retracts, are left out.
    """
    in_order = runs.rows_at(np.arange(rows.num_rows))
    adds = ~is_retract(rows)[in_order]
    adds[runs.starts[runs.starts == runs.ends]] = True
    groups = Groups(runs.starts, runs.ends + 1)
    at = groups.last(adds) if newest else groups.first(adds)
    return in_order[at[at >= 0]]
