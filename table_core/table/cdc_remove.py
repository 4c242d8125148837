"""Deletes and updates of tables without a key: one row that is equal goes, not all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.row_kind import ROW_KIND_COLUMN

if TYPE_CHECKING:
    from table_core.table.cdc_target import SyncTarget

__all__ = ["net_rows", "remove_rows"]


def remove_rows(target: SyncTarget, rows: pa.Table) -> None:
    """Apply ``rows`` to a table without key, as a bag: ``-D`` and ``-U`` take one equal row out.

    Rows that came and went within ``rows`` cancel out.  If others have to go, the table is written
    anew in the same commit; it is read in batches.
    """
    kept, gone = net_rows(rows)
    if gone:
        _rewrite(target, gone, rows.drop_columns([ROW_KIND_COLUMN]))
    target.write(rows.take(pa.array(kept, pa.int64())).drop_columns([ROW_KIND_COLUMN]))


def net_rows(rows: pa.Table) -> tuple[list[int], Counter[Any]]:
    """Which rows are left once those that came and went cancel out, and what else has to go."""
    kinds = rows[ROW_KIND_COLUMN].to_pylist()
    keys = _keys(rows.drop_columns([ROW_KIND_COLUMN]))
    added: dict[Any, list[int]] = {}
    gone: Counter[Any] = Counter()
    for n, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
        if kind in {"+I", "+U"}:
            added.setdefault(key, []).append(n)
        elif added.get(key):
            added[key].pop()
        else:
            gone[key] += 1
    return sorted(n for those in added.values() for n in those), gone


def _rewrite(target: SyncTarget, gone: Counter[Any], like: pa.Table) -> None:
    target.flush(complete=False)
    table = target.table
    assert table is not None
    scan = table.read()
    target.start_over()
    for batch in scan.to_batches():
        rows = pa.Table.from_batches([batch])
        if gone.total():
            rows = _without(rows.select(like.column_names), gone)
        target.write(rows)


def _without(rows: pa.Table, gone: Counter[Any]) -> pa.Table:
    """``rows`` less those in ``gone``, which counts down."""
    first = pa.array([key[0] for key in gone if gone[key]], rows.schema.field(0).type)
    maybe = np.flatnonzero(np.asarray(pc.is_in(rows.column(0), value_set=first).combine_chunks()))
    keep = np.ones(len(rows), bool)
    for n, key in zip(maybe.tolist(), _keys(rows.take(pa.array(maybe))), strict=True):
        if gone[key] > 0:
            gone[key] -= 1
            keep[n] = False
    return rows.filter(pa.array(keep))


def _keys(rows: pa.Table) -> list[Any]:
    columns = [[_hashable(value) for value in column.to_pylist()] for column in rows.columns]
    return list(zip(*columns, strict=True))


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, _hashable(v)) for k, v in value.items())
    return repr(value) if isinstance(value, float) else value
