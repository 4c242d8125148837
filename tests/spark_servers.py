"""Spark as servers for tests: a standalone cluster with two workers, and a Spark Connect server.

Both are of the installed pyspark, on free ports of 127.0.0.1.  Their Python is ours, with this
project on its path, as on a cluster where everybody has installed it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from demo.servers import spark as spark_server
from demo.servers.machine import free_port
from demo.servers.spark import spark_home
from tests.servers import ROOT, own_folder, running

__all__ = ["SMALL", "Connect", "Standalone", "connect", "kill_executors_at_work", "standalone"]

LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"
SMALL = {"spark.executor.memory": "600m", "spark.driver.memory": "600m"}
"""What a job is given, so that several fit beside each other."""


PROJECT = os.pathsep.join([str(ROOT), str(ROOT / "provider")])


def environment(project: str = PROJECT) -> dict[str, str]:
    """For a server: nothing of what the caller has set for a session of its own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK"))}
    return {
        **kept,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": project,
    }


@dataclass(frozen=True)
class Standalone:
    """A cluster: what it is doing can be asked, and its executors can be killed."""

    master: str
    rest_port: int
    ui: str
    logs: Path

    def state(self) -> dict[str, Any]:
        """What the master's page shows."""
        with LOCAL.open(f"{self.ui}/json/", timeout=20) as reply:
            return dict(json.load(reply))

    def busy(self) -> list[str]:
        """Names of the applications and drivers that the master knows as not ended."""
        state = self.state()
        applications = [str(app["name"]) for app in state["activeapps"]]
        return applications + [str(driver["id"]) for driver in state["activedrivers"]]

    def executors(self) -> list[psutil.Process]:
        """The executors of this cluster, those of other clusters not."""
        executors = []
        for process in psutil.process_iter():
            try:
                words = process.cmdline()
            except psutil.Error:
                continue
            if any(EXECUTOR in word for word in words) and str(self.logs) in process.cwd():
                executors.append(process)
        return executors

    def told(self) -> str:
        """The ends of all logs, for a test that failed."""
        files = sorted(path for path in self.logs.rglob("*") if path.is_file())
        texts = [f"--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in files]
        return "\n".join(texts)


@contextmanager
def standalone(cores: int = 2, project: str = PROJECT) -> Iterator[Standalone]:
    """A master with its REST server, and two workers of ``cores`` cores each.

    ``project`` is what their Python finds besides what is installed.
    """
    port, rest, page = free_port(), free_port(), free_port()
    binary = str(spark_home() / "bin" / "spark-class")
    daemon = {**environment(project), "SPARK_DAEMON_MEMORY": "256m"}
    rest_server = f"-Dspark.master.rest.enabled=true -Dspark.master.rest.port={rest}"
    with own_folder() as folder, ExitStack() as stack:
        cluster = Standalone(f"spark://127.0.0.1:{port}", rest, f"http://127.0.0.1:{page}", folder)
        here = ["--host", "127.0.0.1", "--webui-port"]
        stack.enter_context(
            running(
                [binary, MASTER, *here, str(page), "--port", str(port)],
                folder / "master.log",
                cluster.state,
                env={**daemon, "SPARK_MASTER_OPTS": rest_server},
            )
        )
        size = ["--cores", str(cores), "--memory", "3g"]
        for number in (1, 2):

            def registered(number: int = number) -> bool:
                return int(cluster.state()["aliveworkers"]) >= number

            work = folder / f"worker{number}"
            words = [binary, WORKER, *here, "0", *size, "--work-dir", str(work), cluster.master]
            log = folder / f"worker{number}.log"
            stack.enter_context(running(words, log, registered, env=daemon))
        yield cluster


@dataclass(frozen=True)
class Connect:
    """A Spark Connect server."""

    url: str
    ui: str

    def running_jobs(self) -> list[str]:
        """What it computes now."""
        (application,) = self._ask("applications")
        jobs = self._ask(f"applications/{application['id']}/jobs?status=running")
        return [str(job["name"]) for job in jobs]

    def _ask(self, path: str) -> Any:
        with LOCAL.open(f"{self.ui}/api/v1/{path}", timeout=20) as reply:
            return json.load(reply)


@contextmanager
def connect(master: str = "local[2]", **conf: str) -> Iterator[Connect]:
    """A Spark Connect server whose rows are computed by ``master``."""
    port, page = free_port(), free_port()
    settings = {
        **SMALL,
        "spark.ui.port": str(page),
        "spark.sql.shuffle.partitions": "2",
        **conf,
    }
    command = spark_server.connect_command(port, master, settings)

    def answers() -> bool:
        spark_server.ask(port)
        return True

    with (
        own_folder() as folder,
        running(command, folder / "log", answers, env=environment(), cwd=folder),
    ):
        yield Connect(f"sc://127.0.0.1:{port}", f"http://127.0.0.1:{page}")


def kill_executors_at_work(
    cluster: Standalone, killed: list[psutil.Process], over: threading.Event
) -> None:
    """Wait for the first task that runs Python; kill every executor there is."""
    while not killed and not over.is_set():
        with contextlib.suppress(psutil.NoSuchProcess):  # one may end while it is looked at
            executors = cluster.executors()
            if any(len(executor.children(recursive=True)) > 1 for executor in executors):
                for executor in executors:
                    executor.kill()
                killed += executors
        time.sleep(0.02)
