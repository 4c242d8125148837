"""Goal: no column of a user is taken for one that we put beside it, whatever it is called.

Method: tables whose columns have such names, by each way of writing.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.errors import ArgumentError, UnsupportedFeatureError

NAMES = ("__task", "__order", "__row", "__clause", "__old", "__file", "__in_target", "__count")


def frame_of(spark: Any, first: int) -> Any:
    rows = [(first + n, *(10 * n + at for at in range(len(NAMES)))) for n in range(4)]
    columns = ", ".join(f"{name} bigint" for name in ("id", *NAMES))
    return spark.createDataFrame(rows, columns)


@pytest.mark.parametrize("keys", [("id",), ()])
def test_columns_keep_their_values_whatever_they_are_called(
    spark: Any, catalog: tc.Catalog, keys: tuple[str, ...]
) -> None:
    fields = [pa.field("id", pa.int64(), nullable=False)]  # a column that is checked
    schema = pa.schema([*fields, *((name, pa.int32()) for name in NAMES)])
    options = {"bucket": "2" if keys else "-1"}
    table = catalog.create_table("d.t", schema, primary_key=keys, options=options)
    want: dict[int, Any] = {}
    for first in (0, 2):
        frame = frame_of(spark, first)
        when = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
        if first == 0:
            tcs.write(frame, table)
        else:
            tcs.merge_into(spark, table, frame, ["id"], when)
        want |= {row["id"]: row.asDict() for row in frame.collect()}
    found = {row["id"]: row for row in table.read().to_arrow().to_pylist()}
    assert found == want


def test_names_that_are_ours_are_refused(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "1"})
    source = spark.sql("SELECT 1L id, 2L n, 3L __PAIMON_SPARK_side")
    with pytest.raises(
        UnsupportedFeatureError, match="the source has a column __PAIMON_SPARK_side"
    ):
        tcs.merge_into(spark, table, source, ["id"], [tc.NotMatchedInsert()])
    named = schema.append(pa.field("__paimon_spark_task", pa.int64()))
    other = catalog.create_table("d.o", named, primary_key=("id",), options={"bucket": "2"})
    rows = spark.sql("SELECT 1L id, 2L n, 3L __paimon_spark_task")
    with pytest.raises(UnsupportedFeatureError, match="rename the column"):
        tcs.write(rows, other)
    assert not other.snapshots()


@pytest.mark.parametrize("keys", [("id",), ()])
@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("target.id", "the condition 'target.id' is BIGINT, and must be BOOLEAN"),
        ("source.absent > 1", "absent"),
        ("abs(source.t) IS NULL AND source.n + array(1) > 2", "array(1)"),
    ],
)
def test_no_error_of_a_merge_tells_of_them(
    spark: Any, catalog: tc.Catalog, keys: tuple[str, ...], condition: str, told: str
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    options = {"bucket": "1" if keys else "-1"}
    table = catalog.create_table("d.t", schema, primary_key=keys, options=options)
    source = spark.sql("SELECT 1L id, 2L n, 't' t")
    for when in (
        tc.MatchedUpsert(condition=condition),
        tc.MatchedUpsert(values={"id": "source.id", "n": f"IF({condition}, 'x', array(3))"}),
    ):
        with pytest.raises(ArgumentError) as caught:
            tcs.merge_into(spark, table, source, ["id"], [when, tc.NotMatchedInsert()])
        assert "__paimon" not in str(caught.value)
        assert when.condition is None or told in str(caught.value)
