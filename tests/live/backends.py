"""One slow write in a live Airflow on each Spark backend, and what can be done to it meanwhile.

The query sleeps for every row, so there is time to kill.  Whatever belongs to the house, Airflow or
Spark, has its mark in the environment; that is how its processes are told from other people's.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from demo.airflow_home import AirflowHome
from table_core.table.catalog import Catalog, open_catalog
from tests import spark_servers
from tests.servers import ROOT, free_port

__all__ = ["BACKENDS", "KILLS", "PLANTED", "House", "house"]

BACKENDS = ("local", "submit", "standalone", "deferred", "connect")
MARK = "PAIMON_TEST_HOUSE"
ROWS = 16
PATIENCE = 300
JOB_WORDS = ("table_core.spark.entrypoint", "entrypoint.py", "pyspark.daemon", "DriverWrapper")
"""What a process of a job has on its command line, besides that of an executor."""
PASSWORD = {
    "token": "PLANTED-store",
    "spark.hadoop.a.secret.key": "PLANTED-key",
    "spark.x": "PLANTED-x",
}
PLANTED = tuple(PASSWORD.values())
DAG = """
from datetime import timedelta

from airflow.sdk import DAG
from paimon_provider.operators.write import PaimonWriteOperator

SLOW = "SELECT id, java_method('java.lang.Thread', 'sleep', 1000L) slept FROM range(0, {rows}, 1, 2)"

for name in {backends}:
    with DAG(name, schedule=None, catchup=False, max_active_runs=1):
        PaimonWriteOperator(
            task_id="write", table="d.{{{{ dag_run.conf['table'] }}}}", sql=SLOW, sources={{}},
            paimon_conn_id=name, deferrable=name == "deferred",
            retries=3, retry_delay=timedelta(seconds=1), max_retry_delay=timedelta(seconds=2),
        )
"""
SETTINGS = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "40",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True)
class House:
    """An Airflow, a Spark cluster and a Spark Connect server, and one warehouse."""

    airflow: AirflowHome
    cluster: spark_servers.Standalone
    connect: spark_servers.Connect | None
    catalog: Catalog
    folder: Path
    page: int
    """Port of the Spark UI of a job."""

    def begin(self, backend: str, what: str) -> Write:
        """Trigger the write on ``backend`` and wait until its rows are computed."""
        name = f"{backend}_{what}"
        schema = pa.schema([("id", pa.int64()), ("slept", pa.string())])
        self.catalog.create_table(f"d.{name}", schema, options={"bucket": "-1"})
        write = Write(self, backend, name, self.airflow.trigger(backend, {"table": name}))
        self.wait("rows are computed", lambda: self.computing(backend))
        return write

    def computing(self, backend: str) -> bool:
        """Whether a job of ``backend`` is in its tasks."""
        if backend == "connect":
            assert self.connect is not None
            return bool(self.connect.running_jobs())
        return any("pyspark.daemon" in words for words in self.processes())

    def left(self) -> list[str]:
        """What a job still has: processes, applications, drivers, work of a server, files."""
        jobs = [words for words in self.processes() if _is_of_a_job(words)]
        if self.connect is not None:
            jobs += self.connect.running_jobs()
        files = [str(path) for path in self.folder.glob("*/paimon-job-*")]
        return [*jobs, *self.cluster.busy(), *files]

    def processes(self) -> list[str]:
        """The command lines of the house, but for those of its servers' own Python."""
        found = []
        for process in psutil.process_iter():
            try:
                marked = process.environ().get(MARK) == str(self.folder)
                words = " ".join(process.cmdline())
                if marked and not self._serves_connect(process):
                    found.append(words)
            except psutil.Error:
                continue
        return found

    def _serves_connect(self, process: psutil.Process) -> bool:
        return any("SparkConnectServer" in " ".join(p.cmdline()) for p in process.parents())

    def shown(self) -> dict[str, str]:
        """What anybody may see while a job runs."""
        base = f"http://127.0.0.1:{self.page}"
        (application,) = json.loads(_page(f"{base}/api/v1/applications"))
        specs = [path.read_text() for path in self.folder.glob("*/paimon-job-*/spec.json")]
        return {
            "command lines": "\n".join(self.processes()),
            "job specs": "\n".join(specs),
            "environment page": _page(f"{base}/environment/"),
            "environment": _page(f"{base}/api/v1/applications/{application['id']}/environment"),
        }

    def kept(self) -> dict[str, str]:
        """What is left when jobs are over: database, logs of tasks and of Spark."""
        paths = [*(self.folder / "home").rglob("*"), *self.cluster.logs.rglob("*")]
        files = [path for path in paths if path.is_file() and path.suffix in {".log", ".db", ""}]
        return {str(path): path.read_bytes().decode("utf-8", "replace") for path in files}

    def wait(self, what: str, ready: Callable[[], Any]) -> None:
        """Until ``ready``; tells what is running if it never is."""
        until = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < until, (
                f"not within {PATIENCE} s: {what}; left: {self.left()}\n{self.cluster.told()}"
            )
            time.sleep(0.2)


