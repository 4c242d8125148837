"""A declaration, and a group that publishes, in an Airflow whose processes run, on PostgreSQL."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from demo.airflow_home import AirflowHome
from table_core.table.catalog import Catalog, open_catalog
from tests.servers import ROOT, postgres

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(1200)]

PATIENCE = 420
DECLARATION = """\
version: 1
name: declared
warehouse: ./warehouse
catalog: demo
pool: {name: declared, slots: 2}
pipeline: {engine: local}
tables:
  declared.rows:
    columns: {id: BIGINT NOT NULL, n: BIGINT}
    primary_key: [id]
    options: {bucket: 1}
sources:
  fill: {table: declared.rows, reads: {}, sql: "SELECT CAST(1 AS BIGINT) AS id, CAST(2 AS BIGINT) AS n"}
flows:
  tidy: {table: declared.rows, run: compact, with: {strategy: full}, after: [fill]}
checks:
  rows: {table: declared.rows, unique: [id], rows: [1, null]}
upkeep:
  policy: {compact: {strategy: full}, expire-snapshots: {retain_max: 1, retain_min: 1}}
  tables: {declared.rows: {thresholds: {sorted_runs_due: 1, small_files_due: 1}}}
triggers:
  told: {table: declared.rows, start: earliest, poll_seconds: 1, report: {label_column: id, value_column: n}}
"""
OWN = """
from airflow.sdk import DAG
from paimon_provider.declaration import load_dags
from paimon_provider.decorators import paimon_task
from paimon_provider.notifier import PaimonNotifier
from paimon_provider.operators.statements import PaimonDeleteOperator
from paimon_provider.operators.table import PaimonCreateTableOperator
from paimon_provider.operators.write import PaimonWriteOperator
from paimon_provider.publish import PaimonWriteAuditPublish

globals().update(load_dags("declared.yaml"))
COMMON = {{"catalog": "demo", "engine": "local"}}

with DAG("own", default_args=COMMON):
    create = PaimonCreateTableOperator(task_id="create", table="own.rows",
        columns={{"id": "BIGINT NOT NULL"}}, primary_key=["id"], options={{"bucket": "1"}})
    with PaimonWriteAuditPublish(group_id="wap", table="own.rows", where={{"catalog": "demo"}},
                                 rules={{"unique": ["id"], "rows": [1, None]}}) as wap:
        PaimonWriteOperator(task_id="load", table=wap.branch_table, sql="SELECT CAST(7 AS BIGINT) AS id")

    @paimon_task(tables={{"rows": "own.rows"}}, writes=["own.rows"], catalog="demo")
    def count(rows, paimon):
        with paimon.table("own.rows").write(commit=paimon.commit_as()) as writer:
            writer.write(rows.read().to_arrow())
            writer.commit()
        return rows.read().to_arrow().num_rows

    wrong = PaimonDeleteOperator(task_id="wrong", table="own.rows", where="no_such_column = 1", retries=9,
        on_failure_callback=PaimonNotifier(table="own.told"))
    create >> wap >> count() >> wrong
"""


@dataclass(frozen=True)
class Live:
    """An Airflow on PostgreSQL and the warehouse that it works on."""

    airflow: AirflowHome
    catalog: Catalog

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


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("tour")
    (folder / "dags").mkdir()
    (folder / "dags" / "declared.yaml").write_text(DECLARATION)
    (folder / "dags" / "own.py").write_text(OWN.format())
    warehouse = (folder / "wh").as_uri()
    connection = {"conn_type": "paimon", "host": warehouse, "extra": {"catalog_name": "demo"}}
    with postgres() as server:
        airflow = AirflowHome(folder / "home", folder / "dags", json.dumps(connection))
        airflow.environment.update(server.for_airflow)
        paths = [ROOT, ROOT / "provider"]
        airflow.environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        airflow.start()
        try:
            airflow.send("POST", "/pools", {"name": "declared", "slots": 2})
            airflow.wait("Dags", lambda: len(airflow.get("/dags", limit=50)["dags"]) == 4, 120)
            yield Live(airflow, open_catalog(warehouse))
        finally:
            airflow.components.stop()


def test_a_declaration_fills_checks_keeps_and_wakes(live: Live) -> None:
    airflow = live.airflow
    live.well("declared", airflow.trigger("declared", {}))
    live.wait("the trigger ran", lambda: airflow.runs("declared_told"))
    live.well("declared_told", airflow.runs("declared_told")[0]["dag_run_id"])
    again = airflow.trigger("declared_upkeep", {})
    live.well("declared_upkeep", again)
    (due,) = live.xcom("declared_upkeep", again, "due")
    assert (due["table"], set(due["policy"])) == (
        "declared.rows",
        {"compact", "expire-snapshots", "thresholds"},
    )


def test_what_is_published_counted_and_wrong_is_told(live: Live) -> None:
    run = live.airflow.trigger("own", {})
    states = live.ended("own", run)
    wrong = states.pop("wrong")
    assert (set(states.values()), wrong) == ({"success"}, "failed"), states
    assert live.xcom("own", run, "count") == 1
    (told,) = live.catalog.table("own.told").read().to_arrow().to_pylist()
    assert (told["task_id"], told["try_number"]) == ("wrong", 1), "a mistake is not tried again"
    assert "no_such_column" in told["message"]
