"""Computed columns of a DataFrame, by the code that computes them elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StructType

from table_core.spark.reading.frames import as_spark_takes
from table_core.spark.session.conditions import named
from table_core.spark.session.failures import carried, translated
from table_core.spark.session.schema_bridge import arrow_for_spark, spark_schema
from table_core.spark.session.tasks import map_batches
from table_core.spark.writing.frames import table_names, typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from table_core.cdc.model.generated import ComputedRows
    from table_core.table.metadata.access import TableAccess

__all__ = ["with_computed"]


def with_computed(df: DataFrame, access: TableAccess, computed: ComputedRows) -> DataFrame:
    """``df`` with the columns, in the table's spelling; rows keep their order.

    Raises:
        DataError: ``df`` has one already, or has what the table has not.
    """
    with translated():
        df = df.toDF(*table_names(df.schema, access))
        computed.require_absent(df.columns)
        frame_schema = typed(df.schema)
        df = df.select(*(named(field.name) for field in frame_schema.fields))
        added = arrow_for_spark(computed.fields)

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            first = 0
            with carried():
                for batch in batches:
                    rows = computed.added(batch, first)
                    first += batch.num_rows
                    for field in added:
                        fit = as_spark_takes(rows.select([field.name]), pa.schema([field]))
                        at = rows.column_names.index(field.name)
                        rows = rows.set_column(at, field, fit[field.name])
                    yield from rows.to_batches()

        schema = StructType([*frame_schema.fields, *spark_schema(computed.fields).fields])
        return map_batches(df, run, schema)
