"""A launcher runs one job spec and can be told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable

    from paimon_provider.connections.warehouse import SparkSettings
    from table_core.jobs.job_spec import JobSpec

__all__ = ["Launcher", "launcher_for"]


class Launcher(Protocol):
    """Where a job runs."""

    def run(self, spec: JobSpec, *, log: Callable[[str], None]) -> dict[str, Any]:
        """Run ``spec`` to its end and return its result document.

        ``log`` takes the lines that the job prints, while it runs.

        Raises:
            TableError: the job's own error, as if it had been raised here.
            JobFailedError: the job ended without a result.
        """
        ...

    def kill(self) -> None:
        """End the job and everything it started, if it runs."""
        ...


def launcher_for(engine: str, spark: SparkSettings) -> Launcher:
    """The launcher for ``engine``; for Spark, the one that the connection asks for.

    Raises:
        ArgumentError: no such engine; ``auto`` is decided before.
    """
    from paimon_provider.launchers.connect import ConnectLauncher
    from paimon_provider.launchers.embedded import EmbeddedLauncher
    from paimon_provider.launchers.local_process import LocalProcessLauncher
    from paimon_provider.launchers.spark_submit import SparkSubmitLauncher
    from paimon_provider.launchers.standalone import StandaloneLauncher

    if engine == "local":
        return EmbeddedLauncher()
    if engine != "spark":
        raise ArgumentError(
            f"engine={engine!r} is none of {', '.join(ENGINES)}", argument="engine", value=engine
        )
    match spark.backend:
        case "local":
            return LocalProcessLauncher(spark)
        case "connect":
            return ConnectLauncher(spark)
        case "standalone":
            return StandaloneLauncher(spark)
    return SparkSubmitLauncher(spark)
