"""The type tree to and from Arrow types.

Logical only: which Arrow type a column has in memory.  How files store it is ``storage``'s matter.
Timestamps take the coarsest unit that keeps their digits; TIME is milliseconds whatever its
precision (format 5.3); a MULTISET is a map from element to count.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.kinds import (
    MAX_LENGTH,
    STRING,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Multiset,
    Root,
    Row,
    Vector,
)
from table_core.errors import SchemaError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "arrow_field",
    "arrow_schema",
    "arrow_type",
    "fields_from_arrow",
    "from_arrow",
    "is_varied",
    "timestamp_unit",
]

_PLAIN: Final[dict[Root, Any]] = {
    Root.BOOLEAN: pa.bool_(),
    Root.TINYINT: pa.int8(),
    Root.SMALLINT: pa.int16(),
    Root.INT: pa.int32(),
    Root.BIGINT: pa.int64(),
    Root.FLOAT: pa.float32(),
    Root.DOUBLE: pa.float64(),
    Root.CHAR: pa.string(),
    Root.VARCHAR: pa.string(),
    Root.BINARY: pa.binary(),
    Root.VARBINARY: pa.binary(),
    Root.BLOB: pa.large_binary(),
    Root.DATE: pa.date32(),
    Root.TIME: pa.time32("ms"),
    Root.VARIANT: pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False),
        ]
    ),
}


def timestamp_unit(precision: int) -> str:
    """Arrow unit that holds ``precision`` digits of a second: ``ms``, ``us`` or ``ns``."""
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type of a column of ``type_``."""
    match type_:
        case Atomic(Root.DECIMAL):
            return pa.decimal128(type_.precision, type_.scale)
        case Atomic(Root.TIMESTAMP):
            return pa.timestamp(timestamp_unit(type_.precision))
        case Atomic(Root.TIMESTAMP_LTZ):
            return pa.timestamp(timestamp_unit(type_.precision), "UTC")
        case Atomic(root):
            return _PLAIN[root]
        case Array(element) | Vector(element):
            return pa.list_(pa.field("element", arrow_type(element), nullable=element.nullable))
        case Multiset(element):
            return pa.map_(arrow_type(element), pa.field("value", pa.int32(), nullable=False))
        case Map(key, value):
            return pa.map_(
                arrow_type(key), pa.field("value", arrow_type(value), nullable=value.nullable)
            )
        case Row(fields):
            return pa.struct([arrow_field(field) for field in fields])


def is_varied(type_: pa.DataType) -> bool:
    """Whether values are texts or bytes, each as long as it is."""
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
    )


def arrow_field(field: Field) -> pa.Field:
    """The Arrow field of a column or nested member."""
    return pa.field(field.name, arrow_type(field.type), nullable=field.type.nullable)


def arrow_schema(fields: Iterable[Field]) -> pa.Schema:
    """The Arrow schema of ``fields``, in their order."""
    return _schema(tuple(fields))


@lru_cache(maxsize=1024)
def _schema(fields: tuple[Field, ...]) -> pa.Schema:
    return pa.schema([arrow_field(field) for field in fields])


_FROM: Final[dict[str, Atomic]] = {
    "bool": Atomic(Root.BOOLEAN),
    "int8": Atomic(Root.TINYINT),
    "int16": Atomic(Root.SMALLINT),
    "int32": Atomic(Root.INT),
    "int64": Atomic(Root.BIGINT),
    "uint8": Atomic(Root.SMALLINT),
    "uint16": Atomic(Root.INT),
    "uint32": Atomic(Root.BIGINT),
    "uint64": Atomic(Root.DECIMAL, precision=20, scale=0),
    "halffloat": Atomic(Root.FLOAT),
    "float": Atomic(Root.FLOAT),
    "double": Atomic(Root.DOUBLE),
    "string": STRING,
    "large_string": STRING,
    "string_view": STRING,
    "binary": Atomic(Root.VARBINARY, length=MAX_LENGTH),
    "large_binary": Atomic(Root.VARBINARY, length=MAX_LENGTH),
    "binary_view": Atomic(Root.VARBINARY, length=MAX_LENGTH),
    "date32[day]": Atomic(Root.DATE),
    "date64[ms]": Atomic(Root.DATE),
}
_PRECISION: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def from_arrow(type_: pa.DataType, *, nullable: bool = True) -> DataType:
    """The Paimon type that holds every value of the Arrow ``type_``.

    Nested fields get id 0: ``schema.evolve`` numbers them.

    Raises:
        UnsupportedFeatureError: no Paimon type holds it (durations, unions, decimal256 ...).
    """
    if (plain := _FROM.get(str(type_))) is not None:
        return Atomic(plain.root, nullable, plain.length, plain.precision, plain.scale)
    if isinstance(type_, pa.DictionaryType):
        return from_arrow(type_.value_type, nullable=nullable)
    if (
        pa.types.is_decimal32(type_)
        or pa.types.is_decimal64(type_)
        or pa.types.is_decimal128(type_)
    ):
        return _decimal(type_, nullable=nullable)
    if isinstance(type_, pa.TimestampType):
        root = Root.TIMESTAMP if type_.tz is None else Root.TIMESTAMP_LTZ
        return Atomic(root, nullable, precision=_PRECISION[type_.unit])
    if isinstance(type_, pa.Time32Type | pa.Time64Type):
        return Atomic(Root.TIME, nullable, precision=min(_PRECISION[type_.unit], 3))
    if pa.types.is_fixed_size_binary(type_):
        return Atomic(Root.BINARY, nullable, length=type_.byte_width)
    return _nested_from_arrow(type_, nullable=nullable)


def fields_from_arrow(schema: pa.Schema) -> tuple[Field, ...]:
    """The columns of rows that come from no table of their own: they have no ids.

    Raises:
        UnsupportedFeatureError: as ``from_arrow``.
    """
    return tuple(Field(-1, c.name, from_arrow(c.type, nullable=c.nullable)) for c in schema)


def _decimal(type_: Any, *, nullable: bool) -> Atomic:
    if type_.scale < 0 or type_.scale > type_.precision:
        raise SchemaError(f"no DECIMAL has scale {type_.scale}", problems=[str(type_)])
    return Atomic(Root.DECIMAL, nullable, precision=type_.precision, scale=type_.scale)


def _nested_from_arrow(type_: pa.DataType, *, nullable: bool) -> DataType:
    if isinstance(type_, pa.MapType):
        value = from_arrow(type_.item_type, nullable=type_.item_field.nullable)
        return Map(from_arrow(type_.key_type, nullable=False), value, nullable)
    if isinstance(type_, pa.ListType | pa.LargeListType | pa.ListViewType | pa.FixedSizeListType):
        field = type_.value_field
        return Array(from_arrow(field.type, nullable=field.nullable), nullable)
    if isinstance(type_, pa.StructType):
        members = [type_.field(i) for i in range(type_.num_fields)]
        return Row(
            tuple(Field(0, m.name, from_arrow(m.type, nullable=m.nullable)) for m in members),
            nullable,
        )
    raise UnsupportedFeatureError(f"Arrow type {type_} has no Paimon type", feature=str(type_))
