"""Runs a job with its driver on a standalone cluster: submitted, followed and ended by REST.

``spark-submit`` refuses Python in cluster mode on standalone.  The master's REST server (port 6066) takes
any main class, and Spark's own ``PythonRunner`` is one: it runs our entrypoint on a worker of the
cluster.  So the job outlives whoever submitted it, and can be waited for without a worker of Airflow.

Spec and result are files in ``spark_job_folder``, which Airflow and the cluster both see, as the same
user.  The cluster has the same Python environment at the same path.  Configuration travels beside
the spec: Spark puts what it gets by REST on the driver's command line.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.launchers.job_log import ProgressLine
from paimon_provider.launchers.local_process import ENTRYPOINT
from paimon_provider.launchers.masters import Masters, asked_again
from paimon_provider.launchers.process import RESULT_FILE, write_job
from paimon_provider.launchers.spark_submit import script_of
from table_core.errors import ArgumentError, JobFailedError, StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paimon_provider.connections.warehouse import SparkSettings
    from table_core.jobs.job_spec import JobResult, JobSpec

__all__ = ["ACTIVE", "Queue", "StandaloneLauncher", "Submission"]

ACTIVE: Final = frozenset({"SUBMITTED", "RUNNING", "RELAUNCHING", "UNKNOWN"})
"""States in which the driver may still come to an end by itself."""
_RUNNER: Final = "org.apache.spark.deploy.PythonRunner"
_TAKEN_SECONDS: Final = 120.0
"""How long a master may be away when a job is submitted: another one takes a minute to lead."""
_ENDED_SECONDS: Final = 25.0
"""How long an end may take: Airflow gives ``on_kill`` half a minute."""
_SILENT_SECONDS: Final = 1800.0
"""How long a job is waited for that no master can tell of."""
_MINUTE: Final = 60.0
_QUEUED: Final = {
    "SUBMITTED": "no worker has free cores and memory for the driver",
    "RUNNING": "and the job has not begun: its application may have got no core",
}
"""States in which a job may wait for other jobs, and what for."""
_UNSEEN: Final = "UNKNOWN"
_NO_RESULT: Final = (OSError, ValueError, KeyError, TypeError)
"""There is no result, or half of one."""
_PROGRESS_FILE: Final = "progress.jsonl"
_FOLDER: Final = re.compile(r"paimon-job-[0-9a-f]{16}")
_DRIVER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_ON_COMMAND_LINE: Final = ("spark.driver.memory", "spark.driver.cores")


@dataclass(frozen=True, slots=True)
class Submission:
    """A job that was handed to the cluster."""

    id: str
    folder: str

    def to_document(self) -> dict[str, str]:
        """JSON-safe members; of the folder its name alone, for others may write what keeps it."""
        return {"id": self.id, "folder": self.folder.rpartition("/")[2]}


class Queue:
    """What to say while a job waits for the cluster: each new state once, and each minute why nothing goes on.

    :param id: the driver.
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self._state = ""
        self._since = self._said = 0.0

    def lines(self, state: str, *, has_begun: bool, now: float) -> list[str]:
        """The lines for what was seen ``now``, in seconds; ``has_begun``: the job has told of itself."""
        if state != self._state:
            self._state, self._since, self._said = state, now, now
            return [f"{self.id}: {state}"]
        if has_begun or state not in _QUEUED or now - self._said < _MINUTE:
            return []
        self._said = now
        return [
            f"{self.id}: {state} for {now - self._since:.0f} s, {_QUEUED[state]}. A pool limits how many "
            "jobs are on the cluster at once: give it to these tasks, and let it include deferred ones"
        ]


