"""Reads a MySQL or MariaDB server: tables that are new to the sync first, then its log."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.binlog import ROTATE, charset_of, header_of
from table_core.cdc.binlog_rows import BinlogRows, file_number
from table_core.cdc.embedded_schema import Declared
from table_core.cdc.geometry import geometry_text
from table_core.cdc.log_position import LogPosition
from table_core.cdc.log_rows import LogRows, TableRows
from table_core.cdc.mysql_types import mysql_column, mysql_type
from table_core.cdc.record import SourceTable
from table_core.cdc.wire import Meaning, Wire
from table_core.datatypes.kinds import STRING
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from table_core.cdc.batch import SourceBatch
    from table_core.sources.mysql import MySqlConnection, MySqlSource, TableInfo
    from table_core.table.cdc.run import SyncRun

__all__ = ["MySqlReader"]

_BATCH_ROWS: Final = 20_000
_POLL_MS: Final = 500
_GEOMETRIES: Final = frozenset(
    {
        *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
        *("multipolygon", "geometrycollection", "geomcollection"),
    }
)
_ALTERED: Final = frozenset({1412, 1054, 1146})
"""Table definition has changed; unknown column; no such table."""
_NO_DATE: Final = ("0000-00-00", "0000-00-00 00:00:00")


@dataclass(slots=True, kw_only=True)
class MySqlReader:
    """Batches of a ``MySqlSource``."""

    source: MySqlSource
    run: SyncRun
    forever: bool = False
    rereads: bool = False
    _catalog: dict[SourceTable, TableInfo] = field(default_factory=dict)
    _since: dict[SourceTable, tuple[int, int]] = field(default_factory=dict)

    def parse(self, text: str | None) -> LogPosition | None:
        """The position that a table holds."""
        return None if text is None else LogPosition.parse(text, "mysql")

    def history(self, until: Any) -> Iterator[SourceBatch]:
        """A log does not go back to its start."""
        raise NotImplementedError

    def remembered(self, _: Iterable[SourceTable]) -> str | None:
        """Nothing: the log tells all."""
        return None

    def recall(self, text: str | None) -> None:
        """Nothing."""

    def committed(self, position: Any) -> None:
        """Nothing: the server does not wait for us."""

    def tables(self) -> list[SourceTable]:
        """The tables of the server that are wanted."""
        connection = self.source.connect()
        try:
            self._read_catalog(connection)
        finally:
            connection.close()
        return list(self._catalog)

    # ------------------------------------------------------------------------------- reading
    def batches(self, start: LogPosition | None, end: LogPosition | None) -> Iterator[SourceBatch]:
        """Snapshots of tables that have none yet, then the log until ``end`` or its end now."""
        connection = self.source.connect()
        try:
            connection.check()
            self._read_catalog(connection)
            self._recall_since()
            stream_from: LogPosition | None = None
            for batch in self._snapshots(connection, start):
                assert isinstance(batch.position, LogPosition)
                stream_from = batch.position
                yield batch
            if stream_from is None:
                stream_from = start
            if stream_from is None:
                name, at, gtid = connection.end_of_log()
                stream_from = LogPosition("mysql", (file_number(name), at), name, gtid)
        finally:
            connection.close()
        while True:
            stop = end or self._end_now()
            for batch in self._log(stream_from, stop):
                assert isinstance(batch.position, LogPosition)
                stream_from = batch.position
                yield batch
            if not self.forever or end is not None:
                return
            self.run.catalog.clock.sleep_ms(_POLL_MS)
            yield LogRows().batch(stream_from, lambda _: None)

    def _end_now(self) -> LogPosition:
        connection = self.source.connect()
        try:
            name, at, gtid = connection.end_of_log()
        finally:
            connection.close()
        return LogPosition("mysql", (file_number(name), at), name, gtid)

    def _read_catalog(self, connection: MySqlConnection) -> None:
        databases = re.compile(self.source.databases)
        self._catalog = {
            source: info
            for info in connection.tables()
            if databases.fullmatch(info.database)
            and self.run.wants(source := SourceTable(info.database, info.name))
        }

    def _wants(self, table: SourceTable) -> bool:
        return re.fullmatch(self.source.databases, table.database) is not None and self.run.wants(
            table
        )

    # ------------------------------------------------------------------------------ snapshots
    def _snapshots(
        self, connection: MySqlConnection, start: LogPosition | None
    ) -> Iterator[SourceBatch]:
        pending = {t: after for t in self._catalog if (after := self._pending(t)) is not False}
        if not pending:
            return
        now = self._begin(connection)
        base = self._earliest(start, now)
        begun = {str(t): None if after is True else after for t, after in pending.items()}
        left = [t for t, after in pending.items() if after is True]
        self._count_from(now, left, base)
        position = replace(base, snapshots=begun, since=self._since_text(base))
        for table in pending:
            after = position.snapshots[str(table)]
            first, last = after is None, False
            while not last:
                info = self._catalog.get(table)
                rows = None if info is None else self._chunk(connection, info, after)
                if rows is None:  # the table was altered or dropped under the snapshot: a new one
                    connection.rows("ROLLBACK")
                    self._read_catalog(connection)
                    now = self._begin(connection)
                    self._count_from(now, [t for t in left if t != table or first], base)
                    position = replace(position, since=self._since_text(base))
                    if table not in self._catalog:
                        position, last = position.finished(str(table)), True
                    continue
                assert info is not None
                if rows and info.key:
                    after = _last_key(info, rows[-1])
                last = not info.key or len(rows) < self.source.chunk_rows
                position = (
                    position.finished(str(table))
                    if last
                    else position.snapshotted(str(table), after)
                )
                yield self._snapshot_batch(table, info, rows, position, now, first=first)
                first = False
            left = [t for t in left if t != table]

    def _begin(self, connection: MySqlConnection) -> LogPosition:
        name, at, gtid = connection.begin_snapshot()
        return LogPosition("mysql", (file_number(name), at), name, gtid)

    def _count_from(
        self, now: LogPosition, tables: Iterable[SourceTable], base: LogPosition
    ) -> None:
        """Changes of ``tables`` before ``now`` are in their snapshot, though the log begins earlier."""
        if base.order < now.order:
            self._since |= dict.fromkeys(tables, now.order)

    def _chunk(
        self, connection: MySqlConnection, info: TableInfo, after: Any
    ) -> list[tuple[Any, ...]] | None:
        """The next rows; None if the table is not what it was when the snapshot began."""
        limit = self.source.chunk_rows if info.key else None
        try:
            return connection.chunk(info, after, limit)
        except EventError as error:
            if error.facts.get("code") not in _ALTERED:
                raise
            return None

    def _since_text(self, position: LogPosition) -> dict[str, list[int]]:
        return {
            str(table): list(order)
            for table, order in self._since.items()
            if order > position.order
        }

    def _recall_since(self) -> None:
        """What earlier runs left: snapshots that are newer than the log read so far."""
        for feed in self.run.feeds.values():
            position = feed.target.position
            if isinstance(position, LogPosition):
                for table in feed.sources:
                    if (order := position.since.get(str(table))) is not None:
                        self._since[table] = (order[0], order[1])

    def _pending(self, table: SourceTable) -> Any:
        """False if the table is in; True if it has to be read; a key to go on behind."""
        name = self.run.route(table)
        feed = self.run.feeds.get(name) if name is not None else None
        position = feed.target.position if feed is not None else None
        if feed is None or not isinstance(position, LogPosition) or table not in feed.sources:
            return True
        return position.snapshots.get(str(table), False) or str(table) in position.snapshots

    def _earliest(self, start: LogPosition | None, now: LogPosition) -> LogPosition:
        """Where the log has to be read from: a table that was begun earlier needs it from there."""
        positions = [start] if start is not None else []
        positions += [
            p for f in self.run.feeds.values() if isinstance(p := f.target.position, LogPosition)
        ]
        return min([now, *positions], key=lambda p: (*p.order, p.skip))

    def _snapshot_batch(
        self,
        table: SourceTable,
        info: TableInfo,
        rows: list[tuple[Any, ...]],
        position: LogPosition,
        now: LogPosition,
        *,
        first: bool,
    ) -> SourceBatch:
        gathered = LogRows()
        columns = list(zip(*rows, strict=True)) if rows else [() for _ in info.columns]
        kinds = [mysql_column(column[1]) for column in info.columns]
        part = TableRows(
            table=table,
            names=[c[0] for c in info.columns],
            types=[_snapshot_type(kind.name, kind.number(0, 1)) for kind in kinds],
            declared=self._described(table),
        )
        values = [
            [_snapshot_value(v, kind.name, kind.number(0, 1)) for v in column]
            for column, kind in zip(columns, kinds, strict=True)
        ]
        if rows or self.run.eager:
            number = gathered.number(now.order, 0, len(rows), f"{table}, snapshot")
            part.put("r", len(rows), number, self.run.catalog.clock.now_ms(), None, values)
            gathered.parts[table] = part
        batch = gathered.batch(position, lambda _: info.key)
        return replace(
            batch,
            consumed=lambda _, numbers: numbers < 0,
            snapshot_of=frozenset({table}) if first else frozenset(),
        )

    def _described(self, table: SourceTable) -> dict[str, Declared]:
        """The columns of a table as the catalog has them."""
        info = self._catalog.get(table)
        found = {}
        for name, text, nullable, default, comment in info.columns if info else ():
            kind = mysql_column(text)
            type_ = mysql_type(kind, self.run.settings.mapping) or STRING
            meaning = Meaning.SET if kind.name == "set" else Meaning.RAW
            found[name] = Declared(
                type_,
                Wire(meaning),
                None,
                nullable=nullable,
                default=_default(default),
                comment=comment,
            )
        return found

    # ------------------------------------------------------------------------------------ log
    def _log(self, start: LogPosition, stop: LogPosition) -> Iterator[SourceBatch]:
        if start.covers(stop):
            return
        connection = self.source.connect()
        codecs = connection.collations()
        rows = BinlogRows(
            wants=self._wants,
            described=self._catalog_of,
            mapping=self.run.settings.mapping,
            charset=lambda n: charset_of(n) and codecs.get(n, charset_of(n)),
            file=start.name,
            gtid=start.gtid,
            transaction=start.order,
        )
        by_gtid = start.gtid if self.source.use_gtid and start.gtid and not start.skip else None
        try:
            for event, end in connection.stream(start.name, start.order[1], by_gtid):
                if event[4] == ROTATE:
                    rows.rotate(event[27:].decode(), int.from_bytes(event[19:27], "little"))
                    continue
                if header_of(event).time == 0 and end == 0:
                    continue  # made up by the server for this reader
                ended = rows.take(event, end)
                if rows.rows.count >= _BATCH_ROWS:
                    yield self._logged(rows)
                if ended and rows.transaction >= stop.order:
                    break
            yield self._logged(rows)
        finally:
            connection.close()

    def _logged(self, rows: BinlogRows) -> SourceBatch:
        rows.rows.since = self._since
        batch = rows.batch()
        assert isinstance(batch.position, LogPosition)
        since = self._since_text(batch.position)
        return replace(batch, position=replace(batch.position, since=since))

    def _catalog_of(self, table: SourceTable, found: Any) -> Mapping[str, Declared] | None:
        """What the catalog says of a table whose columns the log just told."""
        info = self._catalog.get(table)
        if info is None or [c[0] for c in info.columns] != [c.name for c in found.columns]:
            connection = self.source.connect()
            try:
                self._read_catalog(connection)
            finally:
                connection.close()
        told = self._described(table)
        kinds = {c.name: c.source_type.name for c in found.columns}
        info = self._catalog.get(table)
        now = {c[0]: mysql_column(c[1]).name for c in info.columns} if info else {}
        return {n: d for n, d in told.items() if _same_kind(kinds.get(n), now.get(n))}


_SAME: Final = {
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), "text"),
    **dict.fromkeys(("json", "uuid", "inet4", "inet6", "xmltype"), "text"),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), "blob"),
    **dict.fromkeys(_GEOMETRIES, "geometry"),
    "boolean": "tinyint",
}


def _same_kind(logged: str | None, now: str | None) -> bool:
    return (
        logged is not None and now is not None and _SAME.get(logged, logged) == _SAME.get(now, now)
    )


def _snapshot_type(kind: str, size: int) -> pa.DataType:
    if kind == "bit":
        return pa.bool_() if size == 1 else pa.binary()
    return pa.binary() if "blob" in kind or "binary" in kind else pa.string()


def _snapshot_value(value: Any, kind: str, size: int) -> Any:
    """A value of a query: text, or bytes."""
    if value is None:
        return None
    if kind == "bit":
        return int.from_bytes(value, "big") != 0 if size == 1 else value
    if kind in _GEOMETRIES:
        return geometry_text(value)
    if "blob" in kind or "binary" in kind:
        return value if isinstance(value, bytes) else value.encode()
    text = _text(value)
    if kind in {"date", "datetime", "timestamp"} and text.startswith(_NO_DATE):
        return None
    if kind == "time" and "." in text:
        return text.rstrip("0").rstrip(".")
    return f"{text}Z" if kind == "timestamp" else text


def _last_key(info: TableInfo, row: tuple[Any, ...]) -> list[Any]:
    values = {column[0]: value for column, value in zip(info.columns, row, strict=True)}
    return [_key_value(values[name]) for name in info.key]


def _key_value(value: Any) -> Any:
    """A value of a key as JSON takes it: text, or a list of hexadecimal text."""
    return [value.hex()] if isinstance(value, bytes) else str(value)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _default(text: str | None) -> str | None:
    """A constant default; functions are not evaluated."""
    if text is None or text.upper() == "NULL" or text.endswith(")"):
        return None
    return text[1:-1].replace("''", "'") if text.startswith("'") else text
