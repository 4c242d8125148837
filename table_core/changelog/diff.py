"""Before and after: what changed, as ``-U +U +I -D`` rows.

Source: ``org.apache.paimon.mergetree.compact.FullChangelogMergeFunctionWrapper``; format 9.1;
``org.apache.paimon.table.source.splitread.IncrementalDiffSplitRead``; format 9.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN, RowKind
from table_core.merge.aggregators.equal import equal_rows
from table_core.merge.ordinal import comparable, single_chunk
from table_core.merge.sort import is_retract

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["net_changes", "state_changes"]


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

    Keys 1 2 3 before and 2 3 4 after, of which 2 has another value and 3 has not::

        before  place in after  turn     after  turn     in order of turn
        1       0 (would be)    0        2      2        -D 1, -U 2, +U 2, +I 4
        2       0               1        3      5        (3 is left out, as nothing changed)
        3       1               4        4      8

    Shape: ``before[b]``, ``after[a]`` to ``result[r]``, columns of ``after``.
    """
    new = after.filter(pa.array(~is_retract(after)))
    if before is None or before.num_rows == 0:
        return _with_kinds(new, np.full(new.num_rows, RowKind.INSERT, np.int8))
    old = before.select(after.column_names).filter(pa.array(~is_retract(before)))
    both = pa.concat_tables([old, new])
    place, stays = _indices(both, old.num_rows, key)
    kept = np.zeros(new.num_rows, np.bool_)
    kept[place[stays]] = True
    old_wanted, new_wanted = np.ones(len(place), np.bool_), np.ones(len(kept), np.bool_)
    if deduplicate:
        skipped = (*key, *ignore, SEQUENCE_COLUMN, KIND_COLUMN)
        same = _same_values(old, new, np.flatnonzero(stays), place[stays], skipped)
        old_wanted[np.flatnonzero(stays)[same]] = False
        new_wanted[place[stays][same]] = False
    kinds = np.concatenate(
        [
            np.where(stays, np.int8(RowKind.UPDATE_BEFORE), np.int8(RowKind.DELETE)),
            np.where(kept, np.int8(RowKind.UPDATE_AFTER), np.int8(RowKind.INSERT)),
        ]
    )
    # Three turns a key of ``after``: what is gone before it, its -U, its +U or +I.
    turn = np.concatenate([place * 3 + stays, np.arange(len(kept)) * 3 + 2])
    wanted = np.flatnonzero(np.concatenate([old_wanted, new_wanted]))
    order = wanted[np.argsort(turn[wanted], kind="stable")]
    return _with_kinds(both.take(pa.array(order)), kinds[order])


def state_changes(before: pa.Table, after: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows of ``after`` that ``before`` lacks, retracts too, and the keys that are gone as ``-D``.

    Both are KV rows in key order, one a key; whether a row is added counts as a value, neither its
    kind nor its number does.  There is no ``-U``, and a gone key that was a retract already gives
    nothing.

    Shape: ``before[b]``, ``after[a]`` to ``result[r]`` in key order, columns of ``after``.
    """
    if before.num_rows == 0:
        return after
    old = before.select(after.column_names)
    both = pa.concat_tables([old, after])
    place, stays = _indices(both, old.num_rows, key)
    wanted = np.ones(after.num_rows, np.bool_)
    skipped = (*key, SEQUENCE_COLUMN, KIND_COLUMN)
    same = _same_values(old, after, np.flatnonzero(stays), place[stays], skipped, stored=True)
    was_gone = is_retract(old)
    same &= was_gone[stays] == is_retract(after)[place[stays]]
    wanted[place[stays][same]] = False
    gone = ~stays & ~was_gone
    rows = np.flatnonzero(np.concatenate([gone, wanted]))
    turn = np.concatenate([place * 2, np.arange(after.num_rows) * 2 + 1])
    order = rows[np.argsort(turn[rows], kind="stable")]
    kinds = single_chunk(both[KIND_COLUMN]).to_numpy(zero_copy_only=False)[order]
    return _with_kinds(
        both.take(pa.array(order)), np.where(order < len(gone), np.int8(RowKind.DELETE), kinds)
    )


def _indices(
    both: pa.Table, olds: int, key: Sequence[str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Of each of the first ``olds`` rows where its key is or would be among the others, and whether."""
    values = comparable([single_chunk(both[name]) for name in key])
    was, now = values[:olds], values[olds:]
    place = np.searchsorted(now, was)
    stays = np.zeros(len(was), np.bool_)
    inside = place < len(now)
    stays[inside] = now[place[inside]] == was[inside]
    return place, stays


def _same_values(
    old: pa.Table,
    new: pa.Table,
    old_rows: npt.NDArray[np.int64],
    new_rows: npt.NDArray[np.int64],
    skipped: Sequence[str],
    *,
    stored: bool = False,
) -> npt.NDArray[np.bool_]:
    same = np.ones(len(old_rows), np.bool_)
    for name in new.column_names:
        if name in skipped:
            continue
        left = single_chunk(old[name]).take(pa.array(old_rows))
        right = single_chunk(new[name]).take(pa.array(new_rows))
        same &= equal_rows(left, right, stored=stored)
    return same


def _with_kinds(rows: pa.Table, kinds: npt.NDArray[np.int8]) -> pa.Table:
    at = rows.schema.get_field_index(KIND_COLUMN)
    return rows.set_column(at, rows.schema.field(at), pa.array(kinds, pa.int8()))
