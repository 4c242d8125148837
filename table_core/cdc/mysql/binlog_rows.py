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
from table_core.cdc.model.record import SourceTable, shortened
from table_core.cdc.mysql import binlog
from table_core.cdc.mysql.binlog_columns import FLOAT, LONGLONG
from table_core.cdc.mysql.charsets import charset_of
from table_core.cdc.mysql.log_statements import LogStatements
from table_core.cdc.mysql.logged_statement import statement_of
from table_core.cdc.mysql.open_transaction import OpenTransaction
from table_core.cdc.mysql.sql_tokens import Dialect
from table_core.cdc.mysql.surroundings import Surroundings
from table_core.datatypes.kinds import STRING
from table_core.errors import EventError, TableError
from table_core.position.gtids import gtids_after
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.mysql.binlog import Header, RowImage, TableMap
    from table_core.cdc.mysql.binlog_columns import Column
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
    """Of ``file``: ``LogPosition.mark``."""
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
    def position(self) -> LogPosition:
        """What a batch of the rows so far reaches."""
        at, skip = self.transaction, self.ordinal
        waiting = self.open.waiting
        return LogPosition("mysql", at, self.file, self.gtid, skip, mark=self.mark, xa=waiting)

    def batch(self) -> SourceBatch[LogPosition]:
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
    fits = declared.encoding is not None and declared.encoding.logical_type in {
        LogicalType.UUID,
        LogicalType.ADDRESS,
    }
    return declared if fits else replace(declared, encoding=column.encoding)
