"""Names that other databases have for types, and what they are called here."""

from __future__ import annotations

import re
from typing import Final

from table_core.datatypes.text import parse_type, type_text
from table_core.declaration.hints import hint
from table_core.errors import TableError

__all__ = ["type_hint"]

_OURS: Final[dict[str, str]] = {
    **dict.fromkeys(("TEXT", "VARCHAR2", "NVARCHAR", "CLOB", "STR", "CHARACTER VARYING"), "STRING"),
    **dict.fromkeys(("UUID", "JSON", "JSONB", "ENUM", "OBJECT", "SET", "INTERVAL"), "STRING"),
    **dict.fromkeys(("MEDIUMTEXT", "LONGTEXT", "TINYTEXT", "NCHAR", "XML", "NVARCHAR2"), "STRING"),
    **dict.fromkeys(("BPCHAR", "CITEXT", "SUPER", "FIXEDSTRING", "NTEXT", "NAME"), "STRING"),
    **dict.fromkeys(("BOOL", "BIT", "LOGICAL"), "BOOLEAN"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP_NTZ", "DATETIME2", "SMALLDATETIME"), "TIMESTAMP(6)"),
    **dict.fromkeys(("TIMESTAMP WITHOUT TIME ZONE", "DATETIME64"), "TIMESTAMP(6)"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP_TZ", "DATETIMEOFFSET"), "TIMESTAMP_LTZ(6)"),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE",), "TIMESTAMP_LTZ(6)"),
    **dict.fromkeys(("LONG", "INT8", "INT64", "BIGSERIAL", "UINT32", "HUGEINT"), "BIGINT"),
    **dict.fromkeys(("INT UNSIGNED", "INTEGER UNSIGNED"), "BIGINT"),
    **dict.fromkeys(("INT4", "INT32", "SERIAL", "MEDIUMINT", "UINT16", "YEAR"), "INT"),
    **dict.fromkeys(("SMALLINT UNSIGNED", "MEDIUMINT UNSIGNED"), "INT"),
    **dict.fromkeys(("SHORT", "INT2", "INT16", "UINT8", "TINYINT UNSIGNED"), "SMALLINT"),
    **dict.fromkeys(("BYTE", "INT1"), "TINYINT"),
    **dict.fromkeys(("REAL", "FLOAT4", "FLOAT32"), "FLOAT"),
    **dict.fromkeys(("FLOAT8", "FLOAT64", "BINARY_DOUBLE"), "DOUBLE"),
    **dict.fromkeys(("NUMBER", "MONEY", "BIGDECIMAL", "BIGNUMERIC"), "DECIMAL(38, 9)"),
    **dict.fromkeys(("UINT64", "BIGINT UNSIGNED"), "DECIMAL(20, 0)"),
    **dict.fromkeys(("BLOB", "BYTEA", "RAW", "IMAGE", "LONGBLOB"), "BYTES"),
    **dict.fromkeys(("LIST", "REPEATED"), "ARRAY<STRING>"),
    **dict.fromkeys(("STRUCT", "RECORD"), "ROW<name STRING>"),
    **dict.fromkeys(("DICT", "HSTORE"), "MAP<STRING, STRING>"),
    "MAP": "MAP<STRING, STRING>",
    "ARRAY": "ARRAY<STRING>",
    "ROW": "ROW<name STRING>",
}
_KNOWN: Final = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING"),
    *("CHAR", "VARCHAR", "BYTES", "BINARY", "VARBINARY", "DATE", "TIME", "TIMESTAMP"),
    *("TIMESTAMP_LTZ", "VARIANT", "ARRAY", "MAP", "ROW", "MULTISET"),
)
_NAME: Final = re.compile(
    r"\s*([A-Za-z_][A-Za-z0-9_]*(?:\s+VARYING)?)\s*(\([^()]*\))?"
    r"(\s+(?:UNSIGNED|WITH(?:OUT)?\s+TIME\s+ZONE))?",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r"\s*(\w+)\s*(?:<(.*)>|\((.*)\))\s*", re.DOTALL)
_LISTS: Final = frozenset({"ARRAY", "LIST", "REPEATED", "SETOF"})
_AROUND: Final = frozenset({"NULLABLE", "LOWCARDINALITY", "OPTIONAL"})
"""What stands around a type and says nothing that a type here would not."""
_DEPTH_MAX: Final = 20
_SIZED: Final[dict[str, str]] = {
    **dict.fromkeys(("NUMBER", "BIGDECIMAL", "BIGNUMERIC", "NUMERIC"), "DECIMAL"),
    **dict.fromkeys(("VARCHAR2", "NVARCHAR", "NVARCHAR2", "CHARACTER VARYING"), "VARCHAR"),
    **dict.fromkeys(("DATETIME", "DATETIME2", "DATETIME64", "TIMESTAMP_NTZ"), "TIMESTAMP"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"), "TIMESTAMP_LTZ"),
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
    "NCHAR": "CHAR",
}
"""What their sizes are sizes of."""


def type_hint(given: str) -> str:
    """What may have been meant by a type that is none; with a separator in front."""
    match = _NAME.match(given)
    if match is None:
        return "; e.g. STRING, BIGINT NOT NULL, DECIMAL(12, 2), ARRAY<STRING>"
    ours = _ours(re.sub(r"\bNOT\s+NULL\s*$", "", given, flags=re.IGNORECASE), 0)
    if ours is not None:
        return f"; write {ours}"
    name = match[1].upper()
    if name in _OURS:
        return f"; write {_OURS[name]}"
    near = hint(name, _KNOWN)
    return f"; {near}" if name not in _KNOWN else ""


def _ours(text: str, depth: int) -> str | None:
    """What ``text`` is called here; None where nobody can tell."""
    text = text.strip()
    if depth > _DEPTH_MAX or not text:
        return None
    if (known := _parsed(text)) is not None:
        return known
    if text.endswith("[]"):
        inner = _inner(text[:-2], depth)
        return None if inner is None else f"ARRAY<{inner}>"
    parts = _PARTS.fullmatch(text)
    if parts is not None and parts[1].upper() in _LISTS | _AROUND:
        inner = _inner(parts[2] or parts[3] or "", depth)
        if inner is None or parts[1].upper() in _AROUND:
            return inner
        return f"ARRAY<{inner}>"
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    name = " ".join(f"{match[1]}{match[3] or ''}".upper().split())
    return _sized(name, match[2] or "")


def _inner(text: str, depth: int) -> str | None:
    """A type within another one, of ours or not."""
    return _ours(text, depth + 1)


def _sized(name: str, size: str) -> str | None:
    """``NUMBER(10,2)`` is ``DECIMAL(10, 2)``, where its size may be one here."""
    if size.upper() == "(MAX)":
        size, name = "", "NVARCHAR" if name == "VARCHAR" else name
    return (_parsed(f"{_SIZED[name]}{size}") if size and name in _SIZED else None) or _OURS.get(
        name
    )


def _parsed(text: str) -> str | None:
    try:
        return type_text(parse_type(text))
    except TableError:
        return None
