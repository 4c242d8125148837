"""Goal: a job on a standalone cluster is dead only if the master that leads says so, and an end is an end.

Method: masters that answer as Spark's ``StandaloneRestServer`` does, in every state that one can be in, for each
question of the launcher; then the trigger and the operator on top of them.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.launchers import masters, standalone
from paimon_provider.launchers.standalone import Queue, StandaloneLauncher, Submission
from paimon_provider.runs.cluster_jobs import remaining_time
from paimon_provider.triggers import spark_job
from table_core.errors import ArgumentError, ErrorKind, StorageUnavailableError, error_to_document
from table_core.jobs.job_spec import JobResult, JobSpec
from tests.provider.kept_jobs import Store, jobs

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

Answer = tuple[int, Any]
DRIVER = "driver-20261127-0000"
STANDBY = "Current state is not alive: STANDBY. Can only {} drivers in ALIVE state."


def stand_by(verb: str, state: str = "STANDBY") -> Answer:
    """What a master says that does not lead; a status wraps it as an exception."""
    said = STANDBY.format(verb).replace("STANDBY", state)
    if verb == "status":
        said = f"Exception from the cluster:\njava.lang.Exception: {said}\n\torg.apache.spark.deploy.master.Master"
    return 200, {"success": False, "submissionId": DRIVER, "message": said}


class Master(ThreadingHTTPServer):
    """A master that leads, or answers as one does that cannot."""

    def __init__(self, host: str, port: int = 0) -> None:
        super().__init__((host, port), _Handler)
        self.state: str | None = "RUNNING"
        """Of the driver; None: it knows none."""
        self.asked: list[str] = []
        self.instead: list[Callable[[str], Answer]] = []
        """What the next questions get instead."""
        self.never_leads: str | None = None
        self.dies_slowly = 0
        """So many kills are taken and change nothing."""

    def answer(self, verb: str) -> Answer:
        self.asked.append(verb)
        if self.never_leads is not None:
            return stand_by(verb, self.never_leads)
        if self.instead:
            return self.instead.pop(0)(verb)
        if verb == "create":
            return 200, {"success": True, "submissionId": DRIVER}
        if verb == "kill":
            if self.state is None:
                return 200, {"success": False, "message": f"Driver {DRIVER} has already finished"}
            if self.dies_slowly > 0:
                self.dies_slowly -= 1
            else:
                self.state = "KILLED"
            return 200, {"success": True, "message": "Kill request submitted"}
        if self.state is None:
            return 200, {"success": False, "submissionId": DRIVER}
        return 200, {"success": True, "driverState": self.state}


class _Handler(BaseHTTPRequestHandler):
    server: Master

    def do_GET(self) -> None:
        self._reply("status")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._reply(self.path.removeprefix("/v1/submissions/").partition("/")[0])

    def _reply(self, verb: str) -> None:
        status, document = self.server.answer(verb)
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep silent."""


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Master, Master]]:
    """A first master and a second one, at one port of two addresses of this machine."""
    monkeypatch.setattr(masters, "_PAUSE_SECONDS", (0.01, 0.02))
    with ExitStack() as stack:
        second = _opened(stack, "127.0.0.2", 0)
        yield _opened(stack, "127.0.0.1", second.server_port), second


def _opened(stack: ExitStack, host: str, port: int) -> Master:
    master = Master(host, port)
    threading.Thread(target=master.serve_forever, daemon=True).start()
    stack.callback(master.server_close)
    stack.callback(master.shutdown)
    return master


def launcher(two: tuple[Master, Master], folder: Path) -> StandaloneLauncher:
    settings = SparkSettings(
        backend="standalone",
        master="spark://127.0.0.1:7077,127.0.0.2:7077",
        rest_port=two[0].server_port,
        job_folder=str(folder),
    )
    return StandaloneLauncher(settings, poll_seconds=0.01)


def submission(folder: Path) -> Submission:
    job = folder / "paimon-job-0123456789abcdef"
    job.mkdir(exist_ok=True)
    return Submission(DRIVER, str(job))


