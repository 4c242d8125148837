"""Dags of a declaration: where code of one's own changes them, and what becomes of drift."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pendulum
import pyarrow as pa
import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.serialization.decoders import decode_timetable
from airflow.serialization.encoders import encode_timetable
from airflow.timetables import trigger
from airflow.timetables.base import TimeRestriction

from paimon_provider.declaration import Hooks, PaimonTaskGroup, load_dags
from table_core.datatypes.text import type_text
from table_core.errors import ArgumentError
from table_core.schema import change
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import HEAD, run_text, states, xcom
from tests.provider.declared_wide import WIDE
from tests.servers import ROOT
from tests.tables import write_rows

UPKEEP = "streamhouse_upkeep"
pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SHOP = """\
version: 1
name: shop
pool: {name: lake, slots: 3}
tables:
  shop.orders: {columns: {id: BIGINT NOT NULL}, primary_key: [id], options: {bucket: 1}}
sources:
  load: {table: shop.orders, rows_uri: "file:///data/*.parquet", engine: local}
flows:
  tidy: {table: shop.orders, run: compact, with: {strategy: full}, after: [load]}
upkeep:
  schedule: "0 3 * * *"
  max_concurrent_jobs: 2
  policy: {compact: {strategy: minor}}
triggers:
  again: {table: shop.orders, "on": any, flows: [tidy]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP)
    return path


def test_tasks_are_renamed_replaced_extended_and_added(file: Path) -> None:
    given: dict[str, Any] = {}

    def own(step: Any, arguments: Any) -> Any:
        given.update(arguments)
        return EmptyOperator(task_id=f"own_{step.name}")

    hooks = Hooks(
        task_id=lambda step: f"my_{step.name}",
        replace={"load": own},
        arguments=lambda step: {"priority_weight": len(step.name)},
    )
    dags = load_dags(file, hooks=hooks, tags=["mine"])
    assert set(dags) == {"shop", "shop_upkeep", "shop_again"}
    shop = dags["shop"]
    assert shop.tags == {"mine", "paimon"}
    assert set(shop.task_ids) == {"apply_declaration", "own_load", "my_tidy"}
    assert (given["task_id"], given["rows_uri"]) == ("my_load", "file:///data/*.parquet")
    tidy = shop.get_task("my_tidy")
    assert (tidy.priority_weight, tidy.pool, tidy.upstream_task_ids) == (4, "lake", {"own_load"})
    with shop:
        tidy >> EmptyOperator(task_id="tell")
    assert shop.get_task("tell").upstream_task_ids == {"my_tidy"}
    upkeep = dags["shop_upkeep"].get_task("upkeep")
    assert upkeep.partial_kwargs["max_active_tis_per_dagrun"] == 2
    assert upkeep.partial_kwargs["pool"] == "lake"
    assert set(dags["shop_again"].task_ids) == {"my_tidy"}


def test_a_group_has_the_steps_that_were_asked_for(file: Path) -> None:
    from airflow.sdk import DAG

    with DAG("mine") as dag:
        PaimonTaskGroup.from_file(file, group_id="g", flows=["load"])
    assert set(dag.task_ids) == {"g.apply_declaration", "g.load"}


