"""Tables as DataFrames: planned here, read by tasks, never through rows of Python.

What needs no merge is scanned by Spark itself (``native``), the rest by the merging reader in tasks;
the two are one DataFrame.  Its snapshot is pinned when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark_types

from table_core.datatypes.arrow import fields_from_arrow
from table_core.datatypes.pieces import pieces
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError
from table_core.options import keys_scan
from table_core.spark.reading.native import native_scan
from table_core.spark.reading.planned import planned_in_tasks
from table_core.spark.session.create import parallelism
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import translated
from table_core.spark.session.plan_size import rows_as_planned, rows_of_bytes
from table_core.spark.session.schema_bridge import arrow_for_spark, in_micros, spark_schema
from table_core.spark.session.tasks import distribute, groups_of, keeps_order, over_rows, tasks_of
from table_core.table.files.row_form import RowForm
from table_core.table.read.file_parts import in_parts
from table_core.table.read.scan import MemoryScan, Scan
from table_core.table.read.split_reader import SplitReader
from table_core.table.write.coerce import cast_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from table_core.datatypes.kinds import Field
    from table_core.jobs.flow import View
    from table_core.options.table import TableOptions
    from table_core.predicate.expression import Expression
    from table_core.scan.split import Split
    from table_core.table.api.table import Table
    from table_core.table.metadata.timestamps import PointInTime
    from table_core.table.read.scan import RowReader

__all__ = [
    "as_spark_takes",
    "batches_for_spark",
    "changes",
    "frame_of",
    "frame_of_arrow",
    "groups_for",
    "read",
    "read_splits",
    "result_fields",
    "shown_fields",
    "view_frame",
]

_NANOSECONDS: Final = ("refuse", "truncate")
_STATES: Final = frozenset({RowForm.STATE, RowForm.INSERTS})
_BATCH_BYTES: Final = 32 << 20
"""Of what goes to the JVM at once, which holds it beside its heap."""


@of_verb("read")
def read(  # noqa: PLR0913 - the public signature
    spark: SparkSession,
    table: Table,
    columns: Sequence[str] | None = None,
    where: str | Expression | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
    watermark: int | None = None,
    limit: int | None = None,
    nanoseconds: str = "refuse",
) -> DataFrame:
    """The rows of one state of ``table``, pinned now; arguments as for ``Table.read``.

    ``table`` may be a branch or a system table, whatever ``Catalog.table`` gives.  ``nanoseconds``:
    ``refuse`` columns that are finer than Spark's microseconds, or ``truncate`` their values.
    """
    scan = table.read(
        columns=columns,
        where=where,
        snapshot=snapshot,
        tag=tag,
        timestamp=timestamp,
        watermark=watermark,
        limit=limit,
    )
    frame = frame_of(spark, scan, nanoseconds)
    return frame if limit is None else frame.limit(limit)


@of_verb("read")
def changes(
    spark: SparkSession,
    table: Table,
    after: int | None = None,
    to: int | None = None,
    columns: Sequence[str] | None = None,
    where: str | Expression | None = None,
    mode: str = "auto",
    nanoseconds: str = "refuse",
) -> DataFrame:
    """The changes of the snapshots in (``after``, ``to``], with ``_ROW_KIND``; as ``Table.changes``."""
    scan = table.changes(after=after, to=to, columns=columns, where=where, mode=mode)
    return frame_of(spark, scan, nanoseconds)


def frame_of(spark: SparkSession, scan: Scan, nanoseconds: str = "refuse") -> DataFrame:
    """The rows of ``scan``, but for its limit."""
    fields = shown_fields(scan, nanoseconds)
    if isinstance(scan, MemoryScan):
        return spark.createDataFrame(scan.to_arrow(), spark_schema(fields))
    shape = spark_schema(fields)
    planned = planned_in_tasks(spark, scan)
    if planned is not None:
        pieces, size, rows = planned
        work = read_splits(scan.reader, fields)
        return over_rows(pieces, work, shape, max(rows, rows_of_bytes(size, shape)))
    own, splits = scan.own_reader, scan.splits()
    if not isinstance(own, SplitReader):
        groups = groups_of(splits, lambda split: split.size, parallelism(spark))
        work = read_splits(scan.reader, fields)
        return distribute(spark, groups, work, shape, rows_as_planned(splits, shape))
    with translated():
        native, rest = native_scan(own, splits)
        frames = [] if native.is_empty else [native.frame(spark)]
        if rest or native.is_empty:
            groups = groups_for(own, rest, parallelism(spark))
            work, rows = read_splits(scan.reader, fields), rows_as_planned(rest, shape)
            frames.append(distribute(spark, groups, work, shape, rows))
        frame = frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])
        return _as_parallel_as_asked(frame, own.access.options, spark)


def frame_of_arrow(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """``rows`` of no table; Spark by itself takes a time for an instant, and cuts nanoseconds off.

    Raises:
        DataError: a time is finer than Spark's microseconds.
        UnsupportedFeatureError: a column has a type that Spark cannot hold.
    """
    shape, columns = spark_types.StructType(), []
    for column, field in zip(rows.columns, rows.schema, strict=True):
        if pa.types.is_null(field.type):
            shape.add(field.name, spark_types.NullType())
            columns.append(column)
            continue
        fields = in_micros(fields_from_arrow(pa.schema([field])))
        shape.add(spark_schema(fields).fields[0])
        columns.append(cast_column(fields[0], column).cast(arrow_for_spark(fields)[0].type))
    return spark.createDataFrame(pa.Table.from_arrays(columns, names=rows.column_names), shape)


def groups_for(
    reader: SplitReader, splits: Sequence[Split], slots: int, *, coalesced: bool = True
) -> list[list[Split]]:
    """The splits of each task: as many as there are where somebody asks for a size or a number.

    Large files are cut, so that no task holds a stage up.

    Changes of one bucket are read by one task, oldest first, whatever is asked for: a writer that keeps
    the order of a task then keeps the order of each key.  ``coalesced``: the frame brings the tasks of splits down to
    the number that is asked for; a source cannot.
    """
    options, schema = reader.access.options, reader.access.schema
    most = None if coalesced else options.get(keys_scan.SCAN_PARALLELISM)
    if reader.form not in _STATES and keeps_order(schema):
        return tasks_of(splits, slots, ordered=True, asked=most)
    splits = [piece for split in splits for piece in in_parts(reader, split)]
    if most is not None:
        return groups_of(splits, lambda split: split.size, slots, most)
    asked = (
        keys_scan.SOURCE_SPLIT_TARGET_SIZE,
        keys_scan.SOURCE_SPLIT_OPEN_FILE_COST,
        keys_scan.SCAN_PARALLELISM,
    )
    if any(options.is_set(option) for option in asked):
        return [[split] for split in splits]
    return groups_of(splits, lambda split: split.size, slots)


def _as_parallel_as_asked(
    frame: DataFrame, options: TableOptions, spark: SparkSession
) -> DataFrame:
    tasks = options.get(keys_scan.SCAN_PARALLELISM)
    if tasks is None and not options.get(keys_scan.SCAN_INFER_PARALLELISM):
        tasks = parallelism(spark)
    return frame if tasks is None else frame.coalesce(max(tasks, 1))


def read_splits(
    reader: RowReader, fields: Sequence[Field] | None = None
) -> Callable[[Sequence[Split]], Iterator[pa.RecordBatch]]:
    """What a task does with its splits; the batches have the types in which Spark takes rows."""
    shown = result_fields(reader) if fields is None else fields
    arrow_for_spark(shown)  # refuses on the driver what Spark cannot hold

    def run(splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        for split in splits:
            for rows in reader.read(split):
                yield from batches_for_spark(rows, shown)

    return run


def batches_for_spark(rows: pa.Table, fields: Sequence[Field]) -> Iterator[pa.RecordBatch]:
    """``rows`` with the columns ``fields``, in the types in which Spark takes rows."""
    schema = arrow_for_spark(fields)
    for piece in pieces(as_spark_takes(rows, schema), _BATCH_BYTES):
        yield from piece.to_batches(max_chunksize=1 << 16)


def result_fields(reader: RowReader | Scan) -> tuple[Field, ...]:
    """The columns of ``reader``."""
    return fields_from_arrow(reader.schema if isinstance(reader, Scan) else reader.schema())


def shown_fields(reader: RowReader | Scan, nanoseconds: str) -> tuple[Field, ...]:
    """The columns that Spark gets of ``reader``.

    Raises:
        ArgumentError: ``nanoseconds`` is neither ``refuse`` nor ``truncate``.
    """
    if nanoseconds not in _NANOSECONDS:
        raise ArgumentError(
            f"nanoseconds={nanoseconds!r}: use one of {', '.join(_NANOSECONDS)}",
            argument="nanoseconds",
            value=nanoseconds,
        )
    fields = result_fields(reader)
    return in_micros(fields) if nanoseconds == "truncate" else fields


def as_spark_takes(rows: pa.Table, schema: pa.Schema) -> Any:
    """``rows`` with the types of ``schema``; nanoseconds are cut off where it has none."""
    if rows.schema.equals(schema):
        return rows
    return pa.table([_cast(rows[field.name], field.type) for field in schema], schema=schema)


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    fine = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
    if fine and pa.types.is_timestamp(type_):  # towards the past, before 1970 too
        return pc.floor_temporal(column, unit="microsecond").cast(type_)
    return column.cast(type_)


def view_frame(spark: SparkSession, view: View) -> DataFrame:
    """A source of a flow: a state, or the changes after one."""
    scan = view.scan()
    if scan is not None:
        return frame_of(spark, scan)
    rows = spark.createDataFrame([], spark_schema(view.table.definition.fields))
    return rows.selectExpr(f"'+I' AS {ROW_KIND_COLUMN}", "*") if view.changes else rows
