"""First row: the oldest version of each key wins.

Source: ``org.apache.paimon.mergetree.compact.FirstRowMergeFunction``; format 8.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.errors import DataError
from table_core.merge.engines.deduplicate import picked_adds
from table_core.merge.runs import Runs
from table_core.merge.sort import KeyOrder, is_retract
from table_core.merge.take_indices import TakeIndices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["FirstRow"]


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The ``first-row`` merge engine."""

    order: KeyOrder
    ignore_delete: bool = False

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """``projected`` and the key."""
        return tuple(dict.fromkeys((*projected, *self.order.key)))

    def merge(self, rows: pa.Table) -> pa.Table:
        """The oldest version of each key of ``rows``, which are in order.

        Shape: ``rows[n]`` to ``result[r]``, same columns.

        Raises:
            DataError: a key with several versions has a ``-U`` or ``-D``, not to be ignored.
        """
        return self.merge_runs(rows, Runs.of(rows, self.order.key))

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known."""
        if runs.are_rows:
            return rows
        if not self.ignore_delete:
            several = np.flatnonzero(runs.ends > runs.starts)
            _refuse(is_retract(rows)[runs.versions_of(several)])
            return TakeIndices(runs.rows_at(runs.starts)).of_all(rows)
        return TakeIndices(picked_adds(rows, runs, newest=False)).of_all(rows)

    def only_adds(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``aggregator`` where a key's only version does not pass either if it is a retract."""
        if not self.ignore_delete:
            _refuse(is_retract(rows))
        merged = self.merge_runs(rows, runs)
        return merged.filter(pa.array(~is_retract(merged)))


def _refuse(retract: npt.NDArray[np.bool_]) -> None:
    retracts = int(retract.sum())
    if retracts:
        raise DataError(
            f"merge-engine 'first-row' cannot retract rows, and {retracts} -U or -D "
            "row(s) need it; set 'ignore-delete' to 'true' to ignore them",
            column=None,
            row=None,
            value=None,
        )
