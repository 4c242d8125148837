"""Windows in which every row is an insert: all keys are folded at once, and the simplest way.

Where nothing is taken back, a key with one version comes out as it went in, so it need not be told
from the others.  Columns with the same gaps have the same rows picked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.merge.arrays import at, empty, numbers
from table_core.merge.fold_value import (
    IgnoreRetract,
    KeyColumn,
    LastNonNull,
    LastValue,
    Pick,
    Steady,
    present,
)
from table_core.merge.ordinal import single_chunk, validity
from table_core.merge.places import Places
from table_core.merge.runs import Groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.merge.fold_value import Fold
    from table_core.merge.runs import Runs

__all__ = ["all_inserts", "folded_inserts"]

_NEWEST: Final = KeyColumn | LastValue | LastNonNull
"""What picks the newest version of a column without gaps."""


def all_inserts(rows: pa.Table, folds: Mapping[str, Fold]) -> bool:
    """Whether ``folded_inserts`` may be used."""
    if single_chunk(rows[KIND_COLUMN]).to_numpy().any():
        return False
    plain = (fold.inner if isinstance(fold, IgnoreRetract) else fold for fold in folds.values())
    return all(isinstance(fold, Steady) for fold in plain)


def folded_inserts(rows: pa.Table, runs: Runs, folds: Mapping[str, Fold]) -> pa.Table:
    """One row a key, each column by its fold; number and kind are those of the newest version.

    Shape: KV ``rows[n]`` in any order, all ``+I``, to ``result[r]``, same columns.
    """
    groups = Groups(runs.starts, np.add(runs.ends, 1, out=empty(len(runs.ends))))
    in_order = Places(numbers(rows.num_rows) if runs.order is None else runs.order)
    newest = Places(at(in_order.rows, runs.ends))
    padded = empty(rows.num_rows + 1)
    padded[:-1], padded[-1] = in_order.rows, -1  # where -1 finds -1
    chosen: dict[tuple[Pick, bytes], Places] = {}

    def places(fold: Pick, column: pa.Array) -> Places:
        valid = validity(column)
        if valid is None and isinstance(fold, _NEWEST):
            return newest
        same = fold, b"" if valid is None else valid.tobytes()
        if same not in chosen:
            here = at(present(column), in_order.rows)
            chosen[same] = Places(at(padded, fold.at(here, groups), mode="wrap"))
        return chosen[same]

    columns = []
    for name in rows.column_names:
        column = single_chunk(rows[name])
        if name == KIND_COLUMN:
            columns.append(column.slice(0, len(runs.ends)))  # one is like another
        elif name == SEQUENCE_COLUMN:
            columns.append(newest.of(column))
        elif isinstance(fold := folds[name], Pick):
            columns.append(places(fold, column).of(column))
        else:
            values = column if runs.order is None else in_order.of(column)
            columns.append(fold.fold(values, groups))
    return pa.table(columns, schema=rows.schema)
