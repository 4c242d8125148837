"""How far a run and its tables are: where it begins, and what its last commit says of all tables.

Each table says itself what it has.  What a run over all of them said holds for those that are still
where they were then.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, cast

from table_core.cdc.model.batch import P
from table_core.cdc.model.claims import ANY_ROUTE, Claim, Claims
from table_core.cdc.model.complete import Complete, Completed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.reader import Reader
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.claims import Who

__all__ = ["ALL_PROPERTY", "Checkpoint"]

ALL_PROPERTY: Final = "tc.source.all"
"""Property of the last commit of a run: the position up to which every table is complete."""


@dataclass(slots=True)
class Checkpoint(Generic[P]):
    """How far a run and its tables are."""

    context: SyncContext
    tables: SyncTables
    reader: Reader[P]
    who: Who
    reached: P | None = None
    """What the run has applied, in every table."""
    within: int | None = None
    """The event of the newest batch before which that ends; None: behind them all."""
    completed: dict[str, Completed] = field(default_factory=dict)
    """What tables say of runs over all of them."""
    texts: dict[str, str | None] = field(default_factory=dict)
    """The same as it is stored."""

    @property
    def shown(self) -> str | None:
        """What the run has applied, as people read it; None before it has anything."""
        if self.reached is None:
            return None
        return Claim(source=self.who.source, route=self.who.route, at=self.reached).shown

    @property
    def _of_all(self) -> Who:
        """Who speaks for all tables: of a run for one of many, for that one."""
        return replace(self.who, route=self.context.whole_database or self.who.route)

    def feed(self, name: str) -> TableFeed:
        """What feeds the table ``name``; one that is new to the run says how far it is."""
        feed = self.tables.feeds.get(name)
        if feed is None:
            feed = self.tables.open(name)
            self._begin(feed)
        return feed

    def before(
        self, batch: SourceBatch[P], number: int, feed: TableFeed
    ) -> tuple[P | None, Callable[[], str | None]]:
        """The position before an event of a batch, and what a run that begins there has to know."""
        remembered = self.reader.remembered
        if number == 0 or batch.before is None:
            return self.reached, partial(remembered, feed.sources, 0)
        return batch.before(number), partial(remembered, feed.sources, number)

    def _begin(self, feed: TableFeed) -> None:
        """Take up what a table says of itself."""
        target = feed.target
        target.who = self.who
        target.fed = lambda: feed.sources
        if target.table is None:
            return
        target.claims = Claims.of_table(target.held, target.by_hand, self._set_by_hand)
        target.position = self._own(feed)
        self.reader.recall(target.source_schemas)

    def _set_by_hand(self, text: str) -> Claim:
        """The claim of a place that somebody has set."""
        return Claim(
            source=self.who.source,
            route=ANY_ROUTE,
            at=self.reader.parse(text),
            address=self.who.address,
        )

    def _own(self, feed: TableFeed) -> P | None:
        """Up to where a table has all that is to be read, as it says itself."""
        target, tables = feed.target, [t for t in feed.sources if self.tables.wants(t)]
        own = target.claims.own(self.who)
        if own is not None or not self.reader.by_table:
            return None if own is None else cast("P", own.at)
        best = []
        for table in tables:  # of tables that are new a server's snapshot is read
            claims = [c.at for c in target.claims.of(self.who) if target.takes(c.route, table)]
            if claims:
                best.append(_furthest(claims))
        return _least(best) if best else None

    def start(self) -> tuple[P | None, P | None]:
        """Where to begin, and where an earlier attempt of this run ended (None: it did not).

        Raises:
            SourceDivergedError: the source is not what was read, or what comes next is gone.
        """
        for feed in self.tables.feeds.values():
            self._begin(feed)
        known = self._complete() if self.context.whole_database is not None else None
        done: P | None = None
        holds = False
        starts: list[P | None] = []
        for feed in self.tables.feeds.values():
            target = feed.target
            if target.table is None and not (known and target.name in known.tables):
                continue
            if target.finished and target.position is not None:
                done = self._position(feed)
            if known is not None and self._holds(known, feed):
                target.position, holds = known.claim.at, True
            target.claims = Claims(tuple(map(self._settled, target.claims.held)))
            if (position := self._position(feed)) is not None:
                target.position = self.reader.settled(position)
            starts.append(self._position(feed))
        if known is not None and not (holds or self._lost(known)):
            known = (
                None  # all of its tables are elsewhere by now, e.g. because somebody set them so
            )
        if known is not None:
            known = replace(known, claim=self._settled(known.claim))
        self.reader.check(self._needed(known))
        return self._least_of(starts, known), done

    def _position(self, feed: TableFeed) -> P | None:
        """Up to where a table has all; of this source, so it is one of the reader's positions."""
        return cast("P | None", feed.target.position)

    def _settled(self, claim: Claim) -> Claim:
        """A claim as it is to be taken now."""
        is_mine = self.who.is_of(claim)
        return replace(claim, at=self.reader.settled(claim.at)) if is_mine else claim

    def _least_of(self, starts: Sequence[P | None], known: Complete | None) -> P | None:
        positions = [at for at in starts if at is not None]
        if len(positions) < len(starts) or (known is not None and self._lost(known)):
            return self.reader.parse(None)
        if known is not None:
            return _least([cast("P", known.claim.at), *positions])
        if self.context.whole_database is None and len(positions) == 1:
            return positions[0]
        return self.reader.parse(None)

    def _holds(self, known: Complete, feed: TableFeed) -> bool:
        """Whether what a run over all tables said of this one still holds."""
        target = feed.target
        if target.table is None or target.name not in known.tables:
            return False
        if known.tables[target.name] != target.claims.digest(self.who):
            return False
        own = target.position
        return own is None or bool(known.claim.at.covers(own))

    def _lost(self, known: Complete) -> bool:
        """Whether a table that was complete is not there any more: it has to be read anew."""
        feeds = self.tables.feeds
        return any(n not in feeds or feeds[n].target.table is None for n in known.tables)

    def _complete(self) -> Complete | None:
        """What the run of this source and route said that came furthest."""
        best: Complete | None = None
        for name, feed in self.tables.feeds.items():
            table = feed.target.table
            text = table.position(ALL_PROPERTY) if table is not None else None
            self.texts[name] = text
            self.completed[name] = Completed.parse(text)
            for one in self.completed[name].of(self._of_all):
                if best is None or one.claim.at.covers(best.claim.at):
                    best = one
        if best is not None:
            self.reader.recall(best.source_schemas)
        return best

    def _needed(self, known: Complete | None) -> list[Claim]:
        """The place from which the source needs all of its events."""
        claims: dict[str, Claim] = {}
        everyone = [c for feed in self.tables.feeds.values() for c in feed.target.claims.held]
        for claim in everyone:
            if not self.who.is_of(claim):
                claims.setdefault(f"{claim.source}", claim)
        for feed in self.tables.feeds.values():
            target = feed.target
            if target.position is not None:
                source = next((c.source for c in target.claims.of(self.who)), self.who.source)
                if known is not None and target.position == known.claim.at:
                    source = known.claim.source
                at = Claim(
                    source=source,
                    route=self.who.route,
                    at=target.position,
                    address=self.who.address,
                )
                claims.setdefault(f"{source} {at.at.text}", at)
            else:
                for claim in target.claims.of(self.who):
                    claims.setdefault(f"{claim.source} {claim.at.text}", claim)
        return list(claims.values())

    # ------------------------------------------------------------------------------ afterwards
    def drop(self, name: str) -> TableFeed:
        """A table goes, and what it said with it.  What feeds one of its name that may come after it."""
        self.tables.drop(name)
        self.completed.pop(name, None)
        self.texts.pop(name, None)
        return self.feed(name)

    def all_text(self, last: TableFeed, ready: Sequence[TableFeed]) -> tuple[str, str | None]:
        """What the last commit of a run says, and what was said there before."""
        name, there = last.target.name, self.tables.there
        assert self.reached is not None
        tables: dict[str, str] = {}
        for feed in there:
            target = feed.target
            claims = target.claims
            if feed in ready and target.reached is not None:
                claims = claims.moved(self.who, target.reached, feed.sources, target.takes)
            tables[target.name] = claims.digest(self.who)
        fed = [table for feed in there for table in feed.sources]
        claim = Claim(
            source=self.who.source,
            route=self._of_all.route,
            at=self.reached,
            address=self.who.address,
        )
        source_schemas = self.reader.remembered(self.reader.unfed(fed), self.within)
        before = self.completed.get(name, Completed())
        after = before.after(
            self._of_all, Complete(claim=claim, tables=tables, source_schemas=source_schemas)
        )
        old = self.texts.get(name)
        self.completed[name], self.texts[name] = after, after.text
        return after.text, old


def _least(positions: Sequence[P]) -> P:
    """The position that all others cover.

    Where tables stand in the middle of one window, each with other lines of it, that is its beginning.
    """
    least = positions[0]
    for one in positions[1:]:
        if least.boundary.covers(one.boundary):
            least = one
    return least if all(one.covers(least) for one in positions) else least.boundary


def _furthest(positions: Sequence[P]) -> P:
    best = positions[0]
    for one in positions[1:]:
        if one.covers(best):
            best = one
    return best
