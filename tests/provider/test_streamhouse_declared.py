"""The streamhouse as one declaration: the same tables, the same result, under 80 lines."""

from __future__ import annotations

import importlib
import inspect
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag

from demo import expected, generate
from paimon_provider.declaration import load_dags
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests.provider.dag_files import DAGS, DECLARED

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]
SALES = "default.country_sales"


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    uri = f"file://{tmp_path}/wh"
    document = {"conn_type": "paimon", "extra": {"warehouse": uri, "catalog_name": "demo"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    return open_catalog(uri)


@pytest.fixture
def dags(airflow_home: Path) -> Iterator[dict[str, Any]]:
    folder = airflow_home / "dags"
    for name in ("streamhouse.yaml", "streamhouse_declared.py"):
        shutil.copyfile(DECLARED / name, folder / name)
    yield load_dags(folder / "streamhouse.yaml")
    for name in ("streamhouse.yaml", "streamhouse_declared.py"):
        (folder / name).unlink()


def states(done: Any) -> dict[str, str]:
    return {f"{ti.task_id}{ti.map_index}": str(ti.state) for ti in done.get_task_instances()}


def test_it_is_short_and_says_what_the_dags_say() -> None:
    assert (DECLARED / "streamhouse.yaml").read_text().count("\n") < 80
    written = DagBag(str(DAGS)).dags
    declared = DagBag(str(DECLARED))
    assert declared.import_errors == {}
    assert set(declared.dags) == {name for name in written if name.startswith("streamhouse")}
    tasks = set(declared.dags["streamhouse"].task_ids)
    made = {t for t in written["streamhouse"].task_ids if not t.startswith("create_")}
    assert tasks - {"apply_declaration"} == made


def test_it_equals_an_independent_computation_however_often_it_runs(
    dags: dict[str, Any], warehouse: Catalog, tmp_path: Path
) -> None:
    source, inbox = tmp_path / "source", tmp_path / "in"
    generate.generate(source, customers=300, orders=2_000)
    dag = dags["streamhouse"]
    for task in dag.tasks:
        if hasattr(task, "engine"):
            task.engine = "local"
    for part in (range(1, 5), range(5, 11)):
        number = generate.deliver(source, inbox, part)
        for _ in range(2):  # twice is once
            done = states(dag.test(run_conf={"input": str(inbox), "round": number}))
            assert set(done.values()) == {"success"}, done
        want = expected.expected(inbox)[-1]
        sales = warehouse.table(SALES).read().to_arrow().sort_by("country")
        assert sales.to_pylist() == want.sales.to_pylist()
    days = set(warehouse.table("default.orders").read().to_arrow()["dt"].to_pylist())
    assert {f"2026-03-{day:02d}" for day in range(6, 11)} <= days
    assert not {f"2026-03-{day:02d}" for day in range(1, 4)} & days

    before = {t: warehouse.table(t).health().verdict for t in ("default.customers", SALES)}
    assert {v.value for v in before.values()} == {"ok"}, "the upkeep finds little to do"
    done = states(dags["streamhouse_upkeep"].test())
    assert done["due-1"] == "success"
    assert set(done.values()) <= {"success", "skipped"}


def test_each_action_that_a_flow_may_run_has_an_operator_and_its_arguments() -> None:
    from table_core.declaration.grammar import RUN_ACTIONS
    from table_core.declaration.verbs import ACTIONS

    assert set(ACTIONS) == set(RUN_ACTIONS)
    for action, taken in ACTIONS.items():
        module, _, name = taken.operator.partition(".")
        operator = getattr(importlib.import_module(f"paimon_provider.operators.{module}"), name)
        parameters = inspect.signature(operator.__init__).parameters.values()
        own = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"engine"}
        assert set(taken.takes) == own, action
