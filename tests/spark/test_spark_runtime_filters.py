"""Goal: a join prunes partitions of the large side by keys of the small one, where Spark scans the files itself.

Method: the plan that Spark has run says whether it pruned, and the rows are those of a join without it.  What a
Python data source cannot take is said in ``docs/adr/0024-planning-in-tasks.md``.
"""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import table_core as tc
import table_core.spark as tcs
from tests.tables import write_rows

pytestmark = pytest.mark.skipif(
    os.environ.get("SPARK_TESTS_ON") == "connect", reason="a client does not show the plan that ran"
)


def test_a_join_prunes_partitions_by_keys_of_the_other_side(
    spark: Any, catalog: tc.Catalog
) -> None:
    schema = pa.schema([pa.field("p", pa.int32(), nullable=False), ("v", pa.int64())])
    table = catalog.create_table("d.t", schema, partition_by=("p",), options={"bucket": "-1"})
    write_rows(table, pa.table([[n % 10 for n in range(100)], range(100)], schema=schema))
    few = spark.range(10).selectExpr("int(id) AS p", "id * 2 AS twice").where("twice = 6")
    joined = tcs.read(spark, table).join(f.broadcast(few), "p")
    assert sorted(row.v for row in joined.collect()) == list(range(3, 100, 10))
    assert "dynamicpruning" in joined._jdf.queryExecution().executedPlan().toString()