SPEC = JobSpec(action="create-table", warehouse="file:///w", table="a.b", args={}, options={})


@pytest.mark.parametrize("leads", [0, 1])
@pytest.mark.parametrize("state", ["STANDBY", "RECOVERING", "COMPLETING_RECOVERY"])
def test_every_question_goes_to_the_master_that_leads(
    two: tuple[Master, Master], tmp_path: Path, leads: int, state: str
) -> None:
    two[1 - leads].never_leads = state
    on, job = launcher(two, tmp_path), submission(tmp_path)
    assert on.submit(SPEC).id == DRIVER
    assert on.state(job) == "RUNNING"
    on.end(job)
    assert two[leads].state == "KILLED"
    assert two[1 - leads].state == "RUNNING", "it was not told"


def away(verb: str) -> Answer:
    return 503, {"action": "ErrorResponse", "message": f"no {verb} now"}


AWAY: dict[str, Callable[[str], Answer]] = {
    **{f"{code}": (lambda verb, code=code: (code, away(verb)[1])) for code in (408, 425, 429, 500)},
    **{f"{code}": (lambda verb, code=code: (code, away(verb)[1])) for code in (502, 503, 504)},
    "no JSON": lambda _: (200, b"<html>a proxy</html>"),
    "a list": lambda _: (200, []),
    "recovering": lambda verb: stand_by(verb, "RECOVERING"),
}


