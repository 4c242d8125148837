"""Nothing is done without the approval that a task waits for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.attempts import of_dag

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

IMPORT = "from paimon_provider.approval import approval\n"
BODY = """
look = PaimonRemoveOrphanFilesOperator(
    task_id="look", table={table!r}, dry_run=True, retries=0, engine="local")
gate = approval(look, retries=0, {gate})
write = dict(task_id="after", table="shop.orders", engine="local", retries=0, trigger_rule={rule!r})
sql = "SELECT CAST(1 AS BIGINT) AS id"
gate >> {after}
"""
PLAIN = "PaimonWriteOperator(sql=sql, **write)"
MAPPED = "PaimonWriteOperator.partial(**write).expand(sql=[sql, sql])"


@pytest.fixture(autouse=True)
def orders(warehouse: Catalog) -> None:
    warehouse.create_database("shop")
    warehouse.create_table("shop.orders", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})


@pytest.mark.parametrize("after", [PLAIN, MAPPED])
@pytest.mark.parametrize(
    ("table", "gate"), [("shop.nothere", ""), ("shop.orders", "subject='{{ 1 / 0 }}'")]
)
def test_a_task_that_begins_although_its_approval_failed_does_nothing(
    airflow_home: Path, warehouse: Catalog, table: str, gate: str, after: str
) -> None:
    body = BODY.format(table=table, gate=gate, rule="all_done", after=after)
    with of_dag(airflow_home, body, head=IMPORT) as runs:
        runs.create()
        states = runs.finish()
    failed = [name for name in states if name.startswith("after")]
    assert failed
    assert {states[name] for name in failed} == {"failed"}
    assert warehouse.table("shop.orders").latest_snapshot() is None


def test_a_task_that_is_there_for_a_failure_is_not_held_back(
    airflow_home: Path, warehouse: Catalog
) -> None:
    body = BODY.format(table="shop.nothere", gate="", rule="one_failed", after=PLAIN)
    with of_dag(airflow_home, body, head=IMPORT) as runs:
        runs.create()
        assert runs.finish()["after"] == "success"
