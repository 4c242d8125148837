"""Values of Spark as the types of table columns.

Spark makes two types meet in a third: text and numbers as numbers, large integers and doubles as doubles.  In
a join 07 then finds 7, and 2^53 finds 2^53 + 1.  Where one clause of a merge gives a column doubles, the
large integers of the others lose digits.  A table takes a value as the column's own type, without loss, or
refuses it; so does a join with it, and each clause by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.castable import EXACT_INTEGERS
from table_core.datatypes.kinds import Atomic
from table_core.spark.session.conditions import named
from table_core.spark.session.failures import carried
from table_core.spark.session.schema_bridge import arrow_for_spark, spark_type, table_type
from table_core.table.write.coerce import cast_column, with_default

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["as_field", "meet_exactly", "with_keys_of"]

_DIGITS: Final[dict[type[spark.DataType], int]] = {
    spark.ByteType: 3,
    spark.ShortType: 5,
    spark.IntegerType: 10,
    spark.LongType: 20,
}
"""Digits of whole numbers as Spark counts them."""
_DIGITS_MAX: Final = 38


def with_keys_of(source: DataFrame, keys: Mapping[str, Field]) -> DataFrame:
    """``source``, its columns ``keys`` as values of those fields.

    Raises:
        DataError: a column is of a type that never fits.  While the job runs: a value does not fit.
    """
    for name, field in keys.items():
        have = source.schema[name].dataType
        if not isinstance(have, spark.NullType):
            cast_column(field, pa.chunked_array([], arrow_type(table_type(have, name))))
        source = source.withColumn(name, as_field(named(name), have, field))
    return source


def as_field(
    column: Column,
    have: spark.DataType,
    field: Field,
    where: Column | None = None,
    *,
    completes: bool = False,
) -> Column:
    """``column``, of type ``have``, as values of ``field``; of the rows ``where`` alone.

    ``completes``: with the default of ``field`` in place of NULL.

    A task in Python computes all rows that it gets, also those that a CASE around this leaves out.

    Raises:
        UnsupportedFeatureError: no table holds values of ``have``.
    """
    want = spark_type(field.type, field.name)
    if completes and field.default is not None:
        completed: Column = _cast(field, completes=True)(
            column if where is None else f.when(where, column)
        )
        return completed
    if have.simpleString() == want.simpleString():
        return column
    if isinstance(have, spark.NullType):
        return column.cast(want)
    if _is_wider(table_type(have, field.name), field.type):
        return column.cast(want)
    cast: Column = _cast(field)(column if where is None else f.when(where, column))
    return cast


def meet_exactly(types: Iterable[spark.DataType]) -> bool:
    """Whether the type that Spark makes of ``types`` holds all of their values."""
    by_text = {one.simpleString(): one for one in types if not isinstance(one, spark.NullType)}
    if len(by_text) <= 1:
        return True
    whole = scale = 0
    for one in by_text.values():
        if isinstance(one, spark.DecimalType):
            whole, scale = max(whole, one.precision - one.scale), max(scale, one.scale)
        elif type(one) in _DIGITS:
            whole = max(whole, _DIGITS[type(one)])
        else:
            return False
    return whole + scale <= _DIGITS_MAX


def _is_wider(have: DataType, want: DataType) -> bool:
    if not (isinstance(have, Atomic) and isinstance(want, Atomic)):
        return False
    roots = have.root, want.root
    if not all(root in EXACT_INTEGERS for root in roots):
        return False
    return EXACT_INTEGERS.index(roots[0]) <= EXACT_INTEGERS.index(roots[1])


def _cast(field: Field, *, completes: bool = False) -> Any:
    type_ = arrow_for_spark((field,)).field(0).type

    def cast(column: pa.Array) -> pa.Array:
        with carried():
            fitted = cast_column(field, pa.chunked_array([column]))
            if completes:
                fitted = with_default(field, fitted)
            return fitted.combine_chunks().cast(type_)

    return f.arrow_udf(cast, spark_type(field.type, field.name))  # type: ignore[attr-defined]  # 4.1's stubs lack it
