"""Reads a MySQL or MariaDB server: tables that are new to the sync first, then its log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.cdc.model.added_defaults import added_defaults_text, recall_added_defaults
from table_core.cdc.model.claims import Claim
from table_core.cdc.model.log_rows import LogRows, TableRows
from table_core.cdc.model.mysql_types import mysql_column
from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.diverged import diverged
from table_core.cdc.source.log_reader import LogReader
from table_core.cdc.source.mysql.binlog import MAGIC, ROTATE, header_of
from table_core.cdc.source.mysql.binlog_rows import BinlogRows, file_number
from table_core.cdc.source.mysql.charsets import charset_of, codec_of_charset
from table_core.cdc.source.mysql.identity import LogIdentity, refuse_another_server
from table_core.cdc.source.mysql.log_connection import end_of_log, first_log, gtids, server_named
from table_core.cdc.source.mysql.open_transaction import Prepared
from table_core.cdc.source.mysql.side_effects import asks_for_side_effects, cascades_of, folds_names
from table_core.cdc.source.mysql.surroundings import Cascade, Surroundings
from table_core.cdc.source.mysql.values import (
    declared_columns,
    same_kind,
    snapshot_type,
    snapshot_value,
)
from table_core.errors import EventError, StorageUnavailableError, UnsupportedFeatureError
from table_core.position.decide import LogNow
from table_core.position.log import LogPlace
from table_core.position.source import MySqlId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.mysql.binlog import TableMap
    from table_core.cdc.source.mysql.source import MySqlConnection, MySqlSource
    from table_core.datatypes.kinds import DataType

__all__ = ["MySqlReader"]

T = TypeVar("T")
_BATCH_ROWS: Final = 20_000
_ANSWER_SECONDS: Final = 30
"""No question that is asked again and again takes longer: the server is away."""
_ANY_FILE: Final = 1 << 62
_ALTERED: Final = frozenset({1412, 1054, 1146})
"""Table definition has changed; unknown column; no such table."""


@dataclass(slots=True, kw_only=True)
class MySqlReader(LogReader):
    """Batches of a ``MySqlSource``."""

    kind = "mysql"
    source: MySqlSource
    defaults: dict[SourceTable, dict[str, str | None]] = field(default_factory=dict)
    """Of columns that statements added."""
    _identity: LogIdentity = field(init=False)
    _cascades: Mapping[SourceTable, list[Cascade]] = field(default_factory=dict)
    _folds: bool = False
    _xa: dict[str, Prepared] = field(default_factory=dict)
    """XA transactions that were prepared and have no end yet."""
    _reading: BinlogRows | None = None
    _follows: bool = False
    _kept: MySqlConnection | None = None
    """Meanwhile questions go by it; the log has its own, for it ends with what is read."""
    _charsets: Mapping[int, str] = field(default_factory=dict)
    """Of the server behind it, by number of the collation."""

    def __post_init__(self) -> None:
        LogReader.__post_init__(self)
        self._identity = LogIdentity(self.source)

    @property
    def chunk_rows(self) -> int:
        """See ``LogReader``."""
        return self.source.chunk_rows

    @property
    def databases(self) -> str:
        """See ``LogReader``."""
        return self.source.databases

    def committed(self, position: LogPlace) -> None:
        """Nothing: the server does not wait for us."""

    def remembered(self, tables: Iterable[SourceTable], _: int | None = None) -> str | None:
        """Defaults of columns that were added, until a row has them."""
        return added_defaults_text(self.defaults, tables)

    def recall(self, text: str | None) -> None:
        """Take up what an earlier run remembered."""
        recall_added_defaults(self.defaults, text)

    def _read_catalog(self, connection: MySqlConnection) -> None:  # type: ignore[override]  # its own connection
        LogReader._read_catalog(self, connection)  # noqa: SLF001 - super() fails with slots
        self._cascades, self._folds = cascades_of(connection), folds_names(connection)

    # ------------------------------------------------------------------------------ identity
    @property
    def _address(self) -> str:
        return f"{self.source.host}:{self.source.port}"

    def _look_at_log(self) -> LogNow:
        return self._ask(self._look)

    def _ask(self, what: Callable[[MySqlConnection], T]) -> T:
        """Ask the server; while the log is followed by a connection that stays open.

        One that was lost meanwhile is made again, once.
        """
        if not self._follows:
            connection = self.source.connect()
            try:
                return what(connection)
            finally:
                connection.close()
        if self._kept is not None:
            try:
                return what(self._kept)
            except StorageUnavailableError:
                self._hang_up()
        self._kept = self.source.connect()
        self._kept.wait_at_most(_ANSWER_SECONDS)
        return what(self._kept)

    def _hang_up(self) -> None:
        """Close the connection that stays open; the server behind the next one may be another."""
        if self._kept is not None:
            self._kept.close()
        self._kept, self._charsets = None, {}

    def _look(self, connection: MySqlConnection) -> LogNow:
        connection.check()
        name, at, _ = connection.end_of_log()
        first = (file_number(first_log(connection)), len(MAGIC))
        server = "" if self.source.use_gtid else server_named(connection)
        end = (_ANY_FILE, 0) if self.source.use_gtid else (file_number(name), at)
        if self.source.use_gtid:
            first = (0, 0)
        return LogNow(source=MySqlId(server=server), first=first, end=end, gtids=gtids(connection))

    @property
    def _expired(self) -> str:
        return (
            f"{self._address}: the server no longer has the binary log that comes next; keep logs "
            "longer: SET GLOBAL binlog_expire_logs_seconds = 604800"
        )

    def check(self, claims: Sequence[Claim]) -> None:
        """See ``LogReader``; the log at a place has to be the one that was read.

        Raises:
            SourceDivergedError: it is another one: it was reset, or another server took its place.
        """
        LogReader.check(self, claims)
        assert self._log_now is not None
        now = self._log_now
        for claim in claims:
            if not now.source.is_same(claim.source):
                refuse_another_server(claim, now, self._address)
        mine = [c.at for c in claims if now.source.is_same(c.source)]
        for at in {at.text: at for at in mine if isinstance(at, LogPlace)}.values():
            refused = partial(self._identity.refused, at=at)
            if (divergence := self._ask(refused)) is not None:
                raise diverged(divergence)

    def settled(self, position: LogPlace) -> LogPlace:
        """By transaction ids another master goes on, whose files have other numbers."""
        if not self.source.use_gtid or not position.gtid:
            return position
        name, at, _ = self._ask(end_of_log)
        is_here = self._identity.has_file_of(position)
        if is_here and position.order <= (file_number(name), at):
            return position
        return replace(position, order=(0, 0), name="", skip=0)

    # ------------------------------------------------------------------------------- reading
    def batches(
        self, start: LogPlace | None, end: LogPlace | None
    ) -> Iterator[SourceBatch[LogPlace]]:
        """Snapshots of tables that have none yet, then the log until ``end`` or its end now."""
        connection = self.source.connect()
        try:
            self._read_catalog(connection)
            self._recall_since()
            self._recall_xa(start)
            self._recall_due(start)
            self._compare_shapes(connection, self._address)
            stream_from: LogPlace | None = None
            if pending := self._pending():
                now = self._begin(connection)
                base = self._earliest(start, now)
                for batch in self._snapshots(connection, pending, base, now):
                    stream_from = batch.position
                    yield batch
            if stream_from is None:
                stream_from = start
            if stream_from is None:  # other tables are chosen than before: from the first of them
                name, at, gtid = connection.end_of_log()
                now = self._at(name, at, gtid)
                stream_from = self._earliest(None, now)
        finally:
            connection.close()
        self._follows = True
        try:
            yield from self._follow(stream_from, end)
        finally:
            self._hang_up()
            self._follows = False

    def _follow(self, start: LogPlace, end: LogPlace | None) -> Iterator[SourceBatch[LogPlace]]:
        """The log until ``end`` or its end now; of a run without an end, what comes then."""
        while True:
            stop = end or self._end_now()
            for batch in self._log(start, stop):
                start = batch.position
                yield batch
            for batch in self._read_due(start):
                start = batch.position
                yield batch
            if not self.forever or end is not None:
                return
            while True:
                self.context.clock.sleep_ms(self.poll_ms)
                yield LogRows().batch(start, lambda _: None)
                if self._ask(end_of_log) != (stop.name, stop.order[1], stop.gtid):
                    break  # it was written on, or is another one
            start = self._still_there(start)

    def _still_there(self, position: LogPlace) -> LogPlace:
        """A place to go on from, after a while in which the server may have become another one."""
        self._identity = LogIdentity(self.source)
        position = self.settled(position)
        source, address = self.identity()
        self.check(
            [Claim(source=source, route=self.context.route_text, at=position, address=address)]
        )
        return position

    def _at(self, name: str, at: int, gtid: str) -> LogPlace:
        mark = self._identity.mark(name)
        return LogPlace("mysql", (file_number(name), at), name, gtid, mark=mark)

    def _end_now(self) -> LogPlace:
        return self._at(*self._ask(end_of_log))

    # ------------------------------------------------------------------------------ snapshots
    def _read_due(self, reached: LogPlace) -> Iterator[SourceBatch[LogPlace]]:
        """Tables of which the log did not tell all, once more."""
        if not self._again.due:
            return
        connection = self.source.connect()
        try:
            self._read_catalog(connection)
            pending: dict[SourceTable, list[Any] | None] = dict.fromkeys(
                table for table in self._again.due if table in self._catalog
            )
            self._again.due = {t: why for t, why in self._again.due.items() if t in pending}
            now = self._begin(connection)
            for batch in self._snapshots(connection, pending, reached, now):
                reached = batch.position
                yield batch
            yield self._with_since(LogRows().batch(reached, lambda _: None))
        finally:
            connection.close()

    def _snapshots(
        self,
        connection: MySqlConnection,
        pending: dict[SourceTable, list[Any] | None],
        base: LogPlace,
        now: LogPlace,
    ) -> Iterator[SourceBatch[LogPlace]]:
        self._begin_anew(pending)
        self._compared.shapes |= self._shapes_now(connection, pending)
        due = dict.fromkeys(self._again.due)
        position = replace(base, snapshots={str(t): key for t, key in {**due, **pending}.items()})
        position = self._count_from(now, pending, position)
        for table in pending:
            while str(table) in position.snapshots:
                if (info := self._catalog.get(table)) is None:
                    position = position.finished(str(table))
                    continue
                try:
                    for batch in self._read(connection, info, position):
                        position = batch.position
                        yield batch
                except EventError as error:
                    if error.facts.get("code") not in _ALTERED:
                        raise
                    # the table was altered or dropped under the snapshot: a new one
                    connection.rows("ROLLBACK")
                    self._read_catalog(connection)
                    now = self._begin(connection)
                    position = self._count_from(now, pending, position)

    def at_snapshot(self) -> tuple[MySqlConnection, LogPlace]:
        """See ``LogReader``."""
        connection = self.source.connect()
        try:
            if not connection.is_mariadb:
                raise UnsupportedFeatureError(
                    f"{self._address} is no MariaDB, and does not tell where in its log a snapshot "
                    "stands",
                    feature="snapshots with a position",
                )
            return connection, self._begin(connection)
        except BaseException:
            connection.close()
            raise

    def _begin(self, connection: MySqlConnection) -> LogPlace:
        name, at, gtid = connection.begin_snapshot()
        return self._at(name, at, gtid)

    def _count_from(
        self, now: LogPlace, tables: Iterable[SourceTable], position: LogPlace
    ) -> LogPlace:
        """Changes before ``now`` are in the snapshots of those of ``tables`` that begin there."""
        if position.order < now.order:
            begin = [t for t in tables if position.snapshots.get(str(t), ()) is None]
            self._since |= dict.fromkeys(begin, now.order)
        return replace(position, since=self._since_text(position))

    def _earliest(self, start: LogPlace | None, now: LogPlace) -> LogPlace:
        """Where the log has to be read from: a table that was begun earlier needs it from there."""
        positions = [*self._known(), *([start] if start is not None else [])]
        return min([now, *positions], key=lambda p: (*p.order, p.skip))

    def _typed(
        self, info: CatalogTable, columns: Sequence[Sequence[Any]]
    ) -> tuple[TableRows, list[list[Any]]]:
        table = SourceTable(info.database, info.name)
        kinds = [mysql_column(column.type) for column in info.columns]
        part = TableRows(
            table=table,
            names=info.names,
            types=[snapshot_type(kind) for kind in kinds],
            declared=self._described(table),
        )
        pairs = zip(columns, kinds, strict=True)
        return part, [[snapshot_value(value, kind) for value in column] for column, kind in pairs]

    def _types(self, info: CatalogTable) -> Mapping[str, DataType]:
        described = self._described(SourceTable(info.database, info.name))
        return {name: declared.type for name, declared in described.items()}

    @staticmethod
    def _key_value(value: Any) -> Any:
        """Text, or a list of hexadecimal text."""
        return [value.hex()] if isinstance(value, bytes) else str(value)

    def _described(self, table: SourceTable) -> dict[str, Declared]:
        """The columns of a table as the catalog has them."""
        return declared_columns(self._catalog.get(table), self.context.settings.mapping)

    # ------------------------------------------------------------------------------------ log
    def _log(self, start: LogPlace, stop: LogPlace) -> Iterator[SourceBatch[LogPlace]]:
        by_gtid = start.gtid if self.source.use_gtid and start.gtid and not start.skip else None
        if by_gtid is None and start.covers(stop):
            return
        connection = self.source.connect()
        charsets = self._charsets = self._charsets or connection.collations()
        rows = BinlogRows(
            wants=self._wants,
            described=self._catalog_of,
            mapping=self.context.settings.mapping,
            charset=lambda n: codec_of_charset(charsets[n]) if n in charsets else charset_of(n),
            file=start.name,
            gtid=start.gtid,
            mark=start.mark,
            transaction=start.order,
            defaults=self.defaults,
            dropped=self._compared.dropped,
            around=self._around(),
        )
        rows.open.prepared, self._reading = self._xa, rows
        try:
            for event, end in connection.stream(start.name, start.order[1], by_gtid):
                if event[4] == ROTATE:
                    rows.rotate(event[27:].decode(), int.from_bytes(event[19:27], "little"))
                    continue
                if header_of(event).time == 0 and end == 0:
                    continue  # made up by the server for this reader
                ended = rows.take(event, end)
                if rows.rows.count >= _BATCH_ROWS and not rows.open.is_xa:
                    yield self._logged(rows)
                if ended and rows.transaction >= stop.order:
                    break
            yield self._logged(rows)
        finally:
            connection.close()

    def _around(self) -> Surroundings:
        return Surroundings(
            rewritten=self._rewritten,
            known=lambda: {*self._catalog, *self._sources()},
            counts=self._counts,
            gone=self._compared.gone,
            has_column=self._has_column,
            cascades=lambda table: self._cascades.get(table, ()),
            is_transactional=lambda table: (
                table in self._catalog and self._catalog[table].is_transactional
            ),
            side_effects=partial(asks_for_side_effects, self.source),
            ignores_case=self._folds,
            asks_server=True,
        )

    def _recall_due(self, start: LogPlace | None) -> None:
        """What earlier runs left: tables that were to be read again and are gone, e.g. renamed back.

        The log may have more of their changes, which are nothing without the rows before.
        """
        names = [name for name in (start.snapshots if start is not None else ()) if "." in name]
        for table in (SourceTable(*name.split(".", 1)) for name in names):
            if table not in self._catalog:
                self._again.due[table] = "it was another one for a while"

    def _recall_xa(self, start: LogPlace | None) -> None:
        """What earlier runs left: XA transactions without an end."""
        for position in [*self._known(), *([start] if start is not None else [])]:
            for xid, tables in position.xa.items():
                named = {SourceTable(*map(str, one[:2])) for one in tables or ()}
                self._xa.setdefault(xid, Prepared(set(), None)).tables |= named

    def _logged(self, rows: BinlogRows) -> SourceBatch[LogPlace]:
        rows.rows.since, rows.rows.due = self._since, frozenset(self._again.due)
        return self._with_since(rows.batch())

    def _catalog_of(self, table: SourceTable, table_map: TableMap) -> Mapping[str, Declared] | None:
        """What the catalog says of a table whose columns the log just told."""
        info = self._catalog.get(table)
        if info is None or info.names != [c.name for c in table_map.columns]:
            connection = self.source.connect()
            try:
                self._read_catalog(connection)
            finally:
                connection.close()
        at = (0, 0) if self._reading is None else self._reading.transaction
        if (shape := self._compared.shapes.get(table)) is not None and self._counts(table, at):
            self._compared.refuse_key(table, shape.key, table_map.key)
        declared = self._described(table)
        kinds = {c.name: c.source_type.name for c in table_map.columns}
        info = self._catalog.get(table)
        now = {n: mysql_column(t).name for n, t in info.types.items()} if info else {}
        return {n: d for n, d in declared.items() if same_kind(kinds.get(n), now.get(n))}
