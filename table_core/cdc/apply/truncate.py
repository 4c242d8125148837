"""A source table was emptied or dropped: its rows go, those of others in the same table stay."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.cdc.apply.remove import net_rows, remove_rows
from table_core.cdc.model.bad import BadEvents
from table_core.cdc.model.steps import steps
from table_core.cdc.model.truncates import chosen
from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import UnsupportedFeatureError
from table_core.predicate.expression import col

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.model.batch import Position, SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.record import EventBatch, SourceTable
    from table_core.table.api.table import Table

__all__ = ["empty", "leave"]


def empty(feed: TableFeed, source: SourceTable) -> None:
    """The source table was emptied: take out what it gave.

    Raises:
        UnsupportedFeatureError: see ``_take_out``.
    """
    if feed.target.table is None or (feed.sources and source not in feed.sources):
        return
    feed.count("truncates", 1)
    _take_out(feed, source, "truncated", "on_truncate='ignore'")


def leave(feed: TableFeed, source: SourceTable) -> None:
    """The source table is gone, and others feed the same table: take out what it gave.

    Raises:
        UnsupportedFeatureError: see ``_take_out``.
    """
    if source not in feed.sources:
        return
    feed.count("drops", 1)
    _take_out(feed, source, "dropped", "on_drop='ignore'")
    feed.forget(source)


def _take_out(feed: TableFeed, source: SourceTable, what: str, instead: str) -> None:
    """Take the rows of ``source`` out, as part of the commit to come.

    Args:
        feed: of the table.
        source: whose rows go.
        what: happened to it, for people.
        instead: what a user says who wants to keep them.

    Raises:
        UnsupportedFeatureError: other source tables feed the same table, and nothing says which
            rows are whose.
    """
    gone = {source}
    if feed.sources <= gone:
        feed.target.start_over()
        return
    table = feed.target.table
    assert table is not None
    prefix, known = feed.settings.metadata_prefix, feed.settings.metadata
    if {"database_name", "table_name"} <= set(known):
        _delete_by_columns(feed, table, gone, prefix)
    elif feed.history is not None:
        feed.target.flush(complete=False)
        _delete_by_history(feed, table, gone)
    else:
        raise UnsupportedFeatureError(
            f"{source} was {what}, and {feed.target.name} has rows of other tables too: add "
            "metadata_columns=('database_name', 'table_name') so that they can be told apart, or "
            f"say {instead}",
            feature=f"one of several source tables was {what}",
        )


def _delete_by_columns(feed: TableFeed, table: Table, gone: set[SourceTable], prefix: str) -> None:
    feed.target.flush(complete=False)
    for source in gone:
        where = (col(f"{prefix}database_name") == source.database) & (
            col(f"{prefix}table_name") == source.name
        )
        for batch in table.read(where=where).to_batches():
            _retract(feed, pa.Table.from_batches([batch]))


def _retract(feed: TableFeed, rows: pa.Table) -> None:
    kinds = pa.repeat(pa.scalar("-D"), len(rows))
    retracted = rows.append_column(ROW_KIND_COLUMN, kinds)
    table = feed.target.table
    if table is not None and table.primary_key:
        feed.target.write(retracted)
    else:
        remove_rows(feed.target, retracted)


def _delete_by_history(feed: TableFeed, table: Table, gone: set[SourceTable]) -> None:
    """Read the events once more to see whose each row is."""
    assert feed.history is not None
    if table.primary_key:
        rows = _keys_of(feed, feed.history(), table, gone)
    else:
        rows = _bag_of(feed, feed.history(), gone)
    if rows is not None and rows.num_rows:
        _retract(feed, rows)


def _keys_of(
    feed: TableFeed, history: Iterable[SourceBatch[Position]], table: Table, gone: set[SourceTable]
) -> pa.Table | None:
    """Rows with the keys that one of ``gone`` wrote last; other columns are null."""
    owner: dict[tuple[Any, ...], SourceTable] = {}
    key = list(table.primary_key)
    for source, rows in _replayed(feed, history):
        if rows is None:
            owner = {k: s for k, s in owner.items() if s != source}
            continue
        kinds = rows[ROW_KIND_COLUMN].to_pylist()
        values = [tuple(row.values()) for row in rows.select(key).to_pylist()]
        for kind, own in zip(kinds, values, strict=True):
            if kind in {"+I", "+U"}:
                owner[own] = source
            else:
                owner.pop(own, None)
    found = [dict(zip(key, own, strict=True)) for own, source in owner.items() if source in gone]
    schema = arrow_schema(table.definition.fields)
    relaxed = pa.schema([field.with_nullable(True) for field in schema])
    if not found or all(f.nullable or f.name in key for f in schema):
        return pa.Table.from_pylist(found, schema=relaxed)
    wanted = set(map(tuple, (row.values() for row in found)))
    there = table.read().to_arrow()
    mask = [tuple(row.values()) in wanted for row in there.select(key).to_pylist()]
    return there.filter(pa.array(mask))


def _bag_of(
    feed: TableFeed, history: Iterable[SourceBatch[Position]], gone: set[SourceTable]
) -> pa.Table | None:
    """The rows that ``gone`` put into a table without key and did not take out again."""
    parts: dict[SourceTable, list[pa.Table]] = {}
    for source, rows in _replayed(feed, history):
        if source not in gone:
            continue
        if rows is None:
            parts[source] = []
        else:
            parts.setdefault(source, []).append(rows)
    left = [_net(pa.concat_tables(rows)) for rows in parts.values() if rows]
    return pa.concat_tables(left) if left else None


def _net(rows: pa.Table) -> pa.Table:
    kept, _ = net_rows(rows)
    return rows.take(pa.array(kept, pa.int64())).drop_columns([ROW_KIND_COLUMN])


def _replayed(
    feed: TableFeed, history: Iterable[SourceBatch[Position]]
) -> Iterator[tuple[SourceTable, pa.Table | None]]:
    """Source table and its rows, in order; None where it was emptied."""
    for batch in history:
        changes = [one for one in batch.changes if feed.takes(one.table)]
        schema_changes = [
            one for one in batch.schema_changes if feed.takes(one.table) and not one.in_snapshot
        ]
        for step in steps(changes, schema_changes if feed.settings.on_drop == "apply" else ()):
            if step.table is not None:
                yield step.table, None
            yield from _in_order(feed, step.changes)


def _in_order(
    feed: TableFeed, changes: Sequence[Changes]
) -> Iterator[tuple[SourceTable, pa.Table]]:
    """Rows of one source table at a time; tables take turns as their events do."""
    left, found = _usable(feed, changes)
    if found is None:
        return
    whose = np.concatenate([np.full(len(one.lines), n) for n, one in enumerate(left)])
    lines = np.concatenate([one.lines for one in left])
    source_of = dict(zip(lines.tolist(), whose.tolist(), strict=True))
    owners = np.array([source_of[n] for n in found.numbers.tolist()])
    edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for start, end in pairwise(edges):
        if end > start:
            yield left[owners[start]].table, found.rows.slice(start, end - start)


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
