"""Events of a binlog to batches of changes: transactions, tables, statements that change tables.

One transaction, as the log has it::

    GTID         0-1-7      it begins at the position of this event
    QUERY        BEGIN
    TABLE_MAP    108 is shop.orders, with its column types
    WRITE_ROWS   108: 2 rows      numbers (file, position of the GTID) + 0 and 1
    UPDATE_ROWS  108: 1 row       + 2
    XID                           the next one begins behind it, rows count from 0 again

A position is the begin of a transaction and how many of its rows were taken: who reads on starts at that
GTID, since rows make no sense without the table map before them, and leaves out what was counted.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.log_rows import LogRows, TableRows
from table_core.cdc.model.mysql_types import mysql_type
from table_core.cdc.model.record import SourceTable, shortened
from table_core.cdc.model.schema_change_event import SchemaChangeEvent
from table_core.cdc.source.mysql import binlog
from table_core.cdc.source.mysql.binlog_columns import FLOAT, LONGLONG
from table_core.cdc.source.mysql.charsets import charset_of
from table_core.cdc.source.mysql.kept_values import keeps_values
from table_core.cdc.source.mysql.logged_statement import statement_of
from table_core.cdc.source.mysql.open_transaction import OpenTransaction
from table_core.cdc.source.mysql.sql_tokens import Dialect, tokens_of
from table_core.cdc.source.mysql.statements import effects_of, names_in, written_by
from table_core.cdc.source.mysql.surroundings import Surroundings
from table_core.datatypes.kinds import STRING
from table_core.errors import EventError, TableError
from table_core.position.gtids import gtids_after
from table_core.position.log import LogPlace
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.source.mysql.binlog import Header, RowImage, TableMap
    from table_core.cdc.source.mysql.binlog_columns import Column
    from table_core.cdc.source.mysql.ddl import Altered, Name
    from table_core.cdc.source.mysql.logged_statement import LoggedStatement
    from table_core.cdc.source.mysql.sql_tokens import Token
    from table_core.cdc.source.mysql.statements import Effects
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["BinlogRows", "file_number"]

_NUMBER: Final = re.compile("[0-9]{1,18}")
_SEQUENCE: Final = frozenset({"next_not_cached_value", "cycle_option", "cycle_count"})


def file_number(name: str) -> int:
    """The number at the end of a binlog's name."""
    digits = name.rpartition(".")[2]
    return int(digits) if _NUMBER.fullmatch(digits) else 0


