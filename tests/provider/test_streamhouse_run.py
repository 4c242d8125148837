"""The streamhouse, from sample input to sales by country, against an independent computation.

Airflow runs the Dag as it is, but for the engine: Arrow and DuckDB in the worker instead of Spark.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo import expected, generate
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]
DAGS = Path(__file__).parents[2] / "dags"
SALES = "default.country_sales"


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    uri = f"file://{tmp_path}/wh"
    document = {"conn_type": "paimon", "extra": {"warehouse": uri, "catalog_name": "demo"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    return open_catalog(uri)


@pytest.fixture
def run(airflow_home: Path, warehouse: Catalog) -> Iterator[Callable[..., dict[str, str]]]:
    path = airflow_home / "dags" / "streamhouse.py"
    shutil.copyfile(DAGS / "streamhouse.py", path)
    spec = importlib.util.spec_from_file_location("streamhouse", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    dag = module.deliver.dag
    for task in dag.tasks:
        task.engine = "local"

    def run_dag(**conf: Any) -> dict[str, str]:
        done = dag.test(run_conf=conf)
        return {ti.task_id: str(ti.state) for ti in done.get_task_instances()}

    yield run_dag
    path.unlink()


def test_it_equals_an_independent_computation_however_often_it_runs(
    run: Callable[..., dict[str, str]], warehouse: Catalog, tmp_path: Path
) -> None:
    source, inbox = tmp_path / "source", tmp_path / "in"
    generate.generate(source, customers=600, orders=4_000)
    for part in (range(1, 5), range(5, 8), range(8, 11)):
        number = generate.deliver(source, inbox, part)
        for _ in range(2):  # twice is once
            states = run(input=str(inbox), round=number)
            assert set(states.values()) == {"success"}, states
        want = expected.expected(inbox)[-1]
        sales = warehouse.table(SALES).read().to_arrow().sort_by("country")
        assert sales.to_pylist() == want.sales.to_pylist()
        assert warehouse.table("default.customers").read().to_arrow().num_rows == want.customers
    countries = sales["country"].to_pylist()
    assert generate.VANISHING not in countries
    assert generate.ARRIVING in countries
    days = set(warehouse.table("default.orders").read().to_arrow()["dt"].to_pylist())
    assert {f"2026-03-{day:02d}" for day in range(6, 11)} <= days
    assert not {f"2026-03-{day:02d}" for day in range(1, 4)} & days
