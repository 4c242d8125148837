"""Goal: rows of megabytes are written and read with as much memory as bytes need, not as much as rows are counted.

Method: row groups of what Spark wrote, plans of what it reads, batches that cross to it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import table_core as tc
import table_core.spark as tcs
from table_core.spark.reading.frames import batches_for_spark
from tests.tables import write_rows

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
PLAIN = {"bucket": "-1", "file.compression": "none"}


def test_spark_looks_at_the_size_of_row_groups_before_a_hundred_rows(
    spark: Any, catalog: tc.Catalog
) -> None:
    options = {**PLAIN, "parquet.block.size": "1 mb"}
    table = catalog.create_table("d.t", SCHEMA, options=options)
    tcs.write(spark.range(0, 60, 1, 1).selectExpr("id", "rpad('x', 100000, 'y') AS v"), table)
    [entry] = table.access.live_entries(table.latest_snapshot())
    folder = table.uri.removeprefix("file://")
    footer = pq.read_metadata(f"{folder}/bucket-0/{entry.file.file_name}")
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    assert len(groups) > 3
    assert max(group.num_rows for group in groups) * 100_000 < 3 << 20
    assert table.read().to_arrow()["id"].to_pylist() == list(range(60))


def test_spark_scans_no_file_of_wide_rows_unless_the_columns_are_narrow(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = catalog.create_table("d.t", SCHEMA, options=PLAIN)
    write_rows(table, pa.table({"id": [1, 2], "v": ["w" * (2 << 20), "x"]}, schema=SCHEMA))

    def by_us(frame: Any) -> bool:
        return "MapInArrow" in frame._jdf.queryExecution().toString()

    wide = tcs.read(spark, table)
    assert by_us(wide)
    assert wide.selectExpr("sum(length(v))").first()[0] == (2 << 20) + 1
    assert not by_us(tcs.read(spark, table, columns=["id"]))
    write_rows(table, pa.table({"id": range(9), "v": ["n"] * 9}, schema=SCHEMA))
    both = tcs.read(spark, table)
    assert by_us(both)  # of the first file
    assert both.count() == 11


def test_batches_that_cross_to_spark_are_cut_by_bytes(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.t", SCHEMA, options=PLAIN)
    rows = pa.table({"id": range(20), "v": ["z" * (5 << 20)] * 20}, schema=SCHEMA)
    batches = list(batches_for_spark(rows, table.access.schema.fields))
    assert [batch.num_rows for batch in batches] == [5, 5, 5, 5]
