"""The tour in ``dags/`` has every operator and sensor, and Airflow runs each of its Dags."""

from __future__ import annotations

import ast
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from table_core.table.metadata.results import CommitAs
from tests.provider.dag_runs import events_of, run_text, states, xcom
from tests.provider.tour import BASES, DECLARED, ROOT, TOUR, offered
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

ELSEWHERE = {
    "PaimonPositionOperator",
    "PaimonResyncOperator",
    "PaimonSourceAuditOperator",
    "PaimonSourceDoctorOperator",
    "PaimonSourceReplayOperator",
}
"""For a day that went wrong: ``docs/exactly-once.md`` shows it, ``tests/live/user_dags.py`` runs it.  Those of a
server: ``docs/how-to/09-sync-a-database.md`` shows them, ``tests/cdc`` runs them."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """The warehouse of a connection whose catalog is called as the tour calls it."""
    uri = f"file://{tmp_path}/wh"
    document = {"conn_type": "paimon", "host": uri, "extra": {"catalog_name": "demo"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    return open_catalog(uri)


@pytest.fixture
def tour(airflow_home: Path, shop: Catalog) -> Callable[..., Any]:
    text = TOUR.read_text()

    def run(dag_id: str, **conf: Any) -> Any:
        return run_text(airflow_home, text, dag_id, **conf)

    return run


def rows(warehouse: Catalog, table: str) -> list[tuple[Any, ...]]:
    found = warehouse.table(table).read().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_every_operator_and_sensor_has_an_example() -> None:
    called = {
        node.func.id
        for path in (ROOT / "dags").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert set(offered()) - called - BASES == DECLARED | ELSEWHERE


def test_rows_are_changed(tour: Callable[..., Any], shop: Catalog, airflow_home: Path) -> None:
    ran = tour("tour_rows")
    assert set(states(ran).values()) == {"success"}, states(ran)
    assert rows(shop, "tour.rows") == [("a", 1, 42), ("b", 1, 1), ("d", 1, 7)]
    assert xcom(ran, "update")["rows_written"] == 2
    assert xcom(ran, "changed")["delivers_changes"]
    assert (xcom(ran, "would")["dry_run"], xcom(ran, "would")["files_deleted"]) == (True, 1)
    assert xcom(ran, "partition")["rows"] == 1
    assert xcom(ran, "partition")["done_ms"]
    assert xcom(ran, "fresh")["age_seconds"] < 600
    assert xcom(ran, "report")["rows"] > 0
    told = {task: extra for task, _, extra in events_of(ran)}
    assert set(told) == {"fill", "update", "delete", "merge", "done", "analyze"}
    assert told["done"]["partitions"] == [{"dt": "b"}]
    assert told["update"]["partitions"] == [{"dt": "a"}]
    links = ran.get_task_instance("update").xcom_pull(task_ids="update", key="_link_TableLink")
    assert links.endswith("/plugin/paimon-tables?table=paimon%3A%2F%2Fdemo%2Ftour%2Frows")


def test_history_goes_back_and_forth(
    tour: Callable[..., Any], shop: Catalog, airflow_home: Path
) -> None:
    ran = tour("tour_history")
    assert set(states(ran).values()) == {"success"}, states(ran)
    assert xcom(ran, "wait")["snapshot_id"] == 1
    assert xcom(ran, "look")["dry_run"]
    assert xcom(ran, "look")["details"]["snapshots"] == [2]
    assert xcom(ran, "forward")["snapshot_after"] == 2
    assert not xcom(ran, "forward")["details"]["replayed"]
    assert xcom(ran, "again")["details"]["replayed"]
    assert xcom(ran, "lose")["dry_run"]
    assert xcom(ran, "lose")["details"] == xcom(ran, "back")["details"]
    assert xcom(ran, "back")["snapshot_after"] == 1
    table = shop.table("tour.history")
    assert (table.branches.list(), table.tags.list()) == ([], [])
    assert len(rows(shop, "tour.history")) == 4
    assert [task for task, _, _ in events_of(ran)] == ["fill", "forward"]


def test_tables_are_fed_and_copied(tour: Callable[..., Any], shop: Catalog, tmp_path: Path) -> None:
    for table in ("x", "y"):
        source = {"db": "d", "table": table}
        events = [{"before": None, "after": {"id": n}, "op": "c", "source": source} for n in (1, 2)]
        lines = "".join(json.dumps(event) + "\n" for event in events)
        (tmp_path / f"{table}.jsonl").write_text(lines)
    ran = tour("tour_copies", folder=tmp_path.as_uri())
    assert set(states(ran).values()) == {"success"}, states(ran)
    (copy,) = (t for t in shop.tables("tour") if t.startswith("copy_"))
    assert rows(shop, f"tour.{copy}") == rows(shop, "tour_raw.y") == [(1,), (2,)]
    assert rows(shop, "tour_raw.synced") == [(1,), (2,)]
    assert set(xcom(ran, "compact")["details"]["tables"]) == {"x", "y", "synced"}
    assert shop.table("tour_raw.synced").options["bucket"] == "2"


def approve(dag_id: str, over: threading.Event) -> None:
    """Say yes to the first task of the Dag that asks, as the API does it."""
    from airflow.api_fastapi.core_api.datamodels.hitl import UpdateHITLDetailPayload
    from airflow.api_fastapi.core_api.routes.public.hitl import update_hitl_detail
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from airflow.utils.state import TaskInstanceState

    yes = UpdateHITLDetailPayload(chosen_options=["Approve"], params_input={})
    ada: Any = SimpleNamespace(get_id=lambda: "ada", get_name=lambda: "ada")
    while not over.wait(0.2):
        with (
            suppress(OperationalError),
            create_session() as session,
        ):  # SQLite: "database is locked"
            with_request = session.scalar(
                sa.select(TaskInstance).where(
                    TaskInstance.dag_id == dag_id,
                    TaskInstance.state == TaskInstanceState.AWAITING_INPUT,
                )
            )
            if with_request is not None:
                task, run = with_request.task_id, with_request.run_id
                update_hitl_detail(dag_id, run, task, yes, user=ada, session=session)
                return


def test_upkeep_does_what_is_due_and_asks_first(tour: Callable[..., Any], shop: Catalog) -> None:
    over = threading.Event()
    answering = threading.Thread(target=approve, args=("tour_upkeep", over), daemon=True)
    answering.start()
    try:
        ran = tour("tour_upkeep")
    finally:
        over.set()
        answering.join()
    found = states(ran)
    skipped = {name for name, state in found.items() if state == "skipped"}
    assert skipped == {"tags", "analyze"}, found
    assert set(found.values()) == {"success", "skipped"}, found
    assert xcom(ran, "health")["actions"]["compact"]["verdict"] in {"due", "urgent"}
    assert len(shop.table("tour.upkeep").snapshots()) == 1
    assert xcom(ran, "remove")["action"] == "remove-orphan-files"


def test_partitions_are_relayed_and_waited_for(tour: Callable[..., Any], shop: Catalog) -> None:
    schema = pa.schema([("dt", pa.string()), ("n", pa.int64())])
    shop.create_database("tour")
    table = shop.create_table("tour.rows", schema, partition_by=("dt",), options={"bucket": "-1"})

    def write(day: str, watermark: int | None = None) -> None:
        write_rows(
            table,
            pa.table({"dt": [day], "n": [1]}, schema=schema),
            commit=CommitAs(watermark=watermark),
        )

    write("a")
    assert xcom(tour("tour_relay"), "relay") == [], "nobody has told the first run of anything"
    write("b", watermark=1_800_000_000_000)
    assert xcom(tour("tour_relay"), "relay") == ["dt=b"]
    found = xcom(tour("tour_partition"), "complete")
    assert (found["snapshot_id"], found["watermark_ms"]) == (2, 1_800_000_000_000)
