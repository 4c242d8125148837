"""Goal: after a statement by tasks the table is what the statement says, on every engine and producer.

Method: the walk of the embedded engine's test, with Spark carrying out the statements; a plain dictionary
says what the table must hold, before and after compactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import table_core.spark as tcs
from tests.lanes import sampled
from tests.property.engine_statements import cases, walk

if TYPE_CHECKING:
    import pyarrow as pa

    import table_core as tc


@dataclass(frozen=True)
class _OnSpark:
    """A table whose statements are Spark's."""

    spark: Any
    table: tc.Table

    def update(self, values: dict[str, str], where: str) -> Any:
        return tcs.update(self.spark, self.table, values, where)

    def delete(self, where: str) -> Any:
        return tcs.delete(self.spark, self.table, where)

    def merge_into(self, source: pa.Table, on: list[str], when: list[tc.MergeClause]) -> Any:
        return tcs.merge_into(self.spark, self.table, self.spark.createDataFrame(source), on, when)


@pytest.mark.parametrize(("engine", "producer", "vectors"), sampled(cases(), 5))
def test_a_table_is_what_the_statements_of_spark_say(
    spark: Any, catalog: tc.Catalog, engine: str, producer: str, vectors: str
) -> None:
    walk(catalog, engine, producer, vectors, steps=1, by=lambda table: _OnSpark(spark, table))