@dataclass(frozen=True)
class Write:
    """One run of the Dag of a backend."""

    house: House
    backend: str
    table: str
    run: str

    @property
    def task(self) -> dict[str, Any]:
        (found,) = self.house.airflow.tasks(self.backend, self.run)
        return found

    def state(self) -> str:
        runs = self.house.airflow.runs(self.backend)
        return str(next(r["state"] for r in runs if r["dag_run_id"] == self.run))

    def ends(self, state: str) -> None:
        """Wait for the end of the run, which must be ``state``, and of all it started."""
        self.house.wait("the run ended", lambda: self.state() in {"success", "failed"})
        assert self.state() == state, self.house.airflow.log_tail(
            self.backend, self.run, "write", 60
        )
        self.house.wait("nothing is left running", lambda: not self.house.left())

    def commits(self) -> int:
        """How often rows were committed; each commit must have all of them."""
        table = self.house.catalog.table(f"d.{self.table}")
        snapshots = table.snapshots()
        assert [s.total_record_count for s in snapshots] == [
            ROWS * (n + 1) for n in range(len(snapshots))
        ]
        return len(snapshots)

    def mark(self, state: str) -> None:
        path = f"/dags/{self.backend}/dagRuns/{self.run}/taskInstances/write"
        self.house.airflow.send("PATCH", path, {"new_state": state})

    def clear(self) -> None:
        body = {"dry_run": False, "only_failed": False, "reset_dag_runs": True}
        body |= {"dag_run_id": self.run, "task_ids": ["write"]}
        self.house.airflow.send("POST", f"/dags/{self.backend}/clearTaskInstances", body)

    def pause(self, *, paused: bool) -> None:
        self.house.airflow.send("PATCH", f"/dags/{self.backend}", {"is_paused": paused})


def worker_killed(write: Write) -> None:
    os.kill(write.task["pid"], signal.SIGKILL)
    write.ends("success")
    assert (write.commits(), write.task["try_number"] > 1) == (1, True)


def triggerer_killed(write: Write) -> None:
    write.house.airflow.restart("triggerer")
    write.ends("success")
    assert (write.commits(), write.task["try_number"]) == (1, 1)


def scheduler_killed(write: Write) -> None:
    write.house.airflow.restart("scheduler")
    write.ends("success")
    assert write.commits() == 1


def cleared(write: Write) -> None:
    write.clear()
    write.ends("success")
    assert write.commits() == 1


def marked_failed(write: Write) -> None:
    write.mark("failed")
    write.ends("failed")
    assert write.commits() == 0
    write.clear()
    write.ends("success")
    assert write.commits() == 1


def marked_success(write: Write) -> None:
    write.mark("success")
    write.ends("success")
    assert write.commits() == 0


def paused(write: Write) -> None:
    write.pause(paused=True)
    house = write.house
    house.wait("the job is over", lambda: write.commits() == 1)
    write.pause(paused=False)
    write.ends("success")
    assert (write.commits(), write.task["try_number"]) == (1, 1)


KILLS: dict[str, Callable[[Write], None]] = {
    "worker": worker_killed,
    "triggerer": triggerer_killed,
    "scheduler": scheduler_killed,
    "clear": cleared,
    "failed": marked_failed,
    "success": marked_success,
    "pause": paused,
}


def _page(url: str) -> str:
    with spark_servers.LOCAL.open(url, timeout=30) as reply:
        return str(reply.read().decode())


def _is_of_a_job(words: str) -> bool:
    return spark_servers.EXECUTOR in words or any(word in words for word in JOB_WORDS)


@contextmanager
def house(folder: Path, backends: tuple[str, ...] = BACKENDS) -> Iterator[House]:
    """Start everything that ``backends`` need."""
    (folder / "dags").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "dags" / "writes.py").write_text(DAG.format(rows=ROWS, backends=backends))
    before = {name: os.environ.get(name) for name in (MARK, *SETTINGS)}
    os.environ.update({MARK: str(folder), "JDK_JAVA_OPTIONS": SETTINGS["JDK_JAVA_OPTIONS"]})
    try:
        with spark_servers.standalone(cores=3) as cluster, _connect(backends) as server:
            airflow = AirflowHome(folder / "home", folder / "dags", "")
            airflow.environment.update(SETTINGS)
            page = free_port()
            airflow.environment.update(_connections(folder, cluster, server, page))
            paths = [str(ROOT), str(ROOT / "provider")]
            airflow.environment["PYTHONPATH"] = os.pathsep.join(paths)
            airflow.environment["TMPDIR"] = str(folder / "tmp")
            try:
                airflow.start()
                airflow.wait(
                    "Dags", lambda: len(airflow.get("/dags")["dags"]) == len(backends), 120
                )
                catalog = open_catalog((folder / "wh").as_uri())
                catalog.create_database("d")
                yield House(airflow, cluster, server, catalog, folder, page)
            finally:
                airflow.components.stop()
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _connect(backends: tuple[str, ...]) -> Iterator[spark_servers.Connect | None]:
    if "connect" not in backends:
        yield None
        return
    with spark_servers.connect() as server:
        yield server


def _connections(
    folder: Path,
    cluster: spark_servers.Standalone,
    server: spark_servers.Connect | None,
    page: int,
) -> dict[str, str]:
    conf = {**spark_servers.SMALL, "spark.cores.max": "2", "spark.executor.cores": "1"}
    conf |= {"spark.ui.enabled": "true", "spark.ui.port": str(page)}
    by_rest = {
        "spark_backend": "standalone",
        "spark_master": cluster.master,
        "spark_rest_port": cluster.rest_port,
        "spark_job_folder": str(folder / "jobs"),
    }
    extras: dict[str, dict[str, Any]] = {
        "local": {"spark_backend": "local", "spark_master": "local[2]"},
        "submit": {"spark_backend": "spark-submit", "spark_master": cluster.master},
        "standalone": by_rest,
        "deferred": by_rest,
        "connect": {"spark_backend": "connect", "spark_master": server.url if server else ""},
    }
    return {
        f"AIRFLOW_CONN_{name.upper()}": json.dumps(
            {
                "conn_type": "paimon",
                "host": (folder / "wh").as_uri(),
                "password": json.dumps(PASSWORD),
                "extra": {**extra, "spark_conf": conf},
            }
        )
        for name, extra in extras.items()
    }
