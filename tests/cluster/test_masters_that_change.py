"""Goal: a job outlives the master that took it, and the task is told the truth about it meanwhile.

Method: a real cluster with two masters and a ZooKeeper.  The one on stand-by is named first, and the leader is killed
with -9: while a driver works, before a job is submitted, and before a job is ended.  The stubs of
``provider/test_masters.py`` have every state and fault; here is whether they answer as Spark does.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.launchers.standalone import ACTIVE, StandaloneLauncher, Submission
from paimon_provider.triggers.spark_job import PaimonSparkJobTrigger
from table_core.errors import StorageUnavailableError
from table_core.jobs.job_spec import JobSpec
from tests.eventually import eventually
from tests.provider.kept_jobs import Store, jobs
from tests.spark_servers import SMALL, Pair, pair

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(900)]

SLOW = (
    "SELECT id, aggregate(sequence(1L, {steps}L), 0L, (a, x) -> (a + x * 31) % 1000003) v "
    "FROM range(0, 40, 1, 4)"
)
WHOLE, ENDLESS = SLOW.format(steps=3_000_000), SLOW.format(steps=2_000_000_000)


@pytest.fixture
def two() -> Iterator[Pair]:
    with pair() as found:
        yield found


@pytest.fixture
def table(catalog: tc.Catalog) -> tc.Table:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
    return catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "2"})


def launcher(two: Pair, folder: Path) -> StandaloneLauncher:
    settings = SparkSettings(
        backend="standalone",
        master=two.cluster.master,
        rest_port=two.cluster.rest_port,
        job_folder=str(folder),
        conf={**SMALL, "spark.driver.host": "127.0.0.1", "spark.cores.max": "2"},
    )
    return StandaloneLauncher(settings, poll_seconds=0.2)


def job(catalog: tc.Catalog, sql: str) -> JobSpec:
    return JobSpec(
        action="write",
        warehouse=catalog.storage.uri,
        table="d.t",
        args={"sql": sql, "sources": {}},
        options={},
        commit_user="me",
        commit_identifier=0,
    )


def at_work(on: StandaloneLauncher, sent: Submission) -> bool:
    """Whether the driver has begun on the rows."""
    return any('"stage": "spark"' in line for line in on.progress(sent, 0))


def trigger(two: Pair, on: StandaloneLauncher, sent: Submission, warehouse: str) -> str:
    """The state with which a task that waits in a triggerer goes on."""
    extra = {
        "spark_backend": "standalone",
        "spark_master": two.cluster.master,
        "spark_rest_port": two.cluster.rest_port,
        "spark_job_folder": on.spark.job_folder,
    }
    document = {"conn_type": "paimon", "host": warehouse, "extra": extra}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
        waits = PaimonSparkJobTrigger(
            paimon_conn_id="paimon_default", submission=sent.to_document(), poll_seconds=0.2
        )
        event = asyncio.run(anext(waits.run()))
    assert event.payload["status"] == "ended", event.payload
    return str(event.payload["state"])


def test_a_job_goes_on_under_the_next_leader(
    two: Pair, catalog: tc.Catalog, table: tc.Table, tmp_path: Path
) -> None:
    on = launcher(two, tmp_path / "jobs")
    sent = on.submit(job(catalog, WHOLE))
    eventually(lambda: at_work(on, sent), "the driver works")
    told: list[str] = []
    waiting = threading.Thread(target=lambda: told.append(on.wait(sent, told.append)))
    waiting.start()
    two.kill_leader()
    assert trigger(two, on, sent, catalog.storage.uri) == "FINISHED", two.cluster.told()
    waiting.join()
    assert told[-1] == "FINISHED"
    assert any("still waiting" in line and "STANDBY" in line for line in told), told
    assert on.result(sent, told[-1])["snapshot_after"] == 1
    assert table.read().to_arrow().num_rows == 40
    assert len(table.snapshots()) == 1
    two = two.turned()
    eventually(lambda: two.cluster.busy() == [], "the new leader knows of no driver")


def test_what_ended_under_the_last_leader_is_taken_and_what_is_unwanted_is_ended_by_the_next(
    two: Pair, catalog: tc.Catalog, table: tc.Table, tmp_path: Path
) -> None:
    on, store = launcher(two, tmp_path / "jobs"), Store()
    ended = jobs(on, store, "me", 1).submitted_or(job(catalog, "SELECT 1L id, 1L v"))
    endless = on.submit(job(catalog, ENDLESS))
    eventually(lambda: at_work(on, endless), "the driver works")
    eventually(lambda: on.state(ended) == "FINISHED", "the short job has ended")
    two.kill_leader()
    eventually(lambda: ends(on, endless), "a leader ends it")
    two = two.turned()
    on = launcher(two, tmp_path / "jobs")
    assert on.state(endless) not in ACTIVE
    assert on.state(ended) == "NOT_FOUND", "Spark keeps none that had ended"
    again = jobs(on, store, "me", 2)
    assert again.submitted_or(job(catalog, "SELECT 1L id, 1L v")) == ended
    assert again.wait(ended, lambda _: None)["snapshot_after"] == 1
    two.kill_leader()
    last = on.submit(job(catalog, "SELECT 1L id, 1L v"))
    assert on.result(last, on.wait(last, lambda _: None))["snapshot_after"] == 1, "it had landed"
    assert table.read().to_arrow().to_pylist() == [{"id": 1, "v": 1}]
    assert list((tmp_path / "jobs").iterdir()) == []
    two = two.turned()
    eventually(lambda: two.cluster.busy() == [], "the leader knows of no driver")


def ends(on: StandaloneLauncher, sent: Submission) -> bool:
    """As ``on_kill`` and its next call would."""
    try:
        on.end(sent)
    except StorageUnavailableError:
        return False
    return True
