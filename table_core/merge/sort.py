"""Paimon's order of versions: by key, then sequence fields, then number, then kind.

Source: ``org.apache.paimon.mergetree.compact.SortMergeReaderWithLoserTree``; format 5.2, 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.merge.arrays import at
from table_core.merge.ordinal import comparable, in_order, ordinals, packed, single_chunk, validity
from table_core.merge.runs import Runs, ranges
from table_core.merge.take_indices import taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["KeyOrder", "is_retract", "key_order", "runs_of"]


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """What orders the versions of a table.

    ``sequence_fields`` come before ``_SEQUENCE_NUMBER``; null in them is the oldest, also when
    ``descending``.
    """

    key: tuple[str, ...]
    sequence_fields: tuple[str, ...] = ()
    descending: bool = False


def key_order(
    rows: pa.Table,
    key: Sequence[str],
    sequence_fields: Sequence[str] = (),
    *,
    descending: bool = False,
) -> npt.NDArray[np.int64]:
    """Positions that put KV ``rows`` in Paimon's order.

    Rows that are sorted already, or concatenated from sorted runs, cost little more than a pass.

    Shape: ``rows[n]`` to ``int64[n]``.
    """
    runs = runs_of(rows, KeyOrder(tuple(key), tuple(sequence_fields), descending))
    return np.arange(rows.num_rows) if runs.order is None else runs.order


def runs_of(rows: pa.Table, by: KeyOrder) -> Runs:
    """The versions of each key among KV ``rows``, which stand in any order."""
    values = comparable([single_chunk(rows[name]) for name in by.key])
    if _rises(values):
        order, ordered = None, values
    else:
        order, ordered = in_order(values)
    changed = ordered[1:] != ordered[:-1]
    runs = Runs.between(order, changed, rows.num_rows)
    if len(runs.starts) == rows.num_rows:
        return runs
    if not by.sequence_fields and _arrives_in_order(rows, order, changed):
        return runs
    return _ordered_inside(rows, runs, by)


def is_retract(rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Which KV ``rows`` are ``-U`` or ``-D``.  Shape: ``rows[n]`` to ``bool[n]``."""
    kinds = single_chunk(rows[KIND_COLUMN]).to_numpy()
    odd: npt.NDArray[np.bool_] = (kinds & 1).astype(np.bool_)
    return odd


def _rises(values: npt.NDArray[np.int64]) -> bool:
    return bool((values[1:] >= values[:-1]).all())


def _ordered_inside(rows: pa.Table, runs: Runs, by: KeyOrder) -> Runs:
    """Put the versions inside each run in order; only keys with several are touched.

    Keys with one version are most of a table, so they are neither gathered nor sorted.  Numbers can be
    equal where a key was written twice under one: then a retract is older than an add (format 5.2).

    Keys 1 2 2 3 with sequence field 0 9 4 0: positions [1, 2] hold versions [1, 2], whose sort keys
    are ``run`` [0, 0] and the field [9, 4].  Their turn is [1, 0], so the order becomes 0 2 1 3.
    """
    several = np.flatnonzero(runs.ends > runs.starts)
    lengths = runs.lengths[several]
    indices = ranges(runs.starts[several], lengths)
    versions = runs.rows_at(indices)
    run = np.repeat(np.arange(len(several)), lengths)
    arrival = [single_chunk(rows[SEQUENCE_COLUMN]).to_numpy()[versions]]
    if not _in_order([run, *arrival], strict=True):
        arrival.append((~is_retract(rows)[versions]).astype(np.int64))
    arrived = _in_order([run, *arrival], strict=False)
    if arrived and not by.sequence_fields:
        return runs
    sort_keys = [run, *_user_sequence(rows, versions, by), *([] if arrived else arrival)]
    one = packed(sort_keys)
    turn = np.lexsort(sort_keys[::-1]) if one is None else in_order(one)[0]
    order = np.arange(rows.num_rows) if runs.order is None else runs.order.copy()
    order[indices] = versions[turn]
    return Runs(order, runs.starts, runs.ends)


def _arrives_in_order(
    rows: pa.Table, order: npt.NDArray[np.int64] | None, changed: npt.NDArray[np.bool_]
) -> bool:
    """Whether the numbers of every key's versions rise already; ``changed``: see ``Runs.between``."""
    numbers = single_chunk(rows[SEQUENCE_COLUMN]).to_numpy()
    if order is not None:
        numbers = at(numbers, order)
    rises = numbers[1:] > numbers[:-1]
    rises |= changed
    return bool(rises.all())


def _user_sequence(
    rows: pa.Table, versions: npt.NDArray[np.int64], by: KeyOrder
) -> list[npt.NDArray[np.int64]]:
    """Sort keys of the sequence fields of ``versions``: null is the oldest.

    A field with gaps gives two keys: 5 NULL 3 is valid 1 0 1 and value 5 3 3.  Descending, the values
    are turned over by ``~`` and the valid ones still come last (format T44).
    """
    sort_keys = []
    for name in by.sequence_fields:
        column = taken(single_chunk(rows[name]), versions)
        value = ordinals(column)
        valid = validity(column)
        value = ~value if by.descending else value
        if valid is not None:
            sort_keys.append(valid.astype(np.int64))
            value = np.where(valid, value, value[valid].min() if valid.any() else 0)
        sort_keys.append(value)
    return sort_keys


def _in_order(sort_keys: Sequence[npt.NDArray[np.int64]], *, strict: bool) -> bool:
    equal = np.ones(len(sort_keys[0]) - 1, np.bool_)
    for key in sort_keys:
        if bool((equal & (key[1:] < key[:-1])).any()):
            return False
        equal &= key[1:] == key[:-1]
    return not (strict and bool(equal.any()))
