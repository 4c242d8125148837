"""Runs one job: ``python -m table_core.spark.entrypoint --spec FILE --result FILE``.

Also the file that ``spark-submit`` takes.  Standard output is progress, one JSON object a line; the
result file is written whole, for errors too, and is all that a launcher needs to read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if __name__ == "__main__" and not __package__:  # as a script its folder comes first on the path
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from table_core.errors import ArgumentError, ErrorKind, JobFailedError, TableError
from table_core.jobs.action import RunBy
from table_core.jobs.job_spec import JobResult, JobSpec
from table_core.jobs.last_line import done_facts, failed_facts
from table_core.jobs.registry import action_of
from table_core.spark._compat import without_pyspark
from table_core.spark.session.lifetime import end_when_told, end_with_runner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from table_core.spark.session.progress import TaskProgress

__all__ = ["EXIT_CODES", "main"]

EXIT_CODES: Final[Mapping[ErrorKind, int]] = {
    ErrorKind.CONFLICT: 10,
    ErrorKind.UNAVAILABLE: 11,
    ErrorKind.INVALID: 12,
    ErrorKind.CORRUPT: 13,
    ErrorKind.UNSUPPORTED: 14,
    ErrorKind.NOT_FOUND: 15,
    ErrorKind.UNKNOWN_OUTCOME: 16,
}
"""Exit status by the kind of the error in the result file; 0 is done, 2 misuse of the command."""
_SESSION: Final = "spark."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job that the command line names; the exit status."""
    parser = argparse.ArgumentParser(prog="table_core.spark.entrypoint", description=__doc__)
    parser.add_argument("--spec", required=True, help="file with the job spec")
    parser.add_argument("--result", required=True, help="file to write the result to")
    parser.add_argument("--remote", help="URL of a Spark Connect server, e.g. sc://host:15002")
    parser.add_argument("--conf", help="file of Spark properties, one key=value a line")
    parser.add_argument(
        "--private",
        help="JSON file with more 'options' and 'args' of the spec, that hold secrets; "
        "deleted when read",
    )
    parser.add_argument(
        "--progress", help="file that gets the lines of progress too, for who cannot see the output"
    )
    options = parser.parse_args(arguments)
    tell = _Progress(options.progress)
    end_with_runner()
    if options.remote is not None:  # the server would not notice for minutes
        end_when_told()
    job = _Job(tell, remote=options.remote)
    try:
        document = job.run(options.spec, options.conf, options.private)
        result, last = JobResult(result=document), job.done(document)
    except TableError as error:
        result, last = JobResult(error=error), failed_facts(error)
    except Exception as error:  # noqa: BLE001  # the launcher must hear of every fault
        explained = _explained(error)
        result, last = JobResult(error=explained), failed_facts(explained, error)
    finally:
        job.stop()
    _write_whole(Path(options.result), result.to_json())
    tell("done" if result.error is None else "failed", **last)
    return 0 if result.error is None else EXIT_CODES[result.error.kind]


class _Job:
    """One job and the session that it may start."""

    def __init__(self, tell: _Progress, *, remote: str | None) -> None:
        self._tell = tell
        self._remote = remote
        self._session: SparkSession | None = None
        self._tasks: TaskProgress | None = None
        self._conf: dict[str, str] = {}
        self._spec: JobSpec | None = None

    def run(
        self, spec_path: str, conf_path: str | None, private_path: str | None
    ) -> dict[str, object]:
        from table_core.jobs.run import run_embedded, run_job

        spec = JobSpec.from_json(_text(spec_path))
        if private_path is not None:
            spec = _completed(spec, private_path, self._tell)
        self._spec = spec
        self._conf = {} if conf_path is None else _properties(_text(conf_path))
        self._conf |= {k: v for k, v in spec.options.items() if k.startswith(_SESSION)}
        self._tell("started", action=spec.action, table=spec.table)
        if action_of(spec.action).run_by is RunBy.PROCESS:
            return run_embedded(spec, self._tell)
        from table_core.spark.engine import SparkEngine

        return run_job(spec, SparkEngine(self._open, self._tell))

    def done(self, document: Mapping[str, object]) -> dict[str, object]:
        """What the job did, as its last line tells it."""
        assert self._spec is not None, "there is a document of a job that ran"
        return done_facts(self._spec.action, self._spec.table, document)

    def stop(self) -> None:
        if self._tasks is not None:
            self._tasks.stop()
        if self._session is not None:
            self._session.stop()

    def _open(self) -> SparkSession:
        from table_core.spark.session.create import open_session
        from table_core.spark.session.progress import TaskProgress

        self._session = open_session(self._conf, self._remote)
        if self._remote is None:
            context = self._session.sparkContext
            self._tell("spark", application=context.applicationId, ui=context.uiWebUrl)
        self._tasks = TaskProgress(self._session, self._tell)
        return self._session


def _explained(error: Exception) -> TableError:
    """What ``error`` means to the caller; Spark's own errors only if Spark was loaded at all."""
    failures: Any = sys.modules.get("table_core.spark.session.failures")
    if failures is not None and isinstance(error, failures.SPARK_ERRORS):
        explained: TableError = failures.explained(error)
        return explained
    if isinstance(error, ImportError):  # what a job misses today it will miss tomorrow
        return without_pyspark(error) or ArgumentError(
            f"the job misses a module: {error}; install it where the job runs",
            argument="environment",
            value=error.name,
        )
    return JobFailedError(f"{type(error).__name__}: {error}", exit_code=None, log_tail="")


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error}", argument="spec", value=path) from error


def _completed(spec: JobSpec, path: str, tell: _Progress) -> JobSpec:
    """``spec`` with what the file at ``path`` adds to it; the file is gone then."""
    text = _text(path)
    os.unlink(path)
    try:
        more = json.loads(text)
    except ValueError as error:
        raise ArgumentError(f"--private: {path} is not JSON", argument="private") from error
    tell.begin_with(str(more.get("progress") or ""))
    return replace(
        spec,
        options={**spec.options, **more.get("options", {})},
        args={**spec.args, **more.get("args", {})},
    )


def _properties(text: str) -> dict[str, str]:
    """``key=value`` lines, as in ``spark-defaults.conf`` with ``=``."""
    properties = {}
    for line in text.split("\n"):  # other separators are part of a value, and refused in it
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        key, equals, value = stripped.partition("=")
        if not equals:
            raise ArgumentError(f"--conf: {stripped!r} is not key=value", argument="conf")
        properties[key.strip()] = value.strip()
    return properties


class _Progress:
    """Tells each stage as it begins, and how far its tasks are."""

    def __init__(self, path: str | None) -> None:
        self._file: int | None = None
        self._nonce = ""
        if path is not None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def begin_with(self, nonce: str) -> None:
        """Begin each line of the output so: whoever reads it takes other lines for mere text."""
        self._nonce = nonce

    def __call__(self, stage: str, **facts: object) -> None:
        line = json.dumps({"event": "progress", "stage": stage, **facts}) + "\n"
        sys.stdout.write(self._nonce + line)  # at once: threads tell, too
        sys.stdout.flush()
        if self._file is not None:
            os.write(self._file, line.encode())


def _write_whole(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


if __name__ == "__main__":
    sys.exit(main())
