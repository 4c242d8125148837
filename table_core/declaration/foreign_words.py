"""Words and types of other tools, and what they are called here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.text import parse_type, type_text
from table_core.errors import TableError
from table_core.options.nearest import hint, nearest
from table_core.options.table import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["known_type", "member_hint", "type_hint"]

_OURS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("models", "entities"), ("tables",)),
    **dict.fromkeys(("environments", "workspaces", "profiles", "outputs"), ("targets",)),
    **dict.fromkeys(("tests", "expectations", "quality", "data_tests"), ("checks",)),
    **dict.fromkeys(("jobs", "pipelines", "tasks", "transformations", "steps"), ("flows",)),
    **dict.fromkeys(("maintenance", "housekeeping"), ("upkeep",)),
    **dict.fromkeys(("events", "sensors", "listeners"), ("triggers",)),
    **dict.fromkeys(("imports", "includes", "import"), ("include",)),
    **dict.fromkeys(
        ("properties", "tblproperties", "table_properties", "config", "settings"), ("options",)
    ),
    **dict.fromkeys(("description", "descriptions", "doc", "docs", "remark"), ("comment",)),
    **dict.fromkeys(("data_type", "datatype", "dtype", "kind"), ("type",)),
    **dict.fromkeys(("default_value", "initial"), ("default",)),
    **dict.fromkeys(
        ("depends_on", "needs", "upstream", "requires", "dependson", "dependencies"), ("after",)
    ),
    **dict.fromkeys(("query", "select", "sql_text", "statement", "transform"), ("sql",)),
    **dict.fromkeys(("target", "into", "output", "sink", "destination", "to", "model"), ("table",)),
    **dict.fromkeys(
        ("inputs", "input", "from", "ref", "refs", "views", "source"), ("reads", "source")
    ),
    **dict.fromkeys(("files", "path", "location", "glob"), ("rows_uri", "warehouse")),
    **dict.fromkeys(("args", "arguments", "parameters"), ("with",)),
    **dict.fromkeys(("incremental", "stream", "streaming"), ("mode",)),
    **dict.fromkeys(("using",), ("source",)),
    **dict.fromkeys(("set", "assignments"), ("values",)),
    **dict.fromkeys(("condition", "filter", "predicate"), ("where", "condition")),
    **dict.fromkeys(("uniqueness", "unique_key", "distinct"), ("unique", "primary_key")),
    **dict.fromkeys(("row_count", "count", "volume"), ("rows",)),
    **dict.fromkeys(("min_max", "between", "bounds"), ("range",)),
    **dict.fromkeys(("compare_with", "reference"), ("against",)),
    **dict.fromkeys(("tolerance", "threshold", "mostly"), ("at_most",)),
    **dict.fromkeys(("poll", "interval", "poll_interval"), ("poll_seconds",)),
    **dict.fromkeys(("old", "old_name"), ("from",)),
    **dict.fromkeys(("new", "new_name", "name"), ("to", "tag")),
    **dict.fromkeys(("keys", "key", "pk"), ("primary_key",)),
    **dict.fromkeys(("partitions", "partitioning", "partition", "cluster_by"), ("partition_by",)),
    **dict.fromkeys(("tag", "labels", "label"), ("tags",)),
    **dict.fromkeys(("cron", "schedule_interval", "timetable"), ("schedule",)),
    **dict.fromkeys(("tz", "zone"), ("timezone",)),
    **dict.fromkeys(("concurrency", "max_active_runs"), ("max_active_tasks",)),
    **dict.fromkeys(("variables", "vars"), ("params",)),
}
"""What others call it, and what it is called here; the first that fits the place."""
_TOLD: Final[dict[str, str]] = {
    **dict.fromkeys(("nullable", "not_null", "null", "required"), "write NOT NULL behind the type"),
    **dict.fromkeys(
        ("owner", "catchup", "start_date", "end_date", "default_args", "dag_id"),
        "give it to load_dags in the Dag file",
    ),
    **dict.fromkeys(
        ("accepted_values", "relationships", "expression"),
        "write a query of the rows that break it: sql: SELECT * FROM rows WHERE …",
    ),
    **dict.fromkeys(
        ("materialized", "strategy", "incremental_strategy"),
        "say with overwrite, merge or mode: changes how rows get into the table",
    ),
    "password": "secrets belong into a connection",
    "apiversion": "write version: 1",
    "resource": "write tables: with a mapping of database.table",
    "provider": "write connection: with the name of an Airflow connection",
}
_NEAR: Final = 0.85
"""How alike a spelling is to a word to count as a slip."""


def member_hint(member: str, known: Iterable[str], *, inner: Iterable[str] = ()) -> str:
    """What may have been meant by a member that there is not; ``inner`` may stand under ``with``."""
    known = list(dict.fromkeys(known))
    if member in inner:
        return f"{member} stands under with"
    folded = member.replace("-", "_").casefold()
    if nearest(folded, known, cutoff=_NEAR):
        return hint(member, known)
    if member in OPTIONS and "options" in known:
        return "it is an option: write it under options"
    ours = next((name for name in _OURS.get(folded, ()) if name in known), None)
    if ours is not None:
        return f"did you mean {ours!r}?"
    near = hint(member, known)
    if near.startswith("did"):
        return near
    return _TOLD.get(folded) or near


_OUR_TYPES: Final[dict[str, str]] = {
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
    if name in _OUR_TYPES:
        return f"; write {_OUR_TYPES[name]}{' NOT NULL' if normalized.endswith('NOT NULL') else ''}"
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
    return _OUR_TYPES.get(text)
