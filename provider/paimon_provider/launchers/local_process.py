"""Runs a job on Spark in local mode, as a process beside the worker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.launchers.environment import cloud_of, job_environment
from paimon_provider.launchers.process import JobProcess, write_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from paimon_provider.connections.warehouse import SparkSettings
    from table_core.jobs.job_spec import JobSpec

__all__ = ["ENTRYPOINT", "LocalProcessLauncher"]

ENTRYPOINT: Final = "table_core.spark.entrypoint"


class LocalProcessLauncher:
    """``python -m table_core.spark.entrypoint`` with a master of ``local[…]``."""

    def __init__(
        self, spark: SparkSettings, *, module: str = ENTRYPOINT, grace_seconds: float = 5.0
    ) -> None:
        self.spark = spark
        self.module = module
        self._job = JobProcess(grace_seconds=grace_seconds)

    def run(self, spec: JobSpec, *, log: Callable[[str], None]) -> dict[str, Any]:
        """Run ``spec`` in a process of its own."""
        environment = job_environment(self.spark.env, cloud_of(spec.warehouse, spec.options))
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"

        def command(folder: Path, arguments: Sequence[str]) -> Sequence[str]:
            conf = {"spark.master": self.spark.master, **self.spark.conf}
            properties = write_properties(folder, conf)
            # pyspark starts its JVM through spark-submit and hands it these arguments.
            environment["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {properties} pyspark-shell"
            return [sys.executable, "-m", self.module, *arguments]

        return self._job.run(spec, command, environment=environment, log=log)

    def kill(self) -> None:
        """End the driver, its JVM and its Python workers."""
        self._job.kill()
