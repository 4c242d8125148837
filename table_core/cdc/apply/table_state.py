"""What a run knows of one table: a frozen value.  Whatever happens to the table gives the next one.

``SyncTarget`` holds the newest and is all that replaces it.  A step that fails on the way, say between the
new column and the rows that have it, so leaves what has happened, and no half of a change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from table_core.cdc.model.claims import Claims
from table_core.cdc.model.delivered import Delivered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.cdc.model.batch import Position
    from table_core.cdc.model.claims import Who
    from table_core.cdc.model.record import SourceTable
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit
    from table_core.table.write.writer import TableWriter

    Remembered: TypeAlias = Callable[[Iterable[SourceTable]], str | None]
    """What a later run has to know of source tables to go on from a position."""

__all__ = ["Pending", "Remembered", "Stored", "TableState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the table's newest snapshot says of its sources, as text; the next commit expects just that."""

    by_hand: str | None = None
    """Where somebody has set the table to; '' once that was taken over."""
    claims: str | None = None
    source_schemas: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What the next commit has."""

    writer: TableWriter | None = None
    replaces: bool = False
    """Whether the rows of the writer take the place of all that is there."""
    rows: int = 0
    """Given to the writer."""
    events: int = 0
    """Applied since the last commit, with or without rows."""
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    expect: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """One table at one moment of a run.

    ``position`` is what is known to be in the table, ``reached`` what will be with the next commit.
    """

    table: Table | None = None
    sources: frozenset[SourceTable] = frozenset()
    """The source tables that gave it rows."""
    stored: Stored = field(default_factory=Stored)
    pending: Pending = field(default_factory=Pending)
    who: Who | None = None
    claims: Claims = field(default_factory=Claims)
    position: Position | None = None
    """Up to here it has all that is read; beside what its claims say."""
    reached: Position | None = None
    remembered: Remembered = lambda _: None
    delivered: Delivered = field(default_factory=Delivered)
    """The furthest events that are in a table without a key."""
    commits: tuple[Commit, ...] = ()
    finished: bool = False
    """An earlier attempt of this very run got to its end."""
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """What the result tells beside commits."""
    time_ms: int | None = None
    """When the latest change was committed in the source."""

    @property
    def has_news(self) -> bool:
        """Whether a commit without rows has something to say: events, or what is known of the sources."""
        known = self.remembered(self.sources)
        return self.pending.events > 0 or known not in {None, self.stored.source_schemas}

    @property
    def has_changes(self) -> bool:
        """Whether there is something to commit: rows, or news."""
        return self.pending.writer is not None or self.has_news

    @property
    def done(self) -> list[Commit]:
        """Commits that made a snapshot."""
        return [commit for commit in self.commits if commit.snapshot_id is not None]

    @property
    def shown(self) -> str | None:
        """Up to where the table's newest snapshot says that it has its source, as people read it."""
        if self.stored.by_hand:
            return self.stored.by_hand
        held = Claims.parse(self.stored.claims).held
        return held[-1].shown if held else None

    @property
    def as_begun(self) -> TableState:
        """What a run that begins again knows before it looks at the table: what it did, and counted."""
        return TableState(commits=self.commits, counts=self.counts, time_ms=self.time_ms)

    def at(self, reached: Position | None, remembered: Remembered) -> TableState:
        """What is committed from here on reaches so far, or as far as the table is by itself."""
        known = self.position
        if known is not None and reached is not None and not reached.covers(known):
            reached = known.joined(reached)
        return replace(self, reached=reached, remembered=remembered)

    def waiting(
        self,
        *,
        events: int = 0,
        properties: Mapping[str, str] | None = None,
        expect: Mapping[str, str | None] | None = None,
    ) -> TableState:
        """The next commit has this too."""
        pending = self.pending
        return replace(
            self,
            pending=replace(
                pending,
                events=pending.events + events,
                properties={**pending.properties, **(properties or {})},
                expect={**pending.expect, **(expect or {})},
            ),
        )

    def written(self, writer: TableWriter, rows: int) -> TableState:
        """So many more rows are with ``writer``."""
        pending = replace(self.pending, writer=writer, rows=self.pending.rows + rows)
        return replace(self, pending=pending)

    def rewritten(self, writer: TableWriter) -> TableState:
        """What is given to ``writer`` takes the place of all rows."""
        return replace(self, pending=replace(self.pending, writer=writer, replaces=True, rows=0))

    def without_rows(self) -> TableState:
        """Without a writer and what it has; its properties wait on."""
        return replace(self, pending=replace(self.pending, writer=None, replaces=False, rows=0))

    def committed(self, commit: Commit, stored: Stored, claims: Claims) -> TableState:
        """All that was pending is in the table."""
        return replace(
            self,
            commits=(*self.commits, commit),
            stored=stored,
            claims=claims,
            position=self.reached,
            pending=Pending(),
        )

    def counted(self, name: str, n: int) -> TableState:
        """``n`` more of what the result tells as ``name``."""
        return (
            replace(self, counts={**self.counts, name: self.counts.get(name, 0) + n}) if n else self
        )

    def timed(self, time_ms: int | None) -> TableState:
        """A change was committed in the source then."""
        if time_ms is None:
            return self
        return replace(self, time_ms=max(time_ms, self.time_ms or time_ms))
