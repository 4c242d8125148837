"""Operators on a real warehouse, run by Airflow itself (``dag.test``)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import events_of, states, xcom

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


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


def test_a_flow_merges_compacts_and_reports(
    run: Callable[..., Any], warehouse: Catalog, tmp_path: Path
) -> None:
    """One Dag from files to a page; DuckDB computes, so no JVM is needed."""
    write_rows(tmp_path / "in" / "1" / "a.parquet", 0, 10)
    body = (
        CREATE
        + APPEND
        + """
sums = PaimonCreateTableOperator(task_id="sums", table="shop.sums",
    columns={"dt": "STRING NOT NULL", "n": "BIGINT"}, primary_key=["dt"],
    options={"bucket": "1", "merge-engine": "aggregation", "fields.n.aggregate-function": "sum",
             "changelog-producer": "full-compaction", "aggregation.remove-record-on-delete": "true"})
add = PaimonWriteOperator(task_id="add", table="shop.sums", engine="local",
    sql="SELECT dt, count(*) AS n FROM orders GROUP BY dt",
    sources={"orders": {"table": "shop.orders", "mode": "changes"}})
merge = PaimonMergeIntoOperator(task_id="merge", table="shop.sums", engine="local", on=["dt"],
    source={"sql": "SELECT '2026-01-02' AS dt"},
    when=[{"action": "not-matched-insert", "values": {"dt": "source.dt", "n": "0"}}])
compact = PaimonCompactOperator(task_id="compact", table="shop.sums", engine="local")
wait = PaimonSnapshotSensor(task_id="wait", table="shop.sums", poke_interval=0.1, deferrable=True)
report = PaimonChangeReportOperator(task_id="report", table="shop.sums", label_column="dt", value_column="n")
expire = PaimonExpireSnapshotsOperator(task_id="expire", table="shop.sums", retain_max=2, retain_min=1)
[append, sums] >> add >> merge >> compact >> wait >> report >> expire
"""
    )
    done = run(body, folder=f"file://{tmp_path}/in")
    assert set(states(done).values()) == {"success"}, states(done)
    table = warehouse.table("shop.sums")
    rows = table.read().to_arrow().sort_by("dt").to_pylist()
    assert rows == [{"dt": "2026-01-01", "n": 10}, {"dt": "2026-01-02", "n": 0}]
    assert len(table.snapshots()) == 2
    assert set(xcom(done, "wait")["kinds"]) == {"COMPACT"}
    assert xcom(done, "compact")["action"] == "compact"
    report = xcom(done, "report")
    assert report["rows"] == 2
    page = Path(os.environ["AIRFLOW__PAIMON__REPORTS_FOLDER"]) / report["report"].rpartition("/")[2]
    assert "2026-01-02" in page.read_text()

    again = run(body, folder=f"file://{tmp_path}/in")
    assert set(states(again).values()) == {"success"}, states(again)
    assert warehouse.table("shop.sums").read().to_arrow().sort_by("dt").to_pylist() == rows


def test_a_task_announces_the_changes_that_it_delivered_and_nothing_else(
    run: Callable[..., Any], airflow_home: Path, tmp_path: Path
) -> None:
    write_rows(tmp_path / "in" / "1" / "a.parquet", 0, 10)
    body = (
        CREATE
        + APPEND
        + """
again = PaimonWriteOperator(task_id="again", table="shop.orders", engine="local",
    rows_uri="{{ dag_run.conf['folder'] }}/*/*.parquet", rows_position="tc.files.orders")
silent = PaimonWriteOperator(task_id="silent", table="shop.orders", engine="local", events="none",
    rows_uri="{{ dag_run.conf['folder'] }}/*/*.parquet")
