"""The streamhouse as one declaration, with sensors beside it, on a live scheduler of any Airflow that is supported.

``make test-airflows`` runs it on each of them.  Everything runs in the worker, so Java is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import expected, generate
from tests.live.airflows import Live, running
from tests.servers import ROOT

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(3600)]

DECLARATIONS = ROOT / "declarations"
SALES = "default.country_sales"
SENSORS = """
from airflow.sdk import DAG
from paimon_provider.operators.tags import PaimonCreateTagOperator
from paimon_provider.sensors.partition import PaimonPartitionSensor
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.sensors.tag import PaimonTagSensor

with DAG("sensing", schedule=None, default_args={"poke_interval": 1}):
    waits = [
        PaimonSnapshotSensor(task_id="sold", table="default.country_sales"),
        PaimonSnapshotSensor(task_id="sold_in_the_triggerer", table="default.country_sales", deferrable=True),
        PaimonPartitionSensor(task_id="day", table="default.orders", partition={"dt": "2026-03-05"}, deferrable=True),
    ]
    tag = PaimonCreateTagOperator(task_id="tag", table="default.country_sales", tag="seen", engine="local", catalog="demo")
    waits >> tag >> PaimonTagSensor(task_id="tagged", table="default.country_sales", tag="seen")
"""
"""Some wait in the worker, some in the triggerer; started before there is a table."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    declared = (DECLARATIONS / "streamhouse.yaml").read_text()
    assert declared.count("\npipeline:\n") == 1
    files = {
        "streamhouse.yaml": declared.replace("\npipeline:\n", "\npipeline:\n  engine: local\n"),
        "streamhouse_declared.py": (DECLARATIONS / "streamhouse_declared.py").read_text(),
        "sensing.py": SENSORS,
    }
    with running(tmp_path_factory.mktemp("declared"), files, dags=4) as live:
        yield live


def test_a_declared_streamhouse_runs_and_its_sensors_see_it(live: Live, tmp_path: Path) -> None:
    source, inbox = tmp_path / "source", tmp_path / "in"
    generate.generate(source, customers=200, orders=1_000)
    sensing = live.airflow.trigger("sensing", {})
    number = generate.deliver(source, inbox, range(1, 6))
    live.well(
        "streamhouse", live.airflow.trigger("streamhouse", {"input": str(inbox), "round": number})
    )
    sales = live.catalog.table(SALES).read().to_arrow().sort_by("country")
    assert sales.to_pylist() == expected.expected(inbox)[-1].sales.to_pylist()
    live.well("sensing", sensing)
    live.wait("a change wakes the report", lambda: live.airflow.runs("streamhouse_report"))
    live.well("streamhouse_report", live.airflow.runs("streamhouse_report")[0]["dag_run_id"])
    upkeep = live.ended("streamhouse_upkeep", live.airflow.trigger("streamhouse_upkeep", {}))
    assert upkeep["due"] == "success"
    assert set(upkeep.values()) <= {"success", "skipped"}, "what is not due is skipped"
