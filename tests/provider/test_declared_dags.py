"""Dags of a declaration: where code of one's own changes them, and what becomes of drift."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator

from paimon_provider.declaration import Hooks, PaimonTaskGroup, load_dags
from table_core.table.catalog import Catalog
from tests.provider.dag_runs import states, xcom

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
