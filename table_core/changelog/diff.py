"""Before and after: what changed, as ``-U +U +I -D`` rows.

Source: ``org.apache.paimon.mergetree.compact.FullChangelogMergeFunctionWrapper``; spec 9.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN, RowKind
from table_core.merge.equal import equal_rows
from table_core.merge.ordinal import comparable, single_chunk
from table_core.merge.sort import is_retract

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["net_changes"]


def net_changes(
    before: pa.Table | None,
    after: pa.Table,
    key: Sequence[str],
    *,
    deduplicate: bool,
    ignore: Sequence[str] = (),
) -> pa.Table:
    """The change rows that lead from ``before`` to ``after``, in file order.

    Both are KV rows in key order, one a key; a key is there if its row is added and not
    retracted.  A key of ``before`` that ``after`` lacks is gone.  ``-U`` and ``-D`` carry the old
    row and number, ``+U`` and ``+I`` the new.  With ``deduplicate`` a key whose value columns
    are equal, but for those in ``ignore``, gives nothing.

    Shape: ``before[b]``, ``after[a]`` to ``result[r]``, columns of ``after``.
    """
    new = after.filter(pa.array(~is_retract(after)))
    if before is None or before.num_rows == 0:
        return _with_kinds(new, np.full(new.num_rows, RowKind.INSERT, np.int8))
    old = before.select(after.column_names).filter(pa.array(~is_retract(before)))
    both = pa.concat_tables([old, new])
    values = comparable([single_chunk(both[name]) for name in key])
    was, now = values[: old.num_rows], values[old.num_rows :]
    place = np.searchsorted(now, was)
    stays = np.zeros(len(was), np.bool_)
    inside = place < len(now)
    stays[inside] = now[place[inside]] == was[inside]
    kept = np.zeros(len(now), np.bool_)
    kept[place[stays]] = True
    old_wanted, new_wanted = np.ones(len(was), np.bool_), np.ones(len(now), np.bool_)
    if deduplicate:
        same = _same_values(old, new, np.flatnonzero(stays), place[stays], (*key, *ignore))
        old_wanted[np.flatnonzero(stays)[same]] = False
        new_wanted[place[stays][same]] = False
    kinds = np.concatenate(
        [
            np.where(stays, np.int8(RowKind.UPDATE_BEFORE), np.int8(RowKind.DELETE)),
            np.where(kept, np.int8(RowKind.UPDATE_AFTER), np.int8(RowKind.INSERT)),
        ]
    )
    turn = np.concatenate([place * 3 + stays, np.arange(len(now)) * 3 + 2])
    wanted = np.flatnonzero(np.concatenate([old_wanted, new_wanted]))
    order = wanted[np.argsort(turn[wanted], kind="stable")]
    return _with_kinds(both.take(pa.array(order)), kinds[order])


def _same_values(
    old: pa.Table,
    new: pa.Table,
    old_rows: npt.NDArray[np.int64],
    new_rows: npt.NDArray[np.int64],
    skipped: Sequence[str],
) -> npt.NDArray[np.bool_]:
    same = np.ones(len(old_rows), np.bool_)
    for name in new.column_names:
        if name in skipped or name in {SEQUENCE_COLUMN, KIND_COLUMN}:
            continue
        left = single_chunk(old[name]).take(pa.array(old_rows))
        same &= equal_rows(left, single_chunk(new[name]).take(pa.array(new_rows)))
    return same


def _with_kinds(rows: pa.Table, kinds: npt.NDArray[np.int8]) -> pa.Table:
    at = rows.schema.get_field_index(KIND_COLUMN)
    return rows.set_column(at, rows.schema.field(at), pa.array(kinds, pa.int8()))
