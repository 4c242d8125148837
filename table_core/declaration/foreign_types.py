"""Names that other databases have for types, and what they are called here."""

from __future__ import annotations

import re
from typing import Final

from table_core.declaration.hints import hint

__all__ = ["type_hint"]

_OURS: Final[dict[str, str]] = {
    **dict.fromkeys(("TEXT", "VARCHAR2", "NVARCHAR", "CLOB", "STR", "CHARACTER VARYING"), "STRING"),
    **dict.fromkeys(("UUID", "JSON", "JSONB", "ENUM", "OBJECT"), "STRING"),
    **dict.fromkeys(("MEDIUMTEXT", "LONGTEXT", "TINYTEXT", "NCHAR", "XML"), "STRING"),
    **dict.fromkeys(("BOOL", "BIT", "LOGICAL"), "BOOLEAN"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP_NTZ", "DATETIME2", "SMALLDATETIME"), "TIMESTAMP(6)"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP_TZ", "DATETIMEOFFSET"), "TIMESTAMP_LTZ(6)"),
    **dict.fromkeys(("LONG", "INT8", "INT64", "BIGSERIAL", "UINT32", "HUGEINT"), "BIGINT"),
    **dict.fromkeys(("INT4", "INT32", "SERIAL", "MEDIUMINT", "UINT16"), "INT"),
    **dict.fromkeys(("SHORT", "INT2", "INT16", "UINT8"), "SMALLINT"),
    **dict.fromkeys(("BYTE", "INT1"), "TINYINT"),
    **dict.fromkeys(("REAL", "FLOAT4", "FLOAT32"), "FLOAT"),
    **dict.fromkeys(("FLOAT8", "FLOAT64"), "DOUBLE"),
    **dict.fromkeys(("NUMBER", "MONEY", "BIGDECIMAL", "BIGNUMERIC"), "DECIMAL(38, 9)"),
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
_NAME: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*(?:\s+VARYING)?)", re.IGNORECASE)


def type_hint(given: str) -> str:
    """What may have been meant by a type that is none; with a separator in front."""
    match = _NAME.match(given)
    if match is None:
        return "; e.g. STRING, BIGINT NOT NULL, DECIMAL(12, 2), ARRAY<STRING>"
    name = " ".join(match[1].upper().split())
    if name in _OURS:
        return f"; write {_OURS[name]}"
    near = hint(name, _KNOWN)
    return f"; {near}" if name not in _KNOWN else ""
