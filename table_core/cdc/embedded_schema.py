"""The schema that Kafka Connect's JSON converter puts beside each value.

Source: ``org.apache.kafka.connect.json.JsonSchema``; Debezium's documentation of data types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.wire import Meaning, Wire
from table_core.datatypes.kinds import MAX_LENGTH, STRING, Atomic, DataType, Root

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Declared", "declared_columns"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What the embedded schema says of one column."""

    type: DataType
    wire: Wire
    json: pa.DataType | None
    """Arrow type to read the JSON with; None for structures, which become JSON text."""


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
_MOMENTS: Final[Mapping[str, tuple[Atomic, Meaning]]] = {
    "io.debezium.time.Date": (Atomic(Root.DATE), Meaning.DAYS),
    "org.apache.kafka.connect.data.Date": (Atomic(Root.DATE), Meaning.DAYS),
    "io.debezium.time.Timestamp": (Atomic(Root.TIMESTAMP, precision=3), Meaning.MILLIS),
    "org.apache.kafka.connect.data.Timestamp": (
        Atomic(Root.TIMESTAMP, precision=3),
        Meaning.MILLIS,
    ),
    "io.debezium.time.MicroTimestamp": (Atomic(Root.TIMESTAMP, precision=6), Meaning.MICROS),
    "io.debezium.time.NanoTimestamp": (Atomic(Root.TIMESTAMP, precision=9), Meaning.NANOS),
    "io.debezium.time.Time": (STRING, Meaning.TIME_MILLIS),
    "org.apache.kafka.connect.data.Time": (STRING, Meaning.TIME_MILLIS),
    "io.debezium.time.MicroTime": (STRING, Meaning.TIME_MICROS),
    "io.debezium.time.NanoTime": (STRING, Meaning.TIME_NANOS),
}
_ZONED: Final = frozenset({"io.debezium.time.ZonedTimestamp"})
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_DECIMAL_DIGITS_MAX: Final = 38


def declared_columns(row_schema: Mapping[str, Any]) -> dict[str, Declared]:
    """The columns of a ``before`` or ``after`` struct, in order."""
    return {node["field"]: _declared(node) for node in row_schema["fields"]}


def _declared(node: Mapping[str, Any]) -> Declared:
    name, kind = node.get("name"), node["type"]
    moment = _MOMENTS.get(name) if isinstance(name, str) else None
    if moment is not None:
        return Declared(moment[0], Wire(moment[1]), pa.int64())
    if name in _ZONED:
        return Declared(Atomic(Root.TIMESTAMP_LTZ, precision=6), Wire(), pa.string())
    if name == _DECIMAL:
        return _decimal(node.get("parameters") or {})
    if kind == "bytes":
        type_ = Atomic(Root.VARBINARY, length=MAX_LENGTH)
        return Declared(type_, Wire(Meaning.BASE64), pa.string())
    plain = _PLAIN.get(kind)
    if plain is not None:
        return Declared(plain[0], Wire(), plain[1])
    return Declared(STRING, Wire(), None)


def _decimal(parameters: Mapping[str, str]) -> Declared:
    """Precision is there only if the connector propagates it; else the widest that fits."""
    scale = int(parameters.get("scale", "0"))
    precision = int(parameters.get("connect.decimal.precision", _DECIMAL_DIGITS_MAX))
    type_: DataType = STRING
    if scale >= 0 and precision <= _DECIMAL_DIGITS_MAX:
        type_ = Atomic(Root.DECIMAL, precision=precision, scale=scale)
    return Declared(type_, Wire(Meaning.UNSCALED, scale), pa.string())
