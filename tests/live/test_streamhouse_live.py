"""The streamhouse in an Airflow whose processes run: on its own, killed task by task, two at once.

Each test has a copy of the Dag with a warehouse of its own.  All are compared with a computation that
shares no line with the pipeline.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from demo import expected, generate
from demo.airflow_home import AirflowHome
from demo.environment import SPARK
from table_core.table.api.opening import open_catalog

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
NAMES = ("alone", "killed", "twice")
DEFAULTS = '"catalog": "demo"}'
PATIENCE = 400


@dataclass(frozen=True)
class House:
    """One copy of the pipeline: its Dag, its warehouse, its input."""

    airflow: AirflowHome
    name: str
    folder: Path

    def deliver(self, rounds: range) -> dict[str, Any]:
        """Hand over input; the conf of a run that takes it."""
        inbox = self.folder / "in"
        number = generate.deliver(self.folder.parent / "source", inbox, rounds)
        return {"input": str(inbox), "round": number}

    def trigger(self, conf: dict[str, Any]) -> str:
        return self.airflow.trigger(self.name, conf)

    def tasks(self, run: str) -> list[dict[str, Any]]:
        return self.airflow.tasks(self.name, run)

    def state(self, run: str) -> str:
        return str(next(r for r in self.airflow.runs(self.name) if r["dag_run_id"] == run)["state"])

    def wait(self, runs: Sequence[str]) -> None:
        """Until all have ended; each must be well."""

        def ended() -> bool:
            return all(self.state(run) in {"success", "failed"} for run in runs)

        self.airflow.wait(f"runs of {self.name} ended", ended, PATIENCE)
        for run in runs:
            assert self.state(run) == "success", self.why(run)

    def why(self, run: str) -> str:
        failed = [t["task_id"] for t in self.tasks(run) if t["state"] == "failed"]
        return "\n".join(f"{t}\n{self.airflow.log_tail(self.name, run, t)}" for t in failed)

    def equals_the_computation(self) -> None:
        catalog = open_catalog((self.folder / "wh").as_uri())
        want = expected.expected(self.folder / "in")[-1]
        sales = catalog.table("default.country_sales").read().to_arrow().sort_by("country")
        assert sales.to_pylist() == want.sales.to_pylist()
        assert catalog.table("default.customers").read().to_arrow().num_rows == want.customers
        assert catalog.table("default.waiting_orders").read().to_arrow().num_rows == want.waiting


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowHome]:
    base = tmp_path_factory.mktemp("live")
    (base / "dags").mkdir()
    dag = (ROOT / "dags" / "streamhouse.py").read_text()
    assert (dag.count('dag_id="streamhouse"'), dag.count(DEFAULTS)) == (1, 1)
    connections = {}
    for name in NAMES:
        engine = "" if name == "killed" else ', "engine": "local"'
        own = f'"catalog": "{name}", "paimon_conn_id": "{name}"{engine}}}'
        text = dag.replace('dag_id="streamhouse"', f'dag_id="{name}"').replace(DEFAULTS, own)
        (base / "dags" / f"{name}.py").write_text(text)
        warehouse = (base / name / "wh").as_uri()
        extra = {"warehouse": warehouse, "catalog_name": name, "spark_conf": SPARK}
        extra |= {"spark_backend": "local", "spark_master": "local[2]"}
        connections[f"AIRFLOW_CONN_{name.upper()}"] = json.dumps(
            {"conn_type": "paimon", "extra": extra}
        )
    generate.generate(base / "source", customers=600, orders=4_000)
    home = AirflowHome(base / "home", base / "dags", "")
    home.environment.update(connections)
    home.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "provider")])
    home.start()
    home.wait("the Dags are read", lambda: len(home.get("/dags")["dags"]) == len(NAMES))
    yield home
    home.components.stop()


def house(airflow: AirflowHome, name: str) -> House:
    return House(airflow, name, airflow.dags.parent / name)


def test_every_dag_can_be_imported(airflow: AirflowHome) -> None:
    listed = subprocess.run(
        airflow.airflow("dags", "list-import-errors", "--output", "json"),
        env=airflow.environment,
        cwd=airflow.home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(listed.stdout.strip().splitlines()[-1]) == []


def test_two_deliveries_give_what_the_computation_gives(airflow: AirflowHome) -> None:
    alone = house(airflow, "alone")
    for rounds in (range(1, 6), range(6, 11)):
        alone.wait([alone.trigger(alone.deliver(rounds))])
        alone.equals_the_computation()


def test_two_runs_at_once_lose_and_double_nothing(airflow: AirflowHome) -> None:
    twice = house(airflow, "twice")
    for rounds in (range(1, 6), range(6, 11)):
        conf = twice.deliver(rounds)
        twice.wait([twice.trigger(conf), twice.trigger(conf)])
        twice.equals_the_computation()


def test_a_run_of_which_every_task_was_killed_gives_the_same(airflow: AirflowHome) -> None:
    """With -9, once each; those that run on Spark only when their JVM is there."""
    killed = house(airflow, "killed")
    run = killed.trigger(killed.deliver(range(1, 11)))
    dead: dict[str, list[psutil.Process]] = {}
    until = time.monotonic() + PATIENCE
    while killed.state(run) not in {"success", "failed"} and time.monotonic() < until:
        for task in killed.tasks(run):
            name = task["task_id"]
            if task["state"] == "running" and task["pid"] and name not in dead:
                family = kill(task["pid"], with_jvm=name in {"add_sales", "align_countries"})
                if family:
                    dead[name] = family
        time.sleep(0.02)
    killed.wait([run])
    tasks = killed.tasks(run)
    assert {t["task_id"]: t["try_number"] > 1 for t in tasks} == {t["task_id"]: True for t in tasks}
    _, left = psutil.wait_procs([p for family in dead.values() for p in family], timeout=30)
    assert not left
    killed.equals_the_computation()


def kill(pid: int, *, with_jvm: bool) -> list[psutil.Process]:
    """Kill a task; the processes that it had.  None if it is gone, or has no JVM yet but shall."""
    try:
        process = psutil.Process(pid)
        family = process.children(recursive=True)
        if with_jvm and not any(p.name() == "java" for p in family):
            return []
        os.kill(pid, signal.SIGKILL)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return []
    return [process, *family]
