"""One run of a sync: reads a source once and feeds every table that its events belong to.

Each table keeps how far it is.  Tables without news get no commit: the last commit of a run says
that *all* tables are complete up to its position, and the next run starts there.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic

import numpy as np

from table_core.cdc.apply.checkpoint import ALL_PROPERTY, Checkpoint
from table_core.cdc.apply.source_admission import SourceAdmission
from table_core.cdc.apply.table_steps import TableSteps
from table_core.cdc.model.batch import CommitAfter, P
from table_core.cdc.model.claims import Who
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.record import UNNAMED
from table_core.errors import StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.outage import Outage
    from table_core.cdc.apply.reader import Reader
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.batch import Flags, SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent

__all__ = ["SourceAwayError", "SyncRun", "start_run"]

_PART_EVENTS: Final = 1000
"""Of a part of a batch at least, so that rows which wait for others cost no part for each event."""


class SourceAwayError(Exception):
    """The source of a run does not answer any more; what was applied and not committed is gone."""

    def __init__(self, error: StorageUnavailableError) -> None:
        super().__init__(str(error))
        self.error = error


def start_run(
    context: SyncContext, tables: SyncTables, reader: Reader[P], names: Sequence[str]
) -> SyncRun[P]:
    """A run that is about to read; ``names`` are the tables that are there already.

    Raises:
        ArgumentError: a table has another key than it is to have.
        SourceDivergedError: the source is another one.
    """
    source, address = reader.identity()
    if context.dead_letters is not None:
        context.dead_letters.source = source
    who = Who(source=source, route=context.route_text, address=address)
    for name in names:
        tables.open(name)
    checkpoint = Checkpoint(context, tables, reader, who)
    return SyncRun(
        context=context,
        tables=tables,
        checkpoint=checkpoint,
        admission=SourceAdmission(context, checkpoint.feed),
        steps=TableSteps(context, checkpoint),
    )


@dataclass(slots=True, kw_only=True)
class SyncRun(Generic[P]):
    """Takes batches from a reader, has them applied, and commits."""

    context: SyncContext
    tables: SyncTables
    checkpoint: Checkpoint[P]
    admission: SourceAdmission
    steps: TableSteps[P]
    events: int = 0
    events_elsewhere: int = 0
    """Those that others decoded."""
    events_kept: int = 0
    """Those behind which all tables were committed."""
    outage: Outage | None = None
    """Since when the source is away, of a run that began again for that."""
    _met: set[SourceTable] = field(default_factory=set)
    """Source tables, where one only is meant."""
    _start: P | None = None
    """Where the run began."""
    _committed_ms: int | None = None
    """When news were committed last, of a run that commits in time."""
    _pause_ms: int = 0
    """How long news wait behind that."""

    # --------------------------------------------------------------------------------- running
    def run(self, until: P | None = None) -> None:
        """Read and apply what there is, or what comes before ``until``.

        Raises:
            SourceAwayError: the source went away meanwhile; so it may begin again where the tables are.
        """
        start, end = self.checkpoint.start()
        end = until if end is None else end
        self.checkpoint.reached = self._start = start
        ended = False
        try:
            for batch in self._batches(start, end):
                self._apply(batch)
                if batch.may_commit and self._enough():
                    ended = True
                    break
                if batch.commit_after is not CommitAfter.WHEN_DUE:
                    # the source does not go on before it is told that all is kept, be it nothing
                    complete = batch.commit_after is CommitAfter.NOW_COMPLETE
                    self.flush(complete=complete, asked=True)
            self.flush(complete=True, ended=ended)
        finally:
            self.tables.abort()

    def _batches(self, start: P | None, end: P | None) -> Iterator[SourceBatch[P]]:
        with _away():
            for batch in self.checkpoint.reader.batches(start, end):
                if self.outage is not None:
                    self.outage.over()
                yield batch

    # -------------------------------------------------------------------------------- applying
    def _apply(self, batch: SourceBatch[P]) -> None:
        """Apply a batch, in parts where a limit is reached within it."""
        rows: dict[str, list[Changes]] = {}
        dropped: dict[str, list[SchemaChangeEvent]] = {}
        context, tables = self.context, self.tables
        self._refuse_several(batch.changes)
        for one in self.admission.admitted(batch):
            if (name := context.route(one.table)) is not None:
                rows.setdefault(name, []).append(one)
        for event in batch.schema_changes:
            if (name := context.route(event.table)) is None or not event.dropped:
                continue
            if self.admission.is_open(event.table, name):
                dropped.setdefault(name, []).append(event)
        names = [n for n in dict.fromkeys([*rows, *dropped]) if n not in tables.skipped]
        first, taken = 0, self._taken_by_all(batch)
        while True:
            end = self._end_of_part(batch, first, taken)
            for name in names:
                self.steps.apply(batch, name, rows.get(name, ()), dropped.get(name, ()), first, end)
            last = batch.events if end is None else end
            self._reach(batch, end, last - first - int(taken[first:last].sum()))
            if end is None or self._enough():
                return
            first = end

    def _taken_by_all(self, batch: SourceBatch[P]) -> Flags:
        """Which events every table had when the run began: of a window in which an earlier one ended."""
        if self._start is None or batch.before is None:
            return np.zeros(batch.events, bool)
        return batch.consumed(self._start, np.arange(batch.events))

    def _end_of_part(self, batch: SourceBatch[P], first: int, taken: Flags) -> int | None:
        """Before which event a limit asks for a commit or an end; None where the batch ends before that."""
        if batch.before is None or not batch.may_commit:
            return None
        waiting = max((feed.state.pending.rows for feed in self.tables.feeds.values()), default=0)
        commit_rows = self.context.settings.commit_rows
        size = max(commit_rows - waiting, min(commit_rows, _PART_EVENTS))
        if self.context.limits.max_rows is not None:
            size = min(size, self.context.limits.max_rows - self.events)
        size = max(size, 1)
        if size >= batch.events - first:
            return None
        new = np.flatnonzero(~taken[first:])
        end = first + int(new[size - 1]) + 1 if len(new) >= size else batch.events
        return end if end < batch.events else None

    def _reach(self, batch: SourceBatch[P], end: int | None, events: int) -> None:
        """So many more ``events`` of a batch are applied, all before the one with the number ``end``."""
        context, checkpoint = self.context, self.checkpoint
        if end is None or batch.before is None:
            checkpoint.reached, checkpoint.within = batch.position, None
        else:
            checkpoint.reached, checkpoint.within = batch.before(end), end
        self.events += events
        self.events_elsewhere += events if batch.decoded_elsewhere else 0
        context.progress.events(self.events)
        for feed in self.tables.feeds.values():
            feed.target.at(*checkpoint.here)
            if feed.state.pending.rows >= context.settings.commit_rows and batch.may_commit:
                self._flush_dead_letters()
                feed.target.flush(complete=False)
        if context.limits.commit_every_ms is not None and batch.may_commit:
            self._commit_in_time(context.limits.commit_every_ms)

    def _refuse_several(self, changes: Sequence[Changes]) -> None:
        """Rows of two source tables would be mixed up if nobody said that they belong together."""
        if self.context.one_source is None:
            return
        closed = self._closes_unnamed({group.table for group in changes})
        for group in changes:
            if closed and group.table == UNNAMED:
                continue
            self._met.add(group.table)
            if len(self._met) > 1:
                names = " and ".join(sorted(map(str, self._met)))
                why = (
                    f"the source has events of {names}; say which ones go into "
                    f"{self.context.one_source} with tables='…', a regular expression"
                )
                raise bad_line(group.place(int(group.lines[0])), why)

    def _closes_unnamed(self, tables: set[SourceTable]) -> bool:
        """Whether events that name no table are bad: others of this source name theirs."""
        if self.context.dead_letters is None or UNNAMED in self._met:
            return False
        named = bool((self._met | tables) - {UNNAMED})
        if named:
            self.admission.close(UNNAMED, "it names no table, and other events of the source do")
        return named

    # -------------------------------------------------------------------------------- committing
    def flush(self, *, complete: bool, asked: bool = False, ended: bool = False) -> bool:
        """Commit every table; the last one says that all are complete.  Whether there was something to commit.

        ``asked``: the source waits for it, so the position is kept even where it brought nothing; so it
        is where a limit ``ended`` the run: the next one would get no further.
        """
        letters = self._flush_dead_letters()
        checkpoint = self.checkpoint
        forgets = checkpoint.reader.forgets and (complete or asked)
        ready = self._ready(or_moved=forgets or ended)
        for n, feed in enumerate(ready):
            target = feed.target
            target.at(*checkpoint.here)
            if n + 1 == len(ready) and self.context.whole_database is not None:
                text, before = checkpoint.all_text(feed, ready)
                target.wait(properties={ALL_PROPERTY: text}, expect={ALL_PROPERTY: before})
            if (commit := target.flush(complete=complete, asked=asked)) is not None:
                self.context.progress.committed(target.name, commit.snapshot_id)
        self.events_kept = self.events
        if checkpoint.reached is not None and (ready or self._is_stored(self.tables.there)):
            with _away():
                checkpoint.reader.committed(checkpoint.reached)
        return letters or bool(ready)

    def _ready(self, *, or_moved: bool) -> list[TableFeed]:
        """Tables with something to commit; one at least where a table was dropped.

        ``or_moved``: or where the position moved, e.g. because the source forgets what comes before it.
        """
        reached = self.checkpoint.reached
        there = [feed for feed in self.tables.there if not feed.state.finished]
        ready = [feed for feed in there if feed.state.has_changes]
        moved = or_moved and reached is not None and not self._is_stored(there)
        dropped = bool(self.tables.dropped) and self.context.whole_database is not None
        if (dropped or moved) and not ready:
            ready = there[-1:]
            for feed in ready:
                feed.target.wait(events=1)
        self.tables.dropped.clear()
        return ready

    def _is_stored(self, feeds: Iterable[TableFeed]) -> bool:
        """Whether the tables have all up to here, maybe by commits within the batch."""
        reached = self.checkpoint.reached
        if reached is None:
            return False
        positions = (feed.state.position for feed in feeds)
        return all(position is not None and position.covers(reached) for position in positions)

    def _flush_dead_letters(self) -> bool:
        """Dead letters are visible before the commits that leave them out.  Whether there were some."""
        letters = self.context.dead_letters
        waited = letters is not None and bool(letters.waiting)
        if letters is not None:
            letters.flush()
        return waited

    def _commit_in_time(self, every_ms: int) -> None:
        """Commit news at once after a while without any, and at most so often while they come.

        A commit that takes longer than that makes the next one wait as long: half the time is for reading.
        """
        begun = self.context.clock.now_ms()
        last = self._committed_ms
        if last is not None and 0 <= begun - last < self._pause_ms:
            return
        if self.flush(complete=False):
            self._committed_ms = self.context.clock.now_ms()
            self._pause_ms = max(every_ms, self._committed_ms - begun)

    def _enough(self) -> bool:
        """Whether a limit ends the run; that of events not before a table can keep how far it came."""
        limits = self.context.limits
        if limits.max_rows is not None and self.events >= limits.max_rows and self.tables.there:
            return True
        if limits.stops is not None and limits.stops():
            return True
        return limits.stop_at_ms is not None and self.context.clock.now_ms() >= limits.stop_at_ms


@contextmanager
def _away() -> Iterator[None]:
    """Tell a source that is away from a warehouse that is."""
    try:
        yield
    except StorageUnavailableError as error:
        raise SourceAwayError(error) from error
