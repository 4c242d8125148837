"""What a run of a sync is told.  Nothing of it changes while the run goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.cdc.apply.dead_letters import DeadLetters
    from table_core.cdc.apply.progress import SyncProgress
    from table_core.cdc.apply.reader import Reader
    from table_core.cdc.apply.settings import ApplySettings, NewTable
    from table_core.cdc.apply.table_feed import Guard
    from table_core.cdc.model.encoding import PlainSettings
    from table_core.cdc.model.parallel_batches import RecordsBy
    from table_core.cdc.model.record import SourceTable
    from table_core.ports import Clock
    from table_core.table.api.catalog import Catalog
    from table_core.table.metadata.results import CommitAs

__all__ = ["Limits", "SyncContext"]

_SHORTEST_POLL_MS: Final = 50
_POLLS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a run ends before its source does."""

    max_rows: int | None = None
    stop_at_ms: int | None = None
    commit_every_ms: int | None = None
    """A run without end commits at most so often; None for a run that ends."""
    stops: Callable[[], bool] | None = None
    """Whether it is to end now, behind a commit of what it has read."""

    def poll_ms(self, longest_ms: int, often: int = _POLLS) -> int:
        """How long a run without end waits before it asks its source again: ``often`` between two commits.

        >>> Limits(commit_every_ms=1000).poll_ms(500), Limits(commit_every_ms=10_000).poll_ms(500)
        (200, 500)
        """
        every = longest_ms if self.commit_every_ms is None else self.commit_every_ms // often
        return min(max(every, _SHORTEST_POLL_MS), longest_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncContext:
    """Where the tables are, which events they take, and how."""

    catalog: Catalog
    commit: CommitAs
    route: Callable[[SourceTable], str | None]
    """The table that a source table feeds, as ``database.table``; None if nobody wants it."""
    settings: ApplySettings
    plain: PlainSettings
    new_table: Callable[[str], NewTable]
    progress: SyncProgress
    route_text: str = ""
    """The choice of tables, as ``cdc.model.routing`` writes it."""
    limits: Limits = field(default_factory=Limits)
    whole_database: str | None = None
    """The filter of a sync of many tables; None for a sync of one."""
    one_source: str | None = None
    """The table that takes events of one source table only, because none was named."""
    is_alone: Callable[[SourceTable], bool] = lambda _: False
    """Whether no other source table may feed the table that this one feeds."""
    eager: bool = False
    """Make every table that the source lists before the first row arrives."""
    dead_letters: DeadLetters | None = None
    """Keeps events that cannot be applied; None makes the first of them an error."""
    guard: Guard | None = None
    """Says which rows are not to be written, though they could be."""
    reader_of: Callable[[Reader[Any], Any], Reader[Any]] | None = None
    """What is read in place of the source itself, by the reader of it and the sync's tables."""
    map_pieces: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]] | None = None
    """Does a work for each of many pieces elsewhere, some at once; results in order."""
    records_by: RecordsBy | None = None
    """What else reads the records of a topic."""

    @property
    def clock(self) -> Clock:
        """The time now."""
        return self.catalog.clock
