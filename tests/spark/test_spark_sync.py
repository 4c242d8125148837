"""First snapshots read by tasks of Spark, beside a source that goes on changing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import table_core as tc
import table_core.spark
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_job
from table_core.spark.engine import SparkEngine
from tests.cdc.conftest import need
from tests.cdc.servers import MariaDb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 20_000


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    need(MariaDb)
    with MariaDb() as server:
        server.sql(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.big (id BIGINT PRIMARY KEY, v INT NOT NULL)",
            f"INSERT INTO shop.big SELECT CAST(seq AS SIGNED) * 2 - 99, seq FROM mysql.seq_1_to_{ROWS}",
            "CREATE TABLE shop.words (k VARCHAR(20) PRIMARY KEY, v INT)",
            "INSERT INTO shop.words SELECT CONCAT('w', seq), seq FROM mysql.seq_1_to_900",
            "CREATE TABLE shop.sparse (id BIGINT PRIMARY KEY)",
            "INSERT INTO shop.sparse VALUES (1), (1000000000000)",
            "ANALYZE TABLE shop.big, shop.words, shop.sparse",
        )
        yield server


def there(mariadb: MariaDb, table: str) -> Counter[Any]:
    return Counter(mariadb.sql(f"SELECT * FROM shop.{table}"))


def ours(catalog: tc.Catalog, table: str) -> Counter[Any]:
    rows = catalog.table(f"lake.{table}").read().to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def test_tasks_read_ranges_while_the_source_changes(
    spark: SparkSession, mariadb: MariaDb, catalog: tc.Catalog
) -> None:
    source = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, chunk_rows=4000)
    told: list[Any] = []
    changed = threading.Event()

    def progress(stage: str, **facts: Any) -> None:
        told.append((stage, facts))
        if stage == "snapshot" and not changed.is_set():  # after the first ranges
            changed.set()
            mariadb.sql(
                "UPDATE shop.big SET v = -v WHERE id % 3 = 0",
                "DELETE FROM shop.big WHERE id % 7 = 0",
                "UPDATE shop.big SET id = id + 1000000 WHERE id % 11 = 0",
                "INSERT INTO shop.big VALUES (-1000, 0), (3000001, 0)",
            )

    table_core.spark.sync(spark, catalog, "lake", source, progress=progress)
    assert changed.is_set()
    table_core.spark.sync(spark, catalog, "lake", source)
    for table in ("big", "words", "sparse"):
        assert ours(catalog, table) == there(mariadb, table), table
    assert {facts["table"] for stage, facts in told if stage == "snapshot"} == {
        "shop.big", "shop.words", "shop.sparse",
    }  # fmt: skip
    assert table_core.spark.sync(spark, catalog, "lake", source).rows_written == 0


def test_a_job_reads_by_tasks_and_a_stopped_one_goes_on(
    spark: SparkSession, mariadb: MariaDb, catalog: tc.Catalog
) -> None:
    server = {"kind": "mysql", "host": "127.0.0.1", "user": "root", "port": mariadb.port}
    args: dict[str, Any] = {
        "source": {**server, "databases": "shop", "tables": "big", "chunk_rows": 2000},
        "commit_rows": 3000,
    }

    def run(more: dict[str, Any]) -> Any:
        spec = JobSpec(
            action="sync-table",
            warehouse=str(catalog.warehouse),
            table="d.big",
            args={**args, **more},
        )
        return run_job(spec, SparkEngine(spark))

    run({"max_rows": 9000})
    some = catalog.table("d.big").read().to_arrow().num_rows
    assert 9000 <= some < ROWS - 3000
    assert run({})["rows_written"] <= ROWS - some + 100
    rows = catalog.table("d.big").read().to_arrow().to_pylist()
    assert Counter(tuple(row.values()) for row in rows) == there(mariadb, "big")