@dataclass(slots=True, kw_only=True)
class BinlogRows:
    """Takes events in order, gives batches."""

    wants: Callable[[SourceTable], bool]
    described: Callable[[SourceTable, TableMap], Mapping[str, Declared] | None]
    """Columns as the server's catalog has them, where it knows the table."""
    mapping: TypeMapping
    charset: Callable[[int], str | None] = charset_of
    event_bytes: int = binlog.EVENT_BYTES
    file: str = ""
    gtid: str = ""
    mark: str = ""
    """Of ``file``: ``LogPlace.mark``."""
    transaction: tuple[int, int] = (0, 4)
    """Where the transaction at hand begins."""
    ordinal: int = 0
    """Rows of it seen so far."""
    rows: LogRows = field(default_factory=LogRows)
    keys: dict[SourceTable, tuple[str, ...]] = field(default_factory=dict)
    defaults: dict[SourceTable, dict[str, str | None]] = field(default_factory=dict)
    """Of columns that statements added: what rows have that were there; None for NULL."""
    around: Surroundings = field(default_factory=Surroundings)
    open: OpenTransaction = field(default_factory=OpenTransaction)
    dropped: set[SourceTable] = field(default_factory=set)
    """Tables that were dropped and not created since."""
    columns: dict[SourceTable, dict[str, Column]] = field(default_factory=dict)
    """Of the newest map of each table, as the log knows them."""
    _maps: dict[int, TableMap] = field(default_factory=dict)
    _parents: dict[int, SourceTable] = field(default_factory=dict)
    """Tables whose rows nobody wants, and that change rows of others."""
    _known: dict[TableMap, Mapping[str, Declared]] = field(default_factory=dict)

    def rotate(self, name: str, position: int) -> None:
        """The log goes on in another file."""
        if name != self.file:
            self._maps.clear()
            self._parents.clear()
            self.mark = ""
        self.file = name
        self.transaction, self.ordinal = (file_number(name), position), 0

    def take(self, event: bytes, end: int) -> bool:
        """One event, checksum taken off; whether a transaction ended with it.

        Raises:
            EventError: it cannot be read.
        """
        header = binlog.header_of(event)
        if header.kind == binlog.FORMAT:
            self.mark = binlog.file_mark(event)
        try:
            return self._take(header, event[binlog.HEADER_BYTES :], end)
        except TableError:
            raise
        except (*UNFORESEEN, struct.error, zlib.error) as error:
            where = self.where_of(header)
            raise EventError(
                f"{where}: the event cannot be read: {error}", position=where
            ) from error

    def _take(self, header: Header, body: bytes, end: int) -> bool:
        kind = header.kind
        if kind == binlog.TABLE_MAP:
            self._map(body)
        elif kind in binlog.ROWS:
            self._rows(header, body)
        elif kind in {binlog.MARIADB_GTID, binlog.MYSQL_GTID}:
            self._begins(header, body, end)
        elif kind in {binlog.XID, binlog.XA_PREPARE}:
            if kind == binlog.XA_PREPARE and not binlog.in_one_phase(body):
                self.open.prepares(binlog.xid_of(body), self.rows)
            self.ends(end)
            return True
        elif kind in {binlog.QUERY, binlog.QUERY_COMPRESSED, binlog.LOAD}:
            statement = statement_of(kind, body, self.event_bytes, self.charset)
            return LogStatements(self).take(header, statement, end)
        elif kind in binlog.REFUSED or not (kind in binlog.IGNORED or header.may_be_ignored):
            where = self.where_of(header)
            why = binlog.REFUSED.get(
                kind, f"the log has an event of kind {kind}, which is not known"
            )
            raise EventError(f"{where}: {why}", position=where)
        elif kind == binlog.FORMAT:
            self.around.dialect = Dialect.of_server(binlog.server_version(body))
        return False

    def _begins(self, header: Header, body: bytes, end: int) -> None:
        """Another transaction begins."""
        self.gtid = gtids_after(self.gtid, binlog.gtid_of(header, body))
        if not self.ordinal and end:
            self.transaction = (file_number(self.file), end - header.size)
        self.open.begins(self.rows, is_group=binlog.is_group(header, body))

    def where_of(self, header: Header) -> str:
        """Where an event stands."""
        return f"{self.file}, position {header.end - header.size}"

    @property
    def position(self) -> LogPlace:
        """What a batch of the rows so far reaches."""
        at, skip = self.transaction, self.ordinal
        waiting = self.open.waiting
        return LogPlace("mysql", at, self.file, self.gtid, skip, mark=self.mark, xa=waiting)

    def batch(self) -> SourceBatch[LogPlace]:
        """The rows so far."""
        self.open.hands_out(self.rows)
        rows, self.rows = self.rows, LogRows()
        return rows.batch(self.position, self.keys.get)

    def ends(self, end: int) -> None:
        """A transaction ends."""
        self.transaction, self.ordinal = (file_number(self.file), end), 0
        self.open.begins(self.rows, is_group=False)

    def _map(self, body: bytes) -> None:
        id, *names = binlog.table_named(body)
        table = SourceTable(*names)
        self._parents.pop(id, None)
        if not self.wants(table):
            self._maps.pop(id, None)
            if self.around.cascades(table):
                self._parents[id] = table
            return
        table_map = binlog.table_map(body, self.charset)
        if {column.name for column in table_map.columns} >= _SEQUENCE:
            self._maps.pop(id, None)  # a sequence of MariaDB, which is no table
            return
        self._maps[id] = table_map
        self.columns[table] = {column.name: column for column in table_map.columns}
        if table_map.key:
            self.keys[table] = table_map.key

    def _rows(self, header: Header, body: bytes) -> None:
        where = self.where_of(header)
        id, looks_at_keys = binlog.rows_of(body)
        if (parent := self._parents.get(id)) is not None:
            if header.kind not in binlog.WRITES and looks_at_keys:
                self._cascades(parent, None, where)
            return
        image = binlog.row_images(header.kind, body, self._maps, self.event_bytes)
        if image is None:
            return
        table = SourceTable(image.table.database, image.table.name)
        if image.absent:
            self.rewritten(table, f"a session wrote rows without {_few(image.absent)}", where)
            return
        if looks_at_keys and image.before is not None:
            self._cascades(table, image, where)
        first = self.counted(image.count, where)
        self._part(image).put(
            image.op, image.count, first, header.time * 1000, image.before, image.after
        )
        self.open.limits(self.rows)

    def _part(self, image: RowImage) -> TableRows:
        table = image.table
        rows = self.rows.parts.get(table)
        if rows is None:
            rows = self.rows.parts[table] = TableRows(
                table=SourceTable(table.database, table.name),
                names=[c.name for c in table.columns],
                types=[_arrow(c) for c in table.columns],
                declared=self._declared(table),
            )
        return rows

    def _declared(self, table: TableMap) -> Mapping[str, Declared]:
        """Types of the catalog where it agrees with the log; those of the log where it does not."""
        known = self._known.get(table)
        if known is None:
            declared = self.described(SourceTable(table.database, table.name), table) or {}
            added = self.defaults.get(SourceTable(table.database, table.name), {})
            known = self._known[table] = {
                c.name: _declared(c, declared.get(c.name), self.mapping, added.get(c.name))
                for c in table.columns
            }
        return known

    def _cascades(self, parent: SourceTable, image: RowImage | None, where: str) -> None:
        """Rows of a table were deleted or changed, and with them those of its children."""
        for cascade in self.around.cascades(parent):
            if not self.wants(cascade.child):
                continue
            if image is None or image.after is None or _differ(image, cascade.columns):
                self.rewritten(
                    cascade.child, f"a foreign key changed its rows with {parent}", where
                )

    def rewritten(self, table: SourceTable, why: str, where: str) -> None:
        """From here on the log does not tell the rows of a table."""
        if self.wants(table):
            self.around.rewritten(table, self.transaction, why, where)
            for cascade in self.around.cascades(table):
                if cascade.child != table:
                    self.rewritten(cascade.child, f"a foreign key follows {table}", where)

    def counted(self, count: int, where: str) -> int:
        """Numbers for what comes next; the first of them."""
        first = self.rows.number(self.transaction, self.ordinal, count, where)
        self.ordinal += count
        return first


