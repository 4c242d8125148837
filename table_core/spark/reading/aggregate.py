"""Counts, sums and extremes of a table by group, computed where the rows are read: few rows reach the JVM.

A task of the merging reader groups each batch with Arrow and hands over one row for a group.  What Spark scans
itself it groups itself.  Both meet in one aggregation of Spark, so overflow, NULL and types are Spark's.  What
Arrow computes otherwise than Spark (floats at the ends, whole numbers near their limits) is handed over
row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from table_core.errors import ArgumentError, SchemaError
from table_core.spark.reading.frames import as_spark_takes, frame_of, groups_for, shown_fields
from table_core.spark.reading.native import native_scan
from table_core.spark.reading.planned import planned_in_tasks
from table_core.spark.session.conditions import named
from table_core.spark.session.create import parallelism
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import translated
from table_core.spark.session.schema_bridge import arrow_for_spark, fields_of, spark_schema
from table_core.spark.session.tasks import distribute, over_rows
from table_core.table.read.scan import MemoryScan
from table_core.table.read.split_reader import SplitReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from table_core.datatypes.kinds import Field
    from table_core.predicate.expression import Expression
    from table_core.scan.split import Split
    from table_core.table.api.table import Table
    from table_core.table.metadata.timestamps import PointInTime
    from table_core.table.read.scan import RowReader, Scan

__all__ = ["aggregate"]

_FUNCTIONS: Final = ("count", "sum", "min", "max")
_ALL_ROWS: Final = "*"
_GROUPS_MAX: Final = 1 << 17
"""More groups of one task are handed over before the next batch: memory is bounded."""
_SAFE: Final = 2**62
_EXTREMES: Final = ("min", "max")


@of_verb("aggregate")
def aggregate(
    spark: SparkSession,
    table: Table,
    by: Sequence[str],
    values: Mapping[str, tuple[str, str]],
    where: str | Expression | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
) -> DataFrame:
    """One row for each group of ``by``: its columns, then those of ``values``, as Spark's ``groupBy`` gives.

    ``values`` maps the name of a result to a function (``count``, ``sum``, ``min``, ``max``) and its column;
    ``("count", "*")`` counts rows.  Without ``by`` there is one row.  ``where`` and the state as for ``read``.

    Raises:
        ArgumentError: an unknown function, or a result called as another column.
        SchemaError: an unknown column.
    """
    known = table.read(snapshot=snapshot, tag=tag, timestamp=timestamp).schema.names
    measures = _measures(known, by, values)
    columns = list(
        dict.fromkeys([*by, *(measure.column for measure in measures if measure.column)])
    )
    columns = columns or known[:1]  # to count the rows of, something is read
    scan = table.read(columns=columns, where=where, snapshot=snapshot, tag=tag, timestamp=timestamp)
    own = None if isinstance(scan, MemoryScan) else scan.own_reader
    if not isinstance(own, SplitReader) or not _are_folded(
        shown_fields(scan, "refuse"), by, measures
    ):
        return _whole(frame_of(spark, scan), by, measures)
    with translated():
        return _met(spark, scan, own, by, measures)


@dataclass(frozen=True, slots=True)
class _Measure:
    """One value of a group."""

    name: str
    function: str
    column: str | None
    """None: rows are counted."""

    def of_rows(self) -> Column:
        """The value over rows."""
        return _SPARK[self.function](f.lit(1) if self.column is None else named(self.column))

    def of_parts(self, type_: spark.DataType) -> Column:
        """The value over what parts of a group have given, in the type that rows would give it."""
        if self.function in _EXTREMES:
            return _SPARK[self.function](named(self.name))
        total = f.sum(named(self.name))
        return (f.coalesce(total, f.lit(0)) if self.function == "count" else total).cast(type_)


_SPARK: Final[dict[str, Callable[[Column], Column]]] = {
    "count": f.count,
    "sum": f.sum,
    "min": f.min,
    "max": f.max,
}
"""Each function as Spark has it."""
_OVER_PARTS: Final = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
_LONGEST_DECIMAL: Final = 38
_MORE_DIGITS: Final = 10
"""By so many is a sum of decimals wider than they are."""


def _measures(
    known: Sequence[str], by: Sequence[str], values: Mapping[str, tuple[str, str]]
) -> tuple[_Measure, ...]:
    taken = {name.lower() for name in by}
    measures = []
    for name, (function, column) in values.items():
        if function not in _FUNCTIONS or (column == _ALL_ROWS and function != "count"):
            raise ArgumentError(
                f"{function}({column}): use one of {', '.join(_FUNCTIONS)}, or count(*)",
                argument="values",
                value=function,
            )
        if name.lower() in taken:
            raise ArgumentError(
                f"two columns of the result are called {name!r}", argument="values", value=name
            )
        taken.add(name.lower())
        measures.append(_Measure(name, function, None if column == _ALL_ROWS else column))
    asked = [*by, *(measure.column for measure in measures if measure.column is not None)]
    unknown = [name for name in asked if name not in known]
    if unknown:
        problem = f"there are no columns {unknown}; there are {list(known)}"
        raise SchemaError(problem, problems=[problem])
    return tuple(measures)


def _are_folded(fields: Sequence[Field], by: Sequence[str], measures: Sequence[_Measure]) -> bool:
    """Whether Arrow gives for all columns what Spark would give."""
    types = {field.name: field.type for field in arrow_for_spark(fields)}
    return not any(pa.types.is_nested(types[name]) for name in by) and all(
        measure.column is None or _is_alike(measure.function, types[measure.column])
        for measure in measures
    )


def _is_alike(function: str, type_: pa.DataType) -> bool:
    if function == "count":
        return True
    if function == "sum":
        if pa.types.is_decimal(type_):
            return bool(type_.precision + _MORE_DIGITS <= _LONGEST_DECIMAL)
        return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))
    return not bool(pa.types.is_nested(type_) or pa.types.is_floating(type_))


def _whole(rows: DataFrame, by: Sequence[str], measures: Sequence[_Measure]) -> DataFrame:
    """All of it by Spark."""
    grouped = rows.groupBy(*(named(name) for name in by))
    return grouped.agg(*(measure.of_rows().alias(measure.name) for measure in measures))


def _met(
    session: SparkSession,
    scan: Scan,
    own: SplitReader,
    by: Sequence[str],
    measures: Sequence[_Measure],
) -> DataFrame:
    """What tasks grouped and what Spark scans itself, in one aggregation."""
    fields = shown_fields(scan, "refuse")
    types = {column.name: column.dataType for column in spark_schema(fields)}
    shape = spark.StructType([spark.StructField(name, types[name]) for name in by])
    for measure in measures:
        shape.add(measure.name, _result_type(measure, types))
    grouping = _grouping(scan.reader, fields, by, measures, shape)
    planned = planned_in_tasks(session, scan)
    if planned is not None:
        parts = over_rows(planned[0], grouping, shape)
    else:
        native, rest = native_scan(own, scan.splits())
        parts = distribute(session, groups_for(own, rest, parallelism(session)), grouping, shape)
        if not native.is_empty:
            rows = native.frame(session)
            values = (_part_of_row(measure, shape[measure.name].dataType) for measure in measures)
            taken = rows.select(*(named(name) for name in by), *values)
            parts = parts.unionAll(taken) if rest else taken
    grouped = parts.groupBy(*(named(name) for name in by))
    return grouped.agg(
        *(
            measure.of_parts(shape[measure.name].dataType).alias(measure.name)
            for measure in measures
        )
    )


def _result_type(measure: _Measure, types: Mapping[str, spark.DataType]) -> spark.DataType:
    """The type that Spark gives the value."""
    if measure.function == "count" or measure.column is None:
        return spark.LongType()
    type_ = types[measure.column]
    if measure.function in _EXTREMES:
        return type_
    if isinstance(type_, spark.DecimalType):
        return spark.DecimalType(type_.precision + _MORE_DIGITS, type_.scale)
    is_whole = isinstance(type_, spark.IntegralType)
    return spark.LongType() if is_whole else spark.DoubleType()


def _part_of_row(measure: _Measure, type_: spark.DataType) -> Column:
    """A row as a part of its own."""
    if measure.column is None:
        column = f.lit(1)
    elif measure.function == "count":
        column = f.when(named(measure.column).isNull(), 0).otherwise(1)
    else:
        column = named(measure.column)
    return column.cast(type_).alias(measure.name)


def _grouping(
    reader: RowReader,
    fields: Sequence[Field],
    by: Sequence[str],
    measures: Sequence[_Measure],
    shape: spark.StructType,
) -> Callable[[Sequence[Split]], Iterator[pa.RecordBatch]]:
    """What a task does with its splits: parts of groups, few where groups are few."""
    taken = arrow_for_spark(fields)
    part_schema = arrow_for_spark(fields_of(shape))

    def run(splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        parts = part_schema.empty_table()
        for split in splits:
            for rows in reader.read(split):
                fresh = _parts_of(as_spark_takes(rows, taken), by, measures, part_schema)
                grouped = _grouped(pa.concat_tables([parts, fresh]), by, measures)
                if grouped is None or grouped.num_rows > _GROUPS_MAX:
                    yield from (parts if grouped is None else grouped).to_batches()
                    parts = part_schema.empty_table() if grouped is not None else fresh
                else:
                    parts = grouped
        yield from parts.to_batches(max_chunksize=1 << 16)

    return run


def _parts_of(
    rows: pa.Table, by: Sequence[str], measures: Sequence[_Measure], part_schema: pa.Schema
) -> pa.Table:
    """Each row as a part."""
    columns: list[Any] = [rows[name] for name in by]
    for measure in measures:
        if measure.column is None:
            columns.append(pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))
        elif measure.function == "count":
            columns.append(rows[measure.column].is_valid().cast(pa.int64()))
        else:
            columns.append(rows[measure.column].cast(part_schema.field(measure.name).type))
    return pa.Table.from_arrays(columns, schema=part_schema)


def _grouped(parts: pa.Table, by: Sequence[str], measures: Sequence[_Measure]) -> pa.Table | None:
    """One part for each group; None if a sum of whole numbers may not fit: Arrow would wrap it."""
    sums = [measure.name for measure in measures if measure.function == "sum"]
    for name in sums:
        if pa.types.is_integer(parts.schema.field(name).type) and not _fits(parts[name]):
            return None
    # By number, for Arrow calls the sum of x "x_sum", as a column may be called.
    keys = [str(at) for at in range(len(by))]
    asked = [
        (str(at), _OVER_PARTS[measure.function]) for at, measure in enumerate(measures, len(by))
    ]
    numbered = parts.rename_columns([str(at) for at in range(parts.num_columns)])
    grouped = numbered.group_by(keys, use_threads=False).aggregate(asked)
    columns = [grouped[name] for name in (*keys, *(f"{name}_{how}" for name, how in asked))]
    fitted = [column.cast(field.type) for column, field in zip(columns, parts.schema, strict=True)]
    return pa.Table.from_arrays(fitted, schema=parts.schema)


def _fits(column: pa.ChunkedArray) -> bool:
    bounds = pc.min_max(column).as_py()
    widest = max(abs(bounds["min"] or 0), abs(bounds["max"] or 0))
    return bool(widest * len(column) < _SAFE)
