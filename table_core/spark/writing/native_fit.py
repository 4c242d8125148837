"""Whether Spark's own Parquet writer makes just the files that our tasks would make, and if not, why.

It does for append tables without buckets in Parquet whose columns Spark holds exactly.  The rows then never
leave the JVM.  All else is written by tasks in Python; ``reason_against`` says what for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import types as spark

from table_core.datatypes.castable import EXACT_INTEGERS, TIMESTAMPS
from table_core.datatypes.kinds import MAX_LENGTH, Atomic, Root
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.datatypes.text import type_text
from table_core.ondisk.index_builder import IndexBuilder
from table_core.options import keys_commit, keys_files, keys_merge, keys_write
from table_core.spark.session.create import context_of
from table_core.spark.session.own_columns import own_column
from table_core.spark.session.schema_bridge import spark_type
from table_core.storage.columns.data_format import WriterSettings, format_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from table_core.datatypes.kinds import DataType, Field
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess

__all__ = ["CODECS", "INTEGER_BITS", "STAGED_PARTITION", "fits", "reason_against"]

CODECS: Final[Mapping[str, str]] = {
    "zstd": "zstd",
    "snappy": "snappy",
    "gzip": "gzip",
    "lz4_raw": "lz4_raw",
    "none": "uncompressed",
    "uncompressed": "uncompressed",
}
"""Spark's name for what ``file.compression`` may say."""
INTEGER_BITS: Final[Mapping[type[spark.DataType], int]] = {
    spark.ByteType: 8,
    spark.ShortType: 16,
    spark.IntegerType: 32,
    spark.LongType: 64,
}
"""Bits of Spark's whole numbers."""
STAGED_PARTITION: Final = own_column("partition_")
"""What the columns begin with by which Spark tells partitions apart."""
_SCHEMES: Final = ("file:", "hdfs:")
"""Stores where a rename is no copy, and that Spark reaches as we do."""
_GLOB: Final = frozenset("{}[]*?\\%")
_FLAT: Final = frozenset(
    {
        *(
            Root.BOOLEAN,
            Root.TINYINT,
            Root.SMALLINT,
            Root.INT,
            Root.BIGINT,
            Root.FLOAT,
            Root.DOUBLE,
        ),
        *(Root.DECIMAL, Root.VARCHAR, Root.VARBINARY, Root.DATE),
    }
)
_MICROS: Final = 6
_TOLD_BY_FOOTER: Final = frozenset({*EXACT_INTEGERS, Root.VARCHAR, Root.DATE, Root.BOOLEAN})
"""Types of partitions whose one value the bounds in a footer say exactly."""


def reason_against(
    access: TableAccess, frame_schema: spark.StructType, session: SparkSession
) -> str | None:
    """Why tasks in Python write rows of ``frame_schema``, whose columns the table has; None: Spark may."""
    schema, options = access.schema, access.options
    uri = access.storage.uri
    if not options.get(keys_write.WRITE_BY_SPARK):
        return "write.by-spark is off"
    if context_of(session) is None:
        return "over Connect no setting can be made for one write alone"
    if schema.is_key_table:
        return "its rows are merged by key"
    if schema.bucket > 0:
        return "its rows are numbered in each bucket"
    if format_name(options, level=0) != "parquet":
        return f"its files are {format_name(options, level=0)}"
    if not uri.startswith(_SCHEMES) or not _GLOB.isdisjoint(uri):
        return "its store has no rename that Spark and we see alike"
    if WriterSettings.of(options).compression not in CODECS:
        return f"Spark does not compress with {WriterSettings.of(options).compression}"
    if ROW_KIND_COLUMN in frame_schema.fieldNames():
        return f"{ROW_KIND_COLUMN} is to be looked at"
    return _option_against(access) or _column_against(schema, frame_schema)


def _option_against(access: TableAccess) -> str | None:
    options = access.options
    for option in (
        keys_commit.ROW_TRACKING_ENABLED,
        keys_merge.ROWKIND_FIELD,
        keys_write.CLUSTERING_COLUMNS,
    ):
        if options.get(option):
            return f"{option.key} is set"
    if options.is_set(keys_files.TARGET_FILE_SIZE):
        return f"{keys_files.TARGET_FILE_SIZE.key} is set, which Spark's writer cannot keep"
    indexes = IndexBuilder.of(options.raw, access.schema.fields)
    return None if indexes is None else "its files have indexes"


def _column_against(schema: TableSchema, frame_schema: spark.StructType) -> str | None:
    names = [field.name.lower() for field in schema.fields]
    if len(set(names)) != len(names):
        return "names of columns differ by their case only"
    types = {column.name: column.dataType for column in frame_schema.fields}
    for field in schema.fields:
        if field.default is not None:
            return f"column {field.name} has a default"
        if not _is_held(field.type):
            return f"column {field.name} is {type_text(field.type)}"
        have = types.get(field.name)
        if have is not None and not fits(field, have):
            told = f"column {field.name} is {type_text(field.type)}"
            return f"{told} and is given as {have.simpleString()}"
    for field in schema.partition_fields:
        if not isinstance(field.type, Atomic) or field.type.root not in _TOLD_BY_FOOTER:
            return f"partitions by {type_text(field.type)}"
    return None


def _is_held(type_: DataType) -> bool:
    """Whether Spark stores ``type_`` as we do, and knows of no narrower limit."""
    if not isinstance(type_, Atomic):
        return False  # Spark gives elements of lists and maps no field ids
    if type_.root in TIMESTAMPS:
        return type_.precision == _MICROS
    return type_.root in _FLAT and type_.length in (0, MAX_LENGTH)


def fits(field: Field, have: spark.DataType) -> bool:
    """Whether values of ``have`` are those of ``field``, or whole numbers that can be checked."""
    want = spark_type(field.type, field.name)
    if have == want or isinstance(have, spark.NullType):
        return True
    if isinstance(have, spark.DecimalType) and isinstance(want, spark.DecimalType):
        return have.scale == want.scale and have.precision <= want.precision
    return type(have) in INTEGER_BITS and type(want) in INTEGER_BITS
