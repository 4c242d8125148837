"""Avro schemas of data files, and Arrow values as Avro stores them.

Timestamps carry the logical types the wrong way round, as Java writes them: TIMESTAMP is
``timestamp-*``, TIMESTAMP_LTZ is ``local-timestamp-*`` (format T34).  Readers go by the Paimon
type.

Source: ``org.apache.paimon.format.avro.AvroSchemaConverter``; format 5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.avro_names import is_avro_name
from table_core.datatypes.kinds import Array, Atomic, Map, Multiset, Root, Row, Vector
from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["arrow_values", "avro_schema", "avro_values"]

_NAMESPACE: Final = "org.apache.paimon.avro.generated"
_COUNT: Final = Atomic(Root.INT)
_PLAIN: Final = {
    Root.BOOLEAN: "boolean",
    Root.TINYINT: "int",
    Root.SMALLINT: "int",
    Root.INT: "int",
    Root.BIGINT: "long",
    Root.FLOAT: "float",
    Root.DOUBLE: "double",
    Root.CHAR: "string",
    Root.VARCHAR: "string",
    Root.BINARY: "bytes",
    Root.VARBINARY: "bytes",
    Root.BLOB: "bytes",
}
_TIMESTAMPS: Final = {
    Root.TIMESTAMP: "timestamp",
    Root.TIMESTAMP_LTZ: "local-timestamp",
}
_DECIMAL_BYTES: Final = 16


def avro_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The schema of a file with the columns ``fields``.

    Raises:
        UnsupportedFeatureError: Avro files cannot hold a type or a name; Paimon refuses the same ones.
    """
    schema = _record(fields, "record")
    return {"type": "record", "name": "record", "namespace": _NAMESPACE, "fields": schema["fields"]}


def _record(fields: Sequence[Field], name: str) -> dict[str, Any]:
    members = [_member(f.name, f.type, f"{name}_{f.name}") for f in fields]
    return {"type": "record", "name": name, "fields": members}


def _member(name: str, type_: DataType, record: str) -> dict[str, Any]:
    if not is_avro_name(name):
        raise UnsupportedFeatureError(
            f"Avro files cannot hold a column that is called {name!r}: other readers could not open them; rename it, or "
            "use file.format=parquet",
            feature=f"the name {name!r} in Avro files",
        )
    member: dict[str, Any] = {"name": name, "type": _schema(type_, record)}
    return member | ({"default": None} if type_.nullable else {})


def _schema(type_: DataType, record: str) -> Any:
    """The schema of ``type_``; records in it are called ``record`` and what follows."""
    match type_:
        case Row(fields):
            inner: Any = _record(fields, record)
        case Array(element) | Vector(element):
            inner = {"type": "array", "items": _schema(element, record)}
        case Map(key, value):
            inner = _map(key, value, record)
        case Multiset(element):
            inner = _map(element, _COUNT, record)
        case _:
            inner = _atom(type_)
    return ["null", inner] if type_.nullable else inner


def _map(key: DataType, value: DataType, record: str) -> dict[str, Any]:
    if has_string_keys(key):
        return {"type": "map", "values": _schema(value, record)}
    pair = {
        "type": "record",
        "name": record,
        "fields": [
            {"name": "key", "type": _schema(key, f"{record}_key")},
            _member("value", value, f"{record}_value"),
        ],
    }
    return {"type": "array", "items": pair, "logicalType": "map"}


def _atom(type_: Atomic) -> Any:
    if (plain := _PLAIN.get(type_.root)) is not None:
        return plain
    if type_.root is Root.DECIMAL:
        return {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": type_.precision,
            "scale": type_.scale,
        }
    if type_.root is Root.DATE:
        return {"type": "int", "logicalType": "date"}
    if type_.root is Root.TIME and type_.precision <= 3:
        return {"type": "int", "logicalType": "time-millis"}
    if (name := _TIMESTAMPS.get(type_.root)) is not None and type_.precision <= 6:
        unit = "millis" if type_.precision <= 3 else "micros"
        return {"type": "long", "logicalType": f"{name}-{unit}"}
    what = f"{type_.root}({type_.precision})" if type_.precision else type_.root.value
    raise UnsupportedFeatureError(
        f"Avro files cannot hold {what}; use file.format=parquet",
        feature=f"{what} in Avro files",
    )


def has_string_keys(key: DataType) -> bool:
    """Whether a map with such keys is an Avro map; others are arrays of pairs."""
    return isinstance(key, Atomic) and key.root in {Root.CHAR, Root.VARCHAR}


def physical_type(type_: DataType, *, decimals: bool = False) -> pa.DataType:
    """The Arrow type of what Avro stores: whole numbers for times, bytes for decimals.

    With ``decimals`` these stay decimals, which fastavro turns to bytes by itself.
    """
    match type_:
        case Atomic(Root.DECIMAL):
            return arrow_type(type_) if decimals else pa.binary()
        case Atomic(Root.DATE | Root.TIME):
            return pa.int32()
        case Atomic(Root.TIMESTAMP | Root.TIMESTAMP_LTZ):
            return pa.int64()
        case Array(element) | Vector(element):
            return pa.list_(pa.field("element", physical_type(element, decimals=decimals)))
        case Map(key, value):
            return pa.map_(
                physical_type(key, decimals=decimals), physical_type(value, decimals=decimals)
            )
        case Multiset(element):
            return pa.map_(physical_type(element, decimals=decimals), pa.int32())
        case Row(fields):
            return pa.struct(
                [pa.field(f.name, physical_type(f.type, decimals=decimals)) for f in fields]
            )
        case Atomic():
            return arrow_type(type_)


