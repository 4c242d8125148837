"""A live Airflow on PostgreSQL with one warehouse, and what tests ask of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from demo.airflow_home import AirflowHome
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests.servers import ROOT, Database, postgres

__all__ = ["KILLED_OFTEN", "Live", "running"]

PATIENCE = int(os.environ.get("LIVE_PATIENCE_S") or 420)
"""Seconds until something must have happened; a machine that does much else needs more."""
KILLED_OFTEN = {
    "AIRFLOW__CORE__PARALLELISM": "4",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "30",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "40",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
}
"""Settings by which Airflow sees soon that one of its processes is gone."""


@dataclass(frozen=True)
class Live:
    """An Airflow whose four components run, and the warehouse that it works on."""

    airflow: AirflowHome
    catalog: Catalog
    database: Database
    """Where Airflow keeps its metadata."""

    def wait(self, what: str, ready: Callable[[], Any]) -> Any:
        return self.airflow.wait(what, ready, PATIENCE)

    def ended(self, dag: str, run: str) -> dict[str, str]:
        """The states of the tasks of a run, when it has ended."""

        def over() -> bool:
            found = next(r for r in self.airflow.runs(dag) if r["dag_run_id"] == run)
            return found["state"] in {"success", "failed"}

        self.wait(f"{dag} ended", over)
        return {t["task_id"]: t["state"] for t in self.airflow.tasks(dag, run)}

    def well(self, dag: str, run: str, skipped: frozenset[str] = frozenset()) -> None:
        """The run ended, and every task but for those ``skipped`` was done."""
        states = self.ended(dag, run)
        bad = [t for t, s in states.items() if s != ("skipped" if t in skipped else "success")]
        told = [f"{t}: {states[t]}\n{self.airflow.log_tail(dag, run, t)}" for t in bad]
        assert told == [], "\n".join(told)

    def xcom(self, dag: str, run: str, task: str, key: str = "return_value") -> Any:
        path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/{key}"
        value = self.airflow.get(path)["value"]
        return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value

    def rows(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """What Airflow's database answers."""
        with psycopg.connect(self.database.address) as database:
            return database.execute(query, given).fetchall()  # type: ignore[arg-type]


@contextmanager
def running(
    folder: Path,
    files: Mapping[str, str],
    *,
    dags: int,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Live]:
    """Start it with ``files`` in its folder of Dags, until ``dags`` Dags are known."""
    (folder / "dags").mkdir()
    for name, text in files.items():
        (folder / "dags" / name).write_text(text)
    warehouse = (folder / "wh").as_uri()
    connection = {"conn_type": "paimon", "host": warehouse, "extra": {"catalog_name": "demo"}}
    with postgres() as database:
        airflow = AirflowHome(folder / "home", folder / "dags", json.dumps(connection))
        paths = os.pathsep.join(map(str, (ROOT, ROOT / "provider")))
        airflow.environment.update(database.for_airflow | {"PYTHONPATH": paths})
        airflow.environment.update(environment or {})
        airflow.start(PATIENCE)
        try:
            known = lambda: len(airflow.get("/dags", limit=100)["dags"]) == dags  # noqa: E731
            airflow.wait(f"{dags} Dags", known, PATIENCE)
            yield Live(airflow, open_catalog(warehouse), database)
        finally:
            airflow.components.stop()
