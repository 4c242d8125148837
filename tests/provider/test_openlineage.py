"""The real OpenLineage provider hears of tables, columns and the query.

It is no dependency, and where it is installed every Airflow process loads it: so it is put into a
folder of its own, on first use, and Airflow runs in a process that sees that folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import HEAD
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow]

ROOT = Path(__file__).parents[2]
PINS = (
    "apache-airflow-providers-openlineage==2.20.3",
    *("openlineage-python==1.54.0", "openlineage-integration-common==1.54.0"),
    *("openlineage-sql==1.54.0", "httpx2==2.16.2", "httpcore2==2.16.2", "truststore==0.10.5"),
)
BODY = """
from paimon_provider.decorators import paimon_task

add = PaimonWriteOperator(task_id="add", table="shop.sums", engine="local",
    sources={"o": {"table": "shop.orders", "mode": "changes"}},
    sql="WITH x AS (SELECT * FROM o WHERE id > 0) "
        "SELECT country, sum(amount) AS revenue, count(*) AS orders FROM x GROUP BY country")
compact = PaimonCompactDatabaseOperator(task_id="compact", database="shop")

@paimon_task(tables={"orders": "shop.orders"}, writes=["shop.sums"])
def own(orders):
    return orders.latest_snapshot().id

@task
def plain():
    from paimon_provider.hooks.paimon import PaimonHook
    hook = PaimonHook()
    found = hook.table("shop.orders").read(columns=["country"]).to_arrow()
    hook.table("shop.sums").delete("country = 'nowhere'")
    return found.num_rows

load = PaimonWriteOperator(task_id="load", table="shop.orders", rows_uri="@wh@/*.parquet")

from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator

by_sql = SQLExecuteQueryOperator(task_id="by_sql", conn_id="paimon_default", database="shop",
    sql="INSERT INTO sums SELECT country, sum(amount) AS revenue, count(*) AS orders FROM orders GROUP BY country")

