"""A live Airflow watches a real table: every change wakes the Dag, and only changes do.

Scheduler, triggerer, Dag processor and API server run as processes.  The commits come from here, so
nothing in Airflow knows of them but by looking at the warehouse.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from demo.airflow_home import AirflowHome, DemoError
from table_core.table.api.opening import open_catalog
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(300)]

DAG = """
from airflow.sdk import DAG, task
from paimon_provider.assets import watched_table

with DAG("woken", schedule=[watched_table("shop.sums", poll_seconds=0.5)], catchup=False):
    @task
    def tell(triggering_asset_events=None):
        return [e.extra["payload"] for events in triggering_asset_events.values() for e in events]
    tell()

with DAG("woken_by_any",
         schedule=[watched_table("shop.sums", poll_seconds=0.5, on="any", events="snapshot")]):
    @task
    def tell(triggering_asset_events=None):
        return [e.extra["payload"] for events in triggering_asset_events.values() for e in events]
    tell()
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def airflow(tmp_path: Path) -> Iterator[AirflowHome]:
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "woken.py").write_text(DAG)
    connection = json.dumps({"conn_type": "paimon", "host": f"file://{tmp_path}/wh"})
    home = AirflowHome(tmp_path / "home", dags, connection)
    home.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "provider")])
    home.start()
    yield home
    home.components.stop()


def payloads(airflow: AirflowHome, dag: str = "woken") -> list[dict[str, Any]]:
    """What every run of the Dag was told, oldest first; waits for those that run."""
    found = []
    for run in airflow.runs(dag):
        run_id = run["dag_run_id"]

        def ended(run_id: str = run_id) -> Any:
            return airflow.get(f"/dags/{dag}/dagRuns/{run_id}")["state"] in {"success", "failed"}

        airflow.wait(f"run {run_id} ended", ended)
        entry = airflow.get(
            f"/dags/{dag}/dagRuns/{run_id}/taskInstances/tell/xcomEntries/return_value"
        )
        value = entry["value"]
        found += json.loads(value) if isinstance(value, str) else value
    return found


def test_changes_wake_the_dag_and_nothing_else_does(airflow: AirflowHome, tmp_path: Path) -> None:
    catalog = open_catalog(f"file://{tmp_path}/wh")

    def noted() -> list[int]:
        """How far each trigger has come for good; 0 is noted too, when there is nothing yet."""
        assets = airflow.get("/assets", limit=10)["assets"]
        stores = [airflow.get(f"/assets/{a['id']}/state-store") for a in assets]
        return [mark["value"]["snapshot_id"] for s in stores for mark in s["asset_state_store"]]

    airflow.wait("the watchers have looked", lambda: len(noted()) == 2)
    catalog.create_database("shop")
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("n", pa.int64())])
    options = {
        "bucket": "1",
        "changelog-producer": "full-compaction",
        "full-compaction.delta-commits": "99",
    }
    table = catalog.create_table("shop.sums", schema, primary_key=("k",), options=options)

    def append(*keys: int) -> None:
        write_rows(table, pa.table({"k": keys, "n": keys}, schema=schema))

    def delivered() -> int:
        head = table.latest_snapshot()
        assert head is not None
        return head.id

    append(1, 2)  # rows that no reader of changes gets yet
    table.compact()
    first = delivered()
    airflow.wait("the first change", lambda: payloads(airflow))
    append(3)
    airflow.wait("the first event has settled", lambda: min(noted()) >= first)

    # while the triggerer is dead, changes are made
    leader = json.loads(airflow.components.record.read_text())["triggerer"][0]
    os.killpg(leader, signal.SIGKILL)
    os.waitpid(leader, 0)
    table.compact()
    second = delivered()
    airflow.components.start("triggerer", airflow.airflow("triggerer"), airflow.environment)
    airflow.wait("the second change", lambda: len(payloads(airflow)) > 1)

    append(4)
    table.compact(dry_run=True)
    append(5)
    table.compact()
    third = delivered()
    airflow.wait("the third change", lambda: len(payloads(airflow)) > 2)
    told = payloads(airflow)
    assert [payload["snapshot_id"] for payload in told] == [first, second, third]
    assert [payload["kinds"] for payload in told] == [{"COMPACT": 1}] * 3

    def everything() -> list[int]:
        """What the other watcher of the table, on the same poll, told Airflow one by one.

        Its events, and not its runs: while a run waits to be made, Airflow leaves a second event to
        the next wake-up.
        """
        try:
            events = airflow.get("/assets/events", limit=100)["asset_events"]
        except DemoError as error:
            # Airflow 3.3 cannot show an event while a run made of it is queued: that has no start date
            if ": 500 " not in str(error):
                raise
            return []
        told = [event["extra"]["payload"] for event in events if "on=any" in event["uri"]]
        assert all(payload["snapshots"]["count"] == 1 for payload in told)
        return sorted({payload["snapshot_id"] for payload in told})

    airflow.wait("every snapshot", lambda: everything() == list(range(1, third + 1)))
    airflow.wait("a run of the other Dag", lambda: payloads(airflow, "woken_by_any"))
