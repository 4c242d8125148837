"""Windows in which every row is an insert: all keys are folded at once, and the simplest way.

Where nothing is taken back, a key with one version comes out as it went in, so it need not be told
from the others.  Columns with the same gaps have the same rows picked.

Keys 1 1 2 with ``a`` 5 NULL 9 and ``b`` x NULL z: rows 0 and 2 are picked for ``a``, and as ``b`` has
the same gaps, for ``b``, without looking again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.merge.aggregators.value import (
    IgnoreRetract,
    KeyColumn,
    LastNonNull,
    LastValue,
    Pick,
    Steady,
)
from table_core.merge.arrays import at, empty, numbers
from table_core.merge.latest_non_null import LatestNonNull
from table_core.merge.ordinal import present, single_chunk, validity
from table_core.merge.runs import Groups
from table_core.merge.take_indices import TakeIndices

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from table_core.merge.aggregators.value import Aggregator
    from table_core.merge.runs import Runs

__all__ = ["aggregated_inserts", "all_inserts"]

_NEWEST: Final = KeyColumn | LastValue | LastNonNull
"""What picks the newest version of a column without gaps."""


def all_inserts(rows: pa.Table, aggregators: Mapping[str, Aggregator]) -> bool:
    """Whether ``aggregated_inserts`` may be used: every kind is ``+I``, no function minds a lone value.

    A function that is not ``Steady`` could change the value of a key with one version, which has to pass
    through as it is (format 7.5).
    """
    if single_chunk(rows[KIND_COLUMN]).to_numpy().any():
        return False
    plain = (
        aggregator.inner if isinstance(aggregator, IgnoreRetract) else aggregator
        for aggregator in aggregators.values()
    )
    return all(isinstance(aggregator, Steady) for aggregator in plain)


def aggregated_inserts(
    rows: pa.Table, runs: Runs, aggregators: Mapping[str, Aggregator]
) -> pa.Table:
    """One row a key, each column by its fold; number and kind are those of the newest version.

    Shape: KV ``rows[n]`` in any order, all ``+I``, to ``result[r]``, same columns.
    """
    groups = Groups(runs.starts, np.add(runs.ends, 1, out=empty(len(runs.ends))))
    newest = LatestNonNull.of(runs, groups) if runs.steady else None
    versions = _Versions(rows.num_rows, runs, groups)
    columns = []
    for name in rows.column_names:
        if name == KIND_COLUMN:  # one is like another
            columns.append(pa.array(np.zeros(len(runs.ends), np.int8)))
            continue
        column = rows[name]
        aggregator = LastValue() if name == SEQUENCE_COLUMN else aggregators[name]
        if newest is not None and _is_newest(aggregator, column):
            columns.append(newest.in_column(column))
        elif isinstance(aggregator, Pick):
            columns.append(versions.picked(aggregator, single_chunk(column)))
        else:
            columns.append(aggregator.aggregate(versions.values(single_chunk(column)), groups))
    return pa.table(columns, schema=rows.schema)


def _is_newest(aggregator: Aggregator, column: pa.ChunkedArray) -> bool:
    """Whether ``aggregator`` gives the newest value of ``column`` that is not null."""
    if isinstance(aggregator, LastValue):
        return not column.null_count
    return isinstance(aggregator, KeyColumn | LastNonNull)


@dataclass(frozen=True, eq=False)
class _Versions:
    """The versions of all keys, in any order."""

    count: int
    runs: Runs
    groups: Groups
    _chosen: dict[tuple[Pick, bytes], TakeIndices] = field(init=False, default_factory=dict)

    @cached_property
    def _in_order(self) -> TakeIndices:
        order = self.runs.order
        return TakeIndices(numbers(self.count) if order is None else order)

    @cached_property
    def _newest(self) -> TakeIndices:
        """The rows that come last of each key."""
        return TakeIndices(at(self._in_order.rows, self.runs.ends))

    @cached_property
    def _padded(self) -> npt.NDArray[np.int64]:
        """The rows in order, and -1 where -1 finds it.

        A fold gives positions in the order, -1 for null.  Rows 2 0 1 padded are 2 0 1 -1, so positions
        1 -1 are rows 0 -1, in one step.
        """
        padded = empty(self.count + 1)
        padded[:-1], padded[-1] = self._in_order.rows, -1
        return padded

    def values(self, column: pa.Array) -> pa.Array:
        """The values of ``column`` in order."""
        return column if self.runs.order is None else self._in_order.of(column)

    def picked(self, aggregator: Pick, column: pa.Array) -> pa.Array:
        """The value of each key that ``aggregator`` picks."""
        valid = validity(column)
        if valid is None and isinstance(aggregator, _NEWEST):
            return self._newest.of(column)
        same = aggregator, b"" if valid is None else valid.tobytes()
        if same not in self._chosen:
            here = at(present(column), self._in_order.rows)
            self._chosen[same] = TakeIndices(
                at(self._padded, aggregator.at(here, self.groups), mode="wrap")
            )
        return self._chosen[same].of(column)
