"""The columns of a DataFrame as Spark's own Parquet writer is to store them, each value checked on the way.

What does not fit ends the job with the error that our writer raises, with its column, row and value: the
message is put together by Spark, where the value is.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import error_to_document
from table_core.spark.session.conditions import named
from table_core.spark.session.failures import MARK
from table_core.spark.session.own_columns import own_column
from table_core.spark.session.schema_bridge import spark_type
from table_core.spark.writing.native_fit import INTEGER_BITS, STAGED_PARTITION
from table_core.table.write.coerce import misfit, missing_value
from table_core.table.write.sound_values import unsound_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from table_core.datatypes.kinds import Field
    from table_core.errors import DataError
    from table_core.schema.table_schema import TableSchema

__all__ = ["native_columns", "row_bytes", "staged_partitions"]

_FIELD_ID: Final = "parquet.field.id"
_ROW: Final = own_column("row")
_ROW_BITS: Final = 33
"""``monotonically_increasing_id`` has the number of the partition above them."""
_ANY_ROW: Final = 2**53 + 1
"""Stands for the row in the text of an error, where Spark puts it in."""
_ANY_VALUE: Final = "value-7f3a9c5e"
_PLACES: Final = re.compile(f"({_ANY_ROW}|{_ANY_VALUE})")


def native_columns(df: DataFrame, schema: TableSchema) -> DataFrame:
    """``df`` with the columns of ``schema``, in its order and types, with its field ids.

    ``df`` has its columns in the table's spelling, and each of them ``fits``.
    """
    by_name = {column.name: column for column in df.schema.fields}
    checked = any(_is_checked(field, by_name.get(field.name)) for field in schema.fields)
    rows = df.withColumn(_ROW, f.monotonically_increasing_id()) if checked else df
    return rows.select(
        *(
            _stored(field, by_name.get(field.name)).alias(
                field.name, metadata={_FIELD_ID: field.id}
            )
            for field in schema.fields
        )
    )


def staged_partitions(df: DataFrame, schema: TableSchema) -> tuple[DataFrame, list[str]]:
    """``df`` and columns by which Spark tells partitions apart, one folder for each.

    The partition columns themselves stay in the files.  The folders are named by a hash: a text may be too long
    for a name, or have letters that the locale of a JVM cannot write.
    """
    names = []
    for number, key in enumerate(schema.partition_keys):
        text = f.sha2(named(key).cast("string"), 256)
        df = df.withColumn(f"{STAGED_PARTITION}{number}", text)
        names.append(f"{STAGED_PARTITION}{number}")
    return df, names


def row_bytes(schema: TableSchema) -> int:
    """About how many bytes a row has before it is encoded."""
    types = [spark_type(field.type, field.name) for field in schema.fields]
    return max(1, sum(_WIDTHS.get(type(type_), _WIDE) for type_ in types))


_WIDE: Final = 20
_WIDTHS: Final[Mapping[type[spark.DataType], int]] = {
    spark.BooleanType: 1,
    spark.ByteType: 1,
    spark.ShortType: 2,
    spark.IntegerType: 4,
    spark.FloatType: 4,
    spark.DateType: 4,
    spark.LongType: 8,
    spark.DoubleType: 8,
    spark.TimestampType: 8,
    spark.TimestampNTZType: 8,
    spark.DecimalType: 8,
}


def _stored(field: Field, source: spark.StructField | None) -> Column:
    want = spark_type(field.type, field.name)
    if source is None or isinstance(source.dataType, spark.NullType):
        column = f.lit(None).cast(want)
    else:
        column = named(field.name)
        if _is_narrowed(field, source):
            column = _within_range(field, column, source.dataType).cast(want)
        elif source.dataType != want:
            column = column.cast(want)
        if _is_text(field):
            # Neither row nor value: a write would be slower for what hardly ever comes.
            error = _raised(unsound_value(field))
            column = f.when(~f.is_valid_utf8(column), error).otherwise(column)
    if _may_lack(field, source):
        column = f.when(column.isNull(), _raised(missing_value(field, _ANY_ROW))).otherwise(column)
    return column


def _is_checked(field: Field, source: spark.StructField | None) -> bool:
    return _may_lack(field, source) or (source is not None and _is_narrowed(field, source))


def _is_text(field: Field) -> bool:
    """Whether a value may be no UTF-8: Spark lets any bytes be text."""
    return isinstance(field.type, Atomic) and field.type.root is Root.VARCHAR


def _may_lack(field: Field, source: spark.StructField | None) -> bool:
    """Whether a NULL may come for a column that takes none."""
    return not field.type.nullable and (source is None or source.nullable)


def _is_narrowed(field: Field, source: spark.StructField) -> bool:
    """Whether a whole number may be out of the column's range."""
    have = INTEGER_BITS.get(type(source.dataType), 0)
    return have > INTEGER_BITS.get(type(spark_type(field.type, field.name)), have)


def _within_range(field: Field, column: Column, have: spark.DataType) -> Column:
    most = 2 ** (INTEGER_BITS[type(spark_type(field.type, field.name))] - 1)
    arrow_type = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[INTEGER_BITS[type(have)]]
    error = _raised(misfit(field, _ANY_ROW, _ANY_VALUE, arrow_type), column)
    is_out = (column < f.lit(-most)) | (column >= f.lit(most))
    return f.when(is_out, error.cast(have)).otherwise(column)


def _raised(error: DataError, value: Column | None = None) -> Column:
    """An expression that raises ``error``, with the number of the row and ``value`` where its text has them."""
    shown = f.lit("") if value is None else value.cast("string")
    text = MARK + json.dumps(error_to_document(error))

    def part(piece: str) -> Column:
        if piece == str(_ANY_ROW):
            return named(_ROW).bitwiseAND(f.lit((1 << _ROW_BITS) - 1)).cast("string")
        return shown if piece == _ANY_VALUE else f.lit(piece)

    return f.raise_error(f.concat(*map(part, _PLACES.split(text))))
