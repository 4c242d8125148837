"""Secrets in the worker's environment, in other connections, in files and on a metadata service: no job prints them.

On each backend the SQL of a job tries to read them, and every process of the job is looked at while it runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pyarrow as pa
import pytest

import table_core as tc
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.operators.report import PaimonChangeReportOperator
from paimon_provider.pages.report import render
from paimon_provider.watching.conditions import Seen
from table_core.errors import TableError
from tests.servers import ROOT
from tests.spark_servers import SMALL, Connect, Standalone, connect, standalone
from tests.tables import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(900)]

SECRET = "planted-3f9a"
OWN = "of-this-connection-77c1"
BACKENDS = ["embedded", "local", "spark-submit", "standalone", "connect"]
SLOW = (
    "SELECT id FROM (SELECT id, aggregate(sequence(1L, 1500000L + id), 0L, (a, x) -> (a + x * 31) % 1000003) s "
    "FROM range(0, 60, 1, 2)) WHERE s IS NOT NULL"
)
PLANTED = {
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql://u:{SECRET}@db/airflow",
    "AIRFLOW__CORE__FERNET_KEY": SECRET,
    "AIRFLOW_CONN_OTHER": json.dumps({"conn_type": "generic", "password": SECRET}),
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "DB_PASSWORD": SECRET,
    "HADOOP_CREDSTORE_PASSWORD": SECRET,
    "SPARK_CONNECT_AUTHENTICATE_TOKEN": SECRET,
}


class Metadata(BaseHTTPRequestHandler):
    """What 169.254.169.254 tells a machine of itself."""

    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"Token": SECRET}).encode())

    do_PUT = do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def metadata() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/latest/meta-data/iam/security-credentials/role"
    server.shutdown()
    server.server_close()


@contextmanager
def unplanted() -> Iterator[None]:
    """Servers are other machines: they have nothing of the worker."""
    with patch.dict(os.environ):
        for name in PLANTED:
            os.environ.pop(name, None)
        yield


class Places:
    """What a connection says of each backend; servers start when they are asked for first."""

    def __init__(self) -> None:
        self.stack = ExitStack()

    @cached_property
    def cluster(self) -> Standalone:
        with unplanted():
            return self.stack.enter_context(standalone())

    @cached_property
    def server(self) -> Connect:
        with unplanted():
            return self.stack.enter_context(connect())

    def extra(self, backend: str) -> dict[str, Any]:
        if backend == "embedded":
            return {}
        if backend == "local":
            return {"spark_backend": backend, "spark_master": "local[2]"}
        if backend == "connect":
            return {"spark_backend": backend, "spark_master": self.server.url}
        master = {"spark_master": self.cluster.master, "spark_rest_port": self.cluster.rest_port}
        folder = str(self.cluster.logs / "jobs") if backend == "standalone" else None
        return {"spark_backend": backend, **master, "spark_job_folder": folder}


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    found = Places()
    with found.stack:
        yield found


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, metadata: str) -> Path:
    """A file with the secret; it is in the environment and behind ``metadata`` too."""
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", metadata)
    Metadata.asked.clear()
    file = tmp_path / "secret.txt"
    file.write_text(SECRET)
    return file


def hook_on(
    monkeypatch: pytest.MonkeyPatch,
    catalog: tc.Catalog,
    places: Places,
    backend: str,
) -> PaimonHook:
    conf = {"spark.some.password": OWN}
    if backend != "embedded":
        conf |= {**SMALL, "spark.ui.enabled": "false"}
    extra = {
        "warehouse": catalog.storage.uri,
        "catalog_name": "c",
        "spark_conf": conf,
        **places.extra(backend),
    }
    monkeypatch.setenv(
        "AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps({"conn_type": "paimon", "extra": extra})
    )
    return PaimonHook()


def ran(hook: PaimonHook, backend: str, sql: str, caplog: pytest.LogCaptureFixture) -> str:
    """All that the task shows: log, result or error."""
    engine = "local" if backend == "embedded" else "spark"
    given = {"sql": sql, "sources": {}}
    try:
        told = str(hook.run("write", "d.t", given, engine=engine))
    except TableError as error:
        told = f"{type(error).__name__}: {error} {error.facts}"
    return told + caplog.text


def attacks(backend: str, file: Path, metadata: str) -> list[str]:
    if backend == "embedded":
        return [
            f"SELECT content AS id FROM read_text('{file}')",
            f"SELECT content AS id FROM read_text('{metadata}')",
            "SELECT getenv('DB_PASSWORD') AS id",
            "SELECT content AS id FROM read_text('/proc/self/environ')",
        ]
    return [
        f"SELECT CAST(value AS BIGINT) id FROM text.`{file}`",
        f"SELECT CAST(value AS BIGINT) id FROM text.`{metadata}`",
        "SELECT raise_error(java_method('java.lang.System', 'getenv', 'DB_PASSWORD')) id",
        "SELECT raise_error('${env:DB_PASSWORD}${spark.some.password}') id",
    ]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_sql_of_a_job_prints_no_secret(
    catalog: tc.Catalog, planted: Path, metadata: str, places: Places,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backend: str, number: int,
) -> None:  # fmt: skip
    caplog.set_level("INFO")
    table = catalog.create_table("d.t", pa.schema([("id", pa.string())]), options={"bucket": "-1"})
    hook = hook_on(monkeypatch, catalog, places, backend)
    shown = ran(hook, backend, attacks(backend, planted, metadata)[number], caplog)
    assert SECRET not in shown
    assert OWN not in shown
    assert SECRET not in str(table.read().to_arrow().to_pylist())
    assert Metadata.asked == []


def looked_at(stop: threading.Event, found: dict[int, str]) -> None:
    """Environments and command lines of every process below this one; the cluster's are too."""
    while not stop.is_set():
        for process in psutil.Process().children(recursive=True):
            try:
                text = f"{process.cmdline()} {process.environ()}"
            except (psutil.Error, OSError):
                continue  # it ends
            found.setdefault(process.pid, "")
            found[process.pid] += text if text not in found[process.pid] else ""
        time.sleep(0.1)


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_no_process_of_a_job_was_given_what_the_worker_has(
    catalog: tc.Catalog, planted: Path, places: Places,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backend: str,
) -> None:  # fmt: skip
    assert planted.exists()
    catalog.create_table("d.t", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    hook = hook_on(monkeypatch, catalog, places, backend)
    found: dict[int, str] = {}
    stop = threading.Event()
    looking = threading.Thread(target=looked_at, args=(stop, found))
    looking.start()
    try:
        shown = ran(hook, backend, SLOW, caplog)
    finally:
        stop.set()
        looking.join()
    assert catalog.table("d.t").read().to_arrow().num_rows == 60, shown
    jobs = [text for text in found.values() if "table_core.spark" in text or "entrypoint" in text]
    workers = [text for text in found.values() if "pyspark.daemon" in text]
    assert jobs, "the job itself was seen"
    assert workers, "so was its Python on the executors"
    told = [text for text in found.values() if SECRET in text or OWN in text]
    assert told == []
    assert SECRET not in shown
    assert OWN not in shown
    page = reported(hook)
    assert "60" in page
    assert SECRET not in page
    assert OWN not in page


def reported(hook: PaimonHook) -> str:
    """The page that a change report of the table shows after the job."""
    task = PaimonChangeReportOperator(
        task_id="r", table="d.t", label_column="id", value_column="id", catalog="c"
    )
    report, _ = task._read(Seen.stored(0))
    assert report.head == hook.table("d.t").latest_snapshot().id
    return render(report)


TASK = """
import contextlib, json, os, sys, traceback
import pyarrow as pa
from paimon_provider.decorators import _session
from paimon_provider.hooks.paimon import PaimonHook

file, metadata, table, planted = sys.argv[1:]
os.environ.update(json.loads(planted))  # Airflow itself would use some of it when it is imported
session = _session(PaimonHook())


def look(batches):
    for batch in batches:
        found = str(dict(os.environ))
        with contextlib.suppress(OSError):
            found += open("/proc/self/environ").read()
        yield pa.RecordBatch.from_pydict({"seen": [found] * len(batch)})


def shown(act):
    try:
        print(act())
    except Exception:
        traceback.print_exc(file=sys.stdout)


paimon = lambda path, **more: session.read.format("paimon").options(**more).option("path", path).load()
SQL = [
    "SELECT java_method('java.lang.System', 'getenv', 'DB_PASSWORD')",
    "SELECT java_method('java.lang.System', 'getenv', 'DB_PASSWORD') FROM range(0, 4, 1, 4)",
    "SELECT '${env:DB_PASSWORD}'",
]
for sql in SQL:
    shown(lambda: session.sql(sql).collect())
rows = paimon(table)
shown(lambda: ("rows", rows.count()))
shown(lambda: rows.mapInArrow(look, "seen string").collect())
for options in ({"storage.secret": "of-this-source-51b2", "snapshot-id": "77"}, {"where": "id = 'x"}, {"nope.password": "of-this-source-51b2"},
                {"tag": file}):
    shown(lambda: paimon(table, **options).collect())
shown(lambda: paimon(table, **{"storage.secret": "of-this-source-51b2"}).explain(True))
for path in (file, metadata, "file:///proc/self/environ"):
    shown(lambda: paimon(path).collect())
shown(lambda: rows.write.format("paimon").mode("append").option("path", file).save())
print("ended")
session.stop()
"""


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_sql_functions_and_the_data_source_in_the_session_of_a_task_find_nothing_of_the_worker(
    catalog: tc.Catalog,
    planted: Path,
    metadata: str,
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
) -> None:
    """As ``@task.paimon`` with ``spark``: the session is the task's, the executors are where the master has them."""
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    write_rows(table, pa.table({"id": [1, 2, 3]}))
    hook_on(monkeypatch, catalog, places, backend)
    before = {path: path.read_bytes() for path in planted.parent.rglob("secret*")}
    done = subprocess.run(
        [sys.executable, "-c", TASK, str(planted), metadata, f"{catalog.storage.uri}/d.db/t", json.dumps(PLANTED)],
        capture_output=True, text=True, check=False, timeout=600,
        env={
            **{name: value for name, value in os.environ.items() if name not in PLANTED},
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "provider")]),
            "AIRFLOW_HOME": str(planted.parent / "airflow"),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "ended" in done.stdout
    assert "('rows', 3)" in done.stdout, done.stdout[-3000:]
    assert "PYSPARK_PYTHON" in done.stdout, "a function has shown its environment"
    for secret in (SECRET, OWN, "of-this-source-51b2"):
        told = done.stdout + done.stderr
        assert secret not in told, told[max(0, told.find(secret) - 1500) :][:2000]
    assert Metadata.asked == []
    assert {path: path.read_bytes() for path in planted.parent.rglob("secret*")} == before
    assert catalog.table("d.t").read().to_arrow().num_rows == 3
