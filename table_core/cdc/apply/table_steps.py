"""Applies a batch to one table step by step: rows and statements in the order of the source.

With a table for dead letters an event that cannot be applied is kept there and the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Generic

import numpy as np

from table_core.cdc.apply.truncate import empty, leave
from table_core.cdc.model.bad import BadEvents
from table_core.cdc.model.batch import P
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.steps import Statement, steps
from table_core.cdc.model.truncates import chosen, within
from table_core.errors import ArgumentError, DataError, EventError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.cdc.apply.checkpoint import Checkpoint
    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.truncate import History
    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent
    from table_core.cdc.model.steps import Step

__all__ = ["TableSteps"]


@dataclass(frozen=True, slots=True)
class TableSteps(Generic[P]):
    """What applies batches to the tables, one table after the other."""

    context: SyncContext
    checkpoint: Checkpoint[P]

    def apply(
        self,
        batch: SourceBatch[P],
        name: str,
        changes: Sequence[Changes],
        schema_changes: Sequence[SchemaChangeEvent],
        first: int = 0,
        end: int | None = None,
    ) -> None:
        """Apply what the table ``name`` does not have yet of the events ``first`` to ``end - 1``.

        Raises:
            EventError: an event lacks what is needed, or is not to be applied.
            DataError: a value does not fit its column.
        """
        feed = self.checkpoint.feed(name)
        if feed.state.finished:
            return
        last = batch.events if end is None else end
        part = changes if last - first == batch.events else within(changes, first, last)
        statements = [one for one in schema_changes if first <= one.number < last]
        fresh, drops = _fresh(feed, batch, part), _fresh_drops(feed, batch, statements)
        if not (fresh or drops) or not self._compatible(feed, batch, fresh):
            return
        feed.target.wait(events=sum(len(group.lines) for group in fresh) + len(drops))
        rows, delivered = feed.unrepeated(batch, fresh)
        for step in steps(rows, drops):
            feed = self.checkpoint.feed(name)
            feed.target.at(*self.checkpoint.before(batch, max(step.number, first)))
            history = self._history(batch, changes, step.number)
            if step.statement is Statement.TRUNCATE:
                self._truncate(feed, batch, step, history)
            elif step.statement is Statement.DROP:
                feed = self._drop(feed, step, history)
            if step.changes:
                self._apply_rows(feed, batch, step.changes)
        feed.target.deliver(delivered)
        for group in fresh:
            feed.target.note_time(group.event_time_ms)

    def _history(
        self, batch: SourceBatch[P], changes: Sequence[Changes], number: int
    ) -> History | None:
        """Reads all that comes before an event once more; None if the source does not go back."""
        older, before = self.checkpoint.reader.history, self.checkpoint.reached
        if older is None or before is None:
            return None
        earlier = within(changes, -1, number)
        here = [
            replace(
                batch,
                changes=earlier,
                schema_changes=[one for one in batch.schema_changes if one.number < number],
            )
        ]
        return lambda: chain(older(before), here)

    def _apply_rows(
        self, feed: TableFeed, batch: SourceBatch[P], changes: Sequence[Changes]
    ) -> None:
        left = list(changes)
        while left:
            try:
                feed.apply(batch, left)
            except BadEvents as bad:
                left = self._without(bad.errors, batch, left)
            except (DataError, EventError) as error:
                number = error.facts.get("row")
                if self.context.dead_letters is None or not isinstance(number, int):
                    raise
                left = self._without({number: error}, batch, left)
            else:
                return

    def _without(
        self,
        errors: Mapping[int, DataError | EventError],
        batch: SourceBatch[P],
        changes: Sequence[Changes],
    ) -> list[Changes]:
        """``changes`` without the events that ``errors`` are about, which are kept as dead letters."""
        assert self.context.dead_letters is not None
        bad = np.array(sorted(errors), np.int64)
        for group in changes:
            # an event with several rows is one, and is kept as a whole
            for number in dict.fromkeys(group.lines[np.isin(group.lines, bad)].tolist()):
                place = group.place(number).text
                self.context.dead_letters.put(
                    errors[number], place, batch.text_of(number), str(group.table)
                )
        parts = [chosen(group, ~np.isin(group.lines, bad)) for group in changes]
        left = [part for part in parts if part is not None]
        if sum(len(group.lines) for group in left) == sum(len(group.lines) for group in changes):
            raise errors[int(bad[0])]  # about none of them
        return left

    def _truncate(
        self, feed: TableFeed, batch: SourceBatch[P], step: Step, history: History | None
    ) -> None:
        assert step.table is not None
        if self.context.settings.on_truncate == "ignore":
            return
        if self.context.settings.on_truncate == "fail":
            assert batch.place is not None
            place = batch.place(step.number)
            why = (
                f"the source table was truncated; say what {feed.target.name} is to do with "
                "on_truncate='ignore' or 'apply'"
            )
            raise bad_line(place, why)
        empty(feed, step.table, history)

    def _drop(self, feed: TableFeed, step: Step, history: History | None) -> TableFeed:
        """The source table is gone: its rows go, and the table with the last of its sources."""
        assert step.table is not None
        if feed.state.table is None or self.context.settings.on_drop == "ignore":
            return feed
        if self.context.settings.on_drop == "fail":
            raise EventError(
                f"the source table {step.table} was dropped; say what {feed.target.name} is to do with "
                "on_drop='ignore' or 'apply'",
                table=str(step.table),
            )
        if feed.state.sources - {step.table}:
            leave(feed, step.table, history)
            return feed
        return self.checkpoint.drop(feed.target.name)

    def _compatible(
        self, feed: TableFeed, batch: SourceBatch[P], changes: Sequence[Changes]
    ) -> bool:
        """Whether the key of a table that is there is that of its source.

        Raises:
            ArgumentError: it is not, and that is not to be ignored.
        """
        table = feed.state.table
        if table is None or self.context.whole_database is None or feed.state.commits:
            return True
        for group in changes:
            if group.table in feed.state.sources:
                continue
            key = batch.key_of(group.table)
            if key is None or set(key) == set(table.primary_key) or feed.new_table.primary_key:
                continue
            if self.context.settings.ignore_incompatible:
                self.checkpoint.tables.skipped.add(feed.target.name)
                return False
            raise ArgumentError(
                f"{feed.target.name} has the key {table.primary_key}, its source {group.table} has "
                f"{key}; drop the table, exclude it, or pass ignore_incompatible=True",
                argument="ignore_incompatible",
                value=False,
            )
        return True


def _fresh(feed: TableFeed, batch: SourceBatch[P], changes: Sequence[Changes]) -> list[Changes]:
    """What the table does not have yet."""
    target = feed.target
    parts = (chosen(one, ~target.covered(batch, one.lines, one.table)) for one in changes)
    return [part for part in parts if part is not None]


def _fresh_drops(
    feed: TableFeed, batch: SourceBatch[P], schema_changes: Sequence[SchemaChangeEvent]
) -> list[SchemaChangeEvent]:
    drops = [drop for drop in schema_changes if drop.dropped and not drop.in_snapshot]
    at = [np.array([drop.number], np.int64) for drop in drops]
    covered = [
        bool(feed.target.covered(batch, number, drop.table)[0])
        for number, drop in zip(at, drops, strict=True)
    ]
    return [drop for drop, known in zip(drops, covered, strict=True) if not known]
