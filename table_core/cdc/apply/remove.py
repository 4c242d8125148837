"""Deletes and updates of tables without a key: one row that is equal goes, not all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.apply.shares import Shares
from table_core.cdc.model.record import shortened
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.apply.target import SyncTarget
    from table_core.cdc.model.changes import Changes
    from table_core.datatypes.kinds import DataType
    from table_core.storage.spill import Spill

__all__ = ["compared_columns", "net_rows", "remove_rows", "remove_shares", "retracts"]


def remove_rows(
    target: SyncTarget,
    rows: pa.Table,
    compared: Sequence[str] | None = None,
    lacking: Callable[[Sequence[int], str], None] | None = None,
) -> None:
    """Apply ``rows`` to a table without key, as a bag: ``-D`` and ``-U`` take one equal row out.

    Rows that came and went within ``rows`` cancel out.  If others have to go, the table is written
    anew in the same commit; it is read in batches.

    Args:
        target: the table.
        rows: with ``_ROW_KIND``.
        compared: columns that tell rows apart; those that events no longer have do not.
        lacking: takes the places in ``rows`` of those that have to go and are not there, and why
            that is wrong; it raises.

    Raises:
        DataError: a row that has to go is not there.
    """
    kept, gone = net_rows(rows)
    if gone:
        left = _rewrite(target, gone, _choices(rows, gone, compared))
        if left:
            target.abort()
            _refuse(target, rows, left, lacking)
    target.write(rows.take(pa.array(kept, pa.int64())).drop_columns([ROW_KIND_COLUMN]))


def net_rows(rows: pa.Table) -> tuple[list[int], Counter[Any]]:
    """Which rows are left once those that came and went cancel out, and what else has to go."""
    kinds = rows[ROW_KIND_COLUMN].to_pylist()
    keys = _keys(rows.drop_columns([ROW_KIND_COLUMN]))
    added: dict[Any, list[int]] = {}
    retracted: Counter[Any] = Counter()
    for n, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
        if kind in {"+I", "+U"}:
            added.setdefault(key, []).append(n)
        elif added.get(key):
            added[key].pop()
        else:
            retracted[key] += 1
    return sorted(n for those in added.values() for n in those), retracted


def _choices(
    rows: pa.Table, retracted: Counter[Any], compared: Sequence[str] | None
) -> list[dict[str, int]]:
    """Columns, and their places in the keys of ``retracted``, to find rows by: all first.

    Events without schema do not tell a column that the source dropped from one that is null, so
    columns that are null in all of them are left out where the rows are not found with them.
    """
    names = [n for n in rows.column_names if n != ROW_KIND_COLUMN]
    every = {n: at for at, n in enumerate(names) if compared is None or n in compared}
    filled = {n: at for n, at in every.items() if any(key[at] is not None for key in retracted)}
    return [every] if len(filled) in {0, len(every)} else [every, filled]


def _refuse(
    target: SyncTarget,
    rows: pa.Table,
    left: Counter[Any],
    lacking: Callable[[Sequence[int], str], None] | None,
) -> None:
    """Say which rows of ``left`` are not there."""
    kinds = rows[ROW_KIND_COLUMN].to_pylist()
    keys = _keys(rows.drop_columns([ROW_KIND_COLUMN]))
    missing, first = [], None
    for n in reversed(range(len(keys))):  # the last of equal ones is the one too many
        if kinds[n] in {"-D", "-U"} and left[keys[n]] > 0:
            left[keys[n]] -= 1
            missing.append(n)
            first = keys[n]
    text = shortened(repr(first))
    why = f"a row that the source deleted is not there: {text}; drop the table so that it is read anew"
    if lacking is not None:
        lacking(missing, why)
    raise DataError(f"{target.name}: {why}", table=target.name, value=text)


def remove_shares(
    target: SyncTarget, mine: Shares, dealt: Mapping[str, DataType], spill: Spill
) -> None:
    """Take the rows of ``mine`` that are left once they cancel out from a table without key.

    Where they are many the rows of the table are dealt out as they are, so one share is in memory.

    Args:
        target: the table.
        mine: rows with ``_ROW_KIND``, as one source table told them.
        dealt: the columns by which they are dealt out; none of them is null in any of the rows.
        spill: where rows wait.

    Raises:
        DataError: a row that has to go is not there.
    """
    if mine.counts.sum() <= mine.most_rows:
        parts = [rows for part in mine.parts() if (rows := mine.rows(*part)) is not None]
        if parts:
            remove_rows(target, _retracted(pa.concat_tables(parts)))
        return
    table = target.state.table
    assert table is not None
    theirs = Shares(spill, dealt)
    for batch in table.read().to_batches():
        theirs.add(pa.Table.from_batches([batch]))
    names = [field.name for field in table.definition.fields]
    filled = _rewrite_shares(target, mine, theirs, names, names)
    if filled and len(filled) < len(names):
        filled = _rewrite_shares(target, mine, theirs, names, filled, is_last=True)


def _rewrite_shares(
    target: SyncTarget,
    mine: Shares,
    theirs: Shares,
    names: Sequence[str],
    compared: Sequence[str],
    *,
    is_last: bool = False,
) -> list[str]:
    """Write the table anew without ``mine``; columns to find by what was not found; none if all was.

    Raises:
        DataError: a row is not there, by those columns that are not null in all of them.
    """
    places = {name: names.index(name) for name in compared}
    filled: set[str] = set()
    first: tuple[pa.Table, Counter[Any]] | None = None
    target.start_over()
    for part in mine.parts():
        rows = mine.rows(*part)
        left: Counter[Any] = Counter()
        keys = [] if rows is None else _keys(_retracted(rows).select(names))
        for key in keys:
            filled |= {name for name, value in zip(names, key, strict=True) if value is not None}
            left[tuple(key[at] for at in places.values())] += 1
        for batch in theirs.batches(*part):
            kept = pa.array(_kept(batch.select(list(places)), left)) if left.total() else None
            target.write(batch if kept is None else batch.filter(kept))
        if left.total() and first is None and rows is not None:
            first = _retracted(rows), left
    if first is None:
        return []
    if is_last or len(filled) in {0, len(names)}:
        target.abort()
        rows, left = first
        keys = _keys(rows.drop_columns([ROW_KIND_COLUMN]))
        lacking = {tuple(key[at] for at in places.values()): key for key in keys}
        _refuse(target, rows, Counter({lacking[k]: n for k, n in left.items() if n}), None)
    return [name for name in names if name in filled]


def _retracted(rows: pa.Table) -> pa.Table:
    """What is left of rows that came and went, as rows that have to go."""
    kept, _ = net_rows(rows)
    left = rows.take(pa.array(kept, pa.int64())).drop_columns([ROW_KIND_COLUMN])
    return left.append_column(ROW_KIND_COLUMN, pa.repeat(pa.scalar("-D"), len(left)))


def _rewrite(
    target: SyncTarget, retracted: Counter[Any], choices: Sequence[dict[str, int]]
) -> Counter[Any]:
    """Write the table anew without the rows of ``retracted``; which of them it does not have."""
    target.flush(complete=False)
    table = target.state.table
    assert table is not None
    left: Counter[Any] = Counter()
    lacking: Counter[Any] = Counter()
    for columns in choices:
        left.clear()
        full_keys = {}
        for key, count in retracted.items():
            short = tuple(key[at] for at in columns.values())
            left[short] += count
            full_keys[short] = key
        target.start_over()
        for batch in table.read().to_batches():
            rows = pa.Table.from_batches([batch])
            if left.total():
                rows = rows.filter(pa.array(_kept(rows.select(list(columns)), left)))
            target.write(rows)
        lacking = Counter({full_keys[key]: count for key, count in left.items() if count})
        if not lacking:
            break
    return lacking


def _kept(rows: pa.Table, retracted: Counter[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows stay, of those in ``retracted``, which counts down."""
    type_ = rows.schema.field(0).type
    maybe = np.arange(len(rows))
    if pa.types.is_integer(type_) or pa.types.is_string(type_):  # the common case: a quick look
        first = pa.array([key[0] for key in retracted if retracted[key]], type_)
        candidates = pc.is_in(rows.column(0).combine_chunks(), value_set=first)
        maybe = np.flatnonzero(np.asarray(candidates))
    keep = np.ones(len(rows), bool)
    for n, key in zip(maybe.tolist(), _keys(rows.take(pa.array(maybe))), strict=True):
        if retracted[key] > 0:
            retracted[key] -= 1
            keep[n] = False
    return keep


def _keys(rows: pa.Table) -> list[Any]:
    columns = [[_hashable(value) for value in column.to_pylist()] for column in rows.columns]
    return list(zip(*columns, strict=True))


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, _hashable(v)) for k, v in value.items())
    return repr(value) if isinstance(value, float) else value


def compared_columns(rows: pa.Table, changes: Sequence[Changes]) -> list[str]:
    """Columns that every event has: the others the source dropped, or does not have yet."""
    old = [one for one in changes if one.before.there.true_count]
    return [name for name in rows.column_names if all(name in one.before.columns for one in old)]


def retracts(rows: pa.Table) -> bool:
    """Whether any of the rows takes one out."""
    if ROW_KIND_COLUMN not in rows.column_names:
        return False
    gone = pc.is_in(rows[ROW_KIND_COLUMN], value_set=pa.array(["-D", "-U"]))
    return bool(pc.any(gone).as_py())
