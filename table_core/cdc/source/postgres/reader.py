"""Reads a PostgreSQL database: tables that are new to the sync first, then the slot.

The slot is peeked at; it moves on only once every table is committed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.model.batch import CommitAfter
from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.log_rows import LogRows, TableRows
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.schema_change_event import SchemaChangeEvent
from table_core.cdc.source.log_reader import LogReader
from table_core.cdc.source.postgres.log_connection import cluster_and_timeline, slot_begin
from table_core.cdc.source.postgres.pgoutput import (
    PgOutputRows,
    Relation,
    array_items,
    lsn_text,
    mark_of,
    text_value,
)
from table_core.cdc.source.postgres.publication import check_publication, publish, refused
from table_core.cdc.source.postgres.shapes import came_with_rows, shapes_of
from table_core.cdc.source.postgres.types import postgres_type
from table_core.datatypes.kinds import Array, Atomic, DataType, Root
from table_core.position.decide import LogNow
from table_core.position.log import LogPlace
from table_core.position.source import PostgresId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.source_table import CatalogColumn, CatalogTable
    from table_core.cdc.model.table_shape import TableShape
    from table_core.cdc.source.postgres.source import PostgresConnection, PostgresSource
    from table_core.cdc.source.server import ServerConnection
    from table_core.errors import TableError

__all__ = ["PostgresReader"]

_LOOK_MS: Final = 10_000
_NEVER: Final = 1 << 63
"""Where the changes of a slot begin that is not there."""


@dataclass(slots=True, kw_only=True)
class PostgresReader(LogReader):
    """Batches of a ``PostgresSource``."""

    kind = "postgres"
    source: PostgresSource
    _connection: PostgresConnection | None = None
    _moved: tuple[int, int] = (0, 0)
    _looked_ms: int = 0

    @property
    def chunk_rows(self) -> int:
        """See ``LogReader``."""
        return self.source.chunk_rows

    @property
    def databases(self) -> str:
        """See ``LogReader``."""
        return self.source.schemas

    # ------------------------------------------------------------------------------ identity
    @property
    def _address(self) -> str:
        return f"{self.source.host}:{self.source.port}/{self.source.database}"

    @property
    def _expired(self) -> str:
        slot = self.source.slot
        assert self._log_now is not None
        if self._log_now.first[0] == _NEVER:
            return (
                f"replication slot {slot!r} is gone, and with it the changes since the last run; the "
                "slot is made again by the next run, or by SELECT "
                f"pg_create_logical_replication_slot('{slot}', 'pgoutput')"
            )
        return (
            f"replication slot {slot!r} begins at {lsn_text(self._log_now.first[0])}, behind what was "
            "read: it was dropped and recreated, or moved on by others or by a run that left tables out, or a "
            "table was dropped here that alone knew how far the others are"
        )

    def _look_at_log(self) -> LogNow:
        connection = self.source.connect()
        try:
            return self._look(connection)
        finally:
            connection.close()

    def _look(self, connection: PostgresConnection) -> LogNow:
        system, timeline = cluster_and_timeline(connection)
        slot = slot_begin(connection, self.source.slot)
        return LogNow(
            source=PostgresId(
                system=system, slot=f"{self.source.database}/{self.source.slot}", timeline=timeline
            ),
            first=(_NEVER if slot is None else slot, 0),
            end=(connection.end_of_log(), 0),
        )

    def committed(self, position: LogPlace) -> None:
        """Every table is complete up to here: the server may forget what comes before."""
        connection = self._connection
        if connection is None:
            return  # the stream said so itself while it was open
        # a snapshot that has not begun needs nothing of the log so far
        begun = any(key is not None for key in position.snapshots.values())
        if position.order > self._moved and not begun:
            connection.advance(lsn_text(position.order[0]))
            self._moved = position.order

    # ------------------------------------------------------------------------------- reading
    def _unfit(self, table: SourceTable, info: CatalogTable) -> TableError | None:
        """See ``LogReader``; what a publication would refuse, or would be harmed by."""
        unfit = LogReader._unfit(self, table, info)  # noqa: SLF001 - super() knows no class of slots
        if unfit is None and self.context.settings.ignore_incompatible:
            unfit = refused(info)
        return unfit

    def batches(
        self, start: LogPlace | None, end: LogPlace | None
    ) -> Iterator[SourceBatch[LogPlace]]:
        """Snapshots of tables that have none yet, then the slot until its end now."""
        known = self._known()
        self._connection = connection = self.source.connect()
        try:
            connection.check()
            self._read_catalog(connection)
            publish(connection, self.source.publication, self._catalog.values())
            connection.prepare(expected=bool(known))
            check_publication(connection, self.source.publication, self._catalog.values())
            self._recall_since()
            self._compare_shapes(connection, self._address)
            gone = self._gone(connection)
            begin = min((p.order for p in [*known, *([start] if start else [])]), default=(0, 0))
            mark = next((p.mark for p in known if p.order == begin), "")
            position = LogPlace("postgres", begin, self.source.slot, mark=mark)
            for batch in self._snapshots(position):
                position = batch.position
                yield batch
            if gone:
                yield self._dropped(gone, position)
            yield from self._stream(connection, position, end)
        finally:
            self._connection = None
            connection.close()

    def _stream(
        self, connection: PostgresConnection, position: LogPlace, end: LogPlace | None
    ) -> Iterator[SourceBatch[LogPlace]]:
        until = None if end is None else end.order[0]
        stop = connection.end_of_log() if until is None else until
        rows = PgOutputRows(
            wants=self._wants,
            described=self._described,
            slot=self.source.slot,
            position=position,
            expected=self._expected(connection),
            rewritten=self._rewritten,
        )
        self._tell_tables(rows)
        while True:
            part: list[bytes] = []
            kept = connection.end_of_kept_log() if until is None else until
            for n, messages in enumerate(
                connection.peek(None if until is None else lsn_text(until))
            ):
                if n:  # more of what the slot holds
                    yield self._taken(rows, part)
                part = messages
            if not part:
                rows.passed(kept)
            batch = self._taken(rows, part)
            ends = (not part or batch.position.order[0] >= stop) and not self.forever
            if not part:  # all that the slot has, so also what it was behind with
                rows.refuse_lacking(stop)
            # the run commits and lets the slot move on while the connection is still open
            looks = self.forever and not part and self._is_time_to_look()
            complete = ends and not self._again.due
            commit = CommitAfter.NOW_COMPLETE if complete else CommitAfter.NOW
            if self.forever and not part and not looks:
                # What others write is no reason for a commit each time.
                commit = CommitAfter.WHEN_DUE
            yield replace(batch, commit_after=commit)
            due = bool(self._again.due) and (ends or not part)
            if (looks or due) and (self._has_news(connection) or due):
                at = batch.position
                for again in self._snapshots(at):
                    at = again.position
                    yield again
                self._again.due.clear()
                last = self._with_since(LogRows().batch(at, lambda _: None))
                after = CommitAfter.NOW_COMPLETE if ends else CommitAfter.NOW
                yield replace(last, commit_after=after)
            if ends:
                return
            every = self.context.limits.commit_every_ms
            if every is not None:
                # What came is committed: the next commit is due an interval later.
                self.context.clock.sleep_ms(every if part else self.poll_ms)

    def _is_time_to_look(self) -> bool:
        """Whether the catalog is to be compared again, in a run without an end."""
        now = self.context.clock.now_ms()
        is_time = now - self._looked_ms >= _LOOK_MS
        self._looked_ms = now if is_time else self._looked_ms
        return is_time

    def _has_news(self, connection: PostgresConnection) -> bool:
        """Whether there are tables to read: the log does not tell of them, or not all."""
        before = set(self._catalog)
        self._read_catalog(connection)
        publish(connection, self.source.publication, self._catalog.values())
        self._compare_shapes(connection, self._address)
        return bool(self._again.due or self._catalog.keys() - before)

    def _taken(self, rows: PgOutputRows, messages: Sequence[bytes]) -> SourceBatch[LogPlace]:
        self._tell_tables(rows)
        for message in messages:
            rows.take(message)
        self._tell_tables(rows)  # the catalog may have been read again meanwhile
        rows.rows.since, rows.rows.due = self._since, frozenset(self._again.due)
        return self._with_since(rows.batch())

    def _tell_tables(self, rows: PgOutputRows) -> None:
        rows.keys.update({t: info.key for t, info in self._catalog.items()})
        rows.deferrable = {t for t, info in self._catalog.items() if info.is_deferrable}
        rows.homes = {int(s.id): t for t, s in self._compared.shapes.items() if s.id.isdecimal()}

    def _expected(self, connection: PostgresConnection) -> dict[int, str]:
        """Transactions that tables have and the slot does not know to be read, with their marks.

        A run that was killed leaves the slot behind, and so does a backup of the server that is put
        back: then the log has other transactions there.
        """
        begin = slot_begin(connection, self.source.slot) or 0
        marks = dict(mark_of(p) for p in self._known() if p.mark)
        return {lsn: mark for lsn, mark in marks.items() if lsn > begin}

    def _shapes_now(  # type: ignore[override]  # the reader of a source has its connections
        self, connection: PostgresConnection, tables: Iterable[SourceTable]
    ) -> dict[SourceTable, TableShape]:
        infos = [self._catalog[table] for table in tables if table in self._catalog]
        shapes = shapes_of(connection, self.source.publication, infos)
        return {SourceTable(*name): shape for name, shape in shapes.items()}

    @staticmethod
    def _came_with_rows(connection: ServerConnection, shape: TableShape, partition: str) -> bool:
        return came_with_rows(connection, shape, partition)

    def _gone(self, connection: PostgresConnection) -> list[SourceTable]:
        """Source tables that were dropped, where the sync is to do something then."""
        if self.context.settings.on_drop == "ignore":
            return []
        end = connection.end_of_log()
        gone = [t for t in self._sources() if self._wants(t) and t not in self._catalog]
        self._since |= dict.fromkeys(gone, (end, 0))
        return sorted(gone)

    def _dropped(self, tables: Sequence[SourceTable], position: LogPlace) -> SourceBatch[LogPlace]:
        """The log does not tell that a table was dropped, so it happens before the log."""
        rows = LogRows()
        for table in tables:
            number = rows.number((0, 0), 0, 1, f"{self._address}, {table}")
            event = SchemaChangeEvent(
                number, table, dropped=True, in_snapshot=False, columns={}, key=()
            )
            rows.schema_changes.append(event)
        batch = rows.batch(position, lambda _: None)
        return replace(batch, consumed=lambda _, numbers: numbers < 0)

    # ------------------------------------------------------------------------------ snapshots
    def at_snapshot(self) -> tuple[PostgresConnection, LogPlace]:
        """See ``LogReader``."""
        exporter, reader = self.source.connect(replication=True), self.source.connect()
        try:
            lsn, snapshot = exporter.export_snapshot()
            reader.read_at(snapshot)
        except BaseException:
            reader.close()
            raise
        finally:
            exporter.close()
        return reader, LogPlace("postgres", (lsn, 0), self.source.slot)

    def _snapshots(self, base: LogPlace) -> Iterator[SourceBatch[LogPlace]]:
        due = dict.fromkeys(table for table in self._again.due if table in self._catalog)
        pending = {**self._pending(), **due}
        if not pending:
            return
        self._begin_anew(pending)
        exporter = self.source.connect(replication=True)
        reader = self.source.connect()
        try:
            lsn, snapshot = exporter.export_snapshot()
            reader.read_at(snapshot)
            self._read_catalog_of(reader, pending)
            self._compared.shapes |= self._shapes_now(reader, pending)
            # of a table that was begun earlier the changes since then are needed too
            self._since |= {table: (lsn, 0) for table, key in pending.items() if key is None}
            begun = {str(table): key for table, key in pending.items()}
            position = replace(base, snapshots=begun, since=self._since_text(base))
            for table in pending:
                for batch in self._read(reader, self._catalog[table], position):
                    position = batch.position
                    yield batch
        finally:
            reader.close()
            exporter.close()

    def _types(self, info: CatalogTable) -> Mapping[str, DataType]:
        return {c.name: self._declared(c.type, c).type for c in info.columns}

    def _typed(
        self, info: CatalogTable, columns: Sequence[Sequence[Any]]
    ) -> tuple[TableRows, list[list[Any]]]:
        declared = {c.name: self._declared(c.type, c) for c in info.columns}
        types = [declared[name].json or pa.string() for name in info.names]
        part = TableRows(
            table=SourceTable(info.database, info.name),
            names=info.names,
            types=types,
            declared=declared,
        )
        pairs = zip(columns, types, strict=True)
        return part, [[text_value(value, type_) for value in column] for column, type_ in pairs]

    # ---------------------------------------------------------------------------------- types
    def _described(self, relation: Relation) -> Mapping[str, Declared]:
        """The columns of a relation; the catalog is read again where it does not know them."""
        info = self._catalog.get(relation.table)
        connection = self.source.connect()
        try:
            if info is None or info.names != list(relation.names):
                self._read_catalog(connection)
                info = self._catalog.get(relation.table)
            names = connection.type_names(relation.types)
        finally:
            connection.close()
        column = {c.name: c for c in info.columns} if info else {}
        return {
            name: self._declared(_with_dimensions(type_, column.get(name)), column.get(name))
            for name, type_ in zip(relation.names, names, strict=True)
        }

    def _declared(self, text: str, column: CatalogColumn | None) -> Declared:
        type_ = postgres_type(text, self.context.settings.mapping)
        zoned = isinstance(type_, Atomic) and type_.root is Root.TIMESTAMP_LTZ
        return Declared(
            type_,
            Encoding(LogicalType.ZONED if zoned else LogicalType.RAW),
            _arrow(type_),
            nullable=column is None or column.nullable,
            default=None if column is None else _missing(column.default, _arrow(type_)),
            comment=None if column is None else column.comment,
        )


def _with_dimensions(type_: str, column: CatalogColumn | None) -> str:
    """A type of the log, which does not tell how deep an array is, as the catalog has it."""
    same = column is not None and column.type.rstrip("[]") == type_.rstrip("[]")
    return column.type if column is not None and same else type_


def _arrow(type_: DataType) -> pa.DataType:
    """What a column of values in text form is built as."""
    if isinstance(type_, Array):
        return pa.list_(_arrow(type_.element))
    if isinstance(type_, Atomic) and type_.root is Root.BOOLEAN:
        return pa.bool_()
    if isinstance(type_, Atomic) and type_.root is Root.VARBINARY:
        return pa.binary()
    return pa.string()


def _missing(values: str | None, type_: pa.DataType) -> Any:
    """What rows have that are older than the column: an array of one, in the server's catalog."""
    return None if values is None else text_value(array_items(values)[0], type_)
