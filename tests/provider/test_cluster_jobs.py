"""Jobs on a standalone cluster by REST: submitted once, found again, ended, waited for in the triggerer.

The master is a small HTTP server with the protocol of Spark's; it runs the driver as Spark would, as a
process of the entrypoint, so specs and results are real.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.launchers.base import launcher_for
from paimon_provider.launchers.standalone import StandaloneLauncher, Submission
from paimon_provider.triggers.spark_job import PaimonSparkJobTrigger
from table_core.errors import (
    ArgumentError,
    JobFailedError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from table_core.jobs.job_spec import JobSpec
from table_core.table.api.catalog import Catalog
from tests.provider.attempts import of_dag
from tests.provider.dag_runs import states, xcom
from tests.provider.kept_jobs import Store
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


class Master(ThreadingHTTPServer):
    """``/v1/submissions/{create,status,kill}`` of a standalone master."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.drivers: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: list[str] = []
        self.hold = False

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        id = f"driver-{len(self.requests):04d}"
        arguments = request["appArgs"]
        environment = {**os.environ, **request["environmentVariables"]}
        python = environment["PYSPARK_DRIVER_PYTHON"]
        command = ["sleep", "600"] if self.hold else [python, arguments[0], *arguments[2:]]
        self.drivers[id] = subprocess.Popen(command, env=environment)
        return {"success": True, "submissionId": id}

    def status(self, id: str) -> dict[str, Any]:
        if id not in self.drivers:
            return {"success": False, "submissionId": id}
        code = self.drivers[id].poll()
        state = "RUNNING" if code is None else "FINISHED" if code == 0 else "FAILED"
        if id in self.killed:
            state = "KILLED"
        return {"success": True, "driverState": state}

    def kill(self, id: str) -> dict[str, Any]:
        self.killed.append(id)
        self.drivers[id].kill()
        self.drivers[id].wait()
        return {"success": True}


