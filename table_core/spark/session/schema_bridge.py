"""The type tree to and from Spark's types, and the Arrow types in which rows cross.

Spark keeps microseconds: a TIMESTAMP(9) is refused by name instead of losing digits, unless the
reader says ``nanoseconds="truncate"``.  TIMESTAMP is Spark's TIMESTAMP_NTZ and TIMESTAMP_LTZ its TIMESTAMP; neither ever becomes the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import types as spark

from table_core.datatypes.castable import TIMESTAMPS
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
from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "arrow_for_spark",
    "fields_of",
    "holds",
    "in_micros",
    "spark_schema",
    "spark_type",
    "table_type",
]

_TO_SPARK: Final[dict[Root, spark.DataType]] = {
    Root.BOOLEAN: spark.BooleanType(),
    Root.TINYINT: spark.ByteType(),
    Root.SMALLINT: spark.ShortType(),
    Root.INT: spark.IntegerType(),
    Root.BIGINT: spark.LongType(),
    Root.FLOAT: spark.FloatType(),
    Root.DOUBLE: spark.DoubleType(),
    Root.CHAR: spark.StringType(),
    Root.VARCHAR: spark.StringType(),
    Root.BINARY: spark.BinaryType(),
    Root.VARBINARY: spark.BinaryType(),
    Root.BLOB: spark.BinaryType(),
    Root.DATE: spark.DateType(),
}
_FROM_SPARK: Final[dict[type[spark.DataType], Atomic]] = {
    spark.BooleanType: Atomic(Root.BOOLEAN),
    spark.ByteType: Atomic(Root.TINYINT),
    spark.ShortType: Atomic(Root.SMALLINT),
    spark.IntegerType: Atomic(Root.INT),
    spark.LongType: Atomic(Root.BIGINT),
    spark.FloatType: Atomic(Root.FLOAT),
    spark.DoubleType: Atomic(Root.DOUBLE),
    spark.StringType: STRING,
    spark.CharType: STRING,
    spark.VarcharType: STRING,
    spark.BinaryType: Atomic(Root.VARBINARY, length=MAX_LENGTH),
    spark.DateType: Atomic(Root.DATE),
    spark.TimestampType: Atomic(Root.TIMESTAMP_LTZ, precision=6),
    spark.TimestampNTZType: Atomic(Root.TIMESTAMP, precision=6),
}
_PLAIN_ARROW: Final[dict[Root, pa.DataType]] = {
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
    Root.BLOB: pa.binary(),
    Root.DATE: pa.date32(),
    Root.TIMESTAMP: pa.timestamp("us"),
    Root.TIMESTAMP_LTZ: pa.timestamp("us", "UTC"),
}


def spark_schema(fields: Iterable[Field]) -> spark.StructType:
    """The columns as Spark sees them; all of them nullable, as Spark treats every source.

    Raises:
        UnsupportedFeatureError: a column has a type that Spark cannot hold; facts name it.
    """
    return spark.StructType([spark.StructField(f.name, spark_type(f.type, f.name)) for f in fields])


def spark_type(type_: DataType, column: str = "") -> spark.DataType:
    """Spark's type for values of ``type_``."""
    match type_:
        case Atomic(Root.DECIMAL):
            return spark.DecimalType(type_.precision, type_.scale)
        case Atomic(Root.TIMESTAMP) if type_.precision <= 6:
            return spark.TimestampNTZType()
        case Atomic(Root.TIMESTAMP_LTZ) if type_.precision <= 6:
            return spark.TimestampType()
        case Atomic(root) if root in _TO_SPARK:
            return _TO_SPARK[root]
        case Array(element) | Vector(element):
            return spark.ArrayType(spark_type(element, column))
        case Multiset(element):
            return spark.MapType(spark_type(element, column), spark.IntegerType())
        case Map(key, value):
            return spark.MapType(spark_type(key, column), spark_type(value, column))
        case Row(fields):
            return spark_schema(fields)
    raise _refused(type_, column)


def arrow_for_spark(fields: Iterable[Field]) -> pa.Schema:
    """The Arrow schema in which rows of ``fields`` are handed to Spark."""
    return pa.schema([pa.field(f.name, _arrow(f.type, f.name)) for f in fields])


def _arrow(type_: DataType, column: str) -> pa.DataType:
    match type_:
        case Atomic(Root.DECIMAL):
            return pa.decimal128(type_.precision, type_.scale)
        case Atomic(Root.TIMESTAMP | Root.TIMESTAMP_LTZ) if type_.precision > 6:
            raise _refused(type_, column)
        case Atomic(root) if root in _PLAIN_ARROW:
            return _PLAIN_ARROW[root]
        case Array(element) | Vector(element):
            return pa.list_(_arrow(element, column))
        case Multiset(element):
            return pa.map_(_arrow(element, column), pa.int32())
        case Map(key, value):
            return pa.map_(_arrow(key, column), _arrow(value, column))
        case Row(fields):
            return pa.struct([pa.field(f.name, _arrow(f.type, f.name)) for f in fields])
    raise _refused(type_, column)


def holds(fields: Iterable[Field]) -> bool:
    """Whether Spark has a type for each of ``fields``."""
    try:
        spark_schema(fields)
    except UnsupportedFeatureError:
        return False
    return True


def in_micros(fields: Iterable[Field]) -> tuple[Field, ...]:
    """``fields`` with timestamps that lose what is finer than a microsecond; nested ones do not."""
    return tuple(
        replace(f, type=replace(f.type, precision=6))
        if isinstance(f.type, Atomic) and f.type.root in TIMESTAMPS and f.type.precision > 6
        else f
        for f in fields
    )


def _refused(type_: DataType, column: str) -> UnsupportedFeatureError:
    name = type_.root.value if isinstance(type_, Atomic) else type(type_).__name__.upper()
    how = ""
    if isinstance(type_, Atomic) and type_.root in TIMESTAMPS:
        name = f"{name}({type_.precision}): nanoseconds"
        how = "cut it off with nanoseconds='truncate', "
    return UnsupportedFeatureError(
        f"column {column!r}: Spark has no type for {name}; leave it out with columns=[…], "
        f"{how}or read the table without Spark",
        feature=f"{name} on Spark",
        column=column,
    )


def fields_of(schema: spark.StructType) -> tuple[Field, ...]:
    """The columns of a DataFrame in the type tree; ids are positions.

    Raises:
        UnsupportedFeatureError: a column has a type that no table can hold; facts name it.
    """
    return tuple(
        Field(i, f.name, table_type(f.dataType, f.name)) for i, f in enumerate(schema.fields)
    )


def table_type(type_: spark.DataType, column: str = "") -> DataType:
    """The type of the tree that holds every value of Spark's ``type_``."""
    if isinstance(type_, spark.DecimalType):
        return Atomic(Root.DECIMAL, precision=type_.precision, scale=type_.scale)
    if isinstance(type_, spark.ArrayType):
        return Array(table_type(type_.elementType, column))
    if isinstance(type_, spark.MapType):
        return Map(table_type(type_.keyType, column), table_type(type_.valueType, column))
    if isinstance(type_, spark.StructType):
        return Row(fields_of(type_))
    atomic = _FROM_SPARK.get(type(type_))
    if atomic is None:
        is_variant = isinstance(type_, spark.VariantType)
        way_out = "write to_json of it into a text" if is_variant else "cast it first"
        raise UnsupportedFeatureError(
            f"column {column!r}: rows of Spark's {type_.simpleString()} cannot be written; {way_out}",
            feature=f"Spark type {type_.simpleString()}",
            column=column,
        )
    return atomic
