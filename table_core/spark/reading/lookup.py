"""Lookup joins on Spark: tasks keep the dimension, rows pass by it.

The dimension is not shuffled and no row of it passes through the driver: each Python worker reads it
once for each state (``table_core.table.api.lookup_join``).  So it is for dimensions that a worker can hold,
and for streams; two large tables are joined better by Spark, over ``table_core.spark.read``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from table_core.options import keys_write
from table_core.spark.session.failures import carried
from table_core.spark.session.schema_bridge import arrow_for_spark, spark_schema
from table_core.spark.session.tasks import map_batches
from table_core.table.api.lookup_join import Dimension

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from table_core.table.api.lookup_join import AsOf
    from table_core.table.api.table import Table

__all__ = ["lookup_join"]

_SHARE_OF_CACHE: Final = 4
"""Of the cache's memory, what rows may take that are joined at once: each time reads a large dimension."""


def lookup_join(
    df: DataFrame,
    table: Table,
    on: Sequence[str] | Mapping[str, str],
    as_of: AsOf = None,
    missing: str = "null",
    columns: Sequence[str] | None = None,
    wait_seconds: float = 60.0,
) -> DataFrame:
    """``df`` with the columns of the row of ``table`` by key; arguments as for ``tc.lookup_join``.

    ``df`` may be a stream.  The newest state is that of this call where ``df`` is a batch (and
    nothing is waited for), and that of each task where it is a stream: a task that Spark repeats
    may see a newer one.  Join inside ``foreachBatch`` where a whole micro-batch has to see one state.

    Raises:
        ArgumentError: an unknown column or argument, or a column that both sides have.
        UnsupportedFeatureError: a column has a type that Spark cannot hold.
        NotFoundError: there is no such state.
    """
    dimension = Dimension.of(
        table.access,
        on,
        as_of,
        missing=missing,
        columns=columns,
        wait_seconds=wait_seconds,
        pins=missing != "wait" and not df.isStreaming,
    )
    dimension.refuse_columns(df.columns)
    shape = StructType([*df.schema.fields, *spark_schema(dimension.added).fields])
    return map_batches(df, _joining(dimension), shape)


def _joining(dimension: Dimension) -> Any:
    added = arrow_for_spark(dimension.added)
    most = dimension.access.options.get(keys_write.LOOKUP_CACHE_MAX_MEMORY_SIZE) // _SHARE_OF_CACHE

    def joined(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = dimension.join(pa.Table.from_batches(batches))
        for type_field in added:
            at = rows.schema.get_field_index(type_field.name)
            column = rows[type_field.name]
            if column.type != type_field.type:
                rows = rows.set_column(at, type_field, column.cast(type_field.type))
        yield from rows.to_batches(max_chunksize=1 << 16)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            held: list[pa.RecordBatch] = []
            size = 0
            for batch in batches:
                held.append(batch)
                size += batch.nbytes
                if size >= most:
                    yield from joined(held)
                    held, size = [], 0
            if held:
                yield from joined(held)

    return run
