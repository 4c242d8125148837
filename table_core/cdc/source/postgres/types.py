"""Column types of PostgreSQL, as ``format_type`` writes them, as table types.

Source: ``org.apache.paimon.flink.action.cdc.source.postgres.PostgresTypeUtils``.  Two differences, because
the table type would not hold every value: TIME becomes text (24:00:00), and so does NUMERIC
without precision.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import MAX_LENGTH, STRING, Array, Atomic, DataType, Root

if TYPE_CHECKING:
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["postgres_type"]

_TYPE: Final = re.compile(
    r'^\s*([a-z_"][\w ."]*?)\s*(?:\((-?\d{1,9}(?:\s*,\s*-?\d{1,9})*)\))?\s*(with(?:out)? time zone)?$'
)
_BYTES: Final = Atomic(Root.VARBINARY, length=MAX_LENGTH)
_SIMPLE: Final[dict[str, DataType]] = {
    "boolean": Atomic(Root.BOOLEAN),
    "bool": Atomic(Root.BOOLEAN),
    "smallint": Atomic(Root.SMALLINT),
    "int2": Atomic(Root.SMALLINT),
    "integer": Atomic(Root.INT),
    "int": Atomic(Root.INT),
    "int4": Atomic(Root.INT),
    "bigint": Atomic(Root.BIGINT),
    "int8": Atomic(Root.BIGINT),
    "oid": Atomic(Root.BIGINT),
    "real": Atomic(Root.FLOAT),
    "float4": Atomic(Root.FLOAT),
    "double precision": Atomic(Root.DOUBLE),
    "float8": Atomic(Root.DOUBLE),
    "bytea": _BYTES,
    "date": Atomic(Root.DATE),
}
_DIGITS_MAX: Final = 38
_SIZE_DIGITS_MAX: Final = 9
_MICROS: Final = 6
_DIMENSIONS_MAX: Final = 6
"""Of an array of PostgreSQL."""


def postgres_type(text: str, mapping: TypeMapping) -> DataType:
    """The table type; text holds whatever has no type of its own."""
    if mapping.to_string:
        return STRING
    lowered = text.strip().lower()
    if lowered.endswith("[]" * (_DIMENSIONS_MAX + 1)):
        return STRING
    if lowered.endswith("[]"):
        return Array(postgres_type(lowered.removesuffix("[]"), mapping))
    match = _TYPE.match(lowered)
    if match is None:
        return STRING
    name, zone = match[1], match[3]
    parts = [part.strip() for part in (match[2] or "").split(",") if part.strip()]
    if not all(part.isdecimal() and len(part) <= _SIZE_DIGITS_MAX for part in parts):
        return STRING
    sizes = [int(part) for part in parts]
    if name in _SIMPLE:
        return _SIMPLE[name]
    match name:
        case "numeric" | "decimal" if sizes:
            precision, scale = sizes[0], sizes[1] if len(sizes) > 1 else 0
            fits = 0 <= scale <= precision <= _DIGITS_MAX
            return Atomic(Root.DECIMAL, precision=precision, scale=scale) if fits else STRING
        case "character" | "character varying" | "bpchar" | "varchar" if sizes:
            if mapping.char_to_string:
                return STRING
            root = Root.VARCHAR if "var" in name else Root.CHAR
            return Atomic(root, length=sizes[0])
        case "timestamp" | "timestamptz":
            zoned = zone == "with time zone" or name == "timestamptz"
            root = Root.TIMESTAMP_LTZ if zoned else Root.TIMESTAMP
            return Atomic(root, precision=sizes[0] if sizes else _MICROS)
        case _:
            return STRING