def avro_values(array: Any, type_: DataType) -> list[Any]:
    """The values of ``array`` as fastavro takes them."""
    stored = physical_type(type_, decimals=True)
    values: list[Any] = array.cast(stored).to_pylist()
    return [_leaving(value, type_) for value in values] if _has_maps(stored) else values


def arrow_values(values: list[Any], type_: DataType) -> Any:
    """What fastavro read of one column, as Arrow array.

    Raises:
        pa.ArrowException, AttributeError, KeyError, TypeError: something else is stored.
    """
    stored = physical_type(type_)
    if _has_maps(stored):
        values = [_arriving(value, stored) for value in values]
    return logical_array(pa.array(values, stored), type_)


def _has_maps(type_: Any) -> bool:
    if pa.types.is_map(type_):
        return True
    if pa.types.is_list(type_):
        return _has_maps(type_.value_type)
    return pa.types.is_struct(type_) and any(_has_maps(member.type) for member in type_)


def _arriving(value: Any, stored: Any) -> Any:
    """``value`` with the maps in it as lists of pairs, which is how Arrow takes them."""
    if value is None:
        return None
    if pa.types.is_map(stored):
        is_map = isinstance(value, dict)
        pairs = value.items() if is_map else [(p["key"], p["value"]) for p in value]
        key, item = stored.key_type, stored.item_type
        return [(_arriving(k, key), _arriving(v, item)) for k, v in pairs]
    if pa.types.is_list(stored):
        return [_arriving(item, stored.value_type) for item in value]
    if pa.types.is_struct(stored):
        return {m.name: _arriving(value[m.name], m.type) for m in stored}
    return value


def _leaving(value: Any, type_: DataType) -> Any:
    """``value`` with its lists of pairs as dicts, or as lists of records."""
    if value is None:
        return None
    match type_:
        case Map(key, item):
            return _pairs(value, key, item)
        case Multiset(element):
            return _pairs(value, element, _COUNT)
        case Array(element) | Vector(element):
            return [_leaving(part, element) for part in value]
        case Row(fields):
            return {f.name: _leaving(value[f.name], f.type) for f in fields}
    return value


def _pairs(value: list[tuple[Any, Any]], key: DataType, item: DataType) -> Any:
    pairs = [(_leaving(k, key), _leaving(v, item)) for k, v in value]
    return dict(pairs) if has_string_keys(key) else [{"key": k, "value": v} for k, v in pairs]


def logical_array(array: Any, type_: DataType) -> Any:
    """``array`` of ``physical_type(type_)``, not sliced, as ``arrow_type(type_)``.

    Raises:
        pa.ArrowException: a decimal has more digits than its type.
    """
    target = arrow_type(type_)
    match type_:
        case Atomic(Root.DECIMAL):
            return _decimals(array, type_).cast(target)
        case Array(element) | Vector(element):
            values = logical_array(array.values, element)
            return pa.ListArray.from_arrays(
                array.offsets, values, type=target, mask=array.is_null()
            )
        case Map(key, value):
            return _logical_map(array, key, value, target)
        case Multiset(element):
            return _logical_map(array, element, _COUNT, target)
        case Row(fields):
            members = [logical_array(array.field(i), f.type) for i, f in enumerate(fields)]
            return pa.StructArray.from_arrays(members, fields=list(target), mask=array.is_null())
        case Atomic():
            return array.cast(target)


def _logical_map(array: Any, key: DataType, value: DataType, target: pa.DataType) -> Any:
    keys, items = logical_array(array.keys, key), logical_array(array.items, value)
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=target, mask=array.is_null())


def _decimals(array: Any, type_: Atomic) -> Any:
    """Big-endian two's complement numbers of any length as 128-bit decimals."""
    count = len(array)
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + count + 1]
    lengths = np.diff(offsets)
    if count and lengths.max() > _DECIMAL_BYTES:
        raise pa.ArrowInvalid(f"a decimal of {lengths.max()} bytes")
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    place = np.arange(_DECIMAL_BYTES)  # byte of the little-endian number
    source = offsets[1:, None] - 1 - place
    inside = place < lengths[:, None]
    first = data[np.minimum(offsets[:-1], max(len(data) - 1, 0))] if len(data) else lengths
    sign = np.where((first >= 0x80) & (lengths > 0), 0xFF, 0).astype(np.uint8)[:, None]
    picked = data[np.where(inside, source, 0)] if len(data) else np.zeros(source.shape, np.uint8)
    little = np.ascontiguousarray(np.where(inside, picked, sign))
    return pa.Array.from_buffers(
        pa.decimal128(38, type_.scale), count, [array.is_valid().buffers()[1], pa.py_buffer(little)]
    )
