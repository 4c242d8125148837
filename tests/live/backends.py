"""Slow writes in a live Airflow, one on each backend, and what can be done to them meanwhile.

All of them run beside each other.  Every row takes a while, by arithmetic: SQL of users neither calls
Java nor reads files.  That rows are computed is seen in Spark's pages, and in the worker itself
(``embedded``: ``engine="local"``) by the folder that its query has.  Whatever belongs to the house,
Airflow or Spark, has its mark in the environment; that is how its processes are told from others'.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pyarrow as pa

from demo.airflow_home import AirflowHome
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests import spark_servers
from tests.live.slow_writes import AWHILE, ROWS, dag_file
from tests.servers import ROOT, Database, free_port, postgres

__all__ = ["BACKENDS", "PLANTED", "WITHOUT_UI", "House", "Write", "Writes", "house"]

BACKENDS = ("local", "submit", "standalone", "deferred", "connect", "embedded")
WITHOUT_UI = ("connect", "embedded")
"""Those whose jobs have no Spark UI of their own."""
MARK = "PAIMON_TEST_HOUSE"
PATIENCE = 420
JOB_WORDS = ("table_core.spark.entrypoint", "entrypoint.py", "pyspark.daemon", "DriverWrapper")
"""What a process of a job has on its command line, besides that of an executor."""
TASK = re.compile("airflow worker -- [0-9a-f]{8}-")
"""How a task calls its process."""
PASSWORD = {
    "token": "PLANTED-store",
    "spark.hadoop.a.secret.key": "PLANTED-key",
    "spark.x": "PLANTED-x",
}
PLANTED = tuple(PASSWORD.values())
SETTINGS = {
    "AIRFLOW__CORE__PARALLELISM": "7",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "40",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
}
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class House:
    """An Airflow, a Spark cluster and a Spark Connect server, and one warehouse."""

    airflow: AirflowHome
    database: Database
    """Where Airflow keeps its metadata."""
    cluster: spark_servers.Standalone
    connect: spark_servers.Connect | None
    catalog: Catalog
    folder: Path
    backends: tuple[str, ...]
    pages: dict[str, str]
    """Where the Spark UI of a backend's job is."""

    def begin(self, what: str, rounds: int = AWHILE) -> Writes:
        """Trigger the write on every backend."""
        return Writes(self, [self._begin(backend, what, rounds) for backend in self.backends])

    def _begin(self, backend: str, what: str, rounds: int) -> Write:
        name = f"{backend}_{what}"
        schema = pa.schema([("id", pa.int64()), ("slow", pa.string())])
        self.catalog.create_table(f"d.{name}", schema, options={"bucket": "-1"})
        before = self.queries()
        run = self.airflow.trigger(backend, {"table": name, "rounds": rounds})
        return Write(self, backend, name, run, before)

    def queries(self) -> frozenset[Path]:
        """Folders of queries in the worker itself, also of those that were killed."""
        return frozenset((self.folder / "tmp").glob("paimon-sql-*"))

    def computing(self, backend: str) -> bool:
        """Whether the Spark of ``backend`` computes rows."""
        try:
            base = f"{self.pages[backend]}/api/v1/applications"
            (application,) = json.loads(_page(base))
            stages = json.loads(_page(f"{base}/{application['id']}/stages?status=active"))
        except (OSError, ValueError):  # not there yet, or still starting
            return False
        return any(stage["numActiveTasks"] for stage in stages)

    def left(self) -> list[str]:
        """What a job still has: processes, applications, drivers, work of a server, files."""
        jobs = [words for words in self.processes() if _is_of_a_job(words)] + self._tasks()
        if self.connect is not None:
            jobs += self.connect.running_jobs()
        files = [str(path) for path in self.folder.glob("*/paimon-job-*")]
        return [*jobs, *self.cluster.busy(), *files]

    def _tasks(self) -> list[str]:
        """The processes of tasks: of the scheduler's session, since their titles hide the mark."""
        scheduler, _ = json.loads(self.airflow.components.record.read_text())["scheduler"]
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                words = " ".join(process.cmdline())
                if os.getsid(process.pid) == scheduler and TASK.search(words):
                    found.append(words)
        return found

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

    def shown(self, backend: str) -> dict[str, str]:
        """What anybody may see while the job of ``backend`` runs."""
        processes = {f"command lines during {backend}": "\n".join(self.processes())}
        if backend not in self.pages:
            return processes
        specs = [path.read_text() for path in self.folder.glob("*/paimon-job-*/spec.json")]
        base = self.pages[backend]
        (application,) = json.loads(_page(f"{base}/api/v1/applications"))
        environment = f"{base}/api/v1/applications/{application['id']}/environment"
        return {
            **processes,
            f"job specs during {backend}": "\n".join(specs),
            f"environment page of {backend}": _page(f"{base}/environment/"),
            f"environment of {backend}": _page(environment),
        }

    def kept(self) -> dict[str, str]:
        """What is left when jobs are over: tables of Airflow's database, logs of tasks and of Spark."""
        paths = [*(self.folder / "home").rglob("*"), *self.cluster.logs.rglob("*")]
        files = [path for path in paths if path.is_file() and path.suffix in {".log", ""}]
        found = {str(path): path.read_bytes().decode("utf-8", "replace") for path in files}
        with psycopg.connect(self.database.address) as database:
            tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            for (name,) in database.execute(tables).fetchall():
                rows = database.execute(f'SELECT t::text FROM "{name}" t').fetchall()
                found[f"table {name}"] = "\n".join(text for (text,) in rows)
        return found

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
    before: frozenset[Path]
    """Folders of queries that were there before it."""

    @property
    def task(self) -> dict[str, Any]:
        (found,) = self.house.airflow.tasks(self.backend, self.run)
        return found

    def state(self) -> str:
        runs = self.house.airflow.runs(self.backend)
        return str(next(r["state"] for r in runs if r["dag_run_id"] == self.run))

    def spark_ui(self) -> str:
        """Where the task's button leads to; empty before it does."""
        path = f"/dags/{self.backend}/dagRuns/{self.run}/taskInstances/write/links"
        return str(self.house.airflow.get(path)["extra_links"].get("Spark UI") or "")

    def begun(self) -> bool:
        """Whether its rows are being computed."""
        if self.backend == "embedded":
            return bool(self.house.queries() - self.before)
        return self.house.computing(self.backend)

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

    def kill_worker(self) -> None:
        """With -9, if there is one: while the driver is waited for in the triggerer there is none."""
        if self.backend != "deferred":
            os.kill(self.task["pid"], signal.SIGKILL)


