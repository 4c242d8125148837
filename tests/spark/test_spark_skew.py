"""Goal: a bucket or partition far larger than its peers is read by many tasks, and every row by one of them.

Method: tables with one large bucket, read by the merging reader (a target size is set).  Spark says how many tasks
had rows; the rows are compared with what was written.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import table_core as tc
import table_core.spark as tcs
from tests.tables import write_rows

LARGE, SMALL = 6_000, 50
SCHEMA = pa.schema(
    [
        pa.field("p", pa.int32(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("v", pa.string()),
    ]
)


def ids_of(count: int) -> list[int]:
    return [id * 7919 % 1_000_003 for id in range(count)]


def rows(partition: int, ids: list[int]) -> pa.Table:
    texts = [hashlib.sha256(str(id).encode()).hexdigest() for id in ids]  # which do not pack
    return pa.table([[partition] * len(ids), ids, texts], schema=SCHEMA)


def filled(table: tc.Table, partition: int, count: int) -> None:
    write_rows(table, rows(partition, ids_of(count)))


def rows_of_tasks(spark: Any, table: tc.Table, where: str | None = None) -> Counter[int]:
    """Of partition 0 how many rows each task read."""
    frame = tcs.read(spark, table, where=where).where("p = 0")
    if os.environ.get("SPARK_TESTS_ON") != "connect":
        assert "MapInArrow" in frame._jdf.queryExecution().toString(), "our reader reads all of it"
    counted = frame.groupBy(f.spark_partition_id().alias("task")).count().collect()
    return Counter({row["task"]: row["count"] for row in counted})


def read_all(spark: Any, table: tc.Table) -> list[tuple[int, int]]:
    return sorted(map(tuple, tcs.read(spark, table).select("p", "id").collect()))


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("plans", ["driver", "tasks"])
def test_a_large_file_of_an_append_table_is_cut(
    spark: Any, catalog: tc.Catalog, format: str, plans: str
) -> None:
    options = {
        "bucket": "-1",
        "file.format": format,
        "file.block-size": "16 kb",
        "source.split.target-size": "50 kb",
        "scan.distributed-planning.min-manifests": "1" if plans == "tasks" else "1000",
        "scan.parallelism": "20",
    }
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=options)
    filled(table, 0, LARGE)
    filled(table, 1, SMALL)
    sizes = [(len(split.files), split.size) for split in table.read(where="p = 0").splits()]
    assert len(sizes) == 1, "one file, which one process reads as a whole"
    assert sizes[0][1] > 2 * 50 * 1024
    tasks = rows_of_tasks(spark, table)
    assert len(tasks) >= 2
    assert max(tasks.values()) < LARGE * 0.8
    assert tasks.total() == LARGE
    expected = sorted((p, id) for p, count in ((0, LARGE), (1, SMALL)) for id in ids_of(count))
    assert read_all(spark, table) == expected
    few = rows_of_tasks(spark, table, "id < 500000")
    assert few.total() == sum(id < 500_000 for p, id in expected if p == 0)


def test_a_large_bucket_of_a_key_table_is_read_by_ranges_of_its_keys(
    spark: Any, catalog: tc.Catalog
) -> None:
    options = {
        "bucket": "1",
        "write-only": "true",
        "source.split.target-size": "50 kb",
        "source.split.open-file-cost": "1 kb",
    }
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("p", "id"), partition_by=("p",), options=options
    )
    ids = sorted(ids_of(LARGE))
    newer = list(range(0, 20_000, 2_000))  # among the smallest keys
    for some in (*(ids[first : first + 1_000] for first in range(0, LARGE, 1_000)), newer):
        write_rows(table, rows(0, some))
    filled(table, 1, SMALL)
    splits = table.read(where="p = 0").splits()
    assert any(not split.raw_convertible for split in splits), "some keys are merged"
    tasks = rows_of_tasks(spark, table)
    assert len(tasks) == len(splits) >= 3
    whole = {*ids, *newer}
    assert tasks.total() == len(whole)
    assert read_all(spark, table) == sorted(
        [(0, id) for id in whole] + [(1, id) for id in ids_of(SMALL)]
    )


def test_files_with_deletion_vectors_stay_whole(spark: Any, catalog: tc.Catalog) -> None:
    options = {
        "bucket": "-1",
        "file.block-size": "16 kb",
        "source.split.target-size": "50 kb",
        "deletion-vectors.enabled": "true",
    }
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=options)
    filled(table, 0, LARGE)
    table.delete("id < 500")
    tasks = rows_of_tasks(spark, table)
    assert len(tasks) == 1
    assert tasks.total() == sum(id >= 500 for id in ids_of(LARGE))
