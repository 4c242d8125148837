"""What of PySpark is there in one supported version and not in the other, found out once.

``pyspark`` and ``pyspark-client`` put their files into one folder, and the one that was installed last
wins.  Airflow's Spark provider needs the client, a job needs the whole.  With different versions Python
functions fail in the workers, far from the cause.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from table_core.errors import ArgumentError, MissingPackageError

__all__ = ["STREAM_ADMISSION", "require_equal_versions", "without_pyspark"]

STREAM_ADMISSION: bool
"""Whether Spark lets a Python source limit what a micro-batch reads (4.2), and tells it of
``Trigger.AvailableNow``.  Looked up when it is asked for: to look imports Spark."""


def __getattr__(name: str) -> object:
    if name != "STREAM_ADMISSION":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    there = find_spec("pyspark") is not None
    return there and find_spec("pyspark.sql.streaming.datasource") is not None


def without_pyspark(error: ImportError) -> MissingPackageError | None:
    """What to install where ``error`` says that PySpark is missing; ``None`` where it says another thing."""
    if (error.name or "").partition(".")[0] not in {"pyspark", "py4j"}:
        return None
    return MissingPackageError.of("work on Spark", "spark", error)


def require_equal_versions() -> None:
    """Require that what shares the folder of PySpark is of one version.

    Raises:
        ArgumentError: it is not; says what to install.
    """
    try:
        whole, client = version("pyspark"), version("pyspark-client")
    except PackageNotFoundError:  # one of them alone is as good
        return
    if whole != client:
        raise ArgumentError(
            f"pyspark {whole} and pyspark-client {client} share one folder and must be equal: "
            f"pip install --force-reinstall --no-deps pyspark-client=={whole} pyspark=={whole}",
            argument="pyspark-client",
            value=client,
        )
