"""Operators on a real warehouse, run by Airflow itself (``dag.test``)."""

from __future__ import annotations

import importlib.util
import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.table.catalog import Catalog, open_catalog

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

HEAD = """
from airflow.sdk import DAG, task
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.expire import PaimonExpirePartitionsOperator, PaimonExpireSnapshotsOperator
from paimon_provider.operators.report import PaimonChangeReportOperator
from paimon_provider.operators.sync import PaimonSyncTableOperator
from paimon_provider.operators.table import PaimonAlterTableOperator, PaimonCreateTableOperator
from paimon_provider.operators.write import PaimonMergeIntoOperator, PaimonWriteOperator
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor

"""


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    uri = f"file://{tmp_path}/wh"
    document = {"conn_type": "paimon", "host": uri, "extra": {"spark_master": "local[2]"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    return open_catalog(uri)


@pytest.fixture
def run(airflow_home: Path, warehouse: Catalog) -> Callable[..., Any]:
    """Write a Dag file, load it, run it; gives the Dag run."""

    def run_dag(body: str, **conf: Any) -> Any:
        dag_id = f"dag_{uuid.uuid4().hex[:8]}"
        path = airflow_home / "dags" / f"{dag_id}.py"
        inner = "\n".join(f"    {line}" for line in body.strip().splitlines())
        path.write_text(
            f"{HEAD}with DAG({dag_id!r}, default_args=dict(retries=0)) as dag:\n{inner}\n"
        )
        spec = importlib.util.spec_from_file_location(dag_id, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            return module.dag.test(run_conf=conf)
        finally:
            os.unlink(path)

    return run_dag


def states(dag_run: Any) -> dict[str, str]:
    return {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}


def xcom(dag_run: Any, task_id: str) -> Any:
    ti = dag_run.get_task_instance(task_id)
    return ti.xcom_pull(task_ids=task_id)


def write_rows(path: Path, start: int, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table({"id": range(start, start + count), "dt": ["2026-01-01"] * count}), path
    )


CREATE = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders",
    columns={"id": "BIGINT", "dt": "STRING"}, partition_by=["dt"], options={"bucket": "-1"})
"""
APPEND = """
append = PaimonWriteOperator(task_id="append", table="shop.orders", engine="local",
    rows_uri="{{ dag_run.conf['folder'] }}/*/*.parquet", rows_position="tc.files.orders")
create >> append
"""


def test_files_are_appended_once_however_often_the_dag_runs(
    run: Callable[..., Any], warehouse: Catalog, tmp_path: Path
) -> None:
    write_rows(tmp_path / "in" / "1" / "a.parquet", 0, 10)
    for _ in range(2):
        done = run(CREATE + APPEND, folder=f"file://{tmp_path}/in")
        assert set(states(done).values()) == {"success"}
    assert xcom(done, "append")["rows_written"] == 0
    write_rows(tmp_path / "in" / "2" / "a.parquet", 10, 5)
    done = run(CREATE + APPEND, folder=f"file://{tmp_path}/in")
    result = xcom(done, "append")
    assert (result["rows_written"], result["details"]["position"]) == (5, "2/a.parquet")
    table = warehouse.table("shop.orders")
    assert [s.total_record_count for s in table.snapshots()] == [10, 15]