append >> again >> silent
"""
    )
    done = run(body, folder=f"file://{tmp_path}/in")
    assert set(states(done).values()) == {"success"}, states(done)
    ((task, uri, extra),) = events_of(done)
    assert (task, uri) == ("append", "paimon://paimon_default/shop/orders")
    assert extra["version"] == 1
    assert extra["kinds"] == {"APPEND": 1}
    told = {"append": 10, "changelog": 0, "added": 10, "updated": 0, "deleted": 0}
    assert extra["rows"] == told
    assert extra["result"]["rows_written"] == 10


@pytest.mark.spark
def test_spark_runs_beside_the_worker(
    run: Callable[..., Any], warehouse: Catalog, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The local backend: a process with a JVM, its log in the task's log, its result as XCom."""
    write_rows(tmp_path / "in" / "1" / "a.parquet", 0, 10)
    body = (
        CREATE
        + APPEND
        + """
sums = PaimonCreateTableOperator(task_id="sums", table="shop.sums",
    columns={"dt": "STRING NOT NULL", "n": "BIGINT"}, primary_key=["dt"], options={"bucket": "1"})
add = PaimonWriteOperator(task_id="add", table="shop.sums", spark_conf={"spark.ui.enabled": "false"}, deferrable=True,
    sql="SELECT dt, count(*) AS n FROM orders GROUP BY dt",
    sources={"orders": {"table": "shop.orders", "mode": "changes"}})
[append, sums] >> add
"""
    )
    done = run(body, folder=f"file://{tmp_path}/in")
    assert set(states(done).values()) == {"success"}, states(done)
    assert xcom(done, "add")["rows_written"] == 1
    rows = warehouse.table("shop.sums").read().to_arrow().to_pylist()
    assert rows == [{"dt": "2026-01-01", "n": 10}]
    told = "".join(capfd.readouterr())
    assert "Using Spark's default log4j profile" not in told
    assert "Waiting here: only a job of backend 'standalone' can be deferred" in told
    assert "With engine='auto' the worker would have done this" in told


@pytest.mark.parametrize(
    ("body", "what"),
    [
        pytest.param(
            'PaimonCreateTableOperator(task_id="t", table="a.b", columns={"x": "INT"}, catalog="other")',
            "task announces paimon://other/a/b but would touch paimon://paimon_default/a/b",
            id="another catalog than announced",
        ),
        pytest.param(
            'PaimonCompactOperator(task_id="t", table="a.nothing", engine="local")',
            "not-found",
            id="no such table",
        ),
    ],
)  # fmt: skip
def test_mistakes_fail_without_a_retry(
    run: Callable[..., Any], body: str, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(body.replace('task_id="t"', 'task_id="t", retries=3'))
    assert states(done) == {"t": "failed"}
    assert what in "".join(capfd.readouterr())


CUSTOMERS = """
create = PaimonCreateTableOperator(task_id="create", table="shop.customers",
    columns={"id": "BIGINT NOT NULL"}, primary_key=["id"], options={"bucket": "1"})
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(
            """
PaimonSyncTableOperator(task_id="bad", table="shop.customers", engine="local",
    source={"kind": "files", "uri": "{{ dag_run.conf['folder'] }}/*.jsonl",
            "format": "debezium-json"}) << create
""",
            ["[invalid]", "2.jsonl, line 2: no JSON"],
            id="an event that is no JSON",
        ),
        pytest.param(
            """
PaimonWriteOperator(task_id="bad", table="shop.customers", engine="local",
    rows_uri="{{ dag_run.conf['folder'] }}/*.parquet") << create
""",
            ["[invalid]", "'id'", "NULL"],
            id="a key that is NULL",
        ),
        pytest.param(
            """
PaimonWriteOperator(task_id="bad", table="shop.customers", sql="SELECT 1L AS id",
    spark_conf={"spark.driver.extraJavaOptions": "-XX:OnOutOfMemoryError"}) << create
""",
            ["[unavailable]", "Could not create the Java Virtual Machine"],
            id="a Spark job that dies",
        ),
    ],
)
def test_a_fault_is_told_and_nothing_is_committed(
    run: Callable[..., Any],
    warehouse: Catalog,
    tmp_path: Path,
    body: str,
    words: list[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    good = json.dumps({"before": None, "after": {"id": 1}, "op": "c"})
    (tmp_path / "1.jsonl").write_text(good)
    (tmp_path / "2.jsonl").write_text(f"{good}\nnonsense\n")
    pq.write_table(pa.table({"id": pa.array([1, None], pa.int64())}), tmp_path / "1.parquet")
    done = run(CUSTOMERS + body, folder=tmp_path.as_uri())
    assert states(done) == {"create": "success", "bad": "failed"}
    told = "".join(capfd.readouterr())
    assert [word for word in words if word not in told] == []
    assert warehouse.table("shop.customers").latest_snapshot() is None


def test_an_unknown_option_makes_no_table(run: Callable[..., Any], warehouse: Catalog) -> None:
    with pytest.raises(AssertionError, match=r"unknown option .*buckets"):
        run(CUSTOMERS.replace('"bucket"', '"buckets"'))  # the Dag's file is refused
    assert warehouse.databases() == []


def test_a_warehouse_that_cannot_be_written_is_named(
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("in the way")
    document = {"conn_type": "paimon", "host": f"file://{tmp_path}/file/wh"}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    done = run(CUSTOMERS)
    assert states(done) == {"create": "failed"}
    assert f"{tmp_path}/file" in "".join(capfd.readouterr())
