"""A declaration, and a group that publishes, in an Airflow whose processes run, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.airflows import Live, running

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(1200)]

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


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    files = {"declared.yaml": DECLARATION, "own.py": OWN.format()}
    with running(tmp_path_factory.mktemp("declared"), files, dags=4) as live:
        live.airflow.send("POST", "/pools", {"name": "declared", "slots": 2})
        yield live


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
