"""Brings the rows of one bucket into one task, each row crossing to Python once, to be written.

Spark computes the table's hash itself (``row_hash``); of keys that it cannot hash alike only the columns
that decide are looked at by Python before, and the number comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as f

from table_core.bucketing.fixed import bucket_ids
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.options import keys_identity
from table_core.spark.session.conditions import named
from table_core.spark.session.failures import carried
from table_core.spark.session.own_columns import own_column
from table_core.spark.writing.row_hash import hashed
from table_core.table.write.coerce import cast_column, with_default

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from table_core.datatypes.kinds import DataType, Field
    from table_core.schema.table_schema import TableSchema

__all__ = ["assigners", "by_bucket"]

_TASK: Final = own_column("task")
_ORDER: Final = own_column("order")
_DEFAULT_FUNCTION: Final = "default"


def by_bucket(frame: DataFrame, schema: TableSchema, slots: int) -> DataFrame:
    """``frame`` with every bucket inside one partition; for about ``slots`` tasks at once.

    Where buckets are dynamic, every key is inside one instead (see ``assigners``).  Rows of a key
    table that carry ``_ROW_KIND`` keep their order: an update may follow a delete.
    """
    keyed = schema.is_key_table
    keeps_order = keyed and ROW_KIND_COLUMN in frame.columns
    if schema.bucket < 0 and not (keyed and (schema.bucket == -1 or keeps_order)):
        keys = [named(name) for name in schema.partition_keys if name in frame.columns]
        return frame.hint("rebalance", *keys) if keys else frame
    if keeps_order:
        frame = frame.withColumn(_ORDER, f.monotonically_increasing_id())
    tasks, task = _tasks(schema, frame.schema, slots)
    if task is None:
        frame = frame.repartition(1)
    else:
        frame = frame.withColumn(_TASK, task.cast("int")).repartitionById(tasks, f.col(_TASK))
    if keeps_order:
        frame = frame.sortWithinPartitions(_ORDER)
    return frame.drop(_TASK, _ORDER)


def assigners(schema: TableSchema, slots: int) -> int:
    """How many tasks deal out dynamic buckets.

    Each has the keys whose hash is its own, and puts new ones into buckets of its own: an index file
    has one writer.
    """
    asked = schema.options.get(keys_identity.DYNAMIC_BUCKET_ASSIGNER_PARALLELISM) or slots
    most = schema.options.get(keys_identity.DYNAMIC_BUCKET_MAX_BUCKETS)
    return max(1, min(asked, most) if most > 0 else asked)


def _tasks(schema: TableSchema, frame_schema: StructType, slots: int) -> tuple[int, Column | None]:
    """Into how many tasks rows go, and which; None for one task."""
    if schema.bucket == -1:
        tasks = assigners(schema, slots)
        return tasks, _by_hash(schema.trimmed_key_fields, frame_schema, tasks)
    if schema.bucket < 0:  # rows wait for their bucket; until then a key has one task
        return slots, _by_hash(schema.trimmed_key_fields, frame_schema, slots)
    count = schema.bucket
    function = schema.options.get(keys_identity.BUCKET_FUNCTION_TYPE)

    def bucket(columns: Sequence[Any], types: Sequence[DataType], count: int) -> Any:
        return bucket_ids(columns, types, count, function)

    number = f.lit(0)
    if count > 1:
        keys = schema.select(schema.bucket_keys)
        by_hash = function == _DEFAULT_FUNCTION
        number = (
            _by_hash(keys, frame_schema, count)
            if by_hash
            else _of_keys(keys, frame_schema, bucket, count)
        )
    spread = [
        named(field.name)
        for field in schema.partition_fields
        if field.name in frame_schema.fieldNames() and field.default is None
    ]
    if spread:
        return slots, f.pmod(f.hash(*spread).cast("bigint") + number, f.lit(slots))
    tasks = min(slots, count)
    return tasks, f.pmod(number, f.lit(tasks)) if tasks > 1 else None


def _by_hash(fields: Sequence[Field], frame_schema: StructType, count: int) -> Column:
    """A number below ``count`` by the table's hash: its default bucket, and what ``HashIndex`` owns."""
    hashes = None if _are_filled(fields) else hashed(fields, frame_schema)
    if hashes is None:
        return _of_keys(fields, frame_schema, bucket_ids, count)
    return f.abs(hashes.cast("bigint")) % f.lit(count)


def _are_filled(fields: Sequence[Field]) -> bool:
    """Whether a row may be stored with another key than it comes with: with a default for a NULL."""
    return any(field.default is not None for field in fields)


def _of_keys(
    fields: Sequence[Field],
    frame_schema: StructType,
    function: Callable[[Sequence[Any], Sequence[DataType], int], Any],
    count: int,
) -> Column:
    """The number that ``function`` gives each row by its key as it is stored, by the table's own hash."""

    def number(keys: pa.Array) -> pa.Array:
        with carried():
            columns = [
                with_default(field, cast_column(field, pa.chunked_array([column])))
                for field, column in zip(fields, keys.flatten(), strict=True)
            ]
            return pa.array(function(columns, [field.type for field in fields], count))

    udf: Any = f.arrow_udf(number, "int")  # type: ignore[attr-defined]  # 4.1's stubs lack it
    known = frame_schema.fieldNames()
    columns = (
        named(field.name) if field.name in known else f.lit(None).cast("string").alias(field.name)
        for field in fields
    )
    key_number: Column = udf(f.struct(*columns))
    return key_number
