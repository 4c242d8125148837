"""``engine="auto"`` in tasks: where they run, what they say of it, and what a killed attempt changes."""

from __future__ import annotations

import json
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.launchers.worker import free_memory, this_worker
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.runs.auto_engine import told_what_auto_saves
from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import EngineChoice
from table_core.table.api.catalog import Catalog
from tests.provider.attempts import Runs, of_dag
from tests.provider.dag_runs import events_of, states, xcom
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])


@pytest.fixture
def orders(warehouse: Catalog) -> Any:
    warehouse.create_database("shop")
    options = {"bucket": "1", "write-only": "true", "changelog-producer": "full-compaction"}
    table = warehouse.create_table("shop.orders", SCHEMA, primary_key=("id",), options=options)
    for start in (0, 3):
        write_rows(table, pa.table({"id": range(start, start + 5), "n": range(5)}, schema=SCHEMA))
    return table


BODY = """
compact = PaimonCompactOperator(task_id="compact", table="shop.orders", engine="auto",
    spark_conf={"spark.ui.enabled": "false"}%s)
"""


def test_a_small_compaction_runs_in_the_worker_and_says_so(
    run: Callable[..., Any],
    orders: Any,
    airflow_home: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    done = run(BODY % "")
    assert states(done) == {"compact": "success"}
    told = "".join(capfd.readouterr())
    assert "engine auto: local, for it touches 2 files" in told
    assert "10 rows" in told
    assert "Running compact on shop.orders in this process" in told
    assert xcom(done, "compact")["snapshot_after"] == 3
    ((_, _, extra),) = events_of(done)
    assert extra["kinds"] == {"COMPACT": 1}


def test_limits_of_the_connection_and_of_the_task(
    orders: Any, warehouse: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PaimonHook().engine_for("compact", "shop.orders", {}).is_local
    document = {
        "conn_type": "paimon",
        "host": warehouse.warehouse,
        "extra": {"auto_limits": {"rows": "9"}},
    }
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    found = PaimonHook().engine_for("compact", "shop.orders", {})
    assert (found.engine, "more than 9 rows" in found.reason) == ("spark", True)
    assert PaimonHook().engine_for("compact", "shop.orders", {}, {"rows": 10}).is_local
    with pytest.raises(ArgumentError, match="auto_limits"):
        PaimonCompactOperator(task_id="x", table="d.t", auto_limits={"lines": 5})
    document["extra"] = {"auto_limits": {"lines": "5"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    with pytest.raises(ArgumentError, match="auto_limits of connection"):
        _ = PaimonHook().warehouse


def test_the_engine_of_a_task_that_does_not_say(
    run: Callable[..., Any],
    orders: Any,
    warehouse: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The task, else the connection, else the environment, else Spark."""

    def connection(**extra: str) -> None:
        document = {"conn_type": "paimon", "host": warehouse.warehouse, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))

    def default() -> str:
        return PaimonHook().warehouse.default_engine

    connection()
    assert default() == "spark"
    monkeypatch.setenv("AIRFLOW__PAIMON__ENGINE", "local")
    assert default() == "local"
    connection(engine="auto")
    assert default() == "auto"
    done = run(BODY.replace(', engine="auto"', "") % "")
    assert states(done) == {"compact": "success"}
    assert "engine auto: local" in "".join(capfd.readouterr())
    connection(engine="sparc")
    with pytest.raises(ArgumentError, match=r"engine='sparc' is none of .*did you mean 'spark'"):
        default()
    connection()
    monkeypatch.setenv("AIRFLOW__PAIMON__ENGINE", "java")
    with pytest.raises(ArgumentError, match=r"\[paimon\] engine='java' is none of"):
        default()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_small_job_in_a_session_of_its_own_says_what_auto_would_save(engine: str) -> None:
    told: list[str] = []
    choice = EngineChoice(engine=engine, reason="it touches 2 files")
    with told_what_auto_saves(lambda: choice, lambda text, *v: told.append(text % v)) as done:
        done({"seconds": 0})
    assert [line.split(" took ")[0] for line in told] == (
        ["A Spark session of its own"] if engine == "local" else []
    )
    assert all("it touches 2 files" in line for line in told)


def test_asking_uses_up_no_number_of_the_task_run(orders: Any) -> None:
    from paimon_provider.runs.identity import RunIdentity

    hook = PaimonHook(identity=RunIdentity("me"))
    hook.engine_for("compact", "shop.orders", {})
    assert hook.job_spec("compact", "shop.orders", {}).commit_identifier == 0


KILLED = """
import os, signal
class Killed(PaimonCompactOperator):
    '''Dies as a worker dies that runs out of memory, when its job has begun and the file is there.'''
    def _hook_of(self, identity):
        hook = super()._hook_of(identity)
        told = hook.told
        def dies(line):
            told(line)
            if os.path.exists(os.environ['DIE']):
                os.kill(os.getpid(), signal.SIGKILL)
        hook.told = dies
        return hook
"""


ATTEMPT = """
import sys
from airflow.dag_processing.dagbag import DagBag
from tests.provider.attempts import Runs
path, dag = sys.argv[1:]
Runs(DagBag(path).dags[dag]).step()
"""


def killed_step(runs: Runs) -> None:
    """An attempt in a process of its own, which is killed; Airflow notices, as its scheduler does."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    command = [sys.executable, "-c", ATTEMPT, runs.dag.fileloc, runs.dag.dag_id]
    attempt = subprocess.run(command, check=False)
    assert attempt.returncode == -signal.SIGKILL
    with create_session() as session:
        for ti in session.query(DagRun).filter_by(dag_id=runs.dag.dag_id).one().task_instances:
            ti.state, ti.end_date = "up_for_retry", datetime.now(UTC)


@pytest.fixture
def die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "die"
    monkeypatch.setenv("DIE", str(path))
    return path


@pytest.mark.spark
def test_after_a_kill_in_the_worker_the_retry_goes_to_spark(
    airflow_home: Path, orders: Any, die: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with of_dag(
        airflow_home, (BODY % "").replace("PaimonCompactOperator", "Killed"), head=KILLED
    ) as runs:
        runs.create()
        die.touch()
        killed_step(runs)
        die.unlink()
        assert runs.step() == {"compact": "success"}
        assert len(runs.events()) == 1
    told = "".join(capfd.readouterr())
    assert "engine auto: local" in told
    assert "engine auto: spark, for an earlier attempt was killed" in told
    assert [s.commit_kind for s in orders.snapshots()] == ["APPEND", "APPEND", "COMPACT"]


DYING = """
class Dying(PaimonCompactOperator):
    def finished(self, context, result):
        found = super().finished(context, result)
        if os.path.exists(os.environ['DIE']):
            raise RuntimeError('after the commit')
        return found
"""


@pytest.mark.spark
@pytest.mark.parametrize("first", ["local", "spark"])
def test_a_retry_on_the_other_engine_commits_nothing_and_says_the_same(
    airflow_home: Path, orders: Any, die: Path, first: str
) -> None:
    rows = {"local": 1_000, "spark": 0}
    body = (BODY % "").replace("PaimonCompactOperator", "Dying")
    with of_dag(airflow_home, body, head="import os\n" + DYING) as runs:
        task = runs.dag.task_dict["compact"]
        runs.create()
        die.touch()
        task.auto_limits = {"rows": rows[first]}
        assert runs.step() == {"compact": "up_for_retry"}
        assert [s.id for s in orders.snapshots()] == [1, 2, 3]
        die.unlink()
        (other,) = set(rows) - {first}
        task.auto_limits = {"rows": rows[other]}
        task.spark_conf = {"spark.ui.enabled": "false"}
        assert runs.step() == {"compact": "success"}
        result = runs.xcom("compact")
        ((_, _, extra),) = runs.events()
    assert [s.id for s in orders.snapshots()] == [1, 2, 3]
    assert (result["snapshot_before"], result["snapshot_after"]) == (2, 3)
    assert result["details"]["replayed"] is True
    assert extra["kinds"] == {"COMPACT": 1}


UPKEEP = """
PaimonUpkeepOperator(task_id="upkeep", table="shop.orders", engine="auto",
    policy={"thresholds": {"sorted_runs_due": 1}, "compact": {"strategy": "full"}})
"""


def test_upkeep_decides_for_each_action(
    run: Callable[..., Any], orders: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(UPKEEP)
    assert states(done) == {"upkeep": "success"}
    assert "engine auto: local" in "".join(capfd.readouterr())
    assert [r["action"] for r in xcom(done, "upkeep")["results"]] == ["compact"]


# --------------------------------------------------------------------------------- the worker
def test_missing_packages_are_told() -> None:
    assert this_worker(["json", "no_such_package"]).missing == frozenset({"no_such_package"})


def grouped(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n")
    return tmp_path


def test_memory_of_a_machine_without_groups(machine: Path) -> None:
    assert free_memory(machine / "none", machine / "meminfo", machine) == 8_000_000 << 10
    assert free_memory(machine / "none", machine / "none", machine) is None


def test_memory_of_a_container_is_that_of_the_narrowest_group(machine: Path) -> None:
    (machine / "own").write_text("0::/pods/one\n")
    root = machine / "cgroup"
    grouped(root / "pods", memory__max=f"{2 << 30}", memory__current=f"{1 << 30}")
    grouped(root / "pods" / "one", memory__max="max", memory__current="5")
    assert free_memory(machine / "own", machine / "meminfo", root) == 1 << 30
    (root / "pods" / "memory.stat").write_text(f"anon 7\ninactive_file {100 << 20}\n")
    assert free_memory(machine / "own", machine / "meminfo", root) == (1 << 30) + (100 << 20)


def test_memory_inside_a_container_whose_own_group_is_the_root(machine: Path) -> None:
    (machine / "own").write_text("4:memory:/docker/abc\n1:cpu:/\n")
    root = machine / "cgroup"
    grouped(
        root / "memory", memory__limit_in_bytes=f"{1 << 30}", memory__usage_in_bytes=f"{300 << 20}"
    )
    assert free_memory(machine / "own", machine / "meminfo", root) == (1 << 30) - (300 << 20)
    grouped(root / "memory", memory__limit_in_bytes=f"{(1 << 63) - 4096}")
    assert free_memory(machine / "own", machine / "meminfo", root) == 8_000_000 << 10


def test_a_worker_of_one_gigabyte_sends_what_does_not_fit(
    orders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from paimon_provider.launchers import worker

    monkeypatch.setattr(
        worker, "free_memory", lambda: 650 << 20
    )  # 1 GiB, of which Airflow has some
    assert PaimonHook().engine_for("compact", "shop.orders", {}).is_local
    writer = orders.write()
    writer.write(pa.table({"id": range(9), "n": range(9)}, schema=SCHEMA))
    result = writer.prepare()
    (change,) = result.changes
    large = tuple(replace(file, row_count=40_000_000, file_size=1 << 29) for file in change.added)
    orders.commit([replace(result, changes=(replace(change, added=large),))])
    found = PaimonHook().engine_for("compact", "shop.orders", {}, {"rows": 10**9, "bytes": "1 tb"})
    assert found.engine == "spark"
    assert "of memory and the worker has 650 MB free" in found.reason


def test_the_queries_of_the_demo_run_in_the_worker(
    warehouse: Catalog, monkeypatch: pytest.MonkeyPatch, airflow_home: Path
) -> None:
    """``make demo DEMO=auto``: few rows, and SQL that both engines understand."""
    from table_core.jobs.job_spec import JobSpec
    from table_core.jobs.run import run_embedded

    monkeypatch.setenv("STREAMHOUSE_ENGINE", "auto")
    script = runpy.run_path(str(Path(__file__).parents[2] / "dags" / "streamhouse.py"))
    for table, parts in script["TABLES"].items():
        spec = JobSpec(
            action="create-table", warehouse=warehouse.warehouse, table=table, args=dict(parts)
        )
        run_embedded(spec)
    for name in ("add_sales", "align_countries"):
        task = script[name]
        assert task.engine == "auto"
        found = PaimonHook().engine_for(task.action, task.table, task.arguments())
        assert found.is_local, found.reason