add >> compact >> own() >> plain() >> load >> by_sql
"""
RUN = """
import importlib.util, sys
from airflow.sdk.definitions.dag import DAG
spec = importlib.util.spec_from_file_location("lineage_dag", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
run = module.dag.test()
print(*(f"{ti.task_id} {ti.state}" for ti in run.get_task_instances()))
assert str(run.state) == "success", run.state
"""


@pytest.fixture(scope="session")
def openlineage() -> Path:
    """The folder with the packages."""
    home = ROOT / ".cache" / "openlineage"
    home.parent.mkdir(exist_ok=True)
    with home.with_suffix(".lock").open("ab") as lock:  # test processes start together
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = home / "pins.txt"
        if not (stamp.exists() and stamp.read_text() == " ".join(PINS)):
            shutil.rmtree(home, ignore_errors=True)
            uv = shutil.which("uv")
            installer = [uv, "pip", "install", "-q", "--python", sys.executable]
            if uv is None:
                installer = [sys.executable, "-m", "pip", "install", "-q"]
            subprocess.run([*installer, "--no-deps", "--target", str(home), *PINS], check=True)  # type: ignore[list-item]
            stamp.write_text(" ".join(PINS))
    return home


def make_tables(warehouse: Catalog) -> None:
    orders = pa.schema([("id", pa.int64()), ("country", pa.string()), ("amount", pa.float64())])
    sums = pa.schema(
        [
            pa.field("country", pa.string(), nullable=False),
            ("revenue", pa.float64()),
            ("orders", pa.int64()),
        ]
    )
    warehouse.create_database("shop")
    warehouse.create_table("shop.sums", sums, primary_key=("country",), options={"bucket": "1"})
    table = warehouse.create_table("shop.orders", orders, options={"bucket": "-1"})
    rows = pa.table({"id": [1], "country": ["is"], "amount": [2.0]}, schema=orders)
    write_rows(table, rows)
    pq.write_table(rows, f"{warehouse.warehouse.removeprefix('file://')}/in.parquet")


def registered(folder: Path) -> Path:
    """A folder in which Airflow finds this provider, where the project is not installed."""
    try:
        distribution("airflow-provider-paimon")
    except PackageNotFoundError:
        about = folder / "airflow_provider_paimon-0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Name: airflow-provider-paimon\nVersion: 0\n")
        groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
        lines = [
            line
            for group, names in groups.items()
            for line in (f"[{group}]", *(f"{name} = {path}" for name, path in names.items()))
        ]
        (about / "entry_points.txt").write_text("\n".join(lines))
    return folder


def outputs_of(events: list[dict[str, Any]], task: str, kind: str = "outputs") -> list[Any]:
    """Datasets of the completion of a task."""
    (found,) = [
        event[kind]
        for event in events
        if event["eventType"] == "COMPLETE" and event["job"]["name"].endswith(f".{task}")
    ]
    return list(found)


def test_it_hears_of_tables_columns_and_the_query(
    airflow_home: Path, warehouse: Catalog, openlineage: Path, tmp_path: Path
) -> None:
    dag = airflow_home / "dags" / "lineage_dag.py"
    body = BODY.replace("@wh@", warehouse.warehouse)
    inner = "\n".join(f"    {line}" for line in body.strip().splitlines())
    dag.write_text(f"{HEAD}with DAG('lineage', default_args=dict(retries=0)) as dag:\n{inner}\n")
    log = tmp_path / "events.jsonl"
    make_tables(warehouse)
    transport = {"type": "file", "log_file_path": str(log), "append": True}
    paths = [ROOT, ROOT / "provider", openlineage, registered(tmp_path / "registered")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "tests",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(dag)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    dag.unlink()
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert log.exists(), (done.stdout + done.stderr)[-4000:]
    events = [json.loads(line) for line in log.read_text().splitlines()]
    shop = f"{tmp_path}/wh/shop.db"

    (read,) = outputs_of(events, "add", "inputs")
    assert [(f["name"], f["type"]) for f in read["facets"]["schema"]["fields"]] == [
        ("id", "int64"),
        ("country", "string"),
        ("amount", "double"),
    ]
    assert (read["namespace"], read["name"]) == ("file", f"{shop}/orders")
    (made,) = outputs_of(events, "add")
    assert (made["namespace"], made["name"]) == ("file", f"{shop}/sums")
    assert made["outputFacets"]["outputStatistics"]["rowCount"] == 1
    columns = {
        name: [(one["name"], one["field"]) for one in of["inputFields"]]
        for name, of in made["facets"]["columnLineage"]["fields"].items()
    }
    assert columns == {
        "country": [(f"{shop}/orders", "country")],
        "revenue": [(f"{shop}/orders", "amount")],
    }
    queries = {
        event["job"]["facets"]["sql"]["query"]
        for event in events
        if event["job"]["name"].endswith(".add") and "sql" in event["job"]["facets"]
    }
    assert [query[:9] for query in queries] == ["WITH x AS"]
    assert {o["name"] for o in outputs_of(events, "compact")} == {f"{shop}/orders", f"{shop}/sums"}
    assert [o["name"] for o in outputs_of(events, "own")] == [f"{shop}/sums"]
    assert [o["name"] for o in outputs_of(events, "own", "inputs")] == [f"{shop}/orders"]
    assert [o["name"] for o in outputs_of(events, "plain")] == [f"{shop}/sums"]
    assert [o["name"] for o in outputs_of(events, "plain", "inputs")] == [f"{shop}/orders"]
    (summed,) = outputs_of(events, "by_sql")
    assert (summed["namespace"], summed["name"]) == ("file", f"{shop}/sums")
    assert [f["name"] for f in summed["facets"]["schema"]["fields"]] == [
        "country",
        "revenue",
        "orders",
    ]
    assert [o["name"] for o in outputs_of(events, "by_sql", "inputs")] == [f"{shop}/orders"]
    (files,) = outputs_of(events, "load", "inputs")
    assert (files["namespace"], files["name"]) == ("file", f"{tmp_path}/wh/*.parquet")
