"""The binary log of MySQL and MariaDB: events, table maps and row images, a column at a time.

Source: the MySQL internals manual ("Binary Log Event", "Rows_event") and MariaDB's replication
protocol.  Column names come from ``binlog_row_metadata=FULL``.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.log_cursor import Cursor
from table_core.cdc.source.mysql.binlog_columns import GEOMETRY, Column, column_of, numeric
from table_core.errors import EventError
from table_core.validation_errors import too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "EVENT_BYTES",
    "Header",
    "RowImage",
    "TableMap",
    "file_mark",
    "header_of",
    "in_one_phase",
    "is_group",
    "row_images",
    "rows_of",
    "server_version",
    "table_map",
    "table_named",
    "xid_of",
]

HEADER_BYTES: Final = 19
MAGIC: Final = b"\xfebin"
"""How a file begins."""
TABLE_MAP, QUERY, ROTATE, FORMAT, XID = 19, 2, 4, 15, 16
QUERY_COMPRESSED = 165
MARIADB_GTID, MYSQL_GTID = 162, 33
XA_PREPARE = 38
REFUSED: Final = {
    26: "the server lost changes here (an incident event): take a new snapshot",
    39: "a row has parts of JSON only: run SET GLOBAL binlog_row_value_options = '' on the server, "
    "and take a new snapshot",
    40: "a transaction is compressed as MySQL does it: run SET GLOBAL "
    "binlog_transaction_compression = OFF on the server, and take a new snapshot",
    **dict.fromkeys((6, 8, 10, 12, 20, 21, 22), "rows were written as servers before 5.1 do it"),
    164: "the file is encrypted: have mysqlbinlog --read-from-remote-server --raw fetch it",
}
"""Events that hold changes which cannot be read, and what to do."""
IGNORED: Final = frozenset(
    {
        *(1, 3, 5, 7, 9, 11, 13, 14, 17, 27, 28, 29, 34, 35, 36, 37, 41, 160, 161, 163),
        *(FORMAT, ROTATE),
    }
)
"""Events that change no rows: marks, and what belongs to a statement that comes."""
LOAD: Final = 18
"""LOAD DATA as a statement."""
WRITES: Final = frozenset({23, 30, 166, 169})
UPDATES: Final = frozenset({24, 31, 167, 170})
DELETES: Final = frozenset({25, 32, 168, 171})
ROWS: Final = WRITES | UPDATES | DELETES
_SECOND: Final = frozenset({30, 31, 32, 169, 170, 171})
_COMPRESSED: Final = frozenset(range(166, 172))
EVENT_BYTES: Final = 128 << 20
"""How large an event may be, unless somebody said more; a compressed one when it is unpacked."""
_NO_KEYS: Final = 2
_IGNORABLE: Final = 0x80
_STANDALONE: Final = 1
_BINARY: Final = 63
"""The collation of bytes."""
_CELLS: Final = 2_000_000
"""Of one event: a row of many NULLs has few bytes."""
_FULL_METADATA: Final = (
    "the binlog does not tell the names of columns; run SET GLOBAL binlog_row_metadata = 'FULL' "
    "on the server (and put it into its configuration), and take a new snapshot"
)


@dataclass(frozen=True, slots=True)
class Header:
    """What every event begins with."""

    time: int
    kind: int
    server_id: int
    size: int
    end: int
    """Position behind the event."""
    may_be_ignored: bool = False
    """Whether the server says that who does not know the event loses nothing."""


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table as it was when the rows behind were written."""

    id: int
    database: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    readers: tuple[Callable[[Cursor], Any], ...] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RowImage:
    """The rows of one event, a list for each column; before and after for updates.

    ``before`` and ``after`` are None where the event has none.
    """

    table: TableMap
    op: str
    count: int
    before: list[list[Any]] | None
    after: list[list[Any]] | None
    absent: frozenset[str]
    """Columns that the image leaves out (``binlog_row_image`` other than FULL)."""


def header_of(event: bytes) -> Header:
    """Read the first 19 bytes.

    Raises:
        EventError: there are fewer.
    """
    if len(event) < HEADER_BYTES:
        raise EventError(f"an event of {len(event)} bytes has no header", position="")
    number = int.from_bytes
    return Header(
        number(event[0:4], "little"),
        event[4],
        number(event[5:9], "little"),
        number(event[9:13], "little"),
        number(event[13:17], "little"),
        bool(event[17] & _IGNORABLE),
    )


def table_named(body: bytes) -> tuple[int, str, str]:
    """Number, database and name of a TABLE_MAP event without its header."""
    return _named(Cursor(body))


def _named(cursor: Cursor) -> tuple[int, str, str]:
    id = cursor.unsigned(6)
    cursor.skip(2)
    database = cursor.take(cursor.unsigned(1)).decode()
    cursor.skip(1)
    name = cursor.take(cursor.unsigned(1)).decode()
    cursor.skip(1)
    return id, database, name


