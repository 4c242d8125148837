"""Goal: a column may have any name, also one that Spark's SQL takes for a path or cannot quote.

Method: tables with such columns, written, merged into, rescaled, looked up and grouped by tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from tests.tables import write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMES = ("c.d", "a`b", "source.n", "k.x")


def schema_of(name: str) -> pa.Schema:
    return pa.schema(
        [
            pa.field("k", pa.int64(), nullable=False),
            ("c", pa.struct([("d", pa.int64())])),
            (name, pa.int64()),
        ]
    )


def new_table(catalog: tc.Catalog, name: str, key: tuple[str, ...]) -> tc.Table:
    options = {"bucket": "2" if key else "-1", "write.by-spark": "false"}
    return catalog.create_table(f"d.t{len(key)}", schema_of(name), primary_key=key, options=options)


def frame_of(spark: Any, name: str, values: dict[int, int]) -> DataFrame:
    """Rows of which each value is by 1 more than the field of the same name."""
    rows = pa.table(
        {
            "k": list(values),
            "c": [{"d": v - 1} for v in values.values()],
            name: list(values.values()),
        },
        schema=schema_of(name),
    )
    frame: DataFrame = spark.createDataFrame(rows)
    return frame


def values_of(table: tc.Table, name: str) -> dict[int, int]:
    rows = table.read().to_arrow()
    assert [row["d"] + 1 for row in rows["c"].to_pylist()] == rows[name].to_pylist()
    return dict(sorted(zip(rows["k"].to_pylist(), rows[name].to_pylist(), strict=True)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", [("k",), ()])
def test_tasks_write_and_merge_columns_of_any_name(
    spark: Any, catalog: tc.Catalog, name: str, key: tuple[str, ...]
) -> None:
    table = new_table(catalog, name, key)
    write_rows(table, frame_of(spark, name, {1: 10, 2: 20}).toArrow())
    tcs.write(frame_of(spark, name, {3: 30}), table)
    assert values_of(table, name) == {1: 10, 2: 20, 3: 30}
    both = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
    tcs.merge_into(spark, table, frame_of(spark, name, {1: 11, 4: 40}), ["k"], both)
    quoted = f"`{name.replace('`', '``')}`"
    when = [tc.MatchedUpsert(values={name: f"target.{quoted} + 5", "c": "struct(24L AS d)"})]
    tcs.merge_into(spark, table, frame_of(spark, name, {7: 20}), [name], when)
    assert values_of(table, name) == {1: 11, 2: 25, 3: 30, 4: 40}
    counts = {"n": ("count", name)}
    assert len(tcs.aggregate(spark, table, [name], counts).collect()) == 4
    if key:
        tcs.rescale(spark, table, buckets=3)
        assert values_of(table, name) == {1: 11, 2: 25, 3: 30, 4: 40}
        joined = tcs.lookup_join(spark.range(1, 3).toDF("k.k"), table, {"k.k": "k"}, columns=[name])
        assert sorted(map(tuple, joined.collect())) == [(1, 11), (2, 25)]
