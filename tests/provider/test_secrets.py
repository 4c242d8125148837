"""Secrets planted in a connection turn up nowhere: a Dag runs, then everything it left is searched.

Looked at: command lines of all processes while a job runs, its files and who may read them, the log
of the tasks, error texts, and the whole metadata database with rendered fields, XComs and events.
"""

from __future__ import annotations

import json
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.launchers.job_log import Redaction, progress_of
from table_core.errors import JobFailedError
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import states

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

PASSWORD = {"token": "PLANTED-store-1", "spark.hadoop.fs.s3a.secret.key": "PLANTED-spark-2"}
EXTRA = {"storage_options": {"aws_secret_access_key": "PLANTED-extra-3"}}
PLANTED = [*PASSWORD.values(), *EXTRA["storage_options"].values()]


class Watcher(threading.Thread):
    """Looks at processes and job files until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.commands = ""
        self.modes: dict[str, tuple[int, int]] = {}
        self.contents: dict[str, str] = {}

    def run(self) -> None:
        while not self.over.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.commands += path.read_text().replace("\0", " ") + "\n"
                except OSError:
                    continue
            for folder in Path(tempfile.gettempdir()).glob("paimon-job-*"):
                try:
                    for file in folder.iterdir():
                        self.look_at(file)
                except OSError:  # gone meanwhile
                    continue

    def look_at(self, file: Path) -> None:
        modes = file.stat().st_mode, file.parent.stat().st_mode
        self.modes[file.name] = tuple(stat.S_IMODE(mode) for mode in modes)  # type: ignore[assignment]
        self.contents[file.name] = self.contents.get(file.name, "") + file.read_text()


@pytest.fixture
def planted(warehouse: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection with secrets, and a folder of this test's own for its jobs: others run beside it."""
    document = {
        "conn_type": "paimon",
        "host": warehouse.warehouse,
        "password": json.dumps(PASSWORD),
        "extra": EXTRA,
    }
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_secrets_turn_up_nowhere(
    run: Callable[..., Any], planted: None, airflow_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    watcher = Watcher()
    watcher.start()
    done = run("""
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", engine="spark",
    columns={"id": "BIGINT"}, options={"bucket": "-1"})
health = PaimonHealthOperator(task_id="health", table="shop.orders", spark_conf={"spark.x": "y"})
wrong = PaimonCompactOperator(task_id="wrong", table="shop.missing")
create >> health >> wrong
""")
    watcher.over.set()
    watcher.join()
    assert states(done) == {"create": "success", "health": "success", "wrong": "failed"}
    told = "".join(capfd.readouterr())
    kept = (airflow_home / "airflow.db").read_bytes().decode("utf-8", "replace")
    assert "table_core.spark.entrypoint" in watcher.commands, "a job was seen"
    for name in ("spec.json", "private.json", "spark.properties"):
        assert watcher.modes[name] == (0o600, 0o700)
    assert PLANTED[0] in watcher.contents["private.json"], "which the job deletes"
    assert PLANTED[1] in watcher.contents["spark.properties"]
    specs = watcher.contents["spec.json"]
    searched = {"ps": watcher.commands, "log": told, "database": kept, "job spec": specs}
    for secret in PLANTED:
        for where, text in searched.items():
            assert secret not in text, where
    left = Path(tempfile.gettempdir()).glob("paimon-job-*/*")
    assert [path for path in left if "PLANTED" in path.read_text()] == []


def test_what_a_job_prints_and_says_of_its_end_is_cleaned() -> None:
    redaction = Redaction(['a"b', "hush", "hush-hush"])
    assert redaction.text('x=hush-hush y=hush z=a\\"b') == "x=*** y=*** z=***"
    error = JobFailedError("died: hush", exit_code=1, log_tail="conf hush\n")
    cleaned = redaction.error(error)
    assert (str(cleaned), dict(cleaned.facts)) == (
        "died: ***",
        {"exit_code": 1, "log_tail": "conf ***\n"},
    )
    assert type(cleaned) is JobFailedError
    harmless = JobFailedError("died", exit_code=1, log_tail="")
    assert redaction.error(harmless) is harmless


def test_progress_is_told_as_a_sentence() -> None:
    line = json.dumps({"event": "progress", "stage": "write", "table": "a.b", "rows": None})
    assert progress_of(line) == "write: table a.b"
    assert progress_of('{"event": "progress", "stage": "done"}') == "done"
    assert progress_of("25/01/01 INFO x") is None
    assert progress_of('{"event": "progress" broken') is None
