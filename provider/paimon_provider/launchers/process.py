"""Runs a job in a process of its own: spec in, log lines through, result out."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections import deque
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.launchers import guard
from paimon_provider.launchers.job_log import Listener, without_console
from table_core.errors import JobFailedError
from table_core.options.spark_settings import properties_text, require_printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.jobs.job_spec import JobSpec

__all__ = [
    "RESULT_FILE",
    "JobProcess",
    "write_job",
    "write_private",
    "write_properties",
]

RESULT_FILE: Final = "result.json"
_TAIL_LINES: Final = 60
_LINE_BYTES: Final = 1 << 20
"""A longer line, of a cell that a job prints, is taken in pieces."""
_PRIVATE_ARGS: Final = frozenset({"source", "hops"})
"""Arguments of verbs that may hold a password: that of the database which a sync reads, alone or in a pipeline."""


class JobProcess:
    """One process, in a session of its own behind ``guard``.

    The worker's death ends it, however the worker died.
    """

    def __init__(self, *, grace_seconds: float = 5.0) -> None:
        self.grace_seconds = grace_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(
        self,
        spec: JobSpec,
        command: Callable[[Path, Sequence[str]], Sequence[str]],
        *,
        environment: Mapping[str, str],
        log: Callable[[str], None],
    ) -> dict[str, Any]:
        """Run ``command(folder, arguments of the entrypoint)`` and return the result document.

        Raises:
            TableError: what the job reported.
            JobFailedError: it ended without a result; facts hold its exit code and last lines.
        """
        with tempfile.TemporaryDirectory(prefix="paimon-job-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            nonce = secrets.token_hex(16)
            argv = [str(part) for part in command(folder, write_job(folder, spec, nonce))]
            for part in argv:
                require_printable(part, "an argument of the job")
            tail: deque[str] = deque(maxlen=_TAIL_LINES)
            told = Listener(nonce, log)
            status = self._run_guarded(folder, argv, environment, told, tail)
            told.end()
            return _result(folder / RESULT_FILE, status, tail, stopped=self._stopped)

    def kill(self) -> None:
        """Tell the guard to end the job and all it started; returns at once.

        Safe inside a signal handler.  ``run`` raises when the processes are gone.
        """
        self._stopped = True
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.closed:
            process.stdin.close()

    def _run_guarded(
        self,
        folder: Path,
        argv: Sequence[str],
        environment: Mapping[str, str],
        log: Callable[[str], None],
        tail: deque[str],
    ) -> int:
        grace = str(self.grace_seconds)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(guard.__file__), grace, str(folder), *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
        )
        self._process = process
        if self._stopped:  # told to stop before it started
            self.kill()
        assert process.stdout is not None
        try:
            for raw in iter(partial(process.stdout.readline, _LINE_BYTES), b""):
                line = without_console(raw.decode("utf-8", "replace").rstrip())
                if line is not None:
                    tail.append(line)
                    log(line)
            return process.wait()
        finally:  # also when a time-out of the task breaks in
            self._process = None
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()
            process.wait()
            process.stdout.close()


def _result(
    result_file: Path, status: int, tail: Sequence[str], *, stopped: bool
) -> dict[str, Any]:
    from table_core.jobs.job_spec import JobResult

    facts: dict[str, object] = {"exit_code": status, "log_tail": "\n".join(tail)}
    if stopped:
        raise JobFailedError("the job was stopped from outside", **facts)
    try:
        result = JobResult.from_json(result_file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JobFailedError(
            f"the job ended with exit code {status} and left no result "
            f"({type(error).__name__}); its last lines:\n" + "\n".join(tail),
            **facts,
        ) from error
    if result.error is not None:
        raise result.error
    if result.result is None:
        raise JobFailedError(f"the job left an empty result, exit code {status}", **facts)
    return dict(result.result)


def write_job(folder: Path, spec: JobSpec, nonce: str | None = None) -> list[str]:
    """Write what the entrypoint reads, nothing secret in the spec itself; its arguments.

    Options of the store, the access to a source and the word that begins each line of progress are in
    a file that the job deletes.
    """
    told = {name: value for name, value in spec.args.items() if name in _PRIVATE_ARGS}
    public = {name: value for name, value in spec.args.items() if name not in told}
    files = {name: folder / f"{name}.json" for name in ("spec", "private")}
    write_private(files["spec"], replace(spec, options={}, args=public).to_json())
    private: dict[str, object] = {"options": dict(spec.options), "args": told}
    if nonce is not None:
        private["progress"] = nonce
    write_private(files["private"], json.dumps(private))
    files["result"] = folder / RESULT_FILE
    return [word for name, path in files.items() for word in (f"--{name}", str(path))]


def write_properties(folder: Path, conf: Mapping[str, str]) -> Path:
    """Write Spark configuration to a file, so that none of it is on a command line."""
    path = folder / "spark.properties"
    own = {
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.ui.showConsoleProgress": "false",  # pyspark's own is true, for people at a terminal
    }
    write_private(path, properties_text({**own, **conf}))
    return path


def write_private(path: Path, text: str) -> None:
    """Write a new file that nobody but its owner can read, at any moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
