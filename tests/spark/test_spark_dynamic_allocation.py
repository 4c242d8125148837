"""Goal: with dynamic allocation executors come, go and die, and a job that reads by a plan of tasks is exact.

Method: a real standalone cluster, executors of one core that Spark asks for and gives back, one of them killed with
-9 when its first Python works.  The source is planned by tasks, so what is lost is part of a plan.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import psutil
import pyarrow as pa

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from tests.spark.submitted import job
from tests.spark_servers import SMALL, Standalone, standalone
from tests.tables import write_rows

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.executor.cores": "1",
}
SQL = (
    "SELECT id, v FROM (SELECT id, v, "
    "aggregate(sequence(1L, 300000L + id), 0L, (a, x) -> (a + x * 31) % 1000003) slow FROM s) "
    "WHERE slow IS NOT NULL"
)
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])


def kill_one_at_work(cluster: Standalone, killed: list[psutil.Process]) -> None:
    until = time.monotonic() + 300
    while not killed and time.monotonic() < until:
        with contextlib.suppress(psutil.NoSuchProcess):  # one may end while it is looked at
            for executor in cluster.executors():
                if len(executor.children(recursive=True)) > 1:
                    executor.kill()
                    killed.append(executor)
                    return
        time.sleep(0.02)


def test_a_lost_executor_costs_time_and_no_row(catalog: tc.Catalog, tmp_path: Path) -> None:
    options = {"bucket": "4", "write-only": "true", "scan.distributed-planning.min-manifests": "1"}
    source = catalog.create_table("d.s", SCHEMA, primary_key=("id",), options=options)
    table = catalog.create_table("d.t", SCHEMA, primary_key=("id",), options={"bucket": "4"})
    for text in ("old", "new"):
        write_rows(source, pa.table([range(120), [text] * 120], schema=SCHEMA))
    source.delete("id >= 100")
    with standalone() as cluster:
        spec = JobSpec(
            action="write",
            warehouse=catalog.storage.uri,
            table="d.t",
            args={"sql": SQL, "sources": {"s": {"table": "d.s"}}},
            options={
                **SMALL,
                **DYNAMIC,
                "spark.master": cluster.master,
                "spark.driver.host": "127.0.0.1",
            },
            commit_user="me",
            commit_identifier=0,
        )
        killed: list[psutil.Process] = []
        killer = threading.Thread(target=kill_one_at_work, args=(cluster, killed))
        killer.start()
        status, result, _ = job(tmp_path, spec)
        killer.join()
        assert (status, result.error) == (0, None), cluster.told()
        assert len(killed) == 1
        assert cluster.busy() == []
    rows = table.read().to_arrow().sort_by("id")
    assert rows.to_pylist() == [{"id": id, "v": "new"} for id in range(100)]
    files = [entry.file for entry in table.access.live_entries(table.latest_snapshot())]
    assert sum(file.row_count for file in files) == 100
