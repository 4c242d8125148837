"""The Python of the workers: in a local session it must be one that has this package."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Final

from table_core.spark.session.failures import other_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["has_package", "require_workers_python"]

_OURS: Final = "table_core"
_LOOKS: Final = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({_OURS!r}) is None)"


def require_workers_python(session: SparkSession) -> None:
    """Refuse a local session whose workers run a Python without this package: their own error names no way out.

    Spark takes ``PYSPARK_PYTHON``, else ``python3`` of the path, which is not that of a virtual environment that is
    not active.

    Raises:
        ArgumentError: says what to set.
    """
    context = getattr(session, "_sc", None)  # none over Connect
    if context is None or not str(context.master).startswith("local"):
        return
    if not has_package(str(context.pythonExec)):
        raise other_python(_OURS)


@cache
def has_package(python: str) -> bool:
    """Whether ``python`` finds this package as a worker would; True where there is no such program: Spark tells of that."""
    program = shutil.which(python)
    if program is None:
        return True
    return not subprocess.run([program, "-c", _LOOKS], check=False, capture_output=True).returncode
