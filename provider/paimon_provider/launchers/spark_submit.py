"""Runs a job by ``spark-submit`` in client mode: standalone, YARN, Kubernetes or local."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.launchers.environment import cloud_of, job_environment
from paimon_provider.launchers.local_process import ENTRYPOINT
from paimon_provider.launchers.process import JobProcess, write_properties
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.options.java import require_java

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paimon_provider.connections.warehouse import SparkSettings
    from table_core.jobs.job_spec import JobSpec

__all__ = ["SparkSubmitLauncher", "script_of"]

_DEPLOY_MODE: Final = "spark.submit.deployMode"


class SparkSubmitLauncher:
    """The driver runs beside the worker, the executors where the master puts them."""

    def __init__(
        self, spark: SparkSettings, *, module: str = ENTRYPOINT, grace_seconds: float = 10.0
    ) -> None:
        self.spark = spark
        self.module = module
        self._job = JobProcess(grace_seconds=grace_seconds)

    def run(self, spec: JobSpec, *, log: Callable[[str], None]) -> dict[str, Any]:
        """Submit ``spec`` and wait for its result.

        Raises:
            ArgumentError: there is no ``spark-submit`` beside the worker's Python or on the path, or no
                Java.
            UnsupportedFeatureError: the configuration asks for cluster mode.
        """
        if self.spark.conf.get(_DEPLOY_MODE, "client") != "client":
            raise UnsupportedFeatureError(
                f"{_DEPLOY_MODE}={self.spark.conf[_DEPLOY_MODE]}: the result would stay where the "
                "driver ran; leave it out, or use backend 'standalone' for a driver on the cluster",
                feature="cluster deploy mode of spark-submit",
            )
        environment = job_environment(self.spark.env, cloud_of(spec.warehouse, spec.options))
        if self.spark.master.startswith("local"):
            environment["SPARK_LOCAL_IP"] = "127.0.0.1"
        binary = shutil.which("spark-submit", path=environment["PATH"])
        if binary is None:
            raise ArgumentError(
                "no spark-submit: install pyspark in the worker's environment",
                argument="spark_backend",
                value=self.spark.backend,
            )
        require_java(environment, lambda name, path: shutil.which(name, path=path))
        script = script_of(self.module)

        def command(folder: Path, arguments: Sequence[str]) -> Sequence[str]:
            conf = {
                "spark.app.name": f"paimon {spec.action} {spec.table}",
                _DEPLOY_MODE: "client",
                **self.spark.conf,
            }
            return [
                *(binary, "--master", self.spark.master),
                *("--properties-file", str(write_properties(folder, conf))),
                *(str(script), *arguments),
            ]

        return self._job.run(spec, command, environment=environment, log=log)

    def kill(self) -> None:
        """End the driver; the master takes its executors away."""
        self._job.kill()


def script_of(module: str) -> Path:
    """The file of ``module``, found without importing its code."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ArgumentError(f"no module {module} in this Python", argument="module", value=module)
    return Path(spec.origin)