def _few(names: Iterable[str]) -> str:
    return shortened(", ".join(sorted(names)))


def _differ(image: RowImage, columns: frozenset[str]) -> bool:
    """Whether an update changed any of some columns."""
    assert image.before is not None
    assert image.after is not None
    places = [n for n, c in enumerate(image.table.columns) if c.name in columns or not columns]
    return any(image.before[n] != image.after[n] for n in places)


def _arrow(column: Column) -> pa.DataType:
    """The Arrow type of what the column's reader gives."""
    declared = column.source_type.name
    if column.kind == FLOAT:
        return pa.float32()
    if declared == "double":
        return pa.float64()
    if declared == "bit":
        return pa.bool_() if column.source_type.number(0, 1) == 1 else pa.binary()
    if column.kind == LONGLONG and column.unsigned:
        return pa.uint64()
    if declared == "blob":
        return pa.binary()
    is_text = column.is_text or declared in {"decimal", "enum", "set", "json", "geometry", "text"}
    return pa.string() if is_text else pa.int64()


def _declared(
    column: Column, declared: Declared | None, mapping: TypeMapping, default: str | None
) -> Declared:
    own = mysql_type(column.source_type, mapping) or STRING
    if declared is None:
        return Declared(own, column.encoding, None, nullable=column.nullable, default=default)
    declared = replace(declared, default=default)
    encoding = declared.encoding
    fits = encoding is not None and encoding.logical_type.meaning.of_bytes is not None
    return declared if fits else replace(declared, encoding=column.encoding)


