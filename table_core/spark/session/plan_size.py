"""How large Spark's planner takes rows to be that tasks of ours bring.

A join broadcasts a side that seems small to every executor.  Of a function's rows the planner knows no number: it takes
as many as the function gets, and a task of ours gets one, the number of its piece.  Ten tasks that read a billion rows
would be ten rows, and their table would be broadcast.

So the input says how many there will be: a range of as many numbers, of which a filter lets one of each task through.
To the planner a filter removes nothing; the numbers cost all tasks together some milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as spark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from table_core.scan.split import Split

__all__ = ["numbers", "rows_as_planned", "rows_of_bytes", "taken_for"]

_HEADER: Final = 8
"""Bytes that the planner adds to each row, which is otherwise as wide as the defaults of its types."""
_WIDTHS: Final[dict[type[spark.DataType], int]] = {
    spark.NullType: 1,
    spark.BooleanType: 1,
    spark.ByteType: 1,
    spark.ShortType: 2,
    spark.IntegerType: 4,
    spark.FloatType: 4,
    spark.DateType: 4,
    spark.StringType: 20,
    spark.BinaryType: 100,
}
_WIDTH: Final = 8
_WIDE_DECIMAL: Final = 18
"""Digits up to which a decimal is a long."""
_NUMBERS_A_ROW: Final = 2
"""A number of a range counts 8 bytes and is, with its header, 16 wide; the planner scales by widths."""
_NUMBERS_MOST: Final = 1 << 23
"""More would cost time.  They stand for 150 MB of rows of a number and a text: far above what Spark broadcasts by default."""


def rows_as_planned(splits: Iterable[Split], shape: spark.StructType) -> int:
    """How many rows as wide as the planner takes those of ``shape`` to be weigh as much as ``splits`` do, unpacked.

    Never fewer than there are.  What is stored is a floor: of long text the planner takes 20 bytes.
    """
    stored = rows = 0
    for split in splits:
        rows += split.row_count
        stored += split.size
    return max(rows, rows_of_bytes(stored, shape))


def rows_of_bytes(stored: int, shape: spark.StructType) -> int:
    """How many rows of ``shape`` the planner takes ``stored`` bytes for."""
    return stored // (_HEADER + _width(shape))


def numbers(session: SparkSession, tasks: int, rows: int) -> DataFrame:
    """The numbers of ``tasks``, one in each partition; what is computed of them is taken for ``rows`` rows."""
    stride = max(1, _numbers_for(rows) // tasks)
    all_numbers = session.range(0, tasks * stride, 1, tasks)
    if stride == 1:
        return all_numbers
    return all_numbers.where(f"id % {stride} = 0").selectExpr(f"id div {stride} AS id")


def taken_for(frame: DataFrame, rows: int) -> DataFrame:
    """``frame``, after a shuffle whose size says nothing of the ``rows`` rows that are computed of it.

    Spark plans a join again when it has seen a shuffle; rows that a filter removes still count there.
    """
    nothing = frame.sparkSession.range(0, _numbers_for(rows), 1, 1).where("id < 0")
    columns = [f.lit(None).cast(field.dataType).alias(field.name) for field in frame.schema]
    return frame.unionAll(nothing.select(*columns))


def _numbers_for(rows: int) -> int:
    return min(_NUMBERS_A_ROW * rows, _NUMBERS_MOST)


def _width(type_: spark.DataType) -> int:
    match type_:
        case spark.StructType():
            return sum(_width(field.dataType) for field in type_.fields)
        case spark.ArrayType():
            return _width(type_.elementType)
        case spark.MapType():
            return _width(type_.keyType) + _width(type_.valueType)
        case spark.DecimalType() if type_.precision > _WIDE_DECIMAL:
            return 2 * _WIDTH
        case _:
            return _WIDTHS.get(type(type_), _WIDTH)
