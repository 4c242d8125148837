"""Columns of a source as the types of the keys that they are joined with.

Spark would make both sides meet in a third type: text with numbers as numbers, large integers with
doubles as doubles.  Then 07 finds 7, and 2^53 finds 2^53 + 1.  A table takes a value as the column's own
type, without loss, or refuses it; so does a join with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as f

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.castable import EXACT_INTEGERS
from table_core.datatypes.kinds import Atomic
from table_core.spark.session.conditions import named
from table_core.spark.session.failures import carried
from table_core.spark.session.schema_bridge import arrow_for_spark, fields_of, spark_type
from table_core.table.write.coerce import cast_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["with_keys_of"]


def with_keys_of(source: DataFrame, keys: Mapping[str, Field]) -> DataFrame:
    """``source``, its columns ``keys`` as values of those fields.

    Raises:
        DataError: a column is of a type that never fits.  While the job runs: a value does not fit.
    """
    types = {field.name: field.type for field in fields_of(source.select(*map(named, keys)).schema)}
    for name, field in keys.items():
        have = types[name]
        want = spark_type(field.type, field.name)
        if source.schema[name].dataType == want:
            continue
        cast_column(field, pa.chunked_array([], arrow_type(have)))
        if _is_wider(have, field.type):
            source = source.withColumn(name, named(name).cast(want))
        else:
            source = source.withColumn(name, _cast(field)(named(name)))
    return source


def _is_wider(have: DataType, want: DataType) -> bool:
    if not (isinstance(have, Atomic) and isinstance(want, Atomic)):
        return False
    roots = have.root, want.root
    if not all(root in EXACT_INTEGERS for root in roots):
        return False
    return EXACT_INTEGERS.index(roots[0]) <= EXACT_INTEGERS.index(roots[1])


def _cast(field: Field) -> Any:
    type_ = arrow_for_spark((field,)).field(0).type

    def cast(column: pa.Array) -> pa.Array:
        with carried():
            return cast_column(field, pa.chunked_array([column])).combine_chunks().cast(type_)

    return f.arrow_udf(cast, spark_type(field.type, field.name))  # type: ignore[attr-defined]  # 4.1's stubs lack it
