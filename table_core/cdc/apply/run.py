"""One run of a sync: reads a source once and feeds every table that its events belong to.

Each table keeps how far it is.  Tables without news get no commit: the last commit of a run says
that *all* tables are complete up to its position, and the next run starts there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.cdc.apply.one_source_each import Doors
from table_core.cdc.apply.standing import ALL_PROPERTY, Standing
from table_core.cdc.apply.stepwise import apply_to_table
from table_core.cdc.apply.table_feed import SOURCES_PROPERTY, TableFeed
from table_core.cdc.apply.target import SyncTarget
from table_core.cdc.model.claims import Who
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.record import SourceTable
from table_core.problems import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from table_core.cdc.apply.dead_letters import DeadLetters
    from table_core.cdc.apply.progress import SyncProgress
    from table_core.cdc.apply.settings import ApplySettings, NewTable
    from table_core.cdc.kafka.parallel_batches import RecordsBy
    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.model.encoding import PlainSettings
    from table_core.cdc.model.schema_change_event import TableNews
    from table_core.datatypes.kinds import Field
    from table_core.position.source import SourceId
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import CommitAs

__all__ = ["Limits", "Reader", "SyncRun"]

_WRITE_BUFFER: Final = {"write-buffer-size": "32 mb"}


class Reader(Protocol):
    """What a source is to a run."""

    def parse(self, text: str | None) -> Any:
        """The position that a table holds; None is the start."""
        ...

    @property
    def by_table(self) -> bool:
        """Whether a source table that is new is read by itself, e.g. by a snapshot."""
        ...

    def identity(self) -> tuple[SourceId, str]:
        """What tells the source from others, and where it is."""
        ...

    def check(self, claims: Sequence[Claim]) -> None:
        """Refuse a source that is not what was read, or has not all that comes next.

        Raises:
            SourceDivergedError: it is so; nothing was read.
        """
        ...

    def settled(self, position: Any) -> Any:
        """A stored position as it is to be taken now, e.g. with the new paths of files."""
        ...

    def shown(self, position: Any) -> str:
        """A position as people read it."""
        ...

    def batches(self, start: Any, end: Any | None) -> Iterator[SourceBatch]:
        """What comes after ``start``, in source order."""
        ...

    @property
    def history(self) -> Callable[[Any], Iterator[SourceBatch]] | None:
        """Reads all up to a position once more; None if the source does not go back."""
        ...

    def remembered(self, tables: Iterable[SourceTable], number: int | None = None) -> str | None:
        """What a later run has to know to read events of ``tables``; it goes into a property.

        ``number``: of the event of the newest batch where that run begins; None: behind them all.
        """
        ...

    def unfed(self, fed: Iterable[SourceTable]) -> list[SourceTable]:
        """Source tables of which something is known, though they feed no table yet."""
        ...

    def recall(self, text: str | None) -> None:
        """Take up what an earlier run remembered."""
        ...

    def committed(self, position: Any) -> None:
        """Every table is complete up to here."""
        ...


@dataclass(slots=True, kw_only=True)
class Limits:
    """When a run ends before its source does."""

    max_rows: int | None = None
    stop_at_ms: int | None = None
    commit_every_ms: int | None = None
    """A run without end commits so often."""


@dataclass(slots=True, kw_only=True)
class SyncRun:
    """Everything that one call knows."""

    catalog: Catalog
    commit: CommitAs
    route: Callable[[SourceTable], str | None]
    """The table that a source table feeds, as ``database.table``; None if nobody wants it."""
    settings: ApplySettings
    plain: PlainSettings
    new_table: Callable[[str], NewTable]
    limits: Limits = field(default_factory=Limits)
    whole_database: str | None = None
    """The filter of a sync of many tables; None for a sync of one."""
    route_text: str = ""
    """The choice of tables, as ``cdc.routing`` writes it."""
    one_source: str | None = None
    """The table that takes events of one source table only, because none was named."""
    eager: bool = False
    """Make every table that the source lists before the first row arrives."""
    progress: SyncProgress
    each: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]] | None = None
    """Does a work for each of many pieces elsewhere, some at once; results in order."""
    records_by: RecordsBy | None = None
    """What else reads the records of a topic."""
    dead: DeadLetters | None = None
    feeds: dict[str, TableFeed] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    met: set[SourceTable] = field(default_factory=set)
    is_alone: Callable[[SourceTable], bool] = lambda _: False
    """Whether no other source table may feed the table that this one feeds."""
    doors: Doors = field(init=False)
    standing: Standing | None = None
    reached: Any = None
    events: int = 0
    events_elsewhere: int = 0
    """Those that others decoded."""
    dropped: set[str] = field(default_factory=set)
    """Tables that went with their source."""
    last_commit_ms: int | None = None

    def __post_init__(self) -> None:
        self.doors = Doors(self)

    # --------------------------------------------------------------------------------- lookups
    def wants(self, table: SourceTable) -> bool:
        """Whether events of a source table are applied."""
        name = self.route(table)
        return name is not None and name not in self.skipped

    def fields_of(self, table: SourceTable) -> Sequence[Field] | None:
        """The columns of the table that a source table feeds."""
        name = self.route(table)
        feed = self.feeds.get(name) if name is not None else None
        return (
            None
            if feed is None or feed.target.table is None
            else feed.target.table.definition.fields
        )

    def is_fed(self, name: str) -> bool:
        """Whether source tables that go into the table ``name`` have fed it before."""
        names = self._fed_by(self.catalog.table(name))
        return any(self.route(_source(one)) == name for one in names)

    @staticmethod
    def _fed_by(table: Table) -> list[list[str]]:
        text = table.position(SOURCES_PROPERTY)
        with stored("source tables", text):
            return [[str(part) for part in one] for one in json.loads(text or "[]")]

    def shown(self, position: Any) -> str:
        """A position as people read it."""
        return "" if self.standing is None else self.standing.reader.shown(position)

    def feed(self, name: str) -> TableFeed:
        """What feeds the table ``name``."""
        found = self.feeds.get(name)
        if found is None:
            new = self.new_table(name)
            target = SyncTarget(
                catalog=self.catalog, name=name, commit=self.commit, handle_options=_WRITE_BUFFER
            )
            target.open()
            target.require("primary_key", new.primary_key or ())
            target.require("partition_by", new.partition_by)
            found = self.feeds[name] = TableFeed(
                target=target, settings=self.settings, plain=self.plain, new_table=new
            )
            if target.table is not None:
                found.sources = set(map(_source, self._fed_by(target.table)))
            if self.standing is not None:
                self.standing.begin(found)
        return found

    # --------------------------------------------------------------------------------- running
    def run(self, reader: Reader, names: Sequence[str]) -> None:
        """Read and apply; ``names`` are the tables that are there already."""
        source, address = reader.identity()
        who = Who(source=source, route=self.route_text, address=address)
        for name in names:
            self.feed(name)
        self.standing = Standing(self, reader, who)
        start, end = self.standing.start()
        self.reached = start
        try:
            for batch in reader.batches(start, end):
                self._apply(reader, batch)
                if batch.may_commit and self._enough():
                    break
            self.flush(reader, complete=True)
        finally:
            for feed in self.feeds.values():
                feed.target.abort()

    # -------------------------------------------------------------------------------- applying
    def _apply(self, reader: Reader, batch: SourceBatch) -> None:
        rows: dict[str, list[Changes]] = {}
        news: dict[str, list[TableNews]] = {}
        self._refuse_several(batch.changes)
        for one in self.doors.admitted(batch):
            if (name := self.route(one.table)) is not None:
                rows.setdefault(name, []).append(one)
        for told in batch.news:
            if (name := self.route(told.table)) is None or not told.dropped:
                continue
            if self.doors.is_open(told.table, name):
                news.setdefault(name, []).append(told)
        for name in dict.fromkeys([*rows, *news]):
            if name not in self.skipped:
                apply_to_table(self, reader, batch, name, rows.get(name, ()), news.get(name, ()))
        self.reached = batch.position
        self.events += batch.events
        self.progress.events(self.events)
        for feed in self.feeds.values():
            feed.target.at(batch.position, partial(reader.remembered, feed.sources))
            if feed.target.waiting >= self.settings.commit_rows and batch.may_commit:
                self._tell_dead()
                feed.target.flush(complete=False)
        if self.limits.commit_every_ms is not None and batch.may_commit:
            self._commit_in_time(reader)

    def place_before(
        self, reader: Reader, batch: SourceBatch, number: int, feed: TableFeed
    ) -> tuple[Any, Callable[[], str | None]]:
        """The position before an event of a batch, and what a run that begins there has to know."""
        if number == 0 or batch.before is None:
            return self.reached, partial(reader.remembered, feed.sources, 0)
        return batch.before(number), partial(reader.remembered, feed.sources, number)

    def drop(self, feed: TableFeed) -> TableFeed:
        """The last source table of a table is gone: so is the table.  What may come after it."""
        feed.target.abort()
        self.catalog.drop_table(feed.target.name)
        del self.feeds[feed.target.name]
        self.dropped.add(feed.target.name)
        if self.standing is not None:
            self.standing.forget(feed.target.name)
        return self.feed(feed.target.name)

    def _refuse_several(self, changes: Sequence[Changes]) -> None:
        """Rows of two source tables would be mixed up if nobody said that they belong together."""
        for one in changes if self.one_source is not None else ():
            self.met.add(one.table)
            if len(self.met) > 1:
                names = " and ".join(sorted(map(str, self.met)))
                why = (
                    f"the source has events of {names}; say which ones go into "
                    f"{self.one_source} with tables='…', a regular expression"
                )
                raise bad_line(one.place(int(one.lines[0])), why)

    # -------------------------------------------------------------------------------- committing
    def flush(self, reader: Reader, *, complete: bool) -> None:
        """Commit every table; the last one says that all are complete."""
        self._tell_dead()
        ready = self._ready(told=reader.by_table and complete)
        for n, feed in enumerate(ready):
            target = feed.target
            target.at(self.reached, partial(reader.remembered, feed.sources))
            if n + 1 == len(ready) and self.whole_database is not None:
                assert self.standing is not None
                text, before = self.standing.all_text(feed, ready)
                target.properties[ALL_PROPERTY] = text
                target.expect[ALL_PROPERTY] = before
            target.flush(complete=complete)
            self.progress.committed(target.name, target.commits[-1].snapshot_id)
        if self.reached is not None and (ready or not self._tables()):
            reader.committed(self.reached)

    def _ready(self, *, told: bool) -> list[TableFeed]:
        """Tables with something to commit; one at least where a table was dropped.

        ``told``: or where the position moved, because the source forgets what comes before it.
        """
        there = [
            feed
            for feed in self.feeds.values()
            if feed.target.table is not None and not feed.target.finished
        ]
        ready = [feed for feed in there if feed.target.has_news]
        moved = (
            told
            and self.reached is not None
            and not all(
                feed.target.position is not None and feed.target.position.covers(self.reached)
                for feed in there
            )
        )
        dropped = bool(self.dropped) and self.whole_database is not None
        if (dropped or moved) and not ready:
            ready = there[-1:]
            for feed in ready:
                feed.target.seen += 1
        self.dropped.clear()
        return ready

    def _tables(self) -> list[TableFeed]:
        return [feed for feed in self.feeds.values() if feed.target.table is not None]

    def _tell_dead(self) -> None:
        """Dead letters are visible before the commits that leave them out."""
        if self.dead is not None:
            self.dead.flush()

    def _commit_in_time(self, reader: Reader) -> None:
        now = self.catalog.clock.now_ms()
        every = self.limits.commit_every_ms or 0
        last = self.last_commit_ms
        if last is None:
            self.last_commit_ms = now
        elif now - last >= every:
            self.flush(reader, complete=False)
            self.last_commit_ms = now

    def _enough(self) -> bool:
        limits = self.limits
        if limits.max_rows is not None and self.events >= limits.max_rows:
            return True
        return limits.stop_at_ms is not None and self.catalog.clock.now_ms() >= limits.stop_at_ms


def _source(names: Sequence[str]) -> SourceTable:
    return SourceTable(*names[:2])
