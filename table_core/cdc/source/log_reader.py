"""What readers of servers share: the tables there are, whose snapshot is due, and positions."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final

from table_core.cdc.model.log_rows import LogRows
from table_core.cdc.model.record import Place, SourceTable, shortened
from table_core.cdc.model.table_pattern import TablePattern
from table_core.cdc.model.table_shape import TableShape
from table_core.cdc.source.diverged import refuse_diverged
from table_core.cdc.source.key_ranges import key_ranges, read_range
from table_core.cdc.source.read_again import ReadAgain
from table_core.cdc.source.source_shapes import SourceShapes
from table_core.errors import ArgumentError, TableError, UnsupportedFeatureError
from table_core.position.log import LogPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.model.log_rows import TableRows
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.server import ServerConnection, ServerSource
    from table_core.datatypes.kinds import DataType
    from table_core.position.decide import LogNow
    from table_core.position.source import SourceId

__all__ = ["LogReader"]

_log = logging.getLogger(__name__)
_POLL_MS: Final = 500
"""At most, between two questions for news."""
_pattern = lru_cache(64)(TablePattern)
"""A log asks for each of its tables, again and again."""


@dataclass(slots=True, kw_only=True)
class LogReader(ABC):
    """Snapshots of tables that are new to the sync, then the log of their server."""

    kind: ClassVar[str]
    """Of the positions."""
    source: ServerSource
    context: SyncContext
    fed: SyncTables
    forever: bool = False
    _log_now: LogNow | None = None
    _catalog: dict[SourceTable, CatalogTable] = field(default_factory=dict)
    _since: dict[SourceTable, tuple[int, int]] = field(default_factory=dict)
    """Tables whose snapshot is newer than the log read so far, and where their changes begin to count."""
    _again: ReadAgain = field(init=False)
    _anew: list[TableFeed] = field(default_factory=list)
    """Tables whose rows are being replaced."""

    _compared: SourceShapes = field(init=False)
    _is_told_untaken: bool = False

    def __post_init__(self) -> None:
        self._compared = SourceShapes(context=self.context, fed=self.fed)
        self.fed.told = self._compared.properties
        self._again = ReadAgain(context=self.context, fed=self.fed)

    @property
    def history(self) -> None:
        """None: a log does not go back to its start."""
        return

    @property
    @abstractmethod
    def chunk_rows(self) -> int:
        """How many rows to hold at once."""

    @abstractmethod
    def _typed(
        self, info: CatalogTable, columns: Sequence[Sequence[Any]]
    ) -> tuple[TableRows, list[list[Any]]]:
        """Columns of a query: what they are, and their values as such."""

    @abstractmethod
    def _types(self, info: CatalogTable) -> Mapping[str, DataType]:
        """The types that columns get here."""

    @staticmethod
    def _key_value(value: Any) -> Any:
        """A value of a key as JSON takes it."""
        return value

    @property
    @abstractmethod
    def databases(self) -> str:
        """Regular expression for the databases (PostgreSQL: schemas) that are meant."""

    @property
    def by_table(self) -> bool:
        """Yes: the rows of a source table that is new are read from the server."""
        return True

    @property
    def details(self) -> dict[str, object]:
        """Nothing: a log is read to its end."""
        return {}

    @property
    def forgets(self) -> bool:
        """Yes: a log is kept for a while."""
        return True

    @property
    def poll_ms(self) -> int:
        """How long to wait before the server is asked for news again."""
        return self.context.limits.poll_ms(_POLL_MS)

    @abstractmethod
    def _look_at_log(self) -> LogNow:
        """The server, and from where to where its log can be read."""

    def identity(self) -> tuple[SourceId, str]:
        """What tells the server from others, and where it is."""
        self._log_now = self._look_at_log()
        return self._log_now.source, self._address

    @property
    @abstractmethod
    def _address(self) -> str:
        """Where the server is."""

    @property
    @abstractmethod
    def _expired(self) -> str:
        """What to say where the log no longer has what comes next."""

    def check(self, claims: Sequence[Claim]) -> None:
        """Refuse a server that is not the one that was read, or whose log lacks what comes next.

        Raises:
            SourceDivergedError: it is so.
        """
        assert self._log_now is not None
        for claim in claims:
            at = claim.at
            if isinstance(at, LogPlace) and at.order <= (0, 0):  # snapshots, and no log yet
                if not at.since:
                    continue
                first, second = min(at.since.values())
                at = replace(at, order=(first, second), since={})
            needed = replace(claim, at=at)
            refuse_diverged(needed, self._log_now, self._address, self._expired)

    def settled(self, position: LogPlace) -> LogPlace:
        """As it is."""
        return position

    def parse(self, text: str | None) -> LogPlace | None:
        """The position that a table holds."""
        return None if text is None else LogPlace.parse(text, self.kind)

    def remembered(self, tables: Iterable[SourceTable], _: int | None = None) -> str | None:  # noqa: ARG002 - see Reader
        """Nothing: the log tells all."""
        return None

    def unfed(self, _: Iterable[SourceTable]) -> list[SourceTable]:
        """None: the log tells all."""
        return []

    def recall(self, text: str | None) -> None:  # noqa: B027 - nothing is remembered
        """Nothing."""

    @abstractmethod
    def at_snapshot(self) -> tuple[ServerConnection, LogPlace]:
        """A connection that reads all tables as they are now, without locks, and where in the log that is.

        Raises:
            UnsupportedFeatureError: the server does not tell.
        """

    def ahead_of(self, position: LogPlace) -> set[SourceTable]:
        """Source tables whose rows here come from a snapshot that was taken behind a place."""
        return {table for table, order in self._since.items() if order > position.order}

    def batch_of(self, info: CatalogTable, rows: Sequence[Sequence[Any]]) -> SourceBatch[LogPlace]:
        """Rows of a query as a batch that brings them, and stands nowhere in the log."""
        nowhere = LogPlace(self.kind, (0, 0))
        return self._gathered(info, rows).batch(nowhere, lambda _: info.key)

    def _gathered(self, info: CatalogTable, rows: Sequence[Sequence[Any]]) -> LogRows:
        gathered = LogRows()
        columns = list(zip(*rows, strict=True)) or [()] * len(info.columns)
        part, values = self._typed(info, columns)
        first = gathered.number((0, 0), 0, len(rows), f"{part.table}, snapshot")
        part.put("r", len(rows), first, self.context.clock.now_ms(), None, values)
        gathered.parts[part.table] = part
        return gathered

    def tables(self) -> list[SourceTable]:
        """The tables of the server that are wanted."""
        connection = self.source.connect()
        try:
            self._read_catalog(connection)
        finally:
            connection.close()
        return list(self._catalog)

    def _wants(self, table: SourceTable) -> bool:
        is_meant = _pattern("databases", self.databases).matches(table.database)
        return is_meant and self.fed.wants(table)

    def _read_catalog(self, connection: ServerConnection) -> None:
        there = connection.tables()
        self._catalog = {
            table: info
            for info in there
            if self._wants(table := SourceTable(info.database, info.name))
        }
        if there and not self._catalog and not self._sources() and not self._is_told_untaken:
            self._is_told_untaken = True
            _log.warning(
                "None of the %d tables of %s is meant: look at the databases or schemas of the source, and "
                "at the names of tables that it includes and excludes",
                len(there),
                self._address,
            )
        for table, info in list(self._catalog.items()):
            if (unfit := self._unfit(table, info)) is None:
                continue
            name = self.context.route(table)
            if not self.context.settings.ignore_incompatible or name is None:
                raise unfit
            self.fed.skipped.add(name)
            self._catalog = {
                t: i for t, i in self._catalog.items() if self.context.route(t) != name
            }
            self.context.progress.left_out(table, str(unfit))

    def _unfit(self, table: SourceTable, info: CatalogTable) -> TableError | None:
        """What makes a source table one that cannot be followed."""
        if info.is_versioned:
            return UnsupportedFeatureError(
                f"{table} is WITH SYSTEM VERSIONING: its log does not record deletes; leave it out",
                feature="system-versioned tables",
            )
        if info.readable:
            return None
        user = self.source.user  # the log alone would make half a table
        return ArgumentError(
            f"user {user!r} may not read {table}: run GRANT SELECT ON {table} TO {user}, "
            "or leave the table out",
            argument="user",
            value=user,
        )

    def _read_catalog_of(self, connection: ServerConnection, tables: Iterable[SourceTable]) -> None:
        """Take some tables as a connection sees them, and leave the others."""
        before = self._catalog
        self._read_catalog(connection)
        now = {table: self._catalog[table] for table in tables if table in self._catalog}
        self._catalog = {**before, **now}

    def _known(self) -> list[LogPlace]:
        """The positions of the tables that have one."""
        positions = (feed.state.position for feed in self.fed.feeds.values())
        return [position for position in positions if isinstance(position, LogPlace)]

    def _recall_since(self) -> None:
        """What earlier runs left: snapshots that are newer than the log read so far."""
        for feed in self.fed.feeds.values():
            position = feed.state.position
            if isinstance(position, LogPlace):
                for table in feed.state.sources:
                    if (order := position.since.get(str(table))) is not None:
                        self._since[table] = (order[0], order[1])

    # --------------------------------------------------------------------------------- shapes
    def _shapes_now(
        self, _: ServerConnection, tables: Iterable[SourceTable]
    ) -> dict[SourceTable, TableShape]:
        """The shapes of tables of the catalog."""
        return {t: TableShape(key=self._catalog[t].key) for t in tables if t in self._catalog}

    @staticmethod
    def _came_with_rows(_: ServerConnection, shape: TableShape, partition: str) -> bool:  # noqa: ARG004 - of a server with partitions that come
        """Whether a partition that is new had rows before it was one."""
        return False

    def _compare_shapes(self, connection: ServerConnection, where: str) -> None:
        """Find tables that are not those that were read.

        Raises:
            EventError: one has another key, or is another one and the sync is to fail then.
        """
        now = self._shapes_now(connection, self._sources())
        came_with_rows = partial(self._came_with_rows, connection)
        self._compared.compare(now, self._again, self._has_column, came_with_rows, where)

    def _sources(self) -> set[SourceTable]:
        """The source tables that gave rows."""
        return {table for feed in self.fed.feeds.values() for table in feed.state.sources}

    def _counts(self, table: SourceTable, order: tuple[int, int]) -> bool:
        """Whether what happens to a table at a place in the log is not here yet."""
        name = self.context.route(table)
        feed = self.fed.feeds.get(name) if name is not None else None
        at = feed.state.position if feed is not None else None
        if feed is not None and isinstance(at, LogPlace) and table in feed.state.sources:
            return order >= max(at.order, self._since.get(table, (0, 0)))
        return order >= self._since.get(table, (0, 0))

    def _rewritten(self, table: SourceTable, order: tuple[int, int], why: str, where: str) -> bool:
        """A table changed at a place in the log in a way that the log does not tell; whether that counts."""
        counts = self._counts(table, order)
        if counts:
            self._again.note(table, why, where)
        return counts

    def _has_column(self, table: SourceTable, name: str) -> bool:
        """Whether the table that a source table feeds has a column already."""
        fields = self.fed.fields_of(table) or ()
        return any(field.name.lower() == name.lower() for field in fields)

    def _since_text(self, position: LogPlace) -> dict[str, list[int]]:
        return {
            str(table): list(order)
            for table, order in self._since.items()
            if order > position.order
        }

    def _with_since(self, batch: SourceBatch[LogPlace]) -> SourceBatch[LogPlace]:
        """A batch of the log whose positions tell of snapshots that are newer than they."""
        due: dict[str, list[Any] | None] = {str(table): None for table in self._again.due}

        def with_since(position: LogPlace) -> LogPlace:
            return replace(position, since=self._since_text(position), snapshots=due)

        before = batch.before
        return replace(
            batch,
            position=with_since(batch.position),
            before=None if before is None else lambda number: with_since(before(number)),
        )

    def _pending(self) -> dict[SourceTable, list[Any] | None]:
        """Tables that have to be read, and the key behind which to go on; None is the start."""
        pending: dict[SourceTable, list[Any] | None] = {}
        for table in self._catalog:
            name = self.context.route(table)
            feed = self.fed.feeds.get(name) if name is not None else None
            position = feed.state.position if feed is not None else None
            if (
                feed is None
                or not isinstance(position, LogPlace)
                or table not in feed.state.sources
            ):
                pending[table] = None
            elif str(table) in position.snapshots:
                pending[table] = position.snapshots[str(table)]
        return pending

    def _read(
        self, connection: ServerConnection, info: CatalogTable, position: LogPlace
    ) -> Iterator[SourceBatch[LogPlace]]:
        """The rows of a table from where ``position`` says, a part at a time."""
        table = SourceTable(info.database, info.name)
        for rows, reached in self._parts(connection, info, position):
            done = str(table) not in reached.snapshots
            brings = bool(rows) or self.context.eager
            gathered = self._gathered(info, rows) if brings else LogRows()
            keys = [[row[info.names.index(n)] for n in info.key or info.names] for row in rows]
            batch = gathered.batch(reached, lambda _: info.key)
            yield replace(
                batch,
                changes=[replace(one, place=_of_snapshot(table, keys)) for one in batch.changes],
                consumed=lambda _, numbers: numbers < 0,
                before=None,  # rows of a snapshot stand nowhere in the log: a run ends behind all of them
                may_commit=done or (bool(info.key) and not self._is_replaced(table)),
            )
            self.context.progress.snapshot(table, len(rows), info.rows_about, done=done)

    def _is_replaced(self, table: SourceTable) -> bool:
        """Whether the rows of a snapshot take the place of others, so that all come at once."""
        name = self.context.route(table)
        return any(feed.target.name == name for feed in self._anew)

    def _begin_anew(self, pending: dict[SourceTable, list[Any] | None]) -> None:
        """Have snapshots from their start replace what is there; see ``ReadAgain``."""
        named = {str(table): table for table in pending}
        infos = [info for table in pending if (info := self._catalog.get(table)) is not None]
        self._again.refuse_large(infos, named)
        for table in self._again.due:
            if (info := self._catalog.get(table)) is not None:
                self._again.refuse_types(table, self._types(info))
        self._anew = self._again.renewed(pending, self._catalog)
        for table in pending:
            self._again.due.pop(table, None)

    def _ranges(self, connection: ServerConnection, info: CatalogTable, after: Any) -> list[Any]:
        """Ranges of the key for tasks; none where nobody runs tasks, or one read will do."""
        ranges = (
            []
            if self.context.map_pieces is None
            else key_ranges(connection, info, after, self.chunk_rows)
        )
        return ranges if len(ranges) > 1 else []

    def _parts(
        self, connection: ServerConnection, info: CatalogTable, position: LogPlace
    ) -> Iterator[tuple[list[tuple[Any, ...]], LogPlace]]:
        """Rows, and the position once they are applied: one for each part if there is a key."""
        name, size = str(SourceTable(info.database, info.name)), self.chunk_rows
        if not info.key:
            every = connection.chunk(info, None, None)
            while part := list(islice(every, size)):
                yield part, position
            yield [], position.finished(name)
            return
        ranges = self._ranges(connection, info, position.snapshots[name])
        if ranges:
            assert self.context.map_pieces is not None
            pieces = [(self.source, info, one) for one in ranges]
            for n, part in enumerate(self.context.map_pieces(read_range, pieces), 1):
                last_key = [self._key_value(ranges[n - 1][1])]
                done = n == len(ranges)
                yield (
                    part,
                    position.finished(name) if done else position.snapshotted(name, last_key),
                )
            return
        while name in position.snapshots:
            part = list(connection.chunk(info, position.snapshots[name], size))
            if len(part) < size:
                position = position.finished(name)
            else:
                last = [self._key_value(value) for value in connection.mark(info, part[-1])]
                position = position.snapshotted(name, last)
            yield [row[: len(info.columns)] for row in part], position


def _of_snapshot(table: SourceTable, keys: Sequence[Sequence[Any]]) -> Callable[[int], Place]:
    """Where rows of a snapshot stand: by their keys, or all of them."""

    def place(number: int) -> Place:
        text = f"{table}, snapshot, {shortened(repr(tuple(keys[number])))}"
        return Place(text, {"position": text}, number)

    return place
