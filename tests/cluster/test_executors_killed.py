"""All executors are killed with -9 in the middle of every verb: the result is exact all the same.

The same verb of the embedded engine
on the same rows is the oracle; a file is in the commit once, and its rows are counted once.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import table_core as tc
import table_core.spark as tcs
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded, run_job
from table_core.spark import register
from table_core.spark.engine import SparkEngine
from tests.cdc.conftest import need
from tests.cdc.servers import MariaDb
from tests.cluster.exact_jobs import COUNT, JOBS, KEYED, LAYOUTS, SCHEMA, exact, loaded, rows, same
from tests.cluster.strikes import Strike, killed
from tests.spark_servers import Standalone
from tests.tables import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(600)]


@pytest.fixture
def losing(spark: Any, cluster: Standalone) -> Callable[..., Any]:
    """Runs a verb while executors are killed; refuses a verb during which none was."""

    def run(verb: Callable[[], Any], *, stage: int = 1) -> Any:
        strike = Strike(spark, cluster, killed, stage)
        strike.start()
        try:
            return verb()
        finally:
            strike.over.set()
            strike.join()
            assert strike.hit, "no task was running when others had ended"
            psutil.wait_procs(strike.hit, timeout=30)

    return run


def frame(spark: Any, turn: int = 0) -> Any:
    text = f"concat('{turn}-', id)"
    found = spark.range(turn * 100, COUNT + turn * 100, 1, 12)
    return found.selectExpr("id", "CAST(id % 40 AS STRING) part", f"{text} v")


@pytest.mark.parametrize(
    ("layout", "stage"),
    [
        ("append", 1),  # rows are not shuffled
        ("append by partition", 1),
        ("append by bucket", 2),
        ("key", 1),
        ("key", 2),
        ("key with changelog", 2),
    ],
)
def test_a_write(spark: Any, catalog: tc.Catalog, losing: Any, layout: str, stage: int) -> None:
    table = catalog.create_table("d.t", SCHEMA, **LAYOUTS[layout])
    done = losing(lambda: tcs.write(frame(spark), table), stage=stage)
    exact(table, rows())
    assert done.rows_added == COUNT
    if layout == "key with changelog":
        changes = table.changes(after=0).to_arrow()
        assert set(changes["_ROW_KIND"].to_pylist()) == {"+I"}
        assert same(changes.select(SCHEMA.names), rows())


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_changelog_tells_each_change_once(
    spark: Any, catalog: tc.Catalog, losing: Any, producer: str
) -> None:
    layout = LAYOUTS["key with changelog"]
    if producer == "lookup":
        options = {"bucket": "64", "changelog-producer": "lookup"}
        layout = {**layout, "options": options}
    table, twin = (catalog.create_table(f"d.{name}", SCHEMA, **layout) for name in ("t", "twin"))
    found = []
    for each in (table, twin):
        write_rows(each, rows())
        head = each.latest_snapshot().id
        if each is table:
            losing(lambda: tcs.write(frame(spark, 1), table), stage=3)  # the tasks that compact
        else:
            write_rows(each, rows(1))
        found.append(each.changes(after=head).to_arrow())
    exact(table, twin.read().to_arrow())
    assert found[1].num_rows > COUNT
    assert same(*found)


def test_an_overwrite(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    table = loaded(catalog, "d.t", **KEYED)
    losing(lambda: tcs.write(frame(spark, 3), table, mode="overwrite"), stage=2)
    exact(table, rows(3))


@pytest.mark.parametrize("layout", ["dynamic", "across partitions"])
def test_keys_stay_in_one_bucket(spark: Any, catalog: tc.Catalog, losing: Any, layout: str) -> None:
    table = loaded(catalog, "d.t", 1, **LAYOUTS[layout])
    moved = frame(spark, 1).withColumn("part", f.expr("CAST(id % 3 AS STRING)"))
    losing(lambda: tcs.write(moved, table), stage=2)
    old, new = rows().slice(0, 100), rows(1)
    ids = new["id"].to_pylist()
    parts = pa.array([str(id % 3) for id in ids])
    exact(table, pa.concat_tables([old, new.set_column(1, "part", parts)]))


@pytest.mark.parametrize("layout", ["append", "key"])
def test_a_write_by_the_data_source(
    spark: Any, catalog: tc.Catalog, losing: Any, layout: str
) -> None:
    register(spark)
    table = catalog.create_table("d.t", SCHEMA, **LAYOUTS[layout])
    writer = frame(spark).write.format("paimon").mode("append")
    losing(lambda: writer.save(table.uri))
    exact(table, rows())


def test_a_read(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    table = loaded(catalog, "d.t", **KEYED)
    found = losing(lambda: tcs.read(spark, table).toArrow())
    assert same(found, table.read().to_arrow())


def test_a_read_by_the_data_source(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    register(spark)
    table = loaded(catalog, "d.t", **KEYED)
    found = losing(lambda: spark.read.format("paimon").load(table.uri).toArrow())
    assert same(found, table.read().to_arrow())


def test_a_lookup_join(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    table = loaded(catalog, "d.t", **KEYED)
    keys = spark.range(0, COUNT, 1, 12).selectExpr("id + 50 AS key")
    joined = tcs.lookup_join(keys, table, {"key": "id"})
    found = losing(lambda: joined.toArrow())
    asked = pa.table({"key": range(50, COUNT + 50)})
    assert same(found, tc.lookup_join(asked, table, {"key": "id"}))


def job(catalog: tc.Catalog, action: str, table: str, args: dict[str, Any]) -> JobSpec:
    return JobSpec(
        action=action,
        warehouse=catalog.warehouse,
        table=table,
        args=args,
        commit_user="me",
        commit_identifier=0,
    )


@pytest.mark.parametrize("name", JOBS)
def test_a_job(spark: Any, catalog: tc.Catalog, losing: Any, name: str) -> None:
    layout, action, args = JOBS[name]
    loaded(catalog, "d.s", 1, **LAYOUTS["append by bucket"])
    for each in ("t", "twin"):
        loaded(catalog, f"d.{each}", **LAYOUTS[layout])
    losing(lambda: run_job(job(catalog, action, "d.t", args), SparkEngine(spark)))
    run_embedded(job(catalog, action, "d.twin", args))
    exact(catalog.table("d.t"), catalog.table("d.twin").read().to_arrow())


def test_a_database_is_compacted(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    table = loaded(catalog, "d.t", **KEYED)
    before = table.read().to_arrow()
    verb = job(catalog, "compact-database", "d", {"strategy": "full"})
    losing(lambda: run_job(verb, SparkEngine(spark)))
    exact(table, before)
    assert len(table.access.live_entries(table.latest_snapshot())) == 64


@pytest.mark.parametrize("how", ["drain", "query", "foreachBatch"])
def test_a_stream_brings_each_row_once(
    spark: Any, catalog: tc.Catalog, losing: Any, tmp_path: Path, how: str
) -> None:
    register(spark)
    source = loaded(catalog, "d.t", **LAYOUTS["append by bucket"])
    copy = catalog.create_table("d.copy", SCHEMA, **LAYOUTS["append by bucket"])

    def query() -> None:
        writer = spark.readStream.format("paimon").load(source.uri).writeStream
        if how == "query":
            writer = writer.format("paimon").option("path", copy.uri)
        else:
            writer = writer.foreachBatch(lambda df, n: tcs.write_batch(df, copy, n, name="copier"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        assert writer.trigger(availableNow=True).start().awaitTermination(300)

    losing((lambda: tcs.drain(spark, source, copy, name="copier")) if how == "drain" else query)
    exact(copy, source.read().to_arrow())


def test_analyze_counts_each_row_once(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    loaded(catalog, "d.t", **KEYED)
    found = losing(lambda: run_job(job(catalog, "analyze", "d.t", {}), SparkEngine(spark)))
    catalog.clone_table("d.t", "d.twin")
    expected = run_embedded(job(catalog, "analyze", "d.twin", {}))
    assert found["details"] == expected["details"]


def test_a_clone_has_every_file_whole(spark: Any, catalog: tc.Catalog, losing: Any) -> None:
    table = loaded(catalog, "d.t", **LAYOUTS["append by bucket"])
    clone = job(catalog, "clone", "d.copy", {"source": "d.t"})
    losing(lambda: run_job(clone, SparkEngine(spark)))
    exact(catalog.table("d.copy"), table.read().to_arrow())


def test_an_orphan_scan_takes_what_nothing_names(
    spark: Any, catalog: tc.Catalog, losing: Any, tmp_path: Path
) -> None:
    table = catalog.create_table(
        "d.t", SCHEMA, options={"bucket": "-1", "manifest.merge-min-count": "1000"}
    )
    some = rows()
    for turn in range(200):  # a manifest each
        write_rows(table, some.slice(turn * 100, 100))
    expected = table.read().to_arrow()
    [folder] = {path.parent for path in tmp_path.glob("**/bucket-0/data-*")}
    orphan = folder / f"data-{uuid.uuid4()}-0.parquet"
    orphan.write_bytes(b"rest of a write")
    os.utime(orphan, (0, 1))
    args = {"older_than": 946_684_800_000}
    scan = job(catalog, "remove-orphan-files", "d.t", args)
    done = losing(lambda: run_job(scan, SparkEngine(spark)))
    assert done["files_deleted"] == 1
    assert not orphan.exists()
    exact(table, expected)


def test_a_sync_has_every_row_of_the_source_once(
    spark: Any, catalog: tc.Catalog, losing: Any
) -> None:
    need(MariaDb)
    with MariaDb() as server:
        server.sql(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.big (id BIGINT PRIMARY KEY, v INT NOT NULL)",
            f"INSERT INTO shop.big SELECT seq, seq % 7 FROM mysql.seq_1_to_{COUNT}",
            "ANALYZE TABLE shop.big",
        )
        source = {"kind": "mysql", "host": "127.0.0.1", "user": "root", "port": server.port}
        args = {"source": {**source, "databases": "shop", "tables": "big", "chunk_rows": 500}}
        losing(lambda: run_job(job(catalog, "sync-table", "d.big", args), SparkEngine(spark)))
    found = catalog.table("d.big").read().to_arrow()
    assert same(
        found, pa.table({"id": range(1, COUNT + 1), "v": [i % 7 for i in range(1, COUNT + 1)]})
    )
