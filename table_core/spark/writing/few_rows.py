"""Rows so few and so small that the driver takes them: then no shuffle and no Python worker pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f
from pyspark.sql.types import (
    BooleanType,
    DateType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from table_core.options import keys_write
from table_core.spark.session.create import context_of
from table_core.spark.writing.one_task import is_small_scan

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

    from table_core.options.table import TableOptions

__all__ = ["few_rows"]

_ROWS: Final = 20_000
_ROWS_OF_A_FILE: Final = 100_000
"""Of a small file, which does not tell how many it has before it is read."""
_BYTES: Final = 32 << 20
_OF_FIXED_SIZE: Final = (
    *(BooleanType, DateType, NullType, NumericType),
    *(TimestampNTZType, TimestampType),
)
_FIXED_BYTES: Final = 16
"""Of a value of such a type at most, that of a DECIMAL."""
_MAX_RESULT: Final = "spark.driver.maxResultSize"


def few_rows(df: DataFrame, options: TableOptions) -> pa.Table | None:
    """The rows of ``df``, if its plan says that they are few, or a small file, and they turn out to be small; else None.

    ``write.one-task.max-size`` may make that fewer bytes.

    The tasks themselves hold back texts that are longer than a row's part of the bytes, so the driver never
    gets more: of 20,000 rows each may have 1.6 kB, of 400 rows each 83 kB.
    """
    context = context_of(df.sparkSession)
    if context is None:
        return None
    types = [field.dataType for field in df.schema.fields]
    texts = [number for number, type_ in enumerate(types) if isinstance(type_, StringType)]
    if any(not isinstance(type_, (*_OF_FIXED_SIZE, StringType)) for type_ in types):
        return None
    most = _rows_at_most(df)
    if most is None and is_small_scan(df, options):
        most = _ROWS_OF_A_FILE
        df = df.limit(most + 1)
    if most is None:
        return None
    taken = min(_bytes_taken(context), options.get(keys_write.WRITE_ONE_TASK_MAX_SIZE))
    room = taken // max(1, most) - _FIXED_BYTES * len(types)
    if room < 0:
        return None
    rows = df.toArrow() if not texts else _with_texts(df, texts, room)
    return rows if rows is not None and rows.num_rows <= most else None


def _rows_at_most(df: DataFrame) -> int | None:
    """How many rows ``df`` has at most, if its plan says so and they are few."""
    told: Any = df._jdf.queryExecution().analyzed().maxRows()  # noqa: SLF001 - PySpark has no such call
    return int(told.get()) if told.isDefined() and told.get() <= _ROWS else None


def _with_texts(df: DataFrame, texts: list[int], room: int) -> pa.Table | None:
    """The rows, if the texts of each have at most ``room`` bytes."""
    names = df.columns
    numbered = df.toDF(*map(str, range(len(names))))  # names with dots and backticks are no columns
    sizes = [f.coalesce(f.octet_length(f.col(str(number))), f.lit(0)) for number in texts]
    fits = sum((size.cast("long") for size in sizes[1:]), sizes[0].cast("long")) <= room
    columns = [
        f.when(fits, f.col(name)).alias(name) if number in texts else f.col(name)
        for number, name in enumerate(numbered.columns)
    ]
    rows = numbered.select(*columns, fits.alias("fits")).toArrow()
    if not pc.all(rows["fits"], min_count=0).as_py():
        return None
    return rows.drop_columns(["fits"]).rename_columns(names)


def _bytes_taken(context: SparkContext) -> int:
    """How many the driver takes: half of what Spark lets it take at most, as others may run beside."""
    conf: Any = context._jsc.sc().conf()  # noqa: SLF001 - of it alone Spark reads sizes
    most = int(conf.getSizeAsBytes(_MAX_RESULT, "1g"))
    return min(_BYTES, most // 2) if most else _BYTES
