"""The schema that Kafka Connect's JSON converter puts beside each value.

Source: ``org.apache.kafka.connect.json.JsonSchema``; Debezium's documentation of data types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.mysql_types import UNSIGNED_BIGINT
from table_core.datatypes.kinds import MAX_LENGTH, STRING, Array, Atomic, DataType, Root

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Declared", "declared_columns", "writable"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What the source says of one column."""

    type: DataType
    encoding: Encoding | None
    """How values travel; None if only the values tell."""
    json: pa.DataType | None
    """Arrow type to read the JSON with; None for structures, which become JSON text."""
    nullable: bool = True
    default: Any = None
    """The default as it travels; None is none."""
    comment: str | None = None


_PLAIN: Final[Mapping[str, tuple[Atomic, pa.DataType]]] = {
    "int8": (Atomic(Root.TINYINT), pa.int64()),
    "int16": (Atomic(Root.SMALLINT), pa.int64()),
    "int32": (Atomic(Root.INT), pa.int64()),
    "int64": (Atomic(Root.BIGINT), pa.int64()),
    "float": (Atomic(Root.FLOAT), pa.float64()),
    "float32": (Atomic(Root.FLOAT), pa.float64()),
    "double": (Atomic(Root.DOUBLE), pa.float64()),
    "float64": (Atomic(Root.DOUBLE), pa.float64()),
    "boolean": (Atomic(Root.BOOLEAN), pa.bool_()),
    "string": (STRING, pa.string()),
}
# A time of MySQL may be negative or longer than a day, and has microseconds: text holds them all.
_MOMENTS: Final[Mapping[str, tuple[Atomic, LogicalType]]] = {
    "io.debezium.time.Date": (Atomic(Root.DATE), LogicalType.DAYS),
    "org.apache.kafka.connect.data.Date": (Atomic(Root.DATE), LogicalType.DAYS),
    "io.debezium.time.Timestamp": (Atomic(Root.TIMESTAMP, precision=3), LogicalType.MILLIS),
    "org.apache.kafka.connect.data.Timestamp": (
        Atomic(Root.TIMESTAMP, precision=3),
        LogicalType.MILLIS,
    ),
    "io.debezium.time.MicroTimestamp": (Atomic(Root.TIMESTAMP, precision=6), LogicalType.MICROS),
    "io.debezium.time.NanoTimestamp": (Atomic(Root.TIMESTAMP, precision=9), LogicalType.NANOS),
    "io.debezium.time.Time": (STRING, LogicalType.TIME_MILLIS),
    "org.apache.kafka.connect.data.Time": (STRING, LogicalType.TIME_MILLIS),
    "io.debezium.time.MicroTime": (STRING, LogicalType.TIME_MICROS),
    "io.debezium.time.NanoTime": (STRING, LogicalType.TIME_NANOS),
}
_TEXTS: Final[Mapping[str, tuple[Atomic, LogicalType]]] = {
    "io.debezium.time.ZonedTimestamp": (Atomic(Root.TIMESTAMP_LTZ, precision=6), LogicalType.PLAIN),
    "io.debezium.time.IsoDate": (Atomic(Root.DATE), LogicalType.ISO),
    "io.debezium.time.IsoTimestamp": (Atomic(Root.TIMESTAMP, precision=6), LogicalType.ISO),
    "io.debezium.time.IsoTime": (STRING, LogicalType.ISO),
}
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_VARIABLE_DECIMAL: Final = "io.debezium.data.VariableScaleDecimal"
_BITS: Final = "io.debezium.data.Bits"
_SOURCE_TYPE: Final = re.compile("BIGINT UNSIGNED.*|SERIAL", re.IGNORECASE)
"""What ``bigint.unsigned.handling.mode=long`` writes as a number with sign."""
_UNSIGNED_DIGITS: Final = 20
_DECIMAL_DIGITS_MAX: Final = 38


def declared_columns(row_schema: Mapping[str, Any]) -> dict[str, Declared]:
    """The columns of a ``before`` or ``after`` struct, in order.

    Raises:
        ValueError: they cannot be columns; so may other errors of ``UNFORESEEN``.
    """
    columns = {}
    for node in row_schema["fields"]:
        columns[node["field"]] = replace(
            _declared(node),
            nullable=bool(node.get("optional", False)),
            default=node.get("default"),
            comment=node.get("doc"),
        )
    return writable(columns)


def writable(columns: dict[str, Declared]) -> dict[str, Declared]:
    """``columns`` if their names and what is said of them is text that a file can hold.

    Raises:
        ValueError: it is not; so may ``AttributeError``.
    """
    for name, declared in columns.items():
        name.encode()
        if declared.comment is not None:
            declared.comment.encode()
        if isinstance(declared.default, str):
            declared.default.encode()
    return columns


def _declared(node: Mapping[str, Any]) -> Declared:
    name, kind = node.get("name"), node["type"]
    if isinstance(name, str):
        if (moment := _MOMENTS.get(name)) is not None and kind != "string":
            return Declared(moment[0], Encoding(moment[1]), pa.int64())
        if (text := _TEXTS.get(name)) is not None:
            return Declared(text[0], Encoding(text[1]), pa.string())
    parameters = node.get("parameters") or {}
    if name == _DECIMAL:
        return _decimal(parameters)
    if kind == "bytes":
        bits = name == _BITS
        length = int(parameters.get("length") or 0) if bits else 0
        size = (length + 7) // 8 if length < MAX_LENGTH else 0  # BIT VARYING without a length
        type_ = Atomic(Root.BINARY, length=size) if size else _BYTES
        return Declared(
            type_, Encoding(LogicalType.BITS if bits else LogicalType.BASE64), pa.string()
        )
    if kind == "array":
        return _array(node.get("items"))
    if _SOURCE_TYPE.fullmatch(parameters.get("__debezium.source.column.type", "")):
        return Declared(UNSIGNED_BIGINT, Encoding(LogicalType.UNSIGNED), pa.int64())
    plain = _PLAIN.get(kind)
    if plain is not None:
        return Declared(plain[0], Encoding(), plain[1])
    return Declared(STRING, Encoding(), None)


_BYTES: Final = Atomic(Root.VARBINARY, length=MAX_LENGTH)


def _array(items: Any) -> Declared:
    """Lists of atoms stay lists; lists of structures are JSON text."""
    if not isinstance(items, dict):
        return Declared(STRING, Encoding(), None)
    if items.get("name") == _VARIABLE_DECIMAL:
        return Declared(Array(STRING), Encoding(), None)
    element = _declared(items)
    if element.json is None or pa.types.is_list(element.json):
        return Declared(STRING, Encoding(), None)
    return Declared(Array(element.type), element.encoding, pa.list_(element.json))


def _decimal(parameters: Mapping[str, str]) -> Declared:
    """Precision is there only if the connector propagates it; else the widest that fits.

    Whole numbers without precision are BIGINT UNSIGNED.
    """
    scale = int(parameters.get("scale", "0"))
    widest = _DECIMAL_DIGITS_MAX if scale else _UNSIGNED_DIGITS
    precision = int(parameters.get("connect.decimal.precision", widest))
    type_: DataType = STRING
    if 0 <= scale <= precision <= _DECIMAL_DIGITS_MAX:
        type_ = Atomic(Root.DECIMAL, precision=precision, scale=scale)
    return Declared(type_, Encoding(LogicalType.UNSCALED, scale), pa.string())
