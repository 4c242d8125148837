"""Column types of MySQL and MariaDB as table types.

Source: ``org.apache.paimon.flink.action.cdc.source.mysql.MySqlTypeUtils``.  One difference: TIME becomes
text, because a time of MySQL may be negative or longer than a day and the table type holds neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import MAX_LENGTH, STRING, Array, Atomic, DataType, Root

if TYPE_CHECKING:
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["UNSIGNED_BIGINT", "MySqlColumn", "is_bytes", "mysql_column", "mysql_type"]

_BYTES: Final = Atomic(Root.VARBINARY, length=MAX_LENGTH)
_NAME: Final = re.compile(r"[a-z_ ]+")
_OF_NUMBERS: Final = frozenset({"unsigned", "zerofill", "signed"})
_INTEGERS: Final = {
    "tinyint": (Root.TINYINT, Root.SMALLINT),
    "smallint": (Root.SMALLINT, Root.INT),
    "mediumint": (Root.INT, Root.BIGINT),
    "int": (Root.INT, Root.BIGINT),
    "integer": (Root.INT, Root.BIGINT),
    "bigint": (Root.BIGINT, Root.DECIMAL),
}
"""Types of signed and of unsigned numbers."""
_ALIASES: Final = {
    "character": "char",
    "character varying": "varchar",
    "nvarchar": "varchar",
    "nchar": "char",
    "national varchar": "varchar",
    "national char": "char",
    "numeric": "decimal",
    "dec": "decimal",
    "fixed": "decimal",
    "double precision": "double",
    "real": "double",
    "bool": "boolean",
    "long varchar": "mediumtext",
    "long varbinary": "mediumblob",
}
_TEXTS: Final = frozenset(
    {
        *("tinytext", "text", "mediumtext", "longtext", "json", "enum", "uuid", "inet4", "inet6"),
        *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
        *("multipolygon", "geometrycollection", "geomcollection", "xmltype", "time", "set"),
    }
)
_BLOBS: Final = frozenset({"tinyblob", "blob", "mediumblob", "longblob"})
_DIGITS_MAX: Final = 38
_SIZE_DIGITS_MAX: Final = 9
_DECIMAL_DEFAULT: Final = 10
UNSIGNED_BIGINT: Final = Atomic(Root.DECIMAL, precision=20, scale=0)


@dataclass(frozen=True, slots=True)
class MySqlColumn:
    """The parts of a type text such as ``decimal(12,2) unsigned``."""

    name: str
    arguments: tuple[str, ...]
    unsigned: bool

    def number(self, n: int, default: int) -> int:
        """The ``n``-th argument as a number."""
        argument = self.arguments[n] if len(self.arguments) > n else ""
        is_number = argument.isdecimal() and len(argument) <= _SIZE_DIGITS_MAX
        return int(argument) if is_number else default


def mysql_column(text: str) -> MySqlColumn:
    """Parse a type as ``information_schema.columns.column_type`` writes it."""
    head, bracket, rest = text.lower().strip().partition("(")
    parts, end, tail = rest.rpartition(")")
    behind = tail.split()
    if (
        _NAME.fullmatch(head) is None
        or bool(bracket) != bool(end)
        or not _OF_NUMBERS.issuperset(behind)
    ):
        return MySqlColumn(text.lower(), (), unsigned=False)
    words = head.split()
    unsigned = "unsigned" in words or "unsigned" in behind
    name = " ".join(w for w in words if w not in _OF_NUMBERS)
    name = _ALIASES.get(name, name)
    quoted = name in {"enum", "set"}
    arguments = (parts,) if quoted else tuple(p.strip() for p in parts.split(",") if p.strip())
    return MySqlColumn(name, arguments, unsigned)


def is_bytes(column: MySqlColumn) -> bool:
    """Whether it holds bytes, and no text."""
    return "blob" in column.name or "binary" in column.name


def mysql_type(column: MySqlColumn, mapping: TypeMapping) -> DataType | None:
    """The table type, or None for a type that nobody here knows."""
    name = column.name
    if mapping.to_string:
        return STRING
    if name in _INTEGERS:
        return _integer(column, mapping)
    if name == "set":
        return Array(STRING)
    if name == "longtext" and mapping.longtext_to_bytes:
        return _BYTES
    if name in _TEXTS:
        return STRING
    if name in _BLOBS:
        return _BYTES
    simple = _SIMPLE.get(name)
    return simple if simple is not None else _sized(column, mapping)


_SIMPLE: Final[dict[str, Atomic]] = {
    "boolean": Atomic(Root.BOOLEAN),
    "float": Atomic(Root.FLOAT),
    "double": Atomic(Root.DOUBLE),
    "date": Atomic(Root.DATE),
    "year": Atomic(Root.INT),
    "serial": UNSIGNED_BIGINT,
}


def _integer(column: MySqlColumn, mapping: TypeMapping) -> Atomic:
    if column.name == "tinyint" and column.arguments == ("1",) and not mapping.tinyint1_not_bool:
        return Atomic(Root.BOOLEAN)
    signed, unsigned = _INTEGERS[column.name]
    root = unsigned if column.unsigned else signed
    if root is Root.DECIMAL:
        return Atomic(Root.BIGINT) if mapping.bigint_unsigned_to_bigint else UNSIGNED_BIGINT
    return Atomic(root)


def _sized(column: MySqlColumn, mapping: TypeMapping) -> DataType | None:
    match column.name:
        case "bit":
            bits = column.number(0, 1)
            return (
                Atomic(Root.BOOLEAN) if bits == 1 else Atomic(Root.BINARY, length=(bits + 7) // 8)
            )
        case "decimal":
            precision, scale = column.number(0, _DECIMAL_DEFAULT), column.number(1, 0)
            if precision > _DIGITS_MAX:
                return STRING
            return Atomic(Root.DECIMAL, precision=precision, scale=scale)
        case "datetime":
            return Atomic(Root.TIMESTAMP, precision=column.number(0, 0))
        case "timestamp":
            return Atomic(Root.TIMESTAMP_LTZ, precision=column.number(0, 0))
        case "char" | "varchar":
            length = column.number(0, 1)
            if not length or mapping.char_to_string:
                return STRING
            return Atomic(Root.CHAR if column.name == "char" else Root.VARCHAR, length=length)
        case "binary" | "varbinary":
            length = column.number(0, 1)
            return Atomic(Root.VARBINARY, length=length) if length else _BYTES
        case _:
            return None
