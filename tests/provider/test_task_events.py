"""A task's event says what its job has committed, whatever has become of the snapshots since."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.attempts import DYING, of_dag
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.date32())])
FORGETFUL = {
    "bucket": "1",
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "1",
    "snapshot.expire.execution-mode": "sync",
    "num-sorted-run.compaction-trigger": "1",
}
LOAD = """
Dying(task_id="load", table="shop.orders", engine="local",
    sql="SELECT CAST({{ dag_run.conf['id'] }} AS BIGINT) AS id, DATE '2026-01-0{{ dag_run.conf['id'] }}' AS dt")
"""


@pytest.fixture
def die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "die"
    monkeypatch.setenv("DIE", str(path))
    return path


def create(catalog: Catalog, **more: object) -> None:
    catalog.create_database("shop")
    catalog.create_table("shop.orders", SCHEMA, options=FORGETFUL, **more)  # type: ignore[arg-type]


def test_every_run_has_its_event_where_snapshots_expire_at_once(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    create(warehouse, primary_key=("id",))
    with of_dag(airflow_home, LOAD, head=DYING) as runs:
        for n in (1, 2, 3):
            runs.create(f"r{n}", id=n)
            assert runs.finish(f"r{n}") == {"load": "success"}
            ((task, _, extra),) = runs.events(f"r{n}")
            assert (task, extra["kinds"]["APPEND"], extra["rows"]["append"]) == ("load", 1, 1)
            assert extra["delivers_changes"] is True
    assert len(warehouse.table("shop.orders").snapshots()) == 1


def test_a_retry_announces_what_has_expired_meanwhile(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    create(warehouse, partition_by=("dt",))
    with of_dag(airflow_home, LOAD, head=DYING) as runs:
        runs.create(id=1)
        die.touch()
        assert runs.step() == {"load": "up_for_retry"}
        assert runs.events() == []
        for n in (2, 3):
            write_rows(
                warehouse.table("shop.orders"), pa.table({"id": [n], "dt": [None]}, schema=SCHEMA)
            )
        warehouse.table("shop.orders").expire_snapshots(retain_max=1, retain_min=1)
        die.unlink()
        assert runs.finish() == {"load": "success"}
        ((task, _, extra),) = runs.events()
    assert (task, extra["partitions"]) == ("load", None)
    assert extra["result"]["action"] == "write"
    assert warehouse.table("shop.orders").read().to_arrow().num_rows == 3


def test_partitions_are_told_in_one_spelling(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    create(warehouse, partition_by=("dt",))
    with of_dag(airflow_home, LOAD, head=DYING) as runs:
        runs.create(id=1)
        runs.finish()
        ((_, _, extra),) = runs.events()
    assert extra["partitions"] == [{"dt": "2026-01-01"}]
    assert "commits" not in extra["result"]


def test_main_hears_of_what_a_branch_has_brought(
    airflow_home: Path, warehouse: Catalog, die: Path
) -> None:
    create(warehouse, partition_by=("dt",))
    body = """
branch = PaimonCreateBranchOperator(task_id="branch", table="shop.orders", branch="b")
load = PaimonWriteOperator(task_id="load", table="shop.orders$branch_b", engine="local",
    sql="SELECT CAST(1 AS BIGINT) AS id, DATE '2026-01-01' AS dt")
forward = PaimonFastForwardOperator(task_id="forward", table="shop.orders", branch="b")
again = PaimonFastForwardOperator(task_id="again", table="shop.orders", branch="b")
branch >> load >> forward >> again
"""
    with of_dag(airflow_home, body) as runs:
        runs.create()
        assert set(runs.finish().values()) == {"success"}
        told = {(task, uri.rpartition("/")[2]): extra for task, uri, extra in runs.events()}
    assert {*told} - {("again", "orders")} == {("load", "orders$branch_b"), ("forward", "orders")}
    assert told["forward", "orders"]["partitions"] == [{"dt": "2026-01-01"}]


def test_what_a_dead_attempt_took_from_a_source_is_announced_by_the_next(
    airflow_home: Path, warehouse: Catalog, die: Path, tmp_path: Path
) -> None:
    """A sync goes on from its position: the retry finds nothing to commit."""
    (tmp_path / "x.jsonl").write_text('{"op": "c", "after": {"id": 1, "n": 2}}\n')
    warehouse.create_database("shop")
    head = DYING.replace("PaimonWriteOperator", "PaimonSyncTableOperator")
    body = f"""
Dying(task_id="sync", table="shop.orders", engine="local", primary_key=["id"],
    source={{"kind": "files", "uri": "{(tmp_path / "x.jsonl").as_uri()}", "format": "debezium-json"}})
"""
    with of_dag(airflow_home, body, head=head) as runs:
        runs.create()
        die.touch()
        assert runs.step() == {"sync": "up_for_retry"}
        die.unlink()
        assert runs.finish() == {"sync": "success"}
        ((_, _, extra),) = runs.events()
        assert extra["delivers_changes"] is True
        runs.clear("sync")
        runs.finish()
        assert len(runs.events()) == 1, "nothing new"
