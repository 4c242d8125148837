"""Goal: an executor of 512 MB writes, merges, deletes and compacts two million rows, and none is lost for want of memory.

Method: jobs as an operator sends them, each with one executor; their JVM and its Python are looked at meanwhile.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from tests.cluster.exact_jobs import S_ROWS, same, unknown_files
from tests.cluster.sent_jobs import Round
from tests.spark_servers import Standalone
from tests.tables import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(1800)]

ROWS, WIDTH = 2_000_000, 80
PYTHON_MOST = 512 << 20
ONE_OF_512_MB = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "2",
    "spark.cores.max": "2",
}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
LAYOUTS: dict[str, dict[str, Any]] = {
    "key": {"primary_key": ("id",), "options": {"bucket": "4"}},
    "append": {"options": {"bucket": "-1"}},
}
UPSERT = [
    {"action": "matched-upsert", "values": None, "condition": None},
    {"action": "not-matched-insert", "values": None, "condition": None},
]


class Watch(threading.Thread):
    """The most that a JVM of an executor held, and a Python of theirs."""

    def __init__(self, cluster: Standalone) -> None:
        super().__init__(daemon=True)
        self.cluster, self.over = cluster, threading.Event()
        self.python_most = self.jvm_most = 0

    def run(self) -> None:
        while not self.over.wait(0.2):
            for executor in self.cluster.executors():
                with suppress(psutil.Error):
                    self.jvm_most = max(self.jvm_most, executor.memory_info().rss)
                    for worker in executor.children(recursive=True):
                        self.python_most = max(self.python_most, worker.memory_full_info().uss)


def texts(ids: pa.Array, word: str) -> pa.Array:
    padded = pc.utf8_rpad(pc.cast(ids, pa.string()), WIDTH, "x")
    return pc.binary_join_element_wise(pa.scalar(word), padded, "-")


def rows(first: int, word: str) -> pa.Table:
    ids = pa.array(range(first, first + ROWS), pa.int64())
    return pa.table([ids, texts(ids, word)], schema=SCHEMA)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_million_rows_on_an_executor_of_512_mb(
    cluster: Standalone,
    catalog: tc.Catalog,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    layout: str,
) -> None:
    source = catalog.create_table("d.s", SCHEMA, options={"bucket": "-1"})
    write_rows(source, rows(0, "a"))
    table = catalog.create_table("d.t", SCHEMA, **LAYOUTS[layout])

    def sent(action: str, **args: Any) -> None:
        folder = tmp_path / f"{action}-{len(table.snapshots())}"
        folder.mkdir()
        job = Round(
            folder,
            JobSpec(action=action, warehouse=catalog.warehouse, table="d.t", args=args),
            ONE_OF_512_MB,
        )
        request.addfinalizer(job.end)
        watch = Watch(cluster)
        watch.start()
        try:
            job.send(cluster)
            said = job.ended()
        finally:
            watch.over.set()
            watch.join()
        assert said is not None, job.told()
        assert said.error is None, job.told()
        print(action, f"python {watch.python_most >> 20} MB, JVM {watch.jvm_most >> 20} MB")
        assert b"Lost executor" not in (folder / "log0").read_bytes()
        assert watch.python_most <= PYTHON_MOST

    sent("write", sql="SELECT id, v FROM s", sources=S_ROWS)
    assert same(table.read().to_arrow(), rows(0, "a"))
    moved = f"SELECT id + {ROWS // 2} AS id, concat('b', v) v FROM s"
    sent("merge-into", source={"sql": moved, "sources": S_ROWS}, on=["id"], when=UPSERT)
    sent("delete", where="id % 3 = 0")
    sent("compact", strategy="full")
    found = table.read().to_arrow()
    old = rows(0, "a").slice(0, ROWS // 2)
    new = rows(0, "ba")
    new = new.set_column(0, SCHEMA.field(0), pc.add(new["id"], ROWS // 2))
    both = pa.concat_tables([old, new])
    third = pc.divide(both["id"], 3)
    assert same(found, both.filter(pc.not_equal(pc.multiply(third, 3), both["id"])))
    assert unknown_files(table) == []