@dataclass(frozen=True)
class Writes:
    """The run of every backend's Dag, beside each other."""

    house: House
    runs: list[Write]

    def each_when_computing(self, do: Callable[[Write], None]) -> None:
        """``do`` it to each write as soon as its rows are computed."""
        waiting = list(self.runs)

        def done() -> bool:
            for write in [write for write in waiting if write.begun()]:
                do(write)
                waiting.remove(write)
            return not waiting

        self.house.wait(f"rows of {[w.table for w in waiting]} are computed", done)

    def end(self, state: str) -> None:
        """Wait for the end of the runs, which must be ``state``, and of all they started."""
        over = {"success", "failed"}
        self.house.wait("the runs ended", lambda: {w.state() for w in self.runs} <= over)
        assert self.told(lambda w: w.state() == state) == []
        self.house.wait("nothing is left running", lambda: not self.house.left())

    def told(self, good: Callable[[Write], bool]) -> list[str]:
        """What those that are not ``good`` have to say."""
        return [
            f"{w.backend}: {w.task['state']}, try {w.task['try_number']}, {w.commits()} commits\n"
            + self.house.airflow.log_tail(w.backend, w.run, "write", 60)
            for w in self.runs
            if not good(w)
        ]

    def committed(self, times: int) -> None:
        """Each write must have committed so often."""
        assert self.told(lambda w: w.commits() == times) == []

    def tried(self, good: Callable[[int, str], bool]) -> None:
        """Each write must have had as many attempts as is ``good`` for its backend."""
        assert self.told(lambda w: good(w.task["try_number"], w.backend)) == []


def _page(url: str) -> str:
    with spark_servers.LOCAL.open(url, timeout=PATIENCE) as reply:
        return str(reply.read().decode())


def _is_of_a_job(words: str) -> bool:
    return spark_servers.EXECUTOR in words or any(word in words for word in JOB_WORDS)


@contextmanager
def house(folder: Path, backends: tuple[str, ...] = BACKENDS) -> Iterator[House]:
    """Start everything that ``backends`` need."""
    (folder / "dags").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "dags" / "writes.py").write_text(dag_file(backends))
    settings = {**SETTINGS, "JDK_JAVA_OPTIONS": f"{JAVA} -Djava.io.tmpdir={folder / 'tmp'}"}
    before = {name: os.environ.get(name) for name in (MARK, *settings)}
    os.environ.update({MARK: str(folder), "JDK_JAVA_OPTIONS": settings["JDK_JAVA_OPTIONS"]})
    try:
        with (
            postgres() as database,
            spark_servers.standalone(cores=5) as cluster,
            _connect(backends) as server,
        ):
            airflow = AirflowHome(folder / "home", folder / "dags", "")
            airflow.environment.update(database.for_airflow)
            airflow.environment.update(settings)
            ports = {name: free_port() for name in backends if name not in WITHOUT_UI}
            airflow.environment.update(_connections(folder, cluster, server, ports))
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
                pages = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
                if server is not None:
                    pages["connect"] = server.ui
                yield House(airflow, database, cluster, server, catalog, folder, backends, pages)
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
    ports: dict[str, int],
) -> dict[str, str]:
    conf = {**spark_servers.SMALL, "spark.cores.max": "2", "spark.ui.enabled": "true"}
    # Each event of Spark's is a slow one, which it would log with the configuration.
    conf["spark.scheduler.listenerbus.logSlowEvent.threshold"] = "0ms"
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
        "embedded": {"sql_limits": {"threads": "1"}},
    }
    return {
        f"AIRFLOW_CONN_{name.upper()}": json.dumps(
            {
                "conn_type": "paimon",
                "host": (folder / "wh").as_uri(),
                "password": json.dumps(PASSWORD),
                "extra": {
                    **extra,
                    "spark_conf": conf
                    | ({"spark.ui.port": str(ports[name])} if name in ports else {}),
                },
            }
        )
        for name, extra in extras.items()
    }
