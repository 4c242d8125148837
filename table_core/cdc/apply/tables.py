"""The tables that a run feeds: those that are open, left out, or gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.cdc.apply.table_feed import TableFeed
from table_core.cdc.apply.table_state import TableState
from table_core.cdc.apply.target import SyncTarget, sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.model.record import SourceTable
    from table_core.datatypes.kinds import Field

__all__ = ["SyncTables"]

_WRITE_BUFFER: Final = {"write-buffer-size": "32 mb"}


@dataclass(slots=True)
class SyncTables:
    """By their names, as ``database.table``; a reader looks here what they have already."""

    context: SyncContext
    feeds: dict[str, TableFeed] = field(default_factory=dict)
    before: Mapping[str, TableFeed] = field(default_factory=dict)
    """What fed the tables earlier in the same run."""
    skipped: set[str] = field(default_factory=set)
    """Tables that are left out, because their keys are not those of their sources."""
    dropped: set[str] = field(default_factory=set)
    """Tables that went with their source, since the last commit."""
    told: Callable[[Iterable[SourceTable]], Mapping[str, str]] = lambda _: {}
    """What a reader keeps with the tables that source tables feed: properties of the next commit."""

    # --------------------------------------------------------------------------------- lookups
    def wants(self, table: SourceTable) -> bool:
        """Whether events of a source table are applied."""
        name = self.context.route(table)
        return name is not None and name not in self.skipped

    def fields_of(self, table: SourceTable) -> Sequence[Field] | None:
        """The columns of the table that a source table feeds."""
        name = self.context.route(table)
        feed = self.feeds.get(name) if name is not None else None
        there = None if feed is None else feed.state.table
        return None if there is None else there.definition.fields

    def key_of(self, table: SourceTable) -> tuple[str, ...]:
        """The primary key of the table that a source table feeds, or is to feed; () if it has none."""
        name = self.context.route(table)
        if name is None:
            return ()
        feed = self.feeds.get(name)
        there = None if feed is None else feed.state.table
        if there is not None:
            return tuple(there.primary_key)
        return tuple(self.context.new_table(name).primary_key or ())

    @property
    def known_sources(self) -> frozenset[SourceTable]:
        """The source tables that feed a table already, and are wanted."""
        return frozenset(
            one for feed in self.there for one in feed.state.sources if self.wants(one)
        )

    @property
    def there(self) -> list[TableFeed]:
        """Those that exist."""
        return [feed for feed in self.feeds.values() if feed.state.table is not None]

    def is_fed(self, name: str) -> bool:
        """Whether source tables that go into the table ``name`` have fed it before."""
        sources = sources_of(self.context.catalog.table(name))
        return any(self.context.route(one) == name for one in sources)

    def fed_names(self, database: str) -> list[str]:
        """The tables of a database that source tables which go into them have fed before."""
        names = [f"{database}.{name}" for name in self.context.catalog.tables(database)]
        return [name for name in names if self.is_fed(name)]

    # --------------------------------------------------------------------------------- changes
    def open(self, name: str) -> TableFeed:
        """What feeds the table ``name``, whether it exists or not."""
        feed = self.feeds.get(name)
        if feed is not None:
            return feed
        context, new = self.context, self.context.new_table(name)
        earlier = self.before.get(name)
        target = SyncTarget(
            catalog=context.catalog,
            name=name,
            commit=context.commit,
            handle_options=_WRITE_BUFFER,
            more_properties=self._more_properties,
            state=TableState() if earlier is None else earlier.state.as_begun,
        )
        target.open()
        target.require("primary_key", new.primary_key or ())
        target.require("partition_by", new.partition_by)
        feed = self.feeds[name] = TableFeed(
            target=target,
            settings=context.settings,
            plain=context.plain,
            new_table=new,
            guard=context.guard,
        )
        return feed

    def _more_properties(self, sources: Iterable[SourceTable]) -> Mapping[str, str]:
        """As ``told`` says at each commit: a reader sets it once it is open."""
        return self.told(sources)

    def anew(self) -> SyncTables:
        """The same as their last commits left them."""
        self.abort()
        tables = SyncTables(self.context, before=self.feeds)
        for name in self.feeds:
            tables.open(name)
        return tables

    def drop(self, name: str) -> None:
        """The last source table of a table is gone: so is the table."""
        self.feeds[name].target.abort()
        self.context.catalog.drop_table(name)
        del self.feeds[name]
        self.dropped.add(name)

    def abort(self) -> None:
        """Take away what was written and not committed."""
        for feed in self.feeds.values():
            feed.target.abort()
