"""Values in row images of a binlog: how each column type is read, and what it is as a table type.

Source: ``Field::unpack`` of the server; the MySQL internals manual, "Date and Time Data Type
Representation".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.geometry import geometry_text
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.mysql_types import MySqlColumn
from table_core.cdc.source.mysql.binlog_times import (
    datetime_reader,
    read_date,
    read_old_datetime,
    read_old_time,
    read_year,
    time_reader,
    timestamp_reader,
)
from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.cdc.model.log_cursor import Cursor

__all__ = ["Column", "column_of", "numeric"]

DECIMAL_OLD, TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP = range(8)
LONGLONG, INT24, DATE, TIME, DATETIME, YEAR, NEWDATE, VARCHAR, BIT = range(8, 17)
TIMESTAMP2, DATETIME2, TIME2 = 17, 18, 19
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141
JSON, NEWDECIMAL, ENUM, SET = 245, 246, 247, 248
TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = range(249, 256)
_INTEGERS: Final = {TINY: 1, SHORT: 2, INT24: 3, LONG: 4, LONGLONG: 8}
_INTEGER_NAMES: Final = {
    TINY: "tinyint",
    SHORT: "smallint",
    INT24: "mediumint",
    LONG: "int",
    LONGLONG: "bigint",
}
_NUMERIC: Final = frozenset({*_INTEGERS, FLOAT, DOUBLE, NEWDECIMAL, YEAR, DECIMAL_OLD})
_TEXT: Final = frozenset({VARCHAR, VAR_STRING, STRING, BLOB, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB})
_DIGIT_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table map."""

    kind: int
    meta: int = 0
    name: str = ""
    nullable: bool = True
    unsigned: bool = False
    codec: str | None = None
    values: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it has a character set."""
        return self.kind in _TEXT

    @property
    def is_varchar(self) -> bool:
        """Whether it is a VARCHAR, so that ``meta`` is its length in bytes."""
        return self.kind == VARCHAR

    @property
    def is_long_text(self) -> bool:
        """Whether it is one of the TEXT or BLOB types, so that ``meta`` is the size of its length."""
        return self.kind == BLOB

    @property
    def is_enum(self) -> bool:
        """Whether it is an ENUM."""
        return self.kind == ENUM

    @property
    def is_choice(self) -> bool:
        """Whether it is an ENUM or a SET."""
        return self.kind in {ENUM, SET}

    def described(
        self, name: str, nullable: bool, unsigned: bool, codec: str | None, values: tuple[str, ...]
    ) -> Column:
        """With what the optional metadata says."""
        return replace(
            self, name=name, nullable=nullable, unsigned=unsigned, codec=codec, values=values
        )

    @property
    def source_type(self) -> MySqlColumn:
        """The type as MySQL would write it, as far as the binlog tells."""
        kind, meta = self.kind, self.meta
        if kind in _INTEGER_NAMES:
            return MySqlColumn(_INTEGER_NAMES[kind], (), self.unsigned)
        if kind == NEWDECIMAL:
            return MySqlColumn("decimal", (str(meta >> 8), str(meta & 255)), self.unsigned)
        if kind in _TEXT or kind in {BLOB_COMPRESSED, VARCHAR_COMPRESSED}:
            return MySqlColumn("blob" if self.codec is None else "text", (), unsigned=False)
        if kind == BIT:
            return MySqlColumn("bit", (str((meta & 255) + (meta >> 8) * 8),), unsigned=False)
        digits = (str(meta),) if kind in {DATETIME2, TIMESTAMP2, TIME2} else ()
        return MySqlColumn(_NAMES.get(kind, "text"), digits, unsigned=False)

    @property
    def encoding(self) -> Encoding:
        """What the values that ``reader`` gives stand for."""
        return Encoding(_LOGICAL_TYPES.get(self.kind, LogicalType.RAW))

    def reader(self) -> Callable[[Cursor], Any]:
        """What reads one value.

        Raises:
            UnsupportedFeatureError: a type that nobody here knows.
            ValueError: no column of its type is that long.
        """
        if self.meta not in self._lengths():
            raise ValueError(f"column {self.name!r} of type {self.kind} has the length {self.meta}")
        reader = _reader(self)
        if reader is None:
            raise UnsupportedFeatureError(
                f"column {self.name!r} has the binlog type {self.kind}, which is not supported",
                feature=f"binlog column type {self.kind}",
            )
        return reader

    def _lengths(self) -> range | tuple[int, ...]:
        """What its metadata can say."""
        if self.kind == NEWDECIMAL:
            precision, scale = divmod(self.meta, 256)
            return (self.meta,) if 0 < precision <= _DIGITS and scale <= precision else ()
        if self.kind == STRING and self.codec is None:
            return range(256)
        return _LENGTHS.get(self.kind, range(1 << 16))


_DIGITS: Final = 65
_LENGTHS: Final = {
    **dict.fromkeys((TIME2, DATETIME2, TIMESTAMP2), range(7)),
    **dict.fromkeys((BLOB, GEOMETRY), range(1, 5)),
    ENUM: range(1, 3),
    SET: range(1, 9),
}
_NAMES: Final = {
    FLOAT: "float",
    DOUBLE: "double",
    DATE: "date",
    NEWDATE: "date",
    YEAR: "year",
    TIME: "time",
    TIME2: "time",
    DATETIME: "datetime",
    DATETIME2: "datetime",
    TIMESTAMP: "timestamp",
    TIMESTAMP2: "timestamp",
    ENUM: "enum",
    SET: "set",
    JSON: "json",
    GEOMETRY: "geometry",
}
_LOGICAL_TYPES: Final = {
    DATE: LogicalType.DAYS,
    NEWDATE: LogicalType.DAYS,
    TIME: LogicalType.TIME_MICROS,
    TIME2: LogicalType.TIME_MICROS,
    DATETIME: LogicalType.MICROS,
    DATETIME2: LogicalType.MICROS,
    TIMESTAMP: LogicalType.MICROS,
    TIMESTAMP2: LogicalType.MICROS,
    SET: LogicalType.SET,
}


def numeric(kind: int) -> bool:
    """Whether the type has a sign."""
    return kind in _NUMERIC


def column_of(kind: int, metadata: Cursor) -> Column:
    """Read the metadata of one column.

    Of a CHAR the second byte is its length.  Lengths over 255 have two bits more, which are in the first
    byte, turned over, so that short ones leave it the 0xFE of the type: ``FE 14`` is 20, ``EE 14`` is 276.
    ENUM and SET come as a CHAR too, with their own type in the first byte: ``F7 02`` is an ENUM of two bytes.
    """
    if kind in {FLOAT, DOUBLE, BLOB, GEOMETRY, JSON, TIME2, DATETIME2, TIMESTAMP2}:
        return Column(kind, metadata.unsigned(1))
    if kind == BLOB_COMPRESSED:
        return Column(kind, metadata.unsigned(1))
    if kind in {VARCHAR, BIT, VAR_STRING, VARCHAR_COMPRESSED}:
        return Column(kind, metadata.unsigned(2))
    if kind == NEWDECIMAL:
        return Column(kind, metadata.big(2))
    if kind in {STRING, ENUM, SET}:
        first, second = metadata.unsigned(1), metadata.unsigned(1)
        if first in {ENUM, SET}:
            return Column(first, second)
        length = second | (((first & 0x30) ^ 0x30) << 4)
        return Column(STRING, length)
    return Column(kind)


def _reader(column: Column) -> Callable[[Cursor], Any] | None:
    kind, meta = column.kind, column.meta
    if kind in _INTEGERS:
        return _integer(_INTEGERS[kind], column.unsigned)
    if kind in _TEXT:
        size = meta if kind == BLOB else 2 if meta > 255 else 1
        if kind == STRING and column.codec is None:  # the log leaves zeros at the end out
            unpadded = _text(size, None)
            return lambda cursor: unpadded(cursor).ljust(meta, b"\0")
        return _text(size, column.codec)
    sized: dict[int, Callable[[], Callable[[Cursor], Any]]] = {
        NEWDECIMAL: lambda: _decimal(meta >> 8, meta & 255),
        BIT: lambda: _bits((meta & 255) + (meta >> 8) * 8),
        DATETIME2: lambda: datetime_reader(meta),
        TIMESTAMP2: lambda: timestamp_reader(meta),
        TIME2: lambda: time_reader(meta),
        ENUM: lambda: _enum(meta, column.values),
        SET: lambda: _set(meta, column.values),
        GEOMETRY: lambda: _geometry(meta),
    }
    if kind in sized:
        return sized[kind]()
    return _SIMPLE.get(kind)


def _integer(size: int, unsigned: bool) -> Callable[[Cursor], int]:
    signed = not unsigned

    def read(cursor: Cursor) -> int:
        at = cursor.at
        cursor.at = end = at + size
        return int.from_bytes(cursor.body[at:end], "little", signed=signed)

    return read


def _text(size: int, codec: str | None) -> Callable[[Cursor], Any]:
    def read_bytes(cursor: Cursor) -> bytes:
        at = cursor.at + size
        cursor.at = end = at + int.from_bytes(cursor.body[at - size : at], "little")
        return cursor.body[at:end]

    if codec is None:
        return read_bytes

    def read_text(cursor: Cursor) -> str:
        at = cursor.at + size
        cursor.at = end = at + int.from_bytes(cursor.body[at - size : at], "little")
        return cursor.body[at:end].decode(codec, "mariadb")

    return read_text


def _decimal(precision: int, scale: int) -> Callable[[Cursor], str]:
    """Digits in groups of nine, four bytes each; the first bit says the sign.

    DECIMAL(14, 4), 1234567890.5678: ten digits before the point are one and nine, four behind it are one
    group of two bytes::

        81  0D FB 38 D2  16 2E    0x80 for the sign | 1, 234567890, 5678
        7E  F2 04 C7 2D  E9 D1    the same below zero: every bit turned, so that bytes compare as values
    """
    whole = precision - scale
    sizes = [_DIGIT_BYTES[whole % 9], *([4] * (whole // 9))]
    fraction = [*([4] * (scale // 9)), _DIGIT_BYTES[scale % 9]]
    digits = [9] * (scale // 9) + [scale % 9]
    total = sum(sizes) + sum(fraction)

    def read(cursor: Cursor) -> str:
        body = bytearray(cursor.take(total))
        negative = not body[0] & 0x80
        body[0] ^= 0x80
        if negative:
            body = bytearray(byte ^ 0xFF for byte in body)
        at, left, right = 0, 0, ""
        for size in sizes:
            left = left * (1_000_000_000 if size == 4 else 1) + int.from_bytes(body[at : at + size])
            at += size
        for size, width in zip(fraction, digits, strict=True):
            if width:
                right += f"{int.from_bytes(body[at : at + size]):0{width}d}"
            at += size
        return f"{'-' if negative else ''}{left}{'.' if scale else ''}{right}"

    return read


def _bits(bits: int) -> Callable[[Cursor], Any]:
    size = (bits + 7) // 8
    if bits == 1:
        return lambda cursor: cursor.unsigned(1) != 0
    return lambda cursor: cursor.take(size)


def _enum(size: int, values: tuple[str, ...]) -> Callable[[Cursor], str]:
    def read(cursor: Cursor) -> str:
        n = cursor.unsigned(size)
        return values[n - 1] if n else ""

    return read


def _set(size: int, values: tuple[str, ...]) -> Callable[[Cursor], str]:
    def read(cursor: Cursor) -> str:
        bits = cursor.unsigned(size)  # of (a, b, c), 5 is a and c
        return ",".join(value for n, value in enumerate(values) if bits >> n & 1)

    return read


def _geometry(size: int) -> Callable[[Cursor], str]:
    return lambda cursor: geometry_text(cursor.take(cursor.unsigned(size)))


_SIMPLE: Final[dict[int, Callable[[Cursor], Any]]] = {
    FLOAT: lambda cursor: struct.unpack("<f", cursor.take(4))[0],
    DOUBLE: lambda cursor: struct.unpack("<d", cursor.take(8))[0],
    DATE: read_date,
    NEWDATE: read_date,
    DATETIME: read_old_datetime,
    TIME: read_old_time,
    TIMESTAMP: lambda cursor: cursor.unsigned(4) * 1_000_000 or None,
    YEAR: read_year,
}
