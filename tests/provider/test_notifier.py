"""What happened to tasks is kept with the words that Airflow shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.attempts import of_dag

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

BODY = """
from paimon_provider.notifier import PaimonNotifier
@task(retries=0, on_failure_callback=PaimonNotifier(table="ops.runs"))
def wrong():
    raise ValueError("no")
@task(on_success_callback=PaimonNotifier(table="ops.runs"))
def right(): ...
wrong() , right()
"""


def test_states_are_kept_by_their_names(airflow_home: Path, warehouse: Catalog) -> None:
    with of_dag(airflow_home, BODY) as runs:
        runs.create()
        runs.finish()
    rows = warehouse.table("ops.runs").read().to_arrow().to_pylist()
    assert {(row["task_id"], row["state"], row["message"]) for row in rows} == {
        ("wrong", "failed", "no"),
        ("right", "success", ""),
    }


def test_nobody_is_asked_about_a_dry_run_that_failed() -> None:
    from airflow.sdk import DAG

    from paimon_provider.approval import approval
    from paimon_provider.operators.expire import PaimonRemoveOrphanFilesOperator

    with DAG("ask", default_args={"trigger_rule": "all_done"}):
        look = PaimonRemoveOrphanFilesOperator(task_id="look", table="a.b", dry_run=True)
        assert approval(look).trigger_rule == "all_success"
