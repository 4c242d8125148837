"""Columns whose values Spark's scan would look for wrongly, kept out of what Spark asks a file.

Spark turns a filter of a query into one over a file's statistics and dictionaries, and some values change on the way:

    0.0           the file says -0.0, which is equal, and is not asked
    12:00.0005    cut to 12:00.000 where a column holds milliseconds: "before it" then leaves 12:00.000 out
    1582-10-10    a day that the Julian calendar lacks: the file is asked for 1582-10-20

So such a column is handed over as an expression that gives the same value and that Spark computes for each row.
Columns of other types stay bare, and so do dates and times of files whose bounds lie elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from table_core.datatypes.kinds import Atomic, Root, Row
from table_core.spark.session.conditions import quoted
from table_core.spark.session.schema_bridge import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

    from table_core.datatypes.kinds import DataType
    from table_core.datatypes.range import Range

__all__ = ["guarded", "has_times", "near_missing_days"]

_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_TIMES: Final = frozenset({Root.DATE, Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_MILLIS: Final = 3
_NANOS_OF_DAY: Final = 86_400_000_000_000
_NEAR: Final = range(-141_440, -141_413)
"""1582-10-03 to 29: the ten days that the Julian calendar lacks, those they are taken for, and a zone on either side."""


def guarded(column: Column, type_: DataType, *, near: bool) -> Column:
    """``column``, as Spark may filter it; ``near``: its file may hold times near the missing days."""
    if isinstance(type_, Row):
        for member in type_.fields:
            bare = column.getField(member.name)
            inner = guarded(bare, member.type, near=near)
            if inner is not bare:
                column = column.withField(quoted(member.name), inner)
        return column
    if not isinstance(type_, Atomic):
        return column
    if type_.root in _FLOATS:
        return column * f.lit(1.0).cast(spark_type(type_))
    if type_.root is Root.DATE and near:
        return f.date_from_unix_date(f.unix_date(column))
    if type_.root is Root.TIMESTAMP_LTZ and (near or type_.precision <= _MILLIS):
        return f.timestamp_micros(f.unix_micros(column))
    return column


def has_times(type_: DataType) -> bool:
    """Whether values of ``type_``, or members of its rows, are dates or times."""
    if isinstance(type_, Row):
        return any(has_times(member.type) for member in type_.fields)
    return isinstance(type_, Atomic) and type_.root in _TIMES


def near_missing_days(type_: DataType, known: Range | None) -> bool:
    """Whether a value of ``type_`` within ``known`` may lie near the missing days."""
    if known is None or not isinstance(type_, Atomic):
        return True
    low, high = known.min, known.max
    if not isinstance(low, int) or not isinstance(high, int):
        return not known.only_null
    if type_.root is not Root.DATE:
        low, high = low // _NANOS_OF_DAY, high // _NANOS_OF_DAY
    return low < _NEAR.stop and high >= _NEAR.start