_STATED: Final = "its rows were written by a statement, not row by row"


@dataclass(slots=True)
class LogStatements:
    """Takes one statement of the log that ``log`` reads."""

    log: BinlogRows

    def take(self, header: Header, statement: LoggedStatement, end: int) -> bool:
        """Apply a statement; whether a transaction ended with it."""
        log = self.log
        dialect = replace(log.around.dialect, sql_mode=statement.sql_mode)
        tokens = tokens_of(statement.text, dialect)
        words = [token.word for token in tokens[:3]]
        where = log.where_of(header)
        match words:
            case ["BEGIN"] | ["BEGIN", "WORK"] | ["START", "TRANSACTION", *_]:
                log.open.begins(log.rows, is_group=True)
                return False
            case ["SAVEPOINT", *_]:
                log.open.saves(tokens[1].text.lower() if len(tokens) > 1 else "", log.rows)
                return False
            case ["RELEASE", *_]:
                return False
            case ["XA", *_]:
                return self._xa(words, statement.text, where, end)
            case ["ROLLBACK", *_] if "TO" in [token.word for token in tokens[1:3]]:
                self._undo(tokens[-1].text.lower(), where)
                return False
            case ["ROLLBACK", *_]:
                self._undo(None, where)
            case ["COMMIT", *_]:
                pass
            case _:
                self._apply(tokens, statement.database, where, header.time * 1000)
                if log.open.is_group:
                    return False
        log.ends(end)
        return True

    # ---------------------------------------------------------------------------- transactions
    def _undo(self, savepoint: str | None, where: str) -> None:
        log = self.log
        undone, out_of_reach = log.open.undone(log.rows, savepoint)
        lasting = {table for table in undone if not log.around.is_transactional(table)}
        for table in sorted(out_of_reach | lasting):
            log.rewritten(table, "a transaction was rolled back after its rows had come", where)

    def _xa(self, words: Sequence[str], text: str, where: str, end: int) -> bool:
        log, verb = self.log, words[1] if len(words) > 1 else ""
        xid = text.split(maxsplit=2)[2].strip() if len(text.split(maxsplit=2)) > 2 else ""
        if verb in {"START", "BEGIN"}:
            log.open.begins(log.rows, is_group=True, is_xa=True)
            return False
        if verb not in {"COMMIT", "ROLLBACK"}:
            return False
        transaction = log.open.prepared.pop(xid, None)
        if transaction is None:
            for table in sorted(log.around.known()):
                log.rewritten(table, f"XA {verb} ends a transaction that began before", where)
        elif verb == "COMMIT" and transaction.rows is None:
            for table in sorted(transaction.tables):
                log.rewritten(table, "an XA transaction was committed after its rows", where)
        elif verb == "COMMIT" and transaction.rows:
            first = log.counted(transaction.count, where)
            for key, rows in transaction.rows.items():
                into = log.rows.parts.setdefault(key, rows.empty())
                into.add(rows, first - transaction.first)
        log.ends(end)
        return True

    # --------------------------------------------------------------------------------- tables
    def _table(self, name: Name, database: str) -> SourceTable:
        parts = (name[0] or database, name[1])
        return SourceTable(
            *(part.lower() for part in parts) if self.log.around.ignores_case else parts
        )

    def _apply(self, tokens: Sequence[Token], database: str, where: str, time_ms: int) -> None:
        log, effects = self.log, effects_of(tokens)
        if effects.writes or not effects.is_known:
            self._written(effects, tokens, database, where)
        arrived = [(self._table(name, database), why) for name, why in effects.arrived]
        there = {table for table, _ in arrived}
        for name in effects.truncated:
            if log.wants(table := self._table(name, database)):
                log.rows.truncated(table, log.counted(1, where), time_ms)
                self._cascade_of_all(table, where)
        for table in self._gone(effects, database):
            if table not in there:
                self._dropped(table, where)
        if effects.altered is not None:
            self._alter(effects.altered, database, where)
        for table in (self._table(name, database) for name in effects.created):
            if not log.around.asks_server:
                break
            is_known = table in log.around.known() or table in log.columns
            if is_known and (table in log.dropped or not effects.is_idle_if_there):
                log.rewritten(table, "the table was created anew", where)
            log.dropped.discard(table)
        for name, why in effects.rewritten:
            log.rewritten(self._table(name, database), why, where)
        for table, why in arrived:
            log.rewritten(table, why, where)

    def _cascade_of_all(self, table: SourceTable, where: str) -> None:
        """MariaDB empties no table that others refer to, unless foreign keys are not looked at."""
        for cascade in self.log.around.cascades(table):
            self.log.rewritten(cascade.child, f"{table}, which it refers to, was emptied", where)

    def _gone(self, effects: Effects, database: str) -> list[SourceTable]:
        """Tables that a statement dropped."""
        affected = [self._table(name, database) for name in effects.dropped]
        for name in effects.dropped_databases:
            gone = self._table((name, ""), "").database
            affected += sorted(t for t in self.log.around.known() if t.database == gone)
        return affected

    def _dropped(self, table: SourceTable, where: str) -> None:
        log = self.log
        if log.wants(table):
            log.dropped.add(table)
            if log.around.counts(table, log.transaction):
                log.around.gone(table)
            number = log.counted(1, where)
            log.rows.schema_changes.append(
                SchemaChangeEvent(
                    number, table, dropped=True, in_snapshot=False, columns={}, key=()
                )
            )

    def _alter(self, altered: Altered, database: str, where: str) -> None:
        """Columns that came, went, or have another definition."""
        log, table = self.log, self._table(altered.table, database)
        if not log.wants(table):
            return
        if altered.columns_why:
            self._changed(table, altered.columns_why, where)
        defaults = log.defaults.setdefault(table, {})
        for name in altered.dropped:
            defaults[name] = None
        for name, constant in altered.defaults.items():
            if log.around.has_column(table, name) or name in defaults:
                self._changed(table, f"column {name} was dropped and added", where)
            defaults[name] = constant
        columns = log.columns.get(table, {})
        for name, definition in altered.modified:
            if not keeps_values(columns.get(name), definition):
                self._changed(table, f"the type of column {name} was changed", where)

    def _changed(self, table: SourceTable, why: str, where: str) -> None:
        """Values of columns changed; of files older rows keep theirs."""
        if self.log.around.asks_server:
            self.log.rewritten(table, why, where)

    def _written(
        self, effects: Effects, tokens: Sequence[Token], database: str, where: str
    ) -> None:
        """Rows were written that are not in the log: of tables that the statement names, or any."""
        log, names = self.log, names_in(tokens, database)
        tables = {self._table(name, database) for name in names}
        there = {table for table in log.around.known() if table in tables}
        there |= {table for table in tables if table in log.columns}
        target = written_by(tokens)
        if target is not None and log.wants(table := self._table(target, database)):
            there.add(table)
        if not effects.is_known and not there:
            there = set(log.around.known())
        if log.around.side_effects(names, tokens):
            there = set(log.around.known())
        for table in sorted(there):
            log.rewritten(table, _STATED, where)
        for parent in sorted(tables):
            for cascade in log.around.cascades(parent):
                log.rewritten(cascade.child, f"a statement changed {parent}", where)
