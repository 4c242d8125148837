"""Names that other databases have for types, and what they are called here."""

from __future__ import annotations

import re
from typing import Final

from table_core.datatypes.text import parse_type, type_text
from table_core.errors import TableError
from table_core.options.nearest import hint

__all__ = ["known_type", "type_hint"]

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
    **dict.fromkeys(("DATE32", "DATE64"), "DATE"),
    **dict.fromkeys(("DATETIME64", "TIMESTAMP_NS", "TIMESTAMP_US"), "TIMESTAMP(6)"),
    **dict.fromkeys(("SET", "TUPLE"), "ARRAY<STRING>"),
    "MAP": "MAP<STRING, STRING>",
    "ARRAY": "ARRAY<STRING>",
    "ROW": "ROW<name STRING>",
}
_KNOWN: Final = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING"),
    *("CHAR", "VARCHAR", "BYTES", "BINARY", "VARBINARY", "DATE", "TIME", "TIMESTAMP"),
    *("TIMESTAMP_LTZ", "VARIANT", "ARRAY", "MAP", "ROW", "MULTISET"),
)
_LIST: Final = re.compile(
    r"(?:ARRAY|LIST|REPEATED)\s*(?:<(.+)>|\((.+)\))|(.+?)\[\s*\d*\s*\]", re.DOTALL
)
_AROUND: Final = re.compile(r"(?:NULLABLE|LOWCARDINALITY)\s*\((.+)\)", re.DOTALL)
_DEPTH_MAX: Final = 20
_EXAMPLES: Final = "; e.g. STRING, BIGINT NOT NULL, DECIMAL(12, 2), ARRAY<STRING>"
_NAME: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*(?:\s+VARYING)?)", re.IGNORECASE)


_CLAUSES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\bPRIMARY\s+KEY\b"), "the key stands in primary_key"),
    (re.compile(r"\bDEFAULT\b"), "write {type: …, default: …}"),
    (re.compile(r"\bCOMMENT\b"), "write {type: …, comment: …}"),
    (re.compile(r"\bUNIQUE\b"), "write a check with unique"),
    (re.compile(r"\bUNSIGNED\b"), "there are no types without a sign: write the next wider one"),
    (
        re.compile(r"\b(AUTO_INCREMENT|IDENTITY|GENERATED)\b"),
        "no value is made: give it in the query",
    ),
    (re.compile(r"\bREFERENCES\b|\bFOREIGN\s+KEY\b"), "no keys of other tables are held"),
    (re.compile(r"\bINTERVAL\b"), "write BIGINT, as a number of units"),
    (
        re.compile(r"^NULLABLE\s*\("),
        "write the type alone: NULL is allowed unless NOT NULL stands behind",
    ),
    (re.compile(r"^NOT\s+NULL"), "write a type before NOT NULL"),
    (re.compile(r"\bNOT\s+(?!NULL\b)|\bNOTNULL\b|\bNOT$"), "write NOT NULL"),
)
"""What SQL lets stand behind a type, and where it stands here."""
_SIZED: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"(?:NUMBER|DECIMAL128|BIGNUMERIC|MONEY)\s*\((\d+\s*(?:,\s*\d+)?)\)"),
        "DECIMAL({})",
    ),
    (re.compile(r"(?:N?VARCHAR2?|STRING|TEXT|CHARACTER\s+VARYING)\s*\((\d+)\)"), "VARCHAR({})"),
    (re.compile(r"(?:BYTES|RAW|BLOB)\s*\((\d+)\)"), "VARBINARY({})"),
    (re.compile(r"(?:DATETIME2?|TIMESTAMP_NTZ)\s*\((\d)\)"), "TIMESTAMP({})"),
    (
        re.compile(r"TIMESTAMP\s*(?:\(\d\)\s*)?WITH\s+(?:LOCAL\s+)?TIME\s+ZONE\b.*"),
        "TIMESTAMP_LTZ(6)",
    ),
    (re.compile(r"(?:ARRAY|LIST|SET)\s*[(<](\w+)[)>]"), "ARRAY<{}>"),
    (re.compile(r"(\w+)\s*\[\s*\d*\s*\]"), "ARRAY<{}>"),
    (re.compile(r"DECIMAL\s*\((\d+)\s*[.;]\s*(\d+)\)"), "DECIMAL({}, {})"),
    (re.compile(r"(TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|BOOLEAN|DATE|INTEGER)\s*\(.*\)"), "{}"),
)


def type_hint(type_name: str) -> str:
    """What may have been meant by a type that is none; with a separator in front."""
    normalized = type_name.strip().upper()
    if (listed := _listed(normalized, 0)) is not None:
        return f"; write {listed}"
    for pattern, ours in _SIZED:
        if (sized := pattern.fullmatch(normalized)) is not None:
            return f"; write {ours.format(*sized.groups())}"
    for pattern, message in _CLAUSES:
        if pattern.search(normalized):
            return f"; {message}"
    match = _NAME.match(type_name)
    if match is None:
        return _EXAMPLES
    name = " ".join(match[1].upper().split())
    if name in _OURS:
        return f"; write {_OURS[name]}{' NOT NULL' if normalized.endswith('NOT NULL') else ''}"
    if name in _KNOWN:
        return "" if "<" in type_name else _EXAMPLES
    return f"; {hint(name, _KNOWN)}"


def _listed(text: str, depth: int) -> str | None:
    """The list that ``text`` stands for, with what is in it; None where it is none, or nobody can tell."""
    match = _LIST.fullmatch(text)
    if match is None or depth > _DEPTH_MAX:
        return None
    inner = (match[1] or match[2] or match[3]).strip()
    while (around := _AROUND.fullmatch(inner)) is not None:
        inner = around[1].strip()
    within = _listed(inner, depth + 1) or known_type(inner) or _of_another(inner)
    return None if within is None else f"ARRAY<{within}>"


def known_type(text: str) -> str | None:
    """The type that ``text`` says, as it is stored; None if it says none."""
    try:
        return type_text(parse_type(text))
    except TableError:
        return None


def _of_another(text: str) -> str | None:
    for pattern, ours in _SIZED:
        if (sized := pattern.fullmatch(text)) is not None:
            return known_type(ours.format(*sized.groups()))
    return _OURS.get(text)
