"""Ten thousand splits, each a file of its own: every row is read once, whoever scans it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from tests.tables import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(600)]

BUCKETS, ROWS = 10_000, 120_000
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])


@pytest.mark.parametrize("scan", ["of Spark", "that merges"])
def test_ten_thousand_splits_are_read_once(spark: Any, catalog: tc.Catalog, scan: str) -> None:
    options = {"bucket": str(BUCKETS), "write-only": "true", "bucket-key": "id"}
    if scan == "that merges":
        options["file.format"] = "avro"  # which Spark is not asked to read
    table = catalog.create_table("d.t", SCHEMA, options=options)
    write_rows(table, pa.table({"id": range(ROWS), "n": range(ROWS)}, schema=SCHEMA))
    assert len(table.access.live_entries(table.latest_snapshot())) == BUCKETS
    frame = tcs.read(spark, table)
    assert ("MapInArrow" in frame._jdf.queryExecution().toString()) == (scan == "that merges")
    found = frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(n)").first()
    assert tuple(found) == (ROWS, ROWS, ROWS * (ROWS - 1) // 2)
