"""A source table was emptied or dropped: its rows go, those of others in the same table stay."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.apply.remove import remove_shares
from table_core.cdc.apply.repeats import without_repeats
from table_core.cdc.apply.shares import Shares, can_deal
from table_core.cdc.model.bad import BadEvents
from table_core.cdc.model.delivered import Delivered
from table_core.cdc.model.steps import steps
from table_core.cdc.model.truncates import chosen
from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import UnsupportedFeatureError
from table_core.predicate.expression import col
from table_core.storage.spill import Spill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.model.batch import Position, SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.record import EventBatch, SourceTable
    from table_core.storage.spill import SpilledRows
    from table_core.table.api.table import Table

    History: TypeAlias = Callable[[], Iterator[SourceBatch[Position]]]
    """Reads all that was applied before an event once more."""

__all__ = ["History", "begin_anew", "empty", "leave"]

_NUMBER: Final = "\0number"
_MINE: Final = "\0mine"


def empty(feed: TableFeed, source: SourceTable, history: History | None) -> None:
    """The source table was emptied: take out what it gave.

    Raises:
        UnsupportedFeatureError: see ``_take_out``.
    """
    if feed.state.table is None or (feed.state.sources and source not in feed.state.sources):
        return
    feed.target.count("truncates", 1)
    _take_out(feed, source, history, "truncated", "on_truncate='ignore'")


def leave(feed: TableFeed, source: SourceTable, history: History | None) -> None:
    """The source table is gone, and others feed the same table: take out what it gave.

    Raises:
        UnsupportedFeatureError: see ``_take_out``.
    """
    if source not in feed.state.sources:
        return
    feed.target.count("drops", 1)
    _take_out(feed, source, history, "dropped", "on_drop='ignore'")
    feed.target.feed_from(feed.state.sources - {source})


def begin_anew(
    feed: TableFeed, readable: AbstractSet[SourceTable], due: AbstractSet[SourceTable]
) -> bool:
    """Take out the rows of source tables that are read again; whether all rows go.

    Args:
        feed: of the table.
        readable: the source tables that it has rows of and that can be read again.
        due: those of them that have to be.

    Raises:
        UnsupportedFeatureError: one cannot be read again, and nothing says which rows are whose.
    """
    if feed.state.sources <= readable:
        feed.target.start_over()
        return True
    for source in sorted(due):
        _take_out(feed, source, None, "rewritten", "on_rewrite='fail'")
    return False


def _take_out(
    feed: TableFeed, source: SourceTable, history: History | None, statement: str, instead: str
) -> None:
    """Take the rows of ``source`` out, as part of the commit to come.

    Args:
        feed: of the table.
        source: whose rows go.
        history: what tells which rows are whose, of a source that goes back.
        statement: happened to it, for people.
        instead: what a user says who wants to keep them.

    Raises:
        UnsupportedFeatureError: other source tables feed the same table, and nothing says which
            rows are whose.
    """
    if feed.state.sources <= {source}:
        feed.target.start_over()
        return
    table = feed.state.table
    assert table is not None
    prefix, known = feed.settings.metadata_prefix, feed.settings.metadata
    if {"database_name", "table_name"} <= set(known):
        _delete_by_columns(feed, table, source, prefix)
    elif history is not None:
        feed.target.flush(complete=False)
        _delete_by_history(feed, table, source, history)
    else:
        raise UnsupportedFeatureError(
            f"{source} was {statement}, and {feed.target.name} has rows of other tables too: add "
            "metadata_columns=('database_name', 'table_name') to distinguish them, or "
            f"set {instead}",
            feature=f"one of several source tables was {statement}",
        )


def _delete_by_columns(feed: TableFeed, table: Table, gone: SourceTable, prefix: str) -> None:
    feed.target.flush(complete=False)
    names = {f"{prefix}database_name": gone.database, f"{prefix}table_name": gone.name}
    if not table.primary_key:
        _keep_others(feed, table, names)
        return
    database, name = (col(column) == value for column, value in names.items())
    for batch in table.read(where=database & name).to_batches():
        _retract(feed, pa.Table.from_batches([batch]))


def _keep_others(feed: TableFeed, table: Table, names: Mapping[str, str]) -> None:
    """Write a table without key anew, but for the rows that say that they are of one source table."""
    feed.target.start_over()
    for batch in table.read().to_batches():
        parts = [pc.equal(batch.column(name), value) for name, value in names.items()]
        mine = pc.fill_null(pc.and_(*parts), fill_value=False)
        feed.target.write(pa.Table.from_batches([batch.filter(pc.invert(mine))]))


def _retract(feed: TableFeed, rows: pa.Table) -> None:
    kinds = pa.repeat(pa.scalar("-D"), len(rows))
    feed.target.write(rows.append_column(ROW_KIND_COLUMN, kinds))


def _delete_by_history(
    feed: TableFeed, table: Table, removed: SourceTable, history: History
) -> None:
    """Read the events once more to see whose each row is."""
    with closing(Spill()) as spill:
        if table.primary_key:
            _delete_keys(feed, table, removed, history, spill)
        else:
            _delete_bag(feed, table, removed, history, spill)


def _delete_keys(
    feed: TableFeed, table: Table, removed: SourceTable, history: History, spill: Spill
) -> None:
    """Take out the rows whose keys ``removed`` wrote last; columns that may be null are."""
    key = list(table.primary_key)
    types = {f.name: f.type for f in table.definition.fields}
    dealt = {name: types[name] for name in key if can_deal(types[name])}
    events, seen, emptied = Shares(spill, dealt), 0, 0
    for source, rows in _replayed(feed, history()):
        if rows is None:
            emptied = seen if source == removed else emptied
            continue
        puts = pc.is_in(rows[ROW_KIND_COLUMN], value_set=pa.array(["+I", "+U"]))
        is_mine = puts if source == removed else pa.repeat(pa.scalar(value=False), len(rows))
        numbers = pa.array(np.arange(seen, seen + len(rows)))
        keyed = rows.select(key).append_column(_NUMBER, numbers).append_column(_MINE, is_mine)
        events.add(keyed)
        seen += len(rows)
    schema = arrow_schema(table.definition.fields)
    there = None
    if not all(f.nullable or f.name in key for f in schema):
        there = Shares(spill, dealt)
        for batch in table.read().to_batches():
            there.add(pa.Table.from_batches([batch]))
    for part in events.parts():
        if (keyed := events.rows(*part)) is None:
            continue
        mine = _mine_at_last(keyed, key, emptied)
        if not len(mine):
            continue
        if there is None:
            nulls = [mine[f.name] if f.name in key else pa.nulls(len(mine), f.type) for f in schema]
            _retract(feed, pa.table(nulls, names=schema.names))
        elif (rows := _rows_with(there, part, mine)) is not None:
            _retract(feed, rows)


def _mine_at_last(keyed: pa.Table, key: list[str], emptied: int) -> pa.Table:
    """The keys of events of which the last is of the source table that is gone, and still counted."""
    last = keyed.group_by(key).aggregate([(_NUMBER, "max")])[f"{_NUMBER}_max"]
    counted = pc.and_(pc.is_in(keyed[_NUMBER], value_set=last), keyed[_MINE])
    later = pc.greater_equal(keyed[_NUMBER], emptied)
    return keyed.filter(pc.and_(counted, later)).select(key)


def _rows_with(there: Shares, part: tuple[int, int, int], keys: pa.Table) -> pa.Table | None:
    """Of the rows of a table those with the ``keys``, which are a part of another dealing by them."""
    share, cuts, cut = part
    rows = there.rows(share, cuts, cut)
    if rows is None:
        return None
    names = keys.column_names
    numbered = rows.select(names).append_column(_NUMBER, pa.array(np.arange(len(rows))))
    cast = keys.cast(pa.schema([numbered.schema.field(name) for name in names]))
    numbers = numbered.join(cast, names, join_type="left semi")[_NUMBER]
    return rows.take(pc.take(numbers, pc.array_sort_indices(numbers)))


def _delete_bag(
    feed: TableFeed, table: Table, removed: SourceTable, history: History, spill: Spill
) -> None:
    """Take out the rows that ``removed`` put into a table without key and did not take out again."""
    parts: list[SpilledRows] = []
    empty_in: set[str] = set()
    for source, rows in _replayed(feed, history()):
        if source == removed and rows is None:
            parts, empty_in = [], set()
        elif source == removed and rows is not None:
            parts.append(spill.put(rows))
            empty_in |= {name for name in rows.column_names if rows[name].null_count}
    fields = {f.name: f.type for f in table.definition.fields}
    dealt = {n: t for n, t in fields.items() if n not in empty_in and can_deal(t)}
    mine = Shares(spill, dealt)
    for rows in parts:
        for batch in rows.batches():
            mine.add(pa.Table.from_batches([batch]))
    remove_shares(feed.target, mine, dealt, spill)


def _replayed(
    feed: TableFeed, history: Iterable[SourceBatch[Position]]
) -> Iterator[tuple[SourceTable, pa.Table | None]]:
    """Source table and its rows, in order; None where it was emptied."""
    known, is_bag = Delivered(), feed.state.table is not None and not feed.state.table.primary_key
    for batch in history:
        changes = [one for one in batch.changes if one.table in feed.state.sources]
        if is_bag:
            changes, known = without_repeats(batch, changes, known)
        schema_changes = [
            one
            for one in batch.schema_changes
            if one.table in feed.state.sources and not one.in_snapshot
        ]
        for step in steps(changes, schema_changes if feed.settings.on_drop == "apply" else ()):
            if step.table is not None:
                yield step.table, None
            yield from _in_order(feed, step.changes)


def _in_order(
    feed: TableFeed, changes: Sequence[Changes]
) -> Iterator[tuple[SourceTable, pa.Table]]:
    """Rows of one source table at a time; tables take turns as their events do."""
    left, events = _usable(feed, changes)
    if events is None:
        return
    whose = np.concatenate([np.full(len(one.lines), n) for n, one in enumerate(left)])
    lines = np.concatenate([one.lines for one in left])
    source_of = dict(zip(lines.tolist(), whose.tolist(), strict=True))
    owners = np.array([source_of[n] for n in events.numbers.tolist()])
    edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for start, end in pairwise(edges):
        if end > start:
            yield left[owners[start]].table, events.rows.slice(start, end - start)


def _usable(feed: TableFeed, changes: Sequence[Changes]) -> tuple[list[Changes], EventBatch | None]:
    """The rows that the table took; what is a dead letter now was one then."""
    left = list(changes)
    while left:
        try:
            return left, feed.rows_of(left)
        except BadEvents as bad:
            numbers = list(bad.errors)
            parts = [chosen(one, ~np.isin(one.lines, numbers)) for one in left]
            left = [part for part in parts if part is not None]
    return left, None