@pytest.mark.parametrize("fault", AWAY)
def test_who_is_away_for_a_moment_is_asked_again(
    two: tuple[Master, Master], tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    two[1].never_leads = "STANDBY"
    on, job = launcher(two, tmp_path), submission(tmp_path)
    two[0].instead = [AWAY[fault]] * 2
    assert on.submit(SPEC).id == DRIVER
    assert "Submitting: asking again" in caplog.text
    two[0].instead = [AWAY[fault]] * 3
    for _ in range(3):
        with pytest.raises(StorageUnavailableError) as caught:
            on.state(job)
        assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert on.state(job) == "RUNNING"
    two[0].instead = [AWAY[fault]]
    on.end(job)
    assert two[0].state == "KILLED"


@pytest.mark.parametrize("code", [400, 401, 403, 404])
def test_what_a_master_refuses_is_refused_at_once(
    two: tuple[Master, Master], tmp_path: Path, code: int
) -> None:
    two[0].instead = [lambda verb: (code, away(verb)[1])]
    with pytest.raises(ArgumentError, match=f"refuses create: {code}"):
        launcher(two, tmp_path).submit(SPEC)
    assert list(tmp_path.iterdir()) == [], "no folder of a job is left"


def test_a_driver_is_gone_only_if_the_leader_does_not_know_it(
    two: tuple[Master, Master], tmp_path: Path
) -> None:
    two[0].never_leads, two[1].state = "STANDBY", None
    assert launcher(two, tmp_path).state(submission(tmp_path)) == "NOT_FOUND"
    two[1].instead = [lambda _: (200, {"success": False, "message": "Exception from the cluster"})]
    assert launcher(two, tmp_path).state(submission(tmp_path)) in standalone.ACTIVE
    two[1].never_leads = "RECOVERING"
    with pytest.raises(StorageUnavailableError, match=r"as the leader.*STANDBY.*RECOVERING"):
        launcher(two, tmp_path).state(submission(tmp_path))


def test_an_end_is_asked_for_until_it_is_one(two: tuple[Master, Master], tmp_path: Path) -> None:
    two[0].dies_slowly = 3
    job = submission(tmp_path)
    launcher(two, tmp_path).end(job)
    assert two[0].state == "KILLED"
    assert two[0].asked.count("kill") == 4
    assert not Path(job.folder).exists()


def test_an_end_that_nobody_confirms_is_an_error_and_leaves_no_files(
    two: tuple[Master, Master], tmp_path: Path
) -> None:
    two[0].dies_slowly = 1_000_000
    job = submission(tmp_path)
    with pytest.raises(StorageUnavailableError, match="was told to end and is RUNNING"):
        launcher(two, tmp_path).end(job, seconds=0.2)
    assert not Path(job.folder).exists()
    two[0].state = None
    launcher(two, tmp_path).end(submission(tmp_path))  # it has ended by itself


def test_a_job_of_which_no_master_tells_is_not_waited_for_without_end(
    two: tuple[Master, Master], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two[0].never_leads = two[1].never_leads = "RECOVERING"
    monkeypatch.setattr(standalone, "_SILENT_SECONDS", 0.2)
    lines: list[str] = []
    with pytest.raises(StorageUnavailableError, match="as the leader"):
        launcher(two, tmp_path).wait(submission(tmp_path), lines.append)
    assert any("still waiting" in line for line in lines)


def test_waiting_for_cores_is_told_each_minute_with_the_way_out() -> None:
    queue = Queue(DRIVER)

    def lines(state: str, now: float, *, has_begun: bool = False) -> list[str]:
        return queue.lines(state, has_begun=has_begun, now=now)

    assert lines("SUBMITTED", 0) == [f"{DRIVER}: SUBMITTED"]
    assert lines("SUBMITTED", 59) == []
    (waits,) = lines("SUBMITTED", 61)
    assert "SUBMITTED for 61 s, no worker has free cores" in waits
    assert "A pool limits" in waits
    assert lines("SUBMITTED", 62) == []
    assert lines("RUNNING", 70) == [f"{DRIVER}: RUNNING"]
    (waits,) = lines("RUNNING", 140)
    assert "RUNNING for 70 s, and the job has not begun" in waits
    assert lines("RUNNING", 900, has_begun=True) == []


# ------------------------------------------------------------------------------- the trigger
def trigger(
    two: tuple[Master, Master],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: Callable[[], str | None] | None,
) -> spark_job.PaimonSparkJobTrigger:
    extra = {
        "spark_backend": "standalone",
        "spark_master": "spark://127.0.0.1:7077,127.0.0.2:7077",
        "spark_rest_port": two[0].server_port,
        "spark_job_folder": str(folder),
    }
    document = {"conn_type": "paimon", "host": f"file://{folder}/wh", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    made = spark_job.PaimonSparkJobTrigger(
        paimon_conn_id="paimon_default",
        submission=submission(folder).to_document(),
        poll_seconds=0.01,
    )
    if state is not None:
        monkeypatch.setattr(spark_job, "state_of", lambda _: state())
        made.task_instance = SimpleNamespace(task_id="write")  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("state", ["failed", "success", None, "queued", "running"])
def test_a_task_that_waits_no_more_has_its_driver_ended(
    two: tuple[Master, Master], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str | None
) -> None:
    asyncio.run(trigger(two, tmp_path, monkeypatch, lambda: state).on_kill())
    assert two[0].state == "KILLED"


def test_a_triggerer_that_slept_ends_nothing_of_a_task_that_waits_elsewhere(
    two: tuple[Master, Master], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(trigger(two, tmp_path, monkeypatch, lambda: "deferred").on_kill())
    assert two[0].state == "RUNNING"
    assert "kill" not in two[0].asked


def test_a_trigger_outlives_masters_and_a_connection_that_are_away(
    two: tuple[Master, Master], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = trigger(two, tmp_path, monkeypatch, None)
    two[1].never_leads = "STANDBY"
    two[0].instead = [AWAY["503"], AWAY["recovering"], AWAY["429"]]
    connection = monkeypatch.context()
    with connection as gone:
        gone.delenv("AIRFLOW_CONN_PAIMON_DEFAULT")
        with pytest.raises(StorageUnavailableError, match="nobody tells"):
            waits._state()
    for _ in range(3):
        with pytest.raises(StorageUnavailableError):
            waits._state()
    assert waits._state() is None
    two[0].state = "FINISHED"
    event = asyncio.run(anext(waits.run()))
    assert (event.payload["status"], event.payload["state"]) == ("ended", "FINISHED")


def test_a_trigger_that_hears_nothing_for_long_says_so_and_the_retry_waits_on(
    two: tuple[Master, Master], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_job, "_SILENT_SECONDS", 0.0)
    two[0].never_leads = two[1].never_leads = "RECOVERING"
    event = asyncio.run(anext(trigger(two, tmp_path, monkeypatch, None).run()))
    assert event.payload["error"]["kind"] == "unavailable"


# ------------------------------------------------------------------------------ the task's jobs
def test_a_cleared_task_ends_what_it_submitted_before(
    two: tuple[Master, Master], tmp_path: Path
) -> None:
    on, store = launcher(two, tmp_path), Store()
    jobs(on, store, "before", 1).submitted_or(SPEC)
    jobs(on, store, "cleared", 1).submitted_or(SPEC)
    assert two[0].asked.index("kill") < len(two[0].asked) - 1 - two[0].asked[::-1].index("create")


@pytest.mark.parametrize("state", ["FINISHED", "ERROR", None])
@pytest.mark.parametrize("brought", [True, False])
def test_a_result_is_taken_whatever_a_master_that_took_over_knows_of_its_job(
    two: tuple[Master, Master], tmp_path: Path, state: str | None, brought: bool
) -> None:
    """It does not know drivers that had ended, and takes one that ended between two leaders for lost."""
    on, store = launcher(two, tmp_path), Store()
    first = jobs(on, store, "me", 1).submitted_or(SPEC)
    two[0].state = state
    error = None if brought else ArgumentError("no", argument="x")
    left = JobResult(result={"n": 1} if brought else None, error=error)
    (Path(first.folder) / "result.json").write_text(left.to_json())
    again = jobs(on, store, "me", 2)
    assert again.has_submitted() is brought
    assert (again.submitted_or(SPEC) == first) is brought
    assert two[0].asked.count("create") == (1 if brought else 2)
    assert Path(first.folder).exists() is brought, "what brought nothing leaves nothing"
    if brought:
        assert again.wait(first, lambda _: None) == {"n": 1}


def test_a_cleared_task_leaves_no_files_of_a_job_that_had_ended(
    two: tuple[Master, Master], tmp_path: Path
) -> None:
    on, store = launcher(two, tmp_path), Store()
    first = jobs(on, store, "before", 1).submitted_or(SPEC)
    two[0].state = "FAILED"
    again = jobs(on, store, "cleared", 1).submitted_or(SPEC)
    assert [str(path) for path in tmp_path.iterdir()] == [again.folder] != [first.folder]


@pytest.mark.parametrize(
    ("kind", "try_number", "ends"),
    [("invalid", 1, True), ("unavailable", 1, False), ("unavailable", 3, True)],
)
def test_a_task_that_fails_for_good_leaves_no_driver_and_no_folder(
    two: tuple[Master, Master], tmp_path: Path, kind: str, try_number: int, ends: bool
) -> None:
    on, store = launcher(two, tmp_path), Store()
    jobs(on, store, "me", try_number).submitted_or(SPEC)
    error = (
        ArgumentError("no", argument="x")
        if kind == "invalid"
        else StorageUnavailableError("away", path="m", reason="away")
    )
    event = {"status": "error", "error": error_to_document(error)}
    with pytest.raises(type(error)):
        jobs(on, store, "me", try_number).result(event)
    assert (two[0].state == "KILLED") is ends
    assert (list(tmp_path.iterdir()) == []) is ends
    assert (not store) is ends


def test_what_is_left_of_a_time_out_is_what_the_wait_has() -> None:
    ti = SimpleNamespace(start_date=datetime.now(UTC) - timedelta(seconds=20))
    context: Any = {"ti": ti}
    assert remaining_time(None, context) is None
    left = remaining_time(timedelta(seconds=60), context)
    assert left is not None
    assert timedelta(seconds=30) < left <= timedelta(seconds=40)
    assert remaining_time(timedelta(seconds=5), context) == timedelta(seconds=1)
