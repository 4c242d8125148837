"""Goal: the newest version of each key wins, however many tasks carry the rows.

Rows that say their kind have an order: that of the partitions of a frame, of the snapshots of a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from tests.tables import write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
KEYS = 60
SNAPSHOTS = 12


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    tcs.register(spark)


def table_of(catalog: tc.Catalog, name: str, bucket: str, **options: str) -> tc.Table:
    return catalog.create_table(
        name, SCHEMA, primary_key=("k",), options={"bucket": bucket, **options}
    )


def rows_of(table: tc.Table) -> dict[int, str]:
    rows = table.read().to_arrow()
    assert rows.num_rows == len(set(rows["k"].to_pylist()))
    return dict(zip(rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True))


def with_history(table: tc.Table, kinds: bool = True) -> dict[int, str]:
    """Twelve snapshots of the same keys; what is there in the end."""
    state: dict[int, str] = {}
    for number in range(SNAPSHOTS):
        keys = list(range(KEYS))
        values = [f"{number}-{key}" for key in keys]
        rows = {"k": keys, "v": values}
        if kinds:
            gone = [number % 3 == 1 and key % 2 == 0 for key in keys]
            rows["_ROW_KIND"] = ["-D" if each else "+U" for each in gone]
            for key, value, each in zip(keys, values, gone, strict=True):
                state.pop(key, None) if each else state.update({key: value})
        else:
            state.update(zip(keys, values, strict=True))
        write_rows(table, pa.table(rows))
    return state


def changes_in_partitions(spark: SparkSession) -> DataFrame:
    """Inserts, then deletes of all of them, then inserts of half of the keys: in four partitions."""
    rows = [("+I", key, "a") for key in range(2 * KEYS)]
    rows += [("-D", key, "a") for key in range(2 * KEYS)]
    rows += [("+I", key, "b") for key in range(KEYS)]
    return spark.sparkContext.parallelize(rows, 4).toDF("_ROW_KIND string, k bigint, v string")


BUCKETS = ("1", "3", "-1", "-2")


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("way", ["format", "write"])
def test_deletes_take_back_what_an_earlier_partition_brought(
    spark: SparkSession, catalog: tc.Catalog, bucket: str, way: str
) -> None:
    table = table_of(catalog, "d.t", bucket)
    frame = changes_in_partitions(spark)
    if way == "format":
        frame.write.format("paimon").mode("append").save(table.uri)
    else:
        tcs.write(frame, table)
    table.compact(strategy="full")
    assert rows_of(table) == dict.fromkeys(range(KEYS), "b")


@pytest.mark.parametrize("options", [{}, {"source.split.target-size": "1 kb"}], ids=["", "split"])
@pytest.mark.parametrize("bucket", BUCKETS)
def test_changes_of_many_snapshots_arrive_in_their_order(
    spark: SparkSession, catalog: tc.Catalog, bucket: str, options: dict[str, str]
) -> None:
    source = table_of(catalog, "d.a", "1", **{"changelog-producer": "input"})
    expected = with_history(source)
    target = table_of(catalog, "d.b", bucket)
    source = catalog.table("d.a", options=options)
    frame = tcs.changes(spark, source, after=0)
    frame.write.format("paimon").mode("append").save(target.uri)
    target.compact(strategy="full")
    assert rows_of(target) == expected


def test_a_range_without_kinds_arrives_in_its_order(
    spark: SparkSession, catalog: tc.Catalog
) -> None:
    source = table_of(catalog, "d.a", "1", **{"write-only": "true"})
    expected = with_history(source, kinds=False)
    target = table_of(catalog, "d.b", "2")
    between = f"0,{source.latest_snapshot().id}"
    for options in ({}, {"source.split.target-size": "1 kb"}):
        frame = spark.read.format("paimon").options(
            **{"incremental-between": between, "source.split.open-file-cost": "1 kb", **options}
        )
        frame.load(source.uri).write.format("paimon").mode("append").save(target.uri)
        assert rows_of(target) == expected


def test_a_stream_of_an_append_table_with_buckets_keeps_their_order(
    spark: SparkSession, catalog: tc.Catalog, tmp_path: Path
) -> None:
    source = catalog.create_table("d.a", SCHEMA, options={"bucket": "1", "bucket-key": "k"})
    expected = with_history(source, kinds=False)
    target = table_of(catalog, "d.b", "2")
    stream = spark.readStream.format("paimon").option("scan.mode", "from-snapshot")
    stream = stream.option("scan.snapshot-id", 1).option("source.split.open-file-cost", "64 mb")
    query = (
        stream.load(source.uri)
        .writeStream.format("paimon")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(target.uri)
    )
    query.awaitTermination()
    assert rows_of(target) == expected
