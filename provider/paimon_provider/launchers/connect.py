"""Runs a job against a Spark Connect server: a light process beside the worker, rows on the server."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.launchers.environment import cloud_of, job_environment
from paimon_provider.launchers.local_process import ENTRYPOINT
from paimon_provider.launchers.process import JobProcess
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from paimon_provider.connections.warehouse import SparkSettings
    from table_core.jobs.job_spec import JobSpec

__all__ = ["ConnectLauncher", "with_own_token"]

_TOKEN: Final = "spark.connect.authenticate.token"
_TOKEN_VARIABLE: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"


@contextmanager
def with_own_token(conf: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """``conf`` without the token, which a client that is made meanwhile sends; the worker's own goes nowhere."""
    left = dict(conf)
    token, before = left.pop(_TOKEN, None), os.environ.pop(_TOKEN_VARIABLE, None)
    if token is not None:
        os.environ[_TOKEN_VARIABLE] = token
    try:
        yield left
    finally:
        os.environ.pop(_TOKEN_VARIABLE, None)
        if before is not None:
            os.environ[_TOKEN_VARIABLE] = before


class ConnectLauncher:
    """``python -m table_core.spark.entrypoint --remote sc://host:15002``."""

    def __init__(
        self, spark: SparkSettings, *, module: str = ENTRYPOINT, grace_seconds: float = 5.0
    ) -> None:
        if not spark.master.startswith("sc://") or "token=" in spark.master:
            raise ArgumentError(
                "backend 'connect' needs spark_master=sc://host:port, without a token: put it into "
                f"the password as {_TOKEN!r}",
                argument="spark_master",
                value=spark.master.partition(";")[0],
            )
        self.spark = spark
        self.module = module
        self._job = JobProcess(grace_seconds=grace_seconds)

    def run(self, spec: JobSpec, *, log: Callable[[str], None]) -> dict[str, Any]:
        """Run ``spec`` in a process that talks to the server."""
        environment = job_environment(self.spark.env, cloud_of(spec.warehouse, spec.options))
        conf = dict(self.spark.conf)
        token = conf.pop(_TOKEN, None)
        if token is not None:
            environment[_TOKEN_VARIABLE] = token

        def command(_: Path, arguments: Sequence[str]) -> Sequence[str]:
            return [sys.executable, "-m", self.module, "--remote", self.spark.master, *arguments]

        spec = replace(spec, options={**spec.options, **conf})
        return self._job.run(spec, command, environment=environment, log=log)

    def kill(self) -> None:
        """End the process, which drops its session on the server and what runs in it."""
        self._job.kill()
