"""Tables as DataFrames: planned here, read by tasks, never through rows of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.datatypes.arrow import from_arrow
from table_core.datatypes.kinds import Field
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.spark.schema_bridge import arrow_for_spark, spark_schema
from table_core.spark.session import parallelism
from table_core.spark.tasks import distribute, groups_of
from table_core.table.scan import MemoryScan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from table_core.predicate.expression import Expression
    from table_core.scan.split import Split
    from table_core.table.flow import View
    from table_core.table.scan import RowReader, Scan
    from table_core.table.table import Table
    from table_core.table.times import PointInTime

__all__ = ["frame_of", "read", "read_splits", "result_fields", "view_frame"]


def read(
    spark: SparkSession,
    table: Table,
    columns: Sequence[str] | None = None,
    where: str | Expression | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
    limit: int | None = None,
) -> DataFrame:
    """The rows of one state of ``table``, pinned now; arguments as for ``Table.read``."""
    scan = table.read(
        columns=columns, where=where, snapshot=snapshot, tag=tag, timestamp=timestamp, limit=limit
    )
    frame = frame_of(spark, scan)
    return frame if limit is None else frame.limit(limit)


def frame_of(spark: SparkSession, scan: Scan) -> DataFrame:
    """The rows of ``scan``, but for its limit.

    Every split goes through the merging reader.  Those that need no merge could be handed to
    Spark's own Parquet scan here, and the two united.
    """
    if isinstance(scan, MemoryScan):
        return spark.createDataFrame(scan.to_arrow())
    return _merging_frame(spark, scan.reader, scan.splits())


def _merging_frame(spark: SparkSession, reader: RowReader, splits: Sequence[Split]) -> DataFrame:
    groups = groups_of(splits, lambda split: split.size, parallelism(spark))
    return distribute(spark, groups, read_splits(reader), spark_schema(result_fields(reader)))


def read_splits(reader: RowReader) -> Callable[[Sequence[Split]], Iterator[pa.RecordBatch]]:
    """What a task does with its splits; the batches have the types in which Spark takes rows."""
    schema = arrow_for_spark(result_fields(reader))

    def run(splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        for split in splits:
            for rows in reader.read(split):
                yield from _as_spark_takes(rows, schema).to_batches(max_chunksize=1 << 16)

    return run


def result_fields(reader: RowReader) -> tuple[Field, ...]:
    """The columns that ``reader`` gives."""
    return tuple(
        Field(-1, column.name, from_arrow(column.type, nullable=column.nullable))
        for column in reader.schema()
    )


def _as_spark_takes(rows: pa.Table, schema: pa.Schema) -> Any:
    if rows.schema.equals(schema):
        return rows
    return pa.table([rows[f.name].cast(f.type) for f in schema], schema=schema)


def view_frame(spark: SparkSession, view: View) -> DataFrame:
    """A source of a flow: a state, or the changes after one."""
    table = view.table
    if view.after is not None:
        return frame_of(spark, table.changes(after=view.after, to=view.snapshot))
    if view.snapshot is None:
        rows = spark.createDataFrame([], spark_schema(table.definition.fields))
    else:
        rows = read(spark, table, snapshot=view.snapshot)
    return rows.selectExpr("*", f"'+I' AS {ROW_KIND_COLUMN}") if view.changes else rows