def test_drift_is_told_refused_or_mended(
    run: Callable[..., Any],
    warehouse: Catalog,
    file: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def applied(drift: str) -> Any:
        return run(
            f'PaimonApplyOperator(task_id="apply", file={str(file)!r}, drift="{drift}", retries=3)'
        )

    assert states(told := applied("ignore")) == {"apply": "success"}
    assert [one["action"] for one in xcom(told, "apply")["differ"]] == ["create"]
    assert states(applied("fail")) == {"apply": "failed"}
    assert "shop.orders" in "".join(capfd.readouterr())
    assert warehouse.databases() == []
    assert states(applied("apply")) == {"apply": "success"}
    assert warehouse.tables("shop") == ["orders"]
    assert states(again := applied("fail")) == {"apply": "success"}
    assert xcom(again, "apply") == {"tables": 1, "differ": []}


def dags_of(tmp_path: Path, text: str, **more: Any) -> dict[str, Any]:
    path = tmp_path / "d.yaml"
    path.write_text(text)
    return load_dags(path, **more)


def test_tasks_stand_in_the_order_of_what_they_read_and_make(tmp_path: Path) -> None:
    wide = dags_of(tmp_path, WIDE)["wide"]
    up = {task.task_id: task.upstream_task_ids for task in wide.tasks}
    assert up["sums"] == {"load"}
    assert {"sums"} <= up["erase"]
    assert up["out"] >= {"sums", "erase"}, "a reader waits for what takes rows away before it"
    assert up["check_late"] == {"sums"}, "the flow fills it as its pending table"
    assert up["check_sums"] == {"sums", "erase"}
    assert up["load"] == {"apply_declaration"}
    assert wide.max_active_tasks == 3


def test_a_gate_holds_back_what_reads_the_table(tmp_path: Path) -> None:
    gate = WIDE.replace("unique: [id]}", "unique: [id], gate: true, severity: warn, at_most: 1 %}")
    gate = gate.replace("rows: [0, null]}", "change: [0.5, null], against: s.out, gate: true}")
    wide = dags_of(tmp_path, gate)["wide"]
    sums, late = wide.get_task("check_sums"), wide.get_task("check_late")
    assert (sums.fail, sums.rules) == (False, {"unique": ["id"], "at_most": "1 %"})
    assert (late.fail, late.against, late.rules) == (True, "s.out", {"change": [0.5, None]})
    assert sums.downstream_task_ids == {"out"}
    assert late.downstream_task_ids == {"merge"}


def test_every_dag_has_the_retries_and_parameters_that_were_declared(tmp_path: Path) -> None:
    from datetime import timedelta

    from airflow.sdk import DAG, Param

    dags = dags_of(tmp_path, WIDE, default_args={"owner": "me"})
    woken = dags["wide_woken"].get_task("out")
    assert dags["wide_woken"].params.dump() == {"day": "x", "plain": 5}
    for task in (woken, dags["wide"].get_task("out"), dags["wide_upkeep"].get_task("due")):
        assert (task.retries, task.retry_delay, task.owner) == (7, timedelta(minutes=2), "me")
    sums = dags["wide"].get_task("sums")
    assert (sums.retries, sums.retry_delay) == (1, timedelta(seconds=30))
    assert sums.parameters == {"low": 3}
    with DAG("mine", params={"day": Param("mine", type="string")}) as mine:
        PaimonTaskGroup.from_file(tmp_path / "d.yaml", group_id="g")
    assert mine.params["day"] == "mine", "a Dag's own parameters win"
    assert set(mine.params) == {"day", "input", "plain"}
    assert (mine.get_task("g.out").retries, mine.get_task("g.sums").retries) == (7, 1)


def test_a_part_keeps_its_order_through_what_is_left_out(tmp_path: Path) -> None:
    from airflow.sdk import DAG

    dags_of(tmp_path, WIDE)
    with DAG("part") as part:
        PaimonTaskGroup.from_file(tmp_path / "d.yaml", group_id="g", flows=["load", "out"])
    assert part.get_task("g.out").upstream_task_ids == {"g.load"}


def test_partitions_are_spelt_as_the_table_has_them(tmp_path: Path) -> None:
    dags = dags_of(tmp_path, WIDE)
    assert dags["wide"].get_task("load").overwrite == {"h": "7"}
    (asset,) = dags["wide_woken"].timetable.asset_condition.objects
    assert "partitions=h%3D7" in asset.uri


def test_a_replacement_of_nobody_is_refused(tmp_path: Path) -> None:
    hooks = Hooks(replace={"lod": lambda step, arguments: EmptyOperator(task_id="x")})
    with pytest.raises(ArgumentError, match="did you mean 'load'"):
        dags_of(tmp_path, WIDE, hooks=hooks)


def test_drift_is_what_a_hand_has_done_and_not_a_sync(
    run: Callable[..., Any], warehouse: Catalog, tmp_path: Path
) -> None:
    text = """\
version: 1
name: drifting
tables:
  d.synced: {columns: {id: BIGINT NOT NULL, v: INT NOT NULL}, primary_key: [id], options: {bucket: 1}}
  d.other: {columns: {id: BIGINT}}
sources:
  s: {table: d.synced, sync: {kind: files, uri: x}, with: {settings: {dead_letter: d.refused}}}
"""
    file = tmp_path / "drift.yaml"
    file.write_text(text)

    def drift(word: str) -> str:
        body = f'PaimonApplyOperator(task_id="apply", file={str(file)!r}, drift="{word}")'
        return states(run(body))["apply"]

    assert drift("apply") == "success"
    warehouse.alter_table(
        "d.synced",
        [
            change.UpdateColumnType("v", "BIGINT"),
            change.UpdateColumnNullability("v", nullable=True),
            change.AddColumn("more", "STRING"),
        ],
    )
    warehouse.create_table("d.refused", pa.schema([("x", pa.int32())]))
    assert drift("fail") == "success", "that is what a sync does"
    assert drift("apply") == "success"
    assert type_text(warehouse.table("d.synced").definition.field("v").type) == "BIGINT"
    for by_hand, undone in (
        (change.SetOption("write-only", "true"), change.RemoveOption("write-only")),
        (change.AddColumn("x", "INT"), change.DropColumn("x")),
    ):
        warehouse.alter_table("d.other", [by_hand])
        assert drift("fail") == "failed"
        warehouse.alter_table("d.other", [undone])
        assert drift("fail") == "success"
    warehouse.create_table("d.mine", pa.schema([("x", pa.int32())]))
    assert drift("fail") == "failed"
    assert drift("apply") == "success"


def test_another_name_of_a_view_makes_no_flow_begin_anew(
    warehouse: Catalog, airflow_home: Path, tmp_path: Path
) -> None:
    text = """\
version: 1
name: renaming
pipeline: {engine: local, retries: 0}
tables:
  r.orders: {columns: {id: BIGINT}}
  r.copies: {columns: {id: BIGINT}}
flows:
  copy: {table: r.copies, reads: {orders: {table: r.orders, mode: changes}}, sql: SELECT id FROM orders}
"""
    warehouse.create_database("r")
    schema = pa.schema([("id", pa.int64())])
    warehouse.create_table("r.orders", schema)
    file = tmp_path / "renaming.yaml"
    seen = []
    for id, declared in ((1, text), (2, text.replace("orders: {table: r.", "o: {table: r."))):
        file.write_text(declared.replace("FROM orders", "FROM o" if id == 2 else "FROM orders"))
        write_rows(warehouse.table("r.orders"), pa.table({"id": [id]}, schema=schema))
        dag_file = f"# airflow dag\n{HEAD}from paimon_provider.declaration import load_dags\n"
        dag_file += f"globals().update(load_dags({str(file)!r}))\n"
        done = run_text(airflow_home, dag_file, "renaming")
        assert set(states(done).values()) == {"success"}, states(done)
        seen.append(sorted(warehouse.table("r.copies").read().to_arrow()["id"].to_pylist()))
    assert seen == [[1], [1, 2]]


def test_a_schedule_of_changes_watches_so_that_foreign_commits_start_the_dag() -> None:
    from paimon_provider.declaration import _schedule

    class Declared:
        connection = "lake"
        catalog = None

    (asset,) = _schedule({"changes": ["shop.orders"]}, Declared())  # type: ignore[arg-type]
    assert asset.uri == "paimon://lake/shop/orders?on=changes"
    watching = [type(watcher.trigger).__name__ for watcher in asset.watchers]
    assert watching == ["PaimonSnapshotTrigger"]


@pytest.mark.parametrize("schedule", ["declared", "demo"])
@pytest.mark.parametrize("minutes", [1, 60, 23 * 60])
def test_the_first_run_of_a_new_dag_is_the_next_that_is_scheduled(
    file: Path, monkeypatch: pytest.MonkeyPatch, schedule: str, minutes: int
) -> None:
    dag_of = {
        "declared": lambda: load_dags(file)["shop_upkeep"],
        "demo": lambda: DagBag(str(ROOT / "dags" / f"{UPKEEP}.py")).dags[UPKEEP],
    }
    stored = decode_timetable(encode_timetable(dag_of[schedule]().timetable))
    hour = pendulum.datetime(2026, 3, 5, 3)  # both say "0 3 * * *"
    monkeypatch.setattr(trigger, "utcnow", lambda: hour.add(minutes=minutes))
    restriction = TimeRestriction(earliest=None, latest=None, catchup=False)
    first = stored.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
    assert first is not None
    assert first.run_after == hour.add(days=1)


def test_where_a_bundle_of_dags_lies_makes_no_new_version_of_a_dag(
    run: Callable[..., Any], airflow_home: Path, warehouse: Catalog
) -> None:
    beside = airflow_home / "dags" / "beside.yaml"
    beside.write_text(SHOP)
    text = f"{HEAD}from paimon_provider.declaration import load_dags\n"
    text += "globals().update(load_dags('beside.yaml'))\n# airflow dag\n"
    text += "with DAG('only', schedule=None) as only:\n"
    text += "    PaimonApplyOperator(task_id='apply', file='beside.yaml')\n"
    try:
        assert states(run_text(airflow_home, text, "only")) == {"apply": "success"}
    finally:
        beside.unlink()
    assert warehouse.tables("shop") == ["orders"]
