"""Paimon's types as Hive writes them.

Source: ``org.apache.paimon.hive.HiveTypeUtils`` of 2.0.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, Atomic, Map, Multiset, Root, Row, Vector

if TYPE_CHECKING:
    from table_core.datatypes.kinds import DataType

__all__ = ["hive_type"]

_CHAR_MAX: Final = 255
_VARCHAR_MAX: Final = 65_535
_NAMES: Final = {
    Root.BOOLEAN: "boolean",
    Root.TINYINT: "tinyint",
    Root.SMALLINT: "smallint",
    Root.INT: "int",
    Root.BIGINT: "bigint",
    Root.FLOAT: "float",
    Root.DOUBLE: "double",
    Root.BINARY: "binary",
    Root.VARBINARY: "binary",
    Root.BLOB: "binary",
    Root.DATE: "date",
    Root.TIME: "string",
    Root.TIMESTAMP: "timestamp",
    Root.TIMESTAMP_LTZ: "timestamp with local time zone",
    Root.VARIANT: "struct<value:binary,metadata:binary>",
}


def hive_type(type_: DataType) -> str:
    """The nearest type of Hive: ``ARRAY<INT>`` is ``array<int>``, TIME is ``string``."""
    match type_:
        case Atomic():
            return _atomic(type_)
        case Array() | Vector():
            return f"array<{hive_type(type_.element)}>"
        case Multiset():
            return f"map<{hive_type(type_.element)},int>"
        case Map():
            return f"map<{hive_type(type_.key)},{hive_type(type_.value)}>"
        case Row():
            fields = (f"{field.name}:{hive_type(field.type)}" for field in type_.fields)
            return f"struct<{','.join(fields)}>"


def _atomic(type_: Atomic) -> str:
    if type_.root is Root.DECIMAL:
        return f"decimal({type_.precision},{type_.scale})"
    if type_.root is Root.CHAR:
        return f"char({type_.length})" if type_.length <= _CHAR_MAX else "string"
    if type_.root is Root.VARCHAR:
        return f"varchar({type_.length})" if type_.length <= _VARCHAR_MAX else "string"
    return _NAMES[type_.root]
