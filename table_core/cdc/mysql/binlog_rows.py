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
from table_core.cdc.model.encoding import LogicalType
from table_core.cdc.model.log_position import LogPosition
from table_core.cdc.model.log_rows import LogRows, TableRows
from table_core.cdc.model.mysql_types import mysql_type
from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.schema_change_event import SchemaChangeEvent
from table_core.cdc.mysql import binlog
from table_core.cdc.mysql.binlog_columns import FLOAT, LONGLONG
from table_core.cdc.mysql.ddl import added_defaults
from table_core.datatypes.kinds import STRING
from table_core.errors import EventError, TableError
from table_core.position.gtids import gtids_after
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.mysql.binlog import Header, RowImage, TableMap
    from table_core.cdc.mysql.binlog_columns import Column
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["BinlogRows", "file_number"]

_NAME: Final = r"(?:`((?:[^`]|``)+)`|([\w$]+))"
_TRUNCATE: Final = re.compile(
    rf"^\s*TRUNCATE\s+(?:TABLE\s+)?(?:{_NAME}\s*\.\s*)?{_NAME}", re.IGNORECASE
)
_DROP: Final = re.compile(
    r"^\s*DROP\s+TABLE\s+(?:/\*.*?\*/\s*)?(?:IF\s+EXISTS\s+)?(.*)$", re.IGNORECASE | re.DOTALL
)
_REPLACED: Final = re.compile(
    rf"^\s*CREATE\s+OR\s+REPLACE\s+TABLE\s+(?:{_NAME}\s*\.\s*)?{_NAME}", re.IGNORECASE
)
_WRITTEN: Final = re.compile(
    r"^\s*(?:INSERT|REPLACE|UPDATE|DELETE|LOAD\s+DATA)\b"
    r"(?:.*?\bINTO\s+TABLE\b|(?:\s+(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|QUICK|IGNORE|INTO|FROM)\b)*)"
    rf"\s*(?:{_NAME}\s*\.\s*)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER: Final = re.compile("[0-9]{1,18}")
_SEQUENCE: Final = frozenset({"next_not_cached_value", "cycle_option", "cycle_count"})
_QUALIFIED: Final = re.compile(rf"^\s*(?:{_NAME}\s*\.\s*)?{_NAME}")
_COMMENTS: Final = re.compile(r"^\s*(?:/\*(?!!).*?\*/\s*|--[^\n]*\n\s*)*", re.DOTALL)


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
    charset: Callable[[int], str | None] = binlog.charset_of
    event_bytes: int = binlog.EVENT_BYTES
    file: str = ""
    gtid: str = ""
    mark: str = ""
    """Of ``file``: ``LogPosition.mark``."""
    transaction: tuple[int, int] = (0, 4)
    """Where the transaction at hand begins."""
    ordinal: int = 0
    """Rows of it seen so far."""
    rows: LogRows = field(default_factory=LogRows)
    keys: dict[SourceTable, tuple[str, ...]] = field(default_factory=dict)
    defaults: dict[SourceTable, dict[str, str]] = field(default_factory=dict)
    """Of columns that statements added, where no catalog tells them."""
    _prepared: dict[str, bool] = field(default_factory=dict)
    """XA transactions that wait for their end, and whether rows of them were taken."""
    _maps: dict[int, TableMap] = field(default_factory=dict)
    _known: dict[TableMap, Mapping[str, Declared]] = field(default_factory=dict)

    def rotate(self, name: str, position: int) -> None:
        """The log goes on in another file."""
        if name != self.file:
            self._maps.clear()
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
            where = self._where(header)
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
            self.gtid = gtids_after(self.gtid, binlog.gtid_of(header, body))
            if not self.ordinal and end:
                self.transaction = (file_number(self.file), end - header.size)
        elif kind in {binlog.XID, binlog.XA_PREPARE}:
            if kind == binlog.XA_PREPARE:
                self._prepared[binlog.xid_of(body)] = self.ordinal > 0
            self._ends(end)
            return True
        elif kind in {binlog.QUERY, binlog.QUERY_COMPRESSED}:
            return self._query(header, *binlog.query_of(kind, body, self.event_bytes), end)
        elif kind in binlog.REFUSED:
            where = self._where(header)
            raise EventError(f"{where}: {binlog.REFUSED[kind]}", position=where)
        return False

    def _where(self, header: Header) -> str:
        return f"{self.file}, position {header.end - header.size}"

    @property
    def position(self) -> LogPosition:
        """What a batch of the rows so far reaches."""
        at, skip = self.transaction, self.ordinal
        return LogPosition("mysql", at, self.file, self.gtid, skip, mark=self.mark)

    def batch(self) -> SourceBatch[LogPosition]:
        """The rows so far."""
        rows, self.rows = self.rows, LogRows()
        return rows.batch(self.position, self.keys.get)

    def _ends(self, end: int) -> None:
        self.transaction, self.ordinal = (file_number(self.file), end), 0

    def _map(self, body: bytes) -> None:
        id, *names = binlog.table_named(body)
        table = SourceTable(*names)
        if not self.wants(table):
            self._maps.pop(id, None)
            return
        table_map = binlog.table_map(body, self.charset)
        if {column.name for column in table_map.columns} >= _SEQUENCE:
            self._maps.pop(id, None)  # a sequence of MariaDB, which is no table
            return
        self._maps[id] = table_map
        if table_map.key:
            self.keys[table] = table_map.key

    def _rows(self, header: Header, body: bytes) -> None:
        where = self._where(header)
        image = binlog.row_images(header.kind, body, self._maps, self.event_bytes)
        if image is None:
            return
        if image.absent:
            raise EventError(
                f"{where}: rows of {image.table.database}.{image.table.name} lack "
                f"{sorted(image.absent)}; run SET GLOBAL binlog_row_image = 'FULL' on the server",
                position=where,
            )
        first = self.rows.number(self.transaction, self.ordinal, image.count, where)
        self.ordinal += image.count
        self._part(image).put(
            image.op, image.count, first, header.time * 1000, image.before, image.after
        )

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

    def _query(self, header: Header, database: str, text: str, end: int) -> bool:
        text = _COMMENTS.sub("", text, count=1)
        word = text[:12].upper()
        if word.startswith(("BEGIN", "SAVEPOINT")) or self._in_xa(header, text):
            return False
        if not word.startswith(("COMMIT", "ROLLBACK")):
            self._statement(header, database, text)
        self._ends(end)
        return True

    def _in_xa(self, header: Header, text: str) -> bool:
        """Whether a statement is within an XA transaction.

        Raises:
            EventError: one is undone whose rows came with its PREPARE.
        """
        words = text.split(maxsplit=2)
        if len(words) < 3 or words[0].upper() != "XA":
            return False
        verb, xid = words[1].upper(), words[2]
        if verb == "ROLLBACK" and self._prepared.pop(xid, True):
            where = self._where(header)
            raise EventError(
                f"{where}: XA ROLLBACK {xid}: rows of the transaction came with its XA PREPARE and "
                "are applied; drop the tables and take a new snapshot",
                position=where,
            )
        return verb not in {"COMMIT", "ROLLBACK"}

    def _statement(self, header: Header, database: str, text: str) -> None:
        where = self._where(header)
        if (match := _TRUNCATE.match(text)) is not None:
            table = _table(match, database)
            if self.wants(table):
                number = self.rows.number(self.transaction, self.ordinal, 1, where)
                self.ordinal += 1
                self.rows.truncated(table, number, header.time * 1000)
        elif (match := _DROP.match(text)) is not None:
            for part in match[1].split(","):
                if (name := _QUALIFIED.match(part)) is not None:
                    self._dropped(_table(name, database), where)
        elif (match := _REPLACED.match(text)) is not None:
            self._dropped(_table(match, database), where)
        elif (match := _WRITTEN.match(text)) is not None and self.wants(_table(match, database)):
            raise EventError(
                f"{where}: rows of {_table(match, database)} were written by a statement: run SET "
                "GLOBAL binlog_format = 'ROW' on the server, make sure that no session overrides it, "
                "and take a new snapshot",
                position=where,
            )
        elif (added := added_defaults(text)) is not None:
            table = SourceTable(added[0] or database, added[1])
            self.defaults.setdefault(table, {}).update(added[2])

    def _dropped(self, table: SourceTable, where: str) -> None:
        if self.wants(table):
            number = self.rows.number(self.transaction, self.ordinal, 1, where)
            self.ordinal += 1
            schema_changes = SchemaChangeEvent(
                number, table, dropped=True, in_snapshot=False, columns={}, key=()
            )
            self.rows.schema_changes.append(schema_changes)


def _table(match: re.Match[str], database: str) -> SourceTable:
    quoted_database, plain_database, quoted, plain = match.groups()[-4:]
    name = quoted.replace("``", "`") if quoted else plain
    named_database = quoted_database.replace("``", "`") if quoted_database else plain_database
    return SourceTable(named_database or database, name)


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
    fits = declared.encoding is not None and declared.encoding.logical_type in {
        LogicalType.UUID,
        LogicalType.ADDRESS,
    }
    return declared if fits else replace(declared, encoding=column.encoding)
