"""The streamhouse as it is, its rows computed on a cluster of processes or by a Spark Connect server.

What comes out is compared with a computation that shares no line with the pipeline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo import expected, generate
from demo.environment import SPARK
from table_core.table.api.opening import open_catalog
from tests.servers import ROOT
from tests.spark_servers import SMALL, connect, standalone

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.heavy,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, dict[str, Any]]]:
    """Backend to what a connection says of it."""
    with standalone() as cluster, connect() as server:
        master = {"spark_master": cluster.master, "spark_rest_port": cluster.rest_port}
        yield {
            "spark-submit": master,
            "standalone": {**master, "spark_job_folder": str(cluster.logs / "jobs")},
            "connect": {"spark_master": server.url},
        }


@pytest.mark.parametrize("backend", ["spark-submit", "standalone", "connect"])
def test_it_equals_an_independent_computation(
    places: dict[str, dict[str, Any]],
    airflow_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
) -> None:
    from tests.provider.dag_runs import run_text, states

    warehouse = (tmp_path / "wh").as_uri()
    extra = {"warehouse": warehouse, "catalog_name": "demo", "spark_backend": backend}
    extra |= {"spark_conf": {**SPARK, **SMALL}, **places[backend]}
    connection = json.dumps({"conn_type": "paimon", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", connection)
    source, inbox = tmp_path / "source", tmp_path / "in"
    generate.generate(source, customers=600, orders=4_000)
    dag = (ROOT / "dags" / "streamhouse.py").read_text()
    for part in (range(1, 6), range(6, 11)):
        number = generate.deliver(source, inbox, part)
        done = states(run_text(airflow_home, dag, "streamhouse", input=str(inbox), round=number))
        assert set(done.values()) == {"success"}, done
    want = expected.expected(inbox)[-1]
    catalog = open_catalog(warehouse)
    sales = catalog.table("default.country_sales").read().to_arrow().sort_by("country")
    assert sales.to_pylist() == want.sales.to_pylist()
    assert catalog.table("default.waiting_orders").read().to_arrow().num_rows == want.waiting
