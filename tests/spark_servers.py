"""Spark as servers for tests: a standalone cluster, one with a master on stand-by, and a Spark Connect server.

All are of the installed pyspark, on free ports of 127.0.0.1.  Their Python is ours, with this
project on its path, as on a cluster where everybody has installed it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from demo.servers import spark as spark_server
from demo.servers.machine import free_port
from demo.servers.spark import spark_home
from tests.eventually import eventually
from tests.servers import ROOT, own_folder, running

__all__ = [
    "SMALL",
    "Connect",
    "Pair",
    "Standalone",
    "connect",
    "kill_executors_at_work",
    "pair",
    "standalone",
]

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
    """A master with its REST server, and two workers of ``cores`` cores each, of hosts of their own.

    Spark runs a slow task a second time only on another host.
    ``project`` is what their Python finds besides what is installed.
    """
    port, rest, page = free_port(), free_port(), free_port()
    with own_folder() as folder, ExitStack() as stack:
        cluster = Standalone(f"spark://127.0.0.1:{port}", rest, f"http://127.0.0.1:{page}", folder)
        stack.enter_context(_master(cluster, "127.0.0.1", project=project))
        for number in (1, 2):
            stack.enter_context(_worker(cluster, number, cores, project))
        yield cluster


@contextmanager
def _master(
    of: Standalone, host: str, *more: str, project: str = PROJECT
) -> Iterator[subprocess.Popen[bytes]]:
    """A master on ``host`` with the ports of ``of``; ``more``: settings of Spark."""
    ports = [part.rpartition(":")[2] for part in (of.ui, of.master)]
    settings = ["spark.master.rest.enabled=true", f"spark.master.rest.port={of.rest_port}", *more]
    words = [MASTER, "--host", host, "--webui-port", ports[0], "--port", ports[1]]
    options = {"SPARK_MASTER_OPTS": " ".join(f"-D{setting}" for setting in settings)}
    options["SPARK_LOCAL_IP"] = host  # where its page is
    here = replace(of, ui=f"http://{host}:{ports[0]}")
    with _daemon(words, of.logs / f"master-{host}.log", here.state, project, **options) as process:
        yield process


@contextmanager
def _worker(of: Standalone, number: int, cores: int, project: str = PROJECT) -> Iterator[None]:
    """The worker that makes them ``number``."""

    def registered() -> bool:
        return int(of.state()["aliveworkers"]) >= number

    host = f"127.0.0.{number}"
    words = [WORKER, "--host", host, "--webui-port", "0"]
    words += ["--cores", str(cores), "--memory", "3g"]
    words += ["--work-dir", str(of.logs / f"worker{number}"), of.master]
    with _daemon(words, of.logs / f"worker{number}.log", registered, project, SPARK_LOCAL_IP=host):
        yield


@contextmanager
def _daemon(
    words: list[str], log: Path, ready: object, project: str = PROJECT, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    binary = str(spark_home() / "bin" / "spark-class")
    daemon = {**environment(project), "SPARK_DAEMON_MEMORY": "256m", **variables}
    with running([binary, *words], log, ready, env=daemon) as process:
        yield process


@dataclass
class Pair:
    """Two masters of one cluster: ZooKeeper says which of them leads."""

    cluster: Standalone
    """Its ``master`` names both, the one on stand-by first; its ``ui`` is the leader's."""
    hosts: tuple[str, str]
    """On stand-by, leading."""
    _start: Callable[[str], AbstractContextManager[subprocess.Popen[bytes]]]
    _stack: ExitStack
    _processes: dict[str, subprocess.Popen[bytes]]

    def kill_leader(self) -> None:
        """With -9; the other one does not lead yet."""
        self._processes[self.hosts[1]].kill()
        self._processes[self.hosts[1]].wait()

    def turned(self) -> Pair:
        """The same masters, when the one on stand-by leads and the one that was killed is back."""
        hosts = (self.hosts[1], self.hosts[0])
        cluster = _named(self.cluster, hosts)
        eventually(lambda: cluster.state()["status"] == "ALIVE", f"{hosts[1]} leads")
        self._processes[hosts[0]] = self._stack.enter_context(self._start(hosts[0]))
        return replace(self, cluster=cluster, hosts=hosts)


@contextmanager
def pair(cores: int = 4) -> Iterator[Pair]:
    """Two masters, the ZooKeeper of Spark's distribution, and one worker of ``cores`` cores.

    A leader that was killed is gone for ZooKeeper after four seconds; Spark asks for a minute.
    """
    port, rest, page, keeper = (free_port() for _ in range(4))
    with own_folder() as folder, ExitStack() as stack:
        settings = {
            "dataDir": str(folder / "zookeeper"),
            "clientPort": str(keeper),
            "clientPortAddress": "127.0.0.1",
            "tickTime": "500",
            "maxSessionTimeout": "4000",
            "admin.enableServer": "false",
        }
        (folder / "zoo.cfg").write_text("".join(f"{k}={v}\n" for k, v in settings.items()))

        def listens() -> bool:
            spark_server.ask(keeper)
            return True

        words = ["org.apache.zookeeper.server.ZooKeeperServerMain", str(folder / "zoo.cfg")]
        stack.enter_context(_daemon(words, folder / "zookeeper.log", listens))
        recovery = ("recoveryMode=ZOOKEEPER", f"zookeeper.url=127.0.0.1:{keeper}")
        more = [f"spark.deploy.{setting}" for setting in recovery]
        hosts = ("127.0.0.2", "127.0.0.1")
        both = Standalone(f"spark://127.0.0.1:{port}", rest, f"http://127.0.0.1:{page}", folder)
        cluster = _named(both, hosts)

        def start(host: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
            return _master(both, host, *more)

        processes = {hosts[1]: stack.enter_context(start(hosts[1]))}
        eventually(lambda: cluster.state()["status"] == "ALIVE", "the first master leads")
        processes[hosts[0]] = stack.enter_context(start(hosts[0]))
        stack.enter_context(_worker(cluster, 1, cores))
        yield Pair(cluster, hosts, start, stack, processes)


def _named(cluster: Standalone, hosts: tuple[str, str]) -> Standalone:
    """Of the masters on ``hosts`` the last one leads."""
    port, page = (part.rpartition(":")[2] for part in (cluster.master, cluster.ui))
    both = ",".join(f"{host}:{port}" for host in hosts)
    return replace(cluster, master=f"spark://{both}", ui=f"http://{hosts[1]}:{page}")


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