def table_map(body: bytes, charset: Callable[[int], str | None]) -> TableMap:
    """Read a TABLE_MAP event without its header.

    Raises:
        EventError: the server does not write the names of columns.
        ValueError: the event is damaged; so may ``LookupError``.
    """
    cursor = Cursor(body)
    id, database, name = _named(cursor)
    count = cursor.packed()
    if not count:
        raise ValueError(f"{database}.{name} has no columns")
    kinds = cursor.take(count)
    metadata = Cursor(cursor.take(cursor.packed()))
    nulls = cursor.take((count + 7) // 8)
    optional = _optional(cursor)
    names = _strings(optional.get(4, b""))
    if len(names) != count:
        raise EventError(f"{database}.{name}: {_FULL_METADATA}", table=f"{database}.{name}")
    plain = [column_of(kind, metadata) for kind in kinds]
    columns = _described(plain, names, nulls, optional, charset)
    key = tuple(names[n] for n in _key_columns(optional))
    readers = tuple(column.reader() for column in columns)
    return TableMap(id, database, name, tuple(columns), key, readers)


def row_images(
    kind: int, body: bytes, tables: dict[int, TableMap], most: int = EVENT_BYTES
) -> RowImage | None:
    """Read a rows event without its header; None if its table is not wanted.

    Of images that leave columns out (``absent``) no row is read.

    Raises:
        ValueError: the event is damaged; so may ``LookupError``, ``struct.error`` and ``zlib.error``.
    """
    cursor = Cursor(body)
    table = tables.get(cursor.unsigned(6))
    if table is None:
        return None
    cursor.skip(2)
    if kind in _SECOND:
        cursor.skip(cursor.unsigned(2) - 2)
    count = cursor.packed()
    if count != len(table.columns):
        raise ValueError(f"rows of {count} columns in a table of {len(table.columns)}")
    size = (count + 7) // 8
    there = {*_present(cursor.take(size), count)}
    if kind in UPDATES:
        there &= {*_present(cursor.take(size), count)}
    absent = frozenset(c.name for n, c in enumerate(table.columns) if n not in there)
    if kind in _COMPRESSED:
        cursor = Cursor(decompressed(cursor.rest(), most))
    before: list[list[Any]] | None = None if kind in WRITES else [[] for _ in range(count)]
    after: list[list[Any]] | None = None if kind in DELETES else [[] for _ in range(count)]
    rows = 0 if absent else _read(cursor, table, [i for i in (before, after) if i is not None])
    op = "c" if kind in WRITES else "d" if kind in DELETES else "u"
    return RowImage(table, op, rows, before, after, absent)


def rows_of(body: bytes) -> tuple[int, bool]:
    """The number of the table of a rows event, and whether foreign keys were looked at."""
    return int.from_bytes(body[:6], "little"), not int.from_bytes(body[6:8], "little") & _NO_KEYS


def _read(cursor: Cursor, table: TableMap, images: Sequence[list[list[Any]]]) -> int:
    """Read all rows into their images; how many there are."""
    rows, most = 0, max(_CELLS, cursor.end) // len(table.columns)
    while cursor.at < cursor.end:
        for columns in images:
            _row(cursor, table, columns)
        rows += 1
        if rows > most:
            raise ValueError(f"more than {most} rows of {len(table.columns)} columns in one event")
    return rows


def _row(cursor: Cursor, table: TableMap, columns: list[list[Any]]) -> None:
    nulls = cursor.take((len(columns) + 7) // 8)
    for n, read in enumerate(table.readers):
        columns[n].append(None if nulls[n >> 3] >> (n & 7) & 1 else read(cursor))
    if cursor.at > cursor.end:  # readers of texts and whole numbers do not look
        raise ValueError(f"a row goes on for {cursor.at - cursor.end} bytes behind the event")


def _present(bits: bytes, count: int) -> list[int]:
    return [n for n in range(count) if bits[n >> 3] >> (n & 7) & 1]


def decompressed(body: bytes, most: int) -> bytes:
    """MariaDB's compressed events: a byte of lengths, the length, a zlib stream.

    Raises:
        ValueError: it is longer than it says, or than an event may be.
        zlib.error: it is damaged.
    """
    cursor = Cursor(body)
    size = cursor.big(cursor.unsigned(1) & 7)
    if size > most:
        raise ValueError(f"{too_large(size, most)}, are compressed in it")
    plain = zlib.decompressobj().decompress(cursor.rest(), size + 1)
    if len(plain) != size:
        raise ValueError(f"{len(plain)} bytes were compressed as {size}")
    return plain


def xid_of(body: bytes) -> str:
    """Which transaction an XA_PREPARE event is of, as later statements write it."""
    cursor = Cursor(body)
    cursor.skip(1)
    form, first, second = (cursor.unsigned(4) for _ in range(3))
    return f"X'{cursor.take(first).hex()}',X'{cursor.take(second).hex()}',{form}"


def in_one_phase(body: bytes) -> bool:
    """Whether an XA_PREPARE event is the commit of its transaction too."""
    return body[:1] == b"\1"


def file_mark(event: bytes) -> str:
    """What tells a file of a log from another one of its name: when it was begun, and by which server.

    ``event``: the format description that it begins with.
    """
    header = header_of(event)
    return f"{header.time}@{header.server_id}"


def server_version(body: bytes) -> str:
    """Of the server that wrote the log, as a FORMAT event without its header has it."""
    return body[2:52].rstrip(b"\0").decode(errors="replace")


def is_group(header: Header, body: bytes) -> bool:
    """Whether a GTID begins a transaction of several events, which ends by itself."""
    return header.kind == MARIADB_GTID and not body[12] & _STANDALONE


def gtid_of(header: Header, body: bytes) -> str:
    """The transaction's global id."""
    cursor = Cursor(body)
    if header.kind == MARIADB_GTID:
        sequence, domain = cursor.unsigned(8), cursor.unsigned(4)
        return f"{domain}-{header.server_id}-{sequence}"
    cursor.skip(1)
    sid = cursor.take(16).hex()
    parts = (sid[:8], sid[8:12], sid[12:16], sid[16:20], sid[20:])
    return f"{'-'.join(parts)}:{cursor.unsigned(8)}"


def _optional(cursor: Cursor) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    while cursor.at < cursor.end:
        kind = cursor.unsigned(1)
        fields[kind] = cursor.take(cursor.packed())
    return fields


def _strings(body: bytes) -> list[str]:
    cursor, strings = Cursor(body), []
    while cursor.at < cursor.end:
        strings.append(cursor.take(cursor.packed()).decode())
    return strings


def _lists(body: bytes) -> list[list[bytes]]:
    cursor, lists = Cursor(body), []
    while cursor.at < cursor.end:
        lists.append([cursor.take(cursor.packed()) for _ in range(cursor.packed())])
    return lists


def _packed(body: bytes) -> list[int]:
    cursor, numbers = Cursor(body), []
    while cursor.at < cursor.end:
        numbers.append(cursor.packed())
    return numbers


def _key_columns(optional: dict[int, bytes]) -> list[int]:
    if 8 in optional:
        return _packed(optional[8])
    return _packed(optional[9])[::2] if 9 in optional else []


def _described(
    plain: Sequence[Column],
    names: Sequence[str],
    nulls: bytes,
    optional: dict[int, bytes],
    charset: Callable[[int], str | None],
) -> list[Column]:
    """Columns with what the optional metadata says of them."""
    signs, columns = optional.get(1, b""), []
    numbers, letters, choices = 0, 0, 0
    collations = _text_collations(optional, plain)
    choice_collations = _collations(optional, 10, 11, sum(c.is_choice for c in plain))
    enums, sets = _lists(optional.get(6, b"")), _lists(optional.get(5, b""))
    for n, (column, name) in enumerate(zip(plain, names, strict=True)):
        nullable = bool(nulls[n >> 3] >> (n & 7) & 1)
        unsigned, codec, values = False, None, tuple[str, ...]()
        if numeric(column.kind):
            unsigned = bool(signs and signs[numbers >> 3] & (0x80 >> (numbers & 7)))
            numbers += 1
        elif column.is_text:
            codec = charset(collations[letters])
            letters += 1
        elif column.is_choice:
            codec = charset(choice_collations[choices]) or "utf-8"
            choices += 1
            texts = (enums if column.is_enum else sets).pop(0)
            values = tuple(text.decode(codec, "mariadb") for text in texts)
        columns.append(column.described(name, nullable, unsigned, codec, values))
    return columns


def _text_collations(optional: dict[int, bytes], plain: Sequence[Column]) -> list[int]:
    """Those of texts and bytes.  MariaDB counts geometries among them, as bytes; MySQL does not."""
    counted = [c for c in plain if c.is_text or c.kind == GEOMETRY]
    collations = _collations(optional, 2, 3, len(counted))
    if len(collations) == len(counted):
        pairs = list(zip(counted, collations, strict=True))
        if all(collation == _BINARY for c, collation in pairs if not c.is_text):
            return [collation for c, collation in pairs if c.is_text]
    return _collations(optional, 2, 3, sum(c.is_text for c in plain))


def _collations(optional: dict[int, bytes], default: int, per_column: int, count: int) -> list[int]:
    if per_column in optional:
        return _packed(optional[per_column])
    packed = _packed(optional.get(default, b"\x2d")) or [45]
    collations = [packed[0]] * count
    for at, collation in zip(packed[1::2], packed[2::2], strict=False):
        collations[at] = collation
    return collations
