"""Reads a PostgreSQL database: tables that are new to the sync first, then the slot.

The slot is peeked at; it moves on only once every table is committed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.embedded_schema import Declared
from table_core.cdc.log_position import LogPosition
from table_core.cdc.log_rows import LogRows, TableRows
from table_core.cdc.pgoutput import PgOutputRows, Relation, lsn_text, text_value
from table_core.cdc.postgres_types import postgres_type
from table_core.cdc.record import SourceTable
from table_core.cdc.wire import Meaning, Wire
from table_core.datatypes.kinds import Array, Atomic, DataType, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from table_core.cdc.batch import SourceBatch
    from table_core.sources.postgres import PostgresConnection, PostgresSource, PostgresTable
    from table_core.table.cdc.run import SyncRun

__all__ = ["PostgresReader"]

_CHUNK_ROWS: Final = 50_000
_POLL_MS: Final = 500
_CONSTANT: Final = re.compile(
    r"^(?:'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?|true|false))(?:::[\w \[\]\"(),.]+)?$"
)


@dataclass(slots=True, kw_only=True)
class PostgresReader:
    """Batches of a ``PostgresSource``."""

    source: PostgresSource
    run: SyncRun
    forever: bool = False
    rereads: bool = False
    _catalog: dict[SourceTable, PostgresTable] = field(default_factory=dict)
    _since: dict[SourceTable, tuple[int, int]] = field(default_factory=dict)
    _connection: PostgresConnection | None = None
    _moved: tuple[int, int] = (0, 0)

    def parse(self, text: str | None) -> LogPosition | None:
        """The position that a table holds."""
        return None if text is None else LogPosition.parse(text, "postgres")

    def history(self, until: Any) -> Iterator[SourceBatch]:
        """A slot does not go back to its start."""
        raise NotImplementedError

    def remembered(self, _: Iterable[SourceTable]) -> str | None:
        """Nothing: the stream tells all."""
        return None

    def recall(self, text: str | None) -> None:
        """Nothing."""

    def tables(self) -> list[SourceTable]:
        """The tables of the database that are wanted."""
        connection = self.source.connect()
        try:
            self._read_catalog(connection)
        finally:
            connection.close()
        return list(self._catalog)

    def committed(self, position: Any) -> None:
        """Every table is complete up to here: the server may forget what comes before."""
        connection = self._connection
        if connection is None or not isinstance(position, LogPosition):
            return  # the stream said so itself while it was open
        if position.order > self._moved and not position.snapshots:
            connection.advance(lsn_text(position.order[0]))
            self._moved = position.order

    # ------------------------------------------------------------------------------- reading
    def batches(self, start: LogPosition | None, end: LogPosition | None) -> Iterator[SourceBatch]:
        """Snapshots of tables that have none yet, then the slot until its end now."""
        known = [
            p for f in self.run.feeds.values() if isinstance(p := f.target.position, LogPosition)
        ]
        self._connection = connection = self.source.connect()
        try:
            connection.check()
            connection.prepare(expected=bool(known))
            self._read_catalog(connection)
            self._recall_since()
            begin = min((p.order for p in [*known, *([start] if start else [])]), default=(0, 0))
            position = LogPosition("postgres", begin, self.source.slot)
            for batch in self._snapshots(position):
                assert isinstance(batch.position, LogPosition)
                position = batch.position
                yield batch
            yield from self._stream(connection, position, end)
        finally:
            self._connection = None
            connection.close()

    def _stream(
        self, connection: PostgresConnection, position: LogPosition, end: LogPosition | None
    ) -> Iterator[SourceBatch]:
        stop = end.order[0] if end is not None else connection.end_of_log()
        rows = PgOutputRows(
            wants=self._wants,
            described=self._described,
            slot=self.source.slot,
            position=position,
        )
        rows.keys.update({t: info.key for t, info in self._catalog.items()})
        while True:
            messages = connection.peek()
            for message in messages:
                rows.take(message)
            rows.rows.since = self._since
            batch = rows.batch()
            assert isinstance(batch.position, LogPosition)
            reached = replace(batch.position, since=self._open_since(batch))
            yield replace(batch, position=reached)
            done = not messages or reached.order[0] >= stop
            if done and not self.forever:
                # the run commits and lets the slot move on while the connection is still open
                self.run.flush(self, complete=True)
                return
            self.run.flush(self, complete=False)
            if not messages:
                self.run.catalog.clock.sleep_ms(_POLL_MS)

    def _open_since(self, batch: SourceBatch) -> dict[str, list[int]]:
        assert isinstance(batch.position, LogPosition)
        order = batch.position.order
        return {str(t): list(at) for t, at in self._since.items() if at > order}

    def _recall_since(self) -> None:
        for feed in self.run.feeds.values():
            position = feed.target.position
            if isinstance(position, LogPosition):
                for table in feed.sources:
                    if (order := position.since.get(str(table))) is not None:
                        self._since[table] = (order[0], order[1])

    def _wants(self, table: SourceTable) -> bool:
        return re.fullmatch(self.source.schemas, table.database) is not None and self.run.wants(
            table
        )

    def _read_catalog(self, connection: PostgresConnection) -> None:
        self._catalog = {
            table: info
            for info in connection.tables()
            if self._wants(table := SourceTable(info.schema, info.name))
        }

    # ------------------------------------------------------------------------------ snapshots
    def _snapshots(self, base: LogPosition) -> Iterator[SourceBatch]:
        pending = {t: after for t in self._catalog if (after := self._pending(t)) is not False}
        if not pending:
            return
        exporter = self.source.connect(replication=True)
        reader = self.source.connect()
        try:
            lsn, snapshot = exporter.export_snapshot()
            reader.read_at(snapshot)
            self._since |= dict.fromkeys(pending, (lsn, 0))
            begun = {str(t): None if after is True else after for t, after in pending.items()}
            since = {str(t): [lsn, 0] for t in pending}
            position = replace(base, snapshots=begun, since=since)
            for table in pending:
                for batch in self._table(reader, table, position):
                    assert isinstance(batch.position, LogPosition)
                    position = batch.position
                    yield batch
        finally:
            reader.close()
            exporter.close()

    def _pending(self, table: SourceTable) -> Any:
        """False if the table is in; True if it has to be read; a key to go on behind."""
        name = self.run.route(table)
        feed = self.run.feeds.get(name) if name is not None else None
        position = feed.target.position if feed is not None else None
        if feed is None or not isinstance(position, LogPosition) or table not in feed.sources:
            return True
        return position.snapshots.get(str(table), False) or str(table) in position.snapshots

    def _table(
        self, reader: PostgresConnection, table: SourceTable, position: LogPosition
    ) -> Iterator[SourceBatch]:
        info = self._catalog[table]
        declared = self._columns(info)
        types = [declared[c[0]].json or pa.string() for c in info.columns]
        after = position.snapshots[str(table)]
        places = [[c[0] for c in info.columns].index(name) for name in info.key]
        limit = _CHUNK_ROWS if info.key else None
        while True:
            rows = list(reader.chunk(info, after, limit))
            last = limit is None or len(rows) < limit
            if rows and info.key:
                after = [rows[-1][n] for n in places]
            position = (
                position.finished(str(table)) if last else position.snapshotted(str(table), after)
            )
            gathered = LogRows()
            part = TableRows(
                table=table, names=[c[0] for c in info.columns], types=types, declared=declared
            )
            if rows or self.run.eager:
                values = [
                    [text_value(v, type_) for v in column]
                    for column, type_ in zip(
                        list(zip(*rows, strict=True)) or [()] * len(types), types, strict=True
                    )
                ]
                now = self.run.catalog.clock.now_ms()
                number = gathered.number((0, 0), 0, len(rows), f"{table}, snapshot")
                part.put("r", len(rows), number, now, None, values)
                gathered.parts[table] = part
            batch = gathered.batch(position, lambda _: info.key)
            yield replace(batch, consumed=lambda _, numbers: numbers < 0)
            if last:
                return

    # ---------------------------------------------------------------------------------- types
    def _described(self, relation: Relation) -> Mapping[str, Declared]:
        """The columns of a relation; the catalog is read again where it does not know them."""
        info = self._catalog.get(relation.table)
        connection = self.source.connect()
        try:
            if info is None or [c[0] for c in info.columns] != list(relation.names):
                self._read_catalog(connection)
                info = self._catalog.get(relation.table)
            names = connection.type_names(relation.types)
        finally:
            connection.close()
        told = {c[0]: c for c in info.columns} if info else {}
        return {
            name: self._declared(type_, told.get(name))
            for name, type_ in zip(relation.names, names, strict=True)
        }

    def _columns(self, info: PostgresTable) -> dict[str, Declared]:
        return {c[0]: self._declared(c[1], c) for c in info.columns}

    def _declared(self, text: str, told: Any) -> Declared:
        type_ = postgres_type(text, self.run.settings.mapping)
        zoned = isinstance(type_, Atomic) and type_.root is Root.TIMESTAMP_LTZ
        return Declared(
            type_,
            Wire(Meaning.ZONED if zoned else Meaning.RAW),
            _arrow(type_),
            nullable=told is None or told[2],
            default=None if told is None else _constant(told[3]),
            comment=None if told is None else told[4],
        )


def _arrow(type_: DataType) -> pa.DataType:
    """What a column of values in text form is built as."""
    if isinstance(type_, Array):
        return pa.list_(_arrow(type_.element))
    if isinstance(type_, Atomic) and type_.root is Root.BOOLEAN:
        return pa.bool_()
    if isinstance(type_, Atomic) and type_.root is Root.VARBINARY:
        return pa.binary()
    return pa.string()


def _constant(expression: str | None) -> str | None:
    """The value of a default that is no function."""
    match = _CONSTANT.match(expression) if expression else None
    if match is None:
        return None
    return match[1].replace("''", "'") if match[1] is not None else match[2]
