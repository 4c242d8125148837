"""A job is a real process here: it answers, fails, crashes, hangs, and is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.launchers.guard import session_members
from paimon_provider.launchers.local_process import LocalProcessLauncher
from paimon_provider.launchers.process import write_properties
from paimon_provider.launchers.spark_submit import SparkSubmitLauncher
from table_core.errors import CommitConflictError, JobFailedError
from table_core.jobs.job_spec import JobSpec
from tests.eventually import eventually

STAND_IN = """
import argparse, json, os, pathlib, subprocess, sys, time
from table_core.errors import CommitConflictError
from table_core.jobs.job_spec import JobResult, JobSpec

parser = argparse.ArgumentParser()
parser.add_argument("--spec"); parser.add_argument("--result"); parser.add_argument("--private")
given = parser.parse_args()
spec = JobSpec.from_json(pathlib.Path(given.spec).read_text())
result = pathlib.Path(given.result)
say = spec.args["say"]
if say == "done":
    print("line one"); print("zeile zwei: ä", file=sys.stderr)
    seen = {"env": dict(os.environ), "argv": sys.argv, "mode": result.parent.stat().st_mode & 0o777,
            "commit": [spec.commit_user, spec.commit_identifier]}
    result.write_text(JobResult(result=seen).to_json())
elif say == "conflict":
    result.write_text(JobResult(error=CommitConflictError("lost", head_id=7)).to_json()); sys.exit(1)
elif say == "crash":
    print("about to die", flush=True); os.kill(os.getpid(), 9)
elif say == "garbage":
    result.write_text("{")
elif say == "hang":
    child = "import os,signal,time; os.setpgid(0,0); signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", child])
    print("session", os.getsid(0), "folder", result.parent, flush=True); time.sleep(600)
elif say == "leave a child":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print("session", os.getsid(0), flush=True)
    result.write_text(JobResult(result={}).to_json())
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stand_in_job.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")


def spec(say: str) -> JobSpec:
    return JobSpec(
        action="compact", warehouse="w", table="a.b", args={"say": say}, commit_user="u",
        commit_identifier=3,
    )  # fmt: skip


def launcher(grace_seconds: float = 0.3, **conf: str) -> LocalProcessLauncher:
    settings = SparkSettings(conf=conf)
    return LocalProcessLauncher(settings, module="stand_in_job", grace_seconds=grace_seconds)


def test_the_result_comes_back_and_the_log_goes_through() -> None:
    lines: list[str] = []
    result = launcher(**{"spark.secret": "hush"}).run(spec("done"), log=lines.append)
    assert lines == ["line one", "zeile zwei: ä"]
    assert result["commit"] == ["u", 3]
    assert result["mode"] == 0o700
    assert result["env"]["PYSPARK_PYTHON"] == sys.executable
    assert result["env"]["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert "hush" not in f"{result['argv']}{result['env']}"
    assert not Path(result["argv"][2]).parent.exists()


def test_the_jobs_own_error_is_raised() -> None:
    with pytest.raises(CommitConflictError, match="lost") as caught:
        launcher().run(spec("conflict"), log=print)
    assert caught.value.facts["head_id"] == 7


def test_a_crash_is_told_with_its_last_lines() -> None:
    with pytest.raises(JobFailedError, match="about to die") as caught:
        launcher().run(spec("crash"), log=print)
    assert caught.value.facts == {"exit_code": 137, "log_tail": "about to die"}


@pytest.mark.parametrize("say", ["garbage", "nothing at all"])
def test_no_result_is_a_failure(say: str) -> None:
    with pytest.raises(JobFailedError, match="left no result") as caught:
        launcher().run(spec(say), log=print)
    assert caught.value.facts["exit_code"] == 0


def test_what_a_job_leaves_running_is_ended() -> None:
    lines: list[str] = []
    launcher().run(spec("leave a child"), log=lines.append)
    assert session_members(int(lines[0].split()[1])) == []


@pytest.fixture
def hanging() -> Iterator[tuple[LocalProcessLauncher, threading.Thread, list[str], list[object]]]:
    lines: list[str] = []
    ended: list[object] = []
    job = launcher()

    def run() -> None:
        try:
            ended.append(job.run(spec("hang"), log=lines.append))
        except JobFailedError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: bool(lines), "the job did not start")
    eventually(lambda: len(session_members(int(lines[0].split()[1]))) == 3, "guard, job, child")
    yield job, thread, lines, ended
    job.kill()
    thread.join(180)


def test_kill_ends_every_process_even_those_that_will_not(
    hanging: tuple[LocalProcessLauncher, threading.Thread, list[str], list[object]],
) -> None:
    job, thread, lines, ended = hanging
    job.kill()
    thread.join(180)
    (error,) = ended
    assert "stopped from outside" in str(error)
    _, session, _, folder = lines[0].split()
    assert session_members(int(session)) == []
    assert not Path(folder).exists()


def test_a_worker_killed_with_9_takes_its_job_along(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path[:0] = {[p for p in sys.path if p]!r}
from paimon_provider.launchers.local_process import LocalProcessLauncher
from paimon_provider.connections.warehouse import SparkSettings
from table_core.jobs.job_spec import JobSpec
job = LocalProcessLauncher(SparkSettings(), module="stand_in_job", grace_seconds=0.3)
spec = JobSpec(action="compact", warehouse="w", args={{"say": "hang"}})
job.run(spec, log=lambda line: print(line, flush=True))
"""
    worker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    _, session, _, folder = worker.stdout.readline().split()
    assert session_members(int(session))
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    eventually(lambda: not session_members(int(session)), "the job outlived its worker")
    eventually(lambda: not Path(folder).exists(), "the spec outlived its worker")


def test_a_job_told_to_stop_before_it_started_does_not_run() -> None:
    job = launcher()
    job.kill()
    with pytest.raises(JobFailedError, match="stopped from outside"):
        job.run(spec("hang"), log=print)


def test_spark_submit_is_given_master_file_and_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ``spark-submit`` of our own: it runs the script that it was given."""
    binary = tmp_path / "bin" / "spark-submit"
    binary.parent.mkdir()
    binary.write_text(
        '#!/bin/sh\necho "submit $@" | sed "s# /[^ ]*/# #g"\n'
        'while [ "${1%.py}" = "$1" ]; do shift; done\nexec "$PYSPARK_PYTHON" "$@"\n'
    )
    binary.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(binary.parent / "python"))
    (binary.parent / "python").symlink_to(os.path.realpath("/proc/self/exe"))
    lines: list[str] = []
    settings = SparkSettings(backend="spark-submit", master="spark://m:7077")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    SparkSubmitLauncher(settings, module="stand_in_job").run(spec("done"), log=lines.append)
    assert lines[0].startswith("submit --master spark://m:7077 --properties-file spark.properties ")
    assert lines[1] == "line one"


def test_properties_survive_as_they_are(tmp_path: Path) -> None:
    path = write_properties(tmp_path, {"spark.a": "C:\\x y=z", "spark.b": "two\nlines"})
    assert path.read_text().splitlines()[-2:] == ["spark.a=C:\\\\x y=z", "spark.b=two\\nlines"]
