"""Goal: a job is the same on a cluster of processes, and loses nothing when executors die.

Method: a real standalone cluster, a driver of its own, executors killed with -9 once tasks run.  Every
verb, and Spark Connect, is in ``make test-spark-cluster``.
"""

from __future__ import annotations

import threading
from pathlib import Path

import psutil
import pyarrow as pa

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from tests.eventually import eventually
from tests.spark.submitted import job
from tests.spark_servers import SMALL, kill_executors_at_work, standalone

SLOW = (
    "SELECT id, CAST(id % 3 AS STRING) v FROM "
    "(SELECT id, aggregate(sequence(1L, 200000L + id), 0L, (a, x) -> (a + x * 31) % 1000003) slow "
    "FROM range(0, 80, 1, 4) LATERAL VIEW explode(array(id)) AS one) WHERE slow IS NOT NULL"
)
"""Rows that take a while each, by arithmetic: SQL of users calls no Java.

Spark cannot tell how many rows ``explode`` gives, so tasks write them and not the driver.
"""


def test_a_write_whose_executors_are_killed_is_exact(catalog: tc.Catalog, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "4"})
    with standalone() as cluster:
        spec = JobSpec(
            action="write",
            warehouse=catalog.storage.uri,
            table="d.t",
            args={"sql": SLOW, "sources": {}},
            options={**SMALL, "spark.master": cluster.master, "spark.driver.host": "127.0.0.1"},
            commit_user="me",
            commit_identifier=0,
        )
        killed: list[psutil.Process] = []
        over = threading.Event()
        killer = threading.Thread(target=kill_executors_at_work, args=(cluster, killed, over))
        killer.start()
        status, result, _ = job(tmp_path, spec)
        over.set()
        killer.join()
        assert (status, result.error) == (0, None), cluster.told()
        assert killed
        eventually(lambda: cluster.busy() == [], "the master forgets the application")
    found = table.read().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(80))
    files = [entry.file for entry in table.access.live_entries(table.latest_snapshot())]
    assert len({file.file_name for file in files}) == len(files)
    assert sum(file.row_count for file in files) == 80
