"""Values of a query to MySQL or MariaDB, which come as text or bytes."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.geometry import geometry_text
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.mysql_types import is_bytes, mysql_column, mysql_type
from table_core.datatypes.kinds import STRING

if TYPE_CHECKING:
    from table_core.cdc.model.mysql_types import MySqlColumn
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["declared_columns", "same_kind", "snapshot_type", "snapshot_value"]

_GEOMETRIES: Final = frozenset(
    {
        *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
        *("multipolygon", "geometrycollection", "geomcollection"),
    }
)
_LOGICAL_TYPES: Final = {
    "set": LogicalType.SET,
    "uuid": LogicalType.UUID,
    "inet4": LogicalType.ADDRESS,
    "inet6": LogicalType.ADDRESS,
}
_SAME: Final = {
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), "text"),
    **dict.fromkeys(("json", "xmltype"), "text"),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), "blob"),
    **dict.fromkeys(("uuid", "inet4", "inet6"), "blob"),
    **dict.fromkeys(_GEOMETRIES, "geometry"),
    "boolean": "tinyint",
}


def same_kind(logged: str | None, now: str | None) -> bool:
    """Whether a column in the log may be of the type that the catalog names."""
    return (
        logged is not None and now is not None and _SAME.get(logged, logged) == _SAME.get(now, now)
    )


def snapshot_type(column: MySqlColumn) -> pa.DataType:
    """What a column of ``snapshot_value`` is built as."""
    if column.name == "bit":
        return pa.bool_() if column.number(0, 1) == 1 else pa.binary()
    return pa.binary() if is_bytes(column) else pa.string()


def snapshot_value(value: Any, column: MySqlColumn) -> Any:
    """A value as the log would have it; dates that are none become null."""
    if value is None:
        return None
    if column.name == "bit":
        return int.from_bytes(value, "big") != 0 if column.number(0, 1) == 1 else value
    if column.name in _GEOMETRIES:
        return geometry_text(value)
    if is_bytes(column):
        return value if isinstance(value, bytes) else value.encode()
    text = value.decode() if isinstance(value, bytes) else str(value)
    if column.name in {"date", "datetime", "timestamp"} and not _is_date(text[:10]):
        return None
    if column.name == "time" and "." in text:
        return text.rstrip("0").rstrip(".")
    return f"{text}Z" if column.name == "timestamp" else text


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def declared_columns(info: CatalogTable | None, mapping: TypeMapping) -> dict[str, Declared]:
    """The columns of a table as the catalog has them.

    What rows have that are older than a column is what a statement said, not the default of today.
    """
    columns = {}
    for column in info.columns if info else ():
        kind = mysql_column(column.type)
        columns[column.name] = Declared(
            mysql_type(kind, mapping) or STRING,
            Encoding(_LOGICAL_TYPES.get(kind.name, LogicalType.RAW)),
            None,
            nullable=column.nullable,
            default=None,
            comment=column.comment,
        )
    return columns
