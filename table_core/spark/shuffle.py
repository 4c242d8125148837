"""Brings the rows of one bucket into one task, each row crossing to Python once, to be written.

Only the columns that decide the bucket are looked at by Python before that; the number comes back
and Spark moves the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as f

from table_core.bucketing.fixed import bucket_ids
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.options import keys_identity
from table_core.spark.failures import carried
from table_core.table.coerce import cast_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from table_core.schema.table_schema import TableSchema

__all__ = ["by_bucket"]

_TASK: Final = "__task"
_ORDER: Final = "__order"


def by_bucket(frame: DataFrame, schema: TableSchema, slots: int) -> DataFrame:
    """``frame`` with every bucket inside one partition; for about ``slots`` tasks at once.

    Rows of a key table that carry ``_ROW_KIND`` keep their order: an update may follow a delete.
    """
    if schema.bucket == -1 and schema.is_key_table:
        return frame.coalesce(1)  # dynamic buckets know one writer
    if schema.bucket < 0:
        return frame.hint("rebalance", *schema.partition_keys) if schema.partition_keys else frame
    keeps_order = schema.is_key_table and ROW_KIND_COLUMN in frame.columns
    columns = frame.columns
    if keeps_order:
        frame = frame.withColumn(_ORDER, f.monotonically_increasing_id())
    if schema.partition_keys:
        spread = f.hash(*(_named(name) for name in schema.partition_keys))
        task = f.pmod(spread.cast("bigint") + _bucket(schema), f.lit(slots)).cast("int")
        frame = frame.withColumn(_TASK, task).repartitionById(slots, f.col(_TASK))
    elif schema.bucket == 1:
        frame = frame.repartition(1)
    else:
        tasks = min(slots, schema.bucket)
        task = f.pmod(_bucket(schema), f.lit(tasks)).cast("int")
        frame = frame.withColumn(_TASK, task).repartitionById(tasks, f.col(_TASK))
    if keeps_order:
        frame = frame.sortWithinPartitions(_ORDER)
    return frame.select(*(_named(name) for name in columns))


def _named(name: str) -> Column:
    return f.col(f"`{name.replace('`', '``')}`")


def _bucket(schema: TableSchema) -> Column:
    """The bucket of each row, by the table's own hash."""
    if schema.bucket == 1:
        return f.lit(0)
    fields = schema.select(schema.bucket_keys)
    function = schema.options.get(keys_identity.BUCKET_FUNCTION_TYPE)
    count = schema.bucket

    def number(keys: pa.Array) -> pa.Array:
        with carried():
            columns = [
                cast_column(field, pa.chunked_array([column]))
                for field, column in zip(fields, keys.flatten(), strict=True)
            ]
            return pa.array(bucket_ids(columns, [field.type for field in fields], count, function))

    udf: Any = f.arrow_udf(number, "int")  # type: ignore[attr-defined]  # 4.1's stubs lack it
    found: Column = udf(f.struct(*(_named(field.name) for field in fields)))
    return found