class StandaloneLauncher:
    """Submits to the REST server of a standalone master."""

    def __init__(self, spark: SparkSettings, *, poll_seconds: float = 2.0) -> None:
        self.spark = spark
        self.poll_seconds = poll_seconds
        self._masters = Masters(spark.master, spark.rest_port)
        self._submission: Submission | None = None

    def run(self, spec: JobSpec, *, log: Callable[[str], None]) -> dict[str, Any]:
        """Submit ``spec``, wait for its end, return its result document."""
        submission = self._submission = self.submit(spec)
        log(f"Submitted {submission.id} to {self.spark.master}")
        return self.result(submission, self.wait(submission, log))

    def wait(self, submission: Submission, log: Callable[[str], None]) -> str:
        """How the job ended, when it has; a master that is away for a while is waited for.

        Raises:
            StorageUnavailableError: no master has told of it for half an hour.
        """
        queue, told, silent_since = Queue(submission.id), 0, time.monotonic()
        while True:
            try:
                state = self.state(submission)
                silent_since = time.monotonic()
            except StorageUnavailableError as error:
                if time.monotonic() - silent_since > _SILENT_SECONDS:
                    raise
                log(f"{submission.id}: still waiting: {error}")
                state = _UNSEEN
            for line in queue.lines(state, has_begun=told > 0, now=time.monotonic()):
                log(line)
            for line in self.progress(submission, told):
                log(line)
                told += 1
            if state not in ACTIVE:
                return state
            time.sleep(self.poll_seconds)

    def progress(self, submission: Submission, skip: int) -> list[str]:
        """What the job has told of itself, but for the first ``skip`` lines."""
        try:
            text = (self._folder(submission) / _PROGRESS_FILE).read_text("utf-8", "replace")
        except FileNotFoundError:
            return []  # it has not begun
        whole, _, _ = text.rpartition("\n")
        return [ProgressLine(line) for line in whole.split("\n")[skip:]] if whole else []

    def kill(self) -> None:
        """End the driver; the master takes its executors away."""
        if self._submission is not None:
            self.end(self._submission)

    def submit(self, spec: JobSpec) -> Submission:
        """Hand ``spec`` to the cluster.

        Raises:
            ArgumentError: the connection names no ``spark_job_folder``, or the master refuses.
            StorageUnavailableError: no master has answered for two minutes.
        """
        if not self.spark.job_folder:
            raise ArgumentError(
                "backend 'standalone' needs spark_job_folder in the connection: a folder that "
                "Airflow and the cluster both see",
                argument="spark_job_folder",
                value=None,
            )
        folder = Path(self.spark.job_folder) / f"paimon-job-{secrets.token_hex(8)}"
        os.makedirs(folder, mode=0o700)
        conf = {k: v for k, v in self.spark.conf.items() if k not in _ON_COMMAND_LINE}
        options = {**spec.options, "spark.master": self.spark.master, **conf}
        with ExitStack() as refused:
            refused.callback(shutil.rmtree, folder, ignore_errors=True)
            arguments = write_job(folder, replace(spec, options=options))
            arguments += ["--progress", str(folder / _PROGRESS_FILE)]
            request = self.request(spec, arguments)
            answer = asked_again(
                lambda: self._masters.ask("create", request), _TAKEN_SECONDS, "Submitting"
            )
            id = _driver(answer.get("submissionId"))
            refused.pop_all()
        return Submission(id, str(folder))

    def request(self, spec: JobSpec, arguments: Sequence[str]) -> dict[str, Any]:
        """What the REST server is asked; without secrets, for it shows on a command line."""
        script = str(script_of(ENTRYPOINT))
        properties = {
            "spark.app.name": f"paimon {spec.action} {spec.table}",
            "spark.master": self.spark.master,
            "spark.submit.deployMode": "cluster",
            "spark.driver.supervise": "false",
            "spark.jars": "",
            **{k: v for k, v in self.spark.conf.items() if k in _ON_COMMAND_LINE},
        }
        return {
            "action": "CreateSubmissionRequest",
            "clientSparkVersion": version("pyspark"),
            "appResource": f"file:{script}",
            "mainClass": _RUNNER,
            "appArgs": [script, "", *arguments],
            "environmentVariables": {
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
                "PYTHONUNBUFFERED": "1",
            },
            "sparkProperties": properties,
        }

    def state(self, submission: Submission) -> str:
        """``RUNNING``, ``FINISHED``, ``FAILED`` …; ``NOT_FOUND`` when the leading master has forgotten it.

        Raises:
            StorageUnavailableError: no master leads at the moment, or none answers: it may still run.
        """
        answer = self._masters.ask(f"status/{_driver(submission.id)}")
        if answer.get("driverState"):
            return str(answer["driverState"])
        if answer.get("success") or answer.get("message"):
            return _UNSEEN
        return "NOT_FOUND"

    def has_result(self, submission: Submission) -> bool:
        """Whether the job has brought a result that nobody has taken; an error is none."""
        try:
            return self._left(self._folder(submission)).error is None
        except _NO_RESULT:
            return False

    def result(self, submission: Submission, state: str) -> dict[str, Any]:
        """The result document of a job that has ended; its folder is deleted.

        Raises:
            TableError: what the job reported, or ``JobFailedError`` without a report.
        """
        folder = self._folder(submission)
        try:
            job = self._left(folder)
        except _NO_RESULT as error:
            raise JobFailedError(
                f"{submission.id} ended as {state} and left no result; its log is on the worker of "
                f"the cluster that ran the driver ({type(error).__name__})",
                exit_code=None,
                log_tail="",
            ) from error
        finally:
            self.forget(submission)
        if job.error is not None:
            raise job.error
        if job.result is None:
            raise JobFailedError("the job left an empty result", exit_code=None, log_tail="")
        return dict(job.result)

    def forget(self, submission: Submission) -> None:
        """Delete the files of a job that has ended."""
        shutil.rmtree(self._folder(submission), ignore_errors=True)

    @staticmethod
    def _left(folder: Path) -> JobResult:
        """What the job has left in ``folder``."""
        from table_core.jobs.job_spec import JobResult

        return JobResult.from_json((folder / RESULT_FILE).read_text(encoding="utf-8"))

    def end(self, submission: Submission, *, seconds: float = _ENDED_SECONDS) -> None:
        """Kill the driver, and see that it has ended; nobody will read what it leaves.

        Raises:
            StorageUnavailableError: the end was not confirmed in ``seconds``; the driver may go on, without its files.
        """
        try:
            asked_again(lambda: self._killed(submission), seconds, f"Ending {submission.id}")
        finally:
            self.forget(submission)

    def _killed(self, submission: Submission) -> None:
        """Ask for the end.

        Raises:
            StorageUnavailableError: it still runs.
        """
        self._masters.ask(f"kill/{_driver(submission.id)}", {})
        state = self.state(submission)
        if state in ACTIVE:
            raise StorageUnavailableError(
                f"{submission.id} was told to end and is {state}", path=submission.id, reason=state
            )

    def kept(self, document: Any) -> Submission:
        """The submission that ``to_document`` of one gave, wherever it was kept meanwhile.

        Raises:
            ArgumentError: it is none, or names something that this class does not give.
        """
        members = document if isinstance(document, dict) else {}
        id, folder = members.get("id"), members.get("folder")
        if not isinstance(id, str) or not isinstance(folder, str):
            raise ArgumentError(f"{document!r} is no submission of a job", argument="submission")
        return Submission(_driver(id), str(self._folder(Submission(id, folder))))

    def _folder(self, submission: Submission) -> Path:
        """Where the job's files are: by its name in ``spark_job_folder``, whatever was kept.

        Raises:
            ArgumentError: it is no name that this class gives, or leads elsewhere.
        """
        home = self.spark.job_folder
        path = Path(submission.folder)
        known = path.name == submission.folder or (home is not None and path.parent == Path(home))
        if home is None or not known or not _FOLDER.fullmatch(path.name):
            raise ArgumentError(
                f"{submission.folder!r} is no folder of a job in spark_job_folder: the kept state of "
                "the task is not ours; clear the task to submit it again",
                argument="submission",
                value=submission.folder,
            )
        job_folder = Path(home) / path.name
        if job_folder.is_symlink():
            raise ArgumentError(
                f"{job_folder} is a link: jobs have folders",
                argument="submission",
                value=str(job_folder),
            )
        return job_folder


def _driver(id: object) -> str:
    """The id of a driver, which becomes part of an address.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(id, str) or not _DRIVER.fullmatch(id):
        raise ArgumentError(f"{id!r} is no id of a driver", argument="submission", value=str(id))
    return id
