"""How far a run and its tables are: where it begins, and what its last commit says of all tables.

Each table says itself what it has.  What a run over all of them said holds for those that are still
where they were then.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Generic, cast

from table_core.cdc.model.batch import P
from table_core.cdc.model.claims import ANY_ROUTE, Claim, Claims
from table_core.cdc.model.complete import Complete, Completed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.reader import Reader
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.table_state import Remembered
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

    def before(self, batch: SourceBatch[P], number: int) -> tuple[P | None, Remembered]:
        """The position before an event of a batch, and what a run that begins there has to know."""
        if number == 0 or batch.before is None:
            return self.reached, self._remembered(0)
        return batch.before(number), self._remembered(number)

    @property
    def here(self) -> tuple[P | None, Remembered]:
        """What the run has applied, and what one that goes on there has to know."""
        return self.reached, self._remembered(self.within)

    def _remembered(self, number: int | None) -> Remembered:
        return lambda sources: self.reader.remembered(sources, number)

    def _begin(self, feed: TableFeed) -> None:
        """Take up what a table says of itself."""
        if feed.state.table is None:
            feed.target.begin(self.who, Claims(), None)
            return
        says = feed.state.stored
        claims = Claims.of_table(says.claims, says.by_hand, self._set_by_hand)
        feed.target.begin(self.who, claims, self._own(feed, claims))
        self.reader.recall(says.source_schemas)

    def _set_by_hand(self, text: str) -> Claim:
        """The claim of a place that somebody has set."""
        return Claim(
            source=self.who.source,
            route=ANY_ROUTE,
            at=self.reader.parse(text),
            address=self.who.address,
        )

    def _own(self, feed: TableFeed, claims: Claims) -> P | None:
        """Up to where a table has all that is to be read, as it says itself."""
        own = claims.own(self.who)
        if own is not None or not self.reader.by_table:
            return None if own is None else cast("P", own.at)
        best = []
        tables = [t for t in feed.state.sources if self.tables.wants(t)]
        for table in tables:  # of tables that are new a server's snapshot is read
            mine = [c.at for c in claims.of(self.who) if feed.target.takes(c.route, table)]
            if mine:
                best.append(_furthest(mine))
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
            if feed.state.table is None and not (known and feed.target.name in known.tables):
                continue
            position = self._position(feed)
            if feed.state.finished and position is not None:
                done = position
            if known is not None and self._holds(known, feed):
                position, holds = cast("P", known.claim.at), True
            if position is not None:
                position = self.reader.settled(position)
            claims = Claims(tuple(map(self._settled, feed.state.claims.held)))
            feed.target.begin(self.who, claims, position)
            starts.append(position)
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
        return cast("P | None", feed.state.position)

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
        state, name = feed.state, feed.target.name
        if state.table is None or name not in known.tables:
            return False
        if known.tables[name] != state.claims.digest(self.who):
            return False
        own = state.position
        return own is None or bool(known.claim.at.covers(own))

    def _lost(self, known: Complete) -> bool:
        """Whether a table that was complete is not there any more: it has to be read anew."""
        feeds = self.tables.feeds
        return any(n not in feeds or feeds[n].state.table is None for n in known.tables)

    def _complete(self) -> Complete | None:
        """What the run of this source and route said that came furthest."""
        best: Complete | None = None
        for name, feed in self.tables.feeds.items():
            table = feed.state.table
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
        everyone = [c for feed in self.tables.feeds.values() for c in feed.state.claims.held]
        for claim in everyone:
            if not self.who.is_of(claim):
                claims.setdefault(f"{claim.source}", claim)
        for feed in self.tables.feeds.values():
            state = feed.state
            if state.position is not None:
                source = next((c.source for c in state.claims.of(self.who)), self.who.source)
                if known is not None and state.position == known.claim.at:
                    source = known.claim.source
                at = Claim(
                    source=source,
                    route=self.who.route,
                    at=state.position,
                    address=self.who.address,
                )
                claims.setdefault(f"{source} {at.at.text}", at)
            else:
                for claim in state.claims.of(self.who):
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
            state, claims = feed.state, feed.state.claims
            if feed in ready and state.reached is not None:
                claims = claims.moved(self.who, state.reached, state.sources, feed.target.takes)
            tables[feed.target.name] = claims.digest(self.who)
        fed = [table for feed in there for table in feed.state.sources]
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
