"""Attack: whoever may write a task's state or a trigger's event.  Goal: delete a folder, reach another address."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.launchers.standalone import StandaloneLauncher, Submission
from paimon_provider.runs.cluster_jobs import ClusterJobs
from table_core.errors import ArgumentError, JobFailedError, StorageUnavailableError, TableError
from table_core.jobs.job_spec import JobResult, JobSpec
from tests.provider.kept_jobs import Store

NAME = "paimon-job-0123456789abcdef"


class Asked(HTTPServer):
    paths: list[str]
    body = b'{"driverState": "FINISHED", "success": true, "submissionId": "../x"}'
    times = 1


class Handler(BaseHTTPRequestHandler):
    server: Asked

    def answer(self) -> None:
        self.server.paths.append(self.path)
        body, times = self.server.body, self.server.times
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) * times))
        self.end_headers()
        with suppress(ConnectionError):  # who asks need not read all of it
            for _ in range(times):
                self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def master() -> Iterator[Asked]:
    server = Asked(("127.0.0.1", 0), Handler)
    server.paths = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def launcher(master: Asked, tmp_path: Path) -> StandaloneLauncher:
    (tmp_path / "jobs").mkdir()
    return StandaloneLauncher(
        SparkSettings(
            backend="standalone",
            master="spark://127.0.0.1:1",
            rest_port=master.server_port,
            job_folder=str(tmp_path / "jobs"),
        ),
        poll_seconds=0.01,
    )


def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "result.json").write_text(JobResult(result={"stolen": True}).to_json())
    (folder / "precious").write_text("x")
    return folder


def folders(tmp_path: Path) -> list[str]:
    folder = victim(tmp_path)
    (tmp_path / "jobs" / NAME).symlink_to(folder)
    (tmp_path / NAME).mkdir()
    return [
        *(str(folder), "../victim", f"{tmp_path}/jobs/../victim", "..", ".", "", "/", "~"),
        *(NAME, f"{tmp_path}/jobs/{NAME}", f"{tmp_path}/{NAME}", f"../{NAME}", "paimon-job-x"),
        *(f"{NAME}/..", f"./{NAME}", f"{NAME}\n", "paimon-job-0123456789ABCDEF"),
    ]


@pytest.mark.parametrize(
    ("body", "times", "told"),
    [(b" " * (1 << 20), 200, "more than 1,048,576 bytes"), (b"[]", 1, "list is no answer")],
)
def test_an_answer_is_read_up_to_a_bound_and_must_be_one(
    launcher: StandaloneLauncher, master: Asked, body: bytes, times: int, told: str
) -> None:
    master.body, master.times = body, times
    tracemalloc.start()
    with pytest.raises(StorageUnavailableError, match=told):
        launcher.state(Submission("driver-1", NAME))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_a_kept_folder_is_a_name_in_the_folder_of_jobs_and_nothing_else(
    launcher: StandaloneLauncher, tmp_path: Path, master: Asked
) -> None:
    spec = JobSpec(action="compact", warehouse="w", table="a.b")
    for folder in folders(tmp_path):
        submission = Submission("driver-1", folder)
        state = Store(paimon_job={"id": "driver-1", "folder": folder, "user": "me"})
        jobs = ClusterJobs(launcher, {"task_state_store": state}, "me")  # type: ignore[typeddict-item,arg-type]
        event = {"submission": submission.to_document() | {"folder": folder}, "state": "FINISHED"}
        for act in (
            lambda s=submission: launcher.result(s, "FINISHED"),
            lambda s=submission: launcher.end(s),
            lambda s=submission: launcher.progress(s, 0),
            lambda j=jobs: j.submitted_or(spec),
            lambda j=jobs, e=event: j.result(e),
        ):
            with pytest.raises((ArgumentError, JobFailedError)):
                act()
        assert (tmp_path / "victim" / "precious").exists(), folder
        assert (tmp_path / "jobs").exists()
        assert (tmp_path / NAME).exists(), folder


@pytest.mark.parametrize(
    "id", ["../../x", "a/b", "", "-x", "a b", "x?y", "x#y", "x\r\nHost: e", "é", 5, None]
)
def test_the_id_of_a_driver_is_matched_before_it_is_part_of_an_address(
    launcher: StandaloneLauncher, master: Asked, id: Any
) -> None:
    for act in (
        lambda: launcher.state(Submission(id, NAME)),
        lambda: launcher.end(Submission(id, NAME)),
        lambda: launcher.kept({"id": id, "folder": NAME}),
    ):
        with pytest.raises(ArgumentError):
            act()
    assert master.paths == []


def test_an_id_that_the_master_answers_is_matched_too(launcher: StandaloneLauncher) -> None:
    with pytest.raises(ArgumentError, match="no id of a driver"):
        launcher.submit(JobSpec(action="compact", warehouse="w", table="a.b"))


@pytest.mark.parametrize(
    "document", [None, 5, "x", [], {}, {"id": "driver-1"}, {"id": "d", "folder": 5}]
)
def test_what_is_no_submission_is_told(launcher: StandaloneLauncher, document: Any) -> None:
    with pytest.raises(TableError, match="no submission"):
        launcher.kept(document)


def test_what_we_kept_ourselves_is_found_again_in_both_forms(
    launcher: StandaloneLauncher, tmp_path: Path
) -> None:
    for folder in (NAME, f"{tmp_path}/jobs/{NAME}"):
        (tmp_path / "jobs" / NAME).mkdir()
        (tmp_path / "jobs" / NAME / "result.json").write_text(JobResult(result={"a": 1}).to_json())
        kept = launcher.kept({"id": "driver-1", "folder": folder})
        assert kept.to_document() == {"id": "driver-1", "folder": NAME}
        assert launcher.result(kept, "FINISHED") == {"a": 1}
        assert not (tmp_path / "jobs" / NAME).exists()