class _Handler(BaseHTTPRequestHandler):
    server: Master

    def answer(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(self.server.status(self.path.rpartition("/")[2]))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        verb, _, id = self.path.removeprefix("/v1/submissions/").partition("/")
        self.answer(self.server.create(body) if verb == "create" else self.server.kill(id))

    def log_message(self, *_: Any) -> None:
        """Keep silent."""


@pytest.fixture
def master() -> Iterator[Master]:
    master = Master()
    threading.Thread(target=master.serve_forever, daemon=True).start()
    yield master
    for driver in master.drivers.values():
        driver.kill()
        driver.wait()
    master.shutdown()
    master.server_close()


@pytest.fixture
def cluster(
    master: Master, warehouse: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    jobs = tmp_path / "jobs"
    extra = {
        "spark_backend": "standalone",
        "spark_master": "spark://127.0.0.1:7077",
        "spark_rest_port": master.server_port,
        "spark_job_folder": str(jobs),
        "spark_conf": {"spark.executor.memory": "1g", "spark.driver.memory": "2g"},
    }
    document = {"conn_type": "paimon", "host": warehouse.warehouse, "extra": extra}
    document["password"] = json.dumps({"spark.hadoop.secret.key": "PLANTED", "token": "PLANTED"})
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    return jobs


CREATE = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", engine="spark",
    columns={"id": "BIGINT"}, options={"bucket": "-1"}%s)
delete = PaimonDeleteOperator(task_id="delete", table="shop.missing", engine="spark"%s, where="id = 1")
create >> delete
"""


@pytest.mark.parametrize("more", ["", ", deferrable=True"])
def test_the_driver_runs_on_the_cluster_and_its_result_and_error_come_back(
    run: Callable[..., Any],
    cluster: Path,
    master: Master,
    warehouse: Catalog,
    more: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    done = run(CREATE % (more, more))
    assert states(done) == {"create": "success", "delete": "failed"}
    assert xcom(done, "create")["details"] == {"created": True}
    button = done.get_task_instance("create").xcom_pull(task_ids="create", key="_link_TableLink")
    assert button.endswith(
        "/plugin/paimon-tables?table=paimon%3A%2F%2Fpaimon_default%2Fshop%2Forders"
    )
    told = "".join(capfd.readouterr())
    assert "[not-found] no table 'shop.missing'" in told
    assert "started: action create-table, table shop.orders" in told
    assert warehouse.tables("shop") == ["orders"]
    assert list(cluster.iterdir()) == [], "specs and results are gone"
    first = master.requests[0]
    assert first["mainClass"] == "org.apache.spark.deploy.PythonRunner"
    assert first["sparkProperties"]["spark.submit.deployMode"] == "cluster"
    assert first["sparkProperties"]["spark.driver.memory"] == "2g"
    assert "PLANTED" not in json.dumps(master.requests)


FOLLOWED = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", engine="local",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})
health = PaimonHealthOperator(task_id="health", table="shop.orders", engine="spark", deferrable=True,
    follow={"compact": "compact"}, otherwise="rest")
compact = PaimonCompactOperator(task_id="compact", table="shop.orders", engine="local")
rest = PaimonCompactDatabaseOperator(task_id="rest", database="{{ 'sh' }}op", deferrable=True)
create >> health >> [compact, rest]
"""


def test_what_follows_a_result_follows_it_in_the_triggerer_too(
    run: Callable[..., Any], cluster: Path, warehouse: Catalog
) -> None:
    done = run(FOLLOWED)
    assert states(done) == {
        "create": "success",
        "health": "success",
        "compact": "skipped",
        "rest": "success",
    }


def spec(catalog: Catalog) -> JobSpec:
    return JobSpec(
        action="create-table",
        warehouse=catalog.warehouse,
        table="a.b",
        args={"columns": {"x": "INT"}},
        options={"storage.token": "PLANTED"},
    )


def test_a_spec_is_for_its_owner_alone(cluster: Path, master: Master, warehouse: Catalog) -> None:
    master.hold = True
    submission = PaimonHook().cluster().submit(spec(warehouse))
    (folder,) = cluster.iterdir()
    assert str(folder) == submission.folder
    written = folder / "private.json"
    assert (folder.stat().st_mode & 0o777, written.stat().st_mode & 0o777) == (0o700, 0o600)
    options = json.loads(written.read_text())["options"]
    assert options["spark.hadoop.secret.key"] == options["storage.token"] == "PLANTED"
    assert options["spark.executor.memory"] == "1g"
    assert "PLANTED" not in (folder / "spec.json").read_text()


def test_a_job_that_is_ended_leaves_no_secret(
    cluster: Path, master: Master, warehouse: Catalog
) -> None:
    master.hold = True
    launcher = PaimonHook().cluster()
    launcher.end(launcher.submit(spec(warehouse)))
    assert list(cluster.iterdir()) == []


DIES = """
import os
class Dying(PaimonCreateTableOperator):
    def finished(self, context, result):
        if os.path.exists(os.environ["DIE"]):
            raise RuntimeError("after the result")
        return super().finished(context, result)
class Unwatched(PaimonUpkeepOperator):
    def _hook_of(self, identity):
        hook = super()._hook_of(identity)
        told = hook.told
        def dies(line):
            if "RUNNING" in line:
                raise RuntimeError("while the job runs")
            told(line)
        hook.told = dies
        return hook
"""


@pytest.mark.parametrize("deferrable", [False, True])
def test_an_attempt_that_died_with_the_result_does_not_cost_the_next_one(
    airflow_home: Path,
    cluster: Path,
    master: Master,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    deferrable: bool,
) -> None:
    die = tmp_path / "die"
    monkeypatch.setenv("DIE", str(die))
    die.touch()
    body = f"""
Dying(task_id="create", table="shop.orders", engine="spark", deferrable={deferrable},
    columns={{"id": "BIGINT"}}, options={{"bucket": "-1"}})
"""
    with of_dag(airflow_home, body, head=DIES) as runs:
        runs.create()
        assert runs.step() == {"create": "up_for_retry"}
        die.unlink()
        assert runs.finish() == {"create": "success"}
    assert len(master.requests) == 2


def test_a_job_of_upkeep_is_found_again_while_it_runs(
    airflow_home: Path, cluster: Path, master: Master, warehouse: Catalog
) -> None:
    import pyarrow as pa

    warehouse.create_database("shop")
    warehouse.create_table("shop.orders", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    for n in range(3):
        write_rows(warehouse.table("shop.orders"), pa.table({"id": pa.array([n])}))
    master.hold = True
    body = """
Unwatched(task_id="upkeep", table="shop.orders", engine="spark",
    policy={"thresholds": {"small_files_due": 2}, "compact": {}})
"""
    with of_dag(airflow_home, body, head=DIES) as runs:
        runs.create()
        assert runs.step() == {"upkeep": "up_for_retry"}
        assert runs.step() == {"upkeep": "failed"}
    assert [one["sparkProperties"]["spark.app.name"] for one in master.requests] == [
        "paimon compact shop.orders"
    ]


def test_a_retry_finds_the_job_and_a_cleared_task_submits_anew(
    cluster: Path, master: Master, warehouse: Catalog
) -> None:
    from paimon_provider.runs.cluster_jobs import ClusterJobs

    master.hold = True
    context: Any = {"task_state_store": Store()}
    launcher = PaimonHook().cluster()
    first = ClusterJobs(launcher, context, "me").submitted_or(spec(warehouse))
    again = ClusterJobs(launcher, context, "me")
    assert again.submitted_or(spec(warehouse)) == first
    assert ClusterJobs(launcher, context, "cleared").submitted_or(spec(warehouse)) != first
    assert len(master.requests) == 2
    again.end()
    assert launcher.state(first) == "KILLED"
    with pytest.raises(JobFailedError, match="ended as KILLED and left no result"):
        again.wait(first, lambda _: None)
    assert ClusterJobs(launcher, context, "me").submitted_or(spec(warehouse)).id == "driver-0003"


def test_the_trigger_waits_and_kills_what_a_user_ends(
    cluster: Path, master: Master, warehouse: Catalog
) -> None:
    import asyncio

    master.hold = True
    submission = PaimonHook().cluster().submit(spec(warehouse))
    trigger = PaimonSparkJobTrigger(
        paimon_conn_id="paimon_default", submission=submission.to_document(), poll_seconds=0.05
    )
    path, kwargs = trigger.serialize()
    assert path == "paimon_provider.triggers.spark_job.PaimonSparkJobTrigger"
    again = PaimonSparkJobTrigger(**kwargs)
    assert again.serialize() == (path, kwargs)

    async def wait() -> Any:
        waiting = asyncio.ensure_future(anext(again.run()))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await again.on_kill()
        return (await waiting).payload

    told = asyncio.run(wait())
    assert (told["status"], told["state"]) == ("ended", "KILLED")
    assert master.killed == [submission.id]


def test_what_is_missing_is_named(warehouse: Catalog) -> None:
    here = SparkSettings(backend="standalone", master="spark://127.0.0.1:7077", rest_port=9)
    with pytest.raises(ArgumentError, match="spark_job_folder"):
        StandaloneLauncher(here).submit(spec(warehouse))
    with pytest.raises(StorageUnavailableError, match="no Spark master answers"):
        StandaloneLauncher(here).state(Submission("driver-1", "/x"))
    with pytest.raises(ArgumentError, match="spark://host:7077"):
        StandaloneLauncher(SparkSettings(backend="standalone")).state(Submission("d", "/x"))
    with pytest.raises(ArgumentError, match="without a token") as caught:
        launcher_for("spark", SparkSettings(backend="connect", master="sc://h/;token=PLANTED"))
    assert "PLANTED" not in f"{caught.value}{caught.value.facts}"


@pytest.mark.parametrize(
    ("master", "conf"),
    [
        (
            "yarn",
            {
                "spark.yarn.queue": "night",
                "spark.archives": "hdfs:///env.tar.gz#environment",
                "spark.pyspark.python": "./environment/bin/python",
            },
        ),
        (
            "k8s://https://k:6443",
            {
                "spark.kubernetes.namespace": "n",
                "spark.kubernetes.container.image": "lake/spark:1",
                "spark.pyspark.python": "/opt/venv/bin/python",
            },
        ),
    ],
)
def test_yarn_and_kubernetes_get_their_configuration_by_file(
    master: str,
    conf: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    warehouse: Catalog,
) -> None:
    """A ``spark-submit`` that writes down what it was told."""
    tool = tmp_path / "spark-submit"
    tool.write_text(
        '#!/bin/sh\necho "$@" > "$OUT/command"\n'
        'while [ $# -gt 0 ]; do [ "$1" = --properties-file ] && cp "$2" "$OUT/conf"; shift; done\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("OUT", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda *_, **__: str(tool))
    settings = SparkSettings(
        backend="spark-submit",
        master=master,
        conf={**conf, "k.secret": "PLANTED"},
        env={"OUT": None},
    )
    with pytest.raises(JobFailedError, match="left no result"):
        launcher_for("spark", settings).run(spec(warehouse), log=lambda _: None)
    command, written = (tmp_path / "command").read_text(), (tmp_path / "conf").read_text()
    assert f"--master {master} --properties-file" in command
    assert "PLANTED" not in command
    here = {"spark.submit.deployMode": "client", "spark.pyspark.driver.python": sys.executable}
    for key, value in {**conf, **here, "k.secret": "PLANTED"}.items():
        assert f"{key}={value}\n" in written


def test_a_driver_elsewhere_is_refused_by_name(warehouse: Catalog) -> None:
    """Its result would be on a machine that Airflow does not see."""
    conf = {"spark.submit.deployMode": "cluster"}
    settings = SparkSettings(backend="spark-submit", master="yarn", conf=conf)
    with pytest.raises(UnsupportedFeatureError, match=r"spark\.submit\.deployMode=cluster"):
        launcher_for("spark", settings).run(spec(warehouse), log=lambda _: None)
