"""Spark for tests of a few rows: by day without what pays for many, at night as users have it.

Of a test's seconds Spark would spend most on compiling each query and on planning it anew between its stages, and a
Python worker on the package of Spark, which comes to it as a zip of sources that each process compiles.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from tests.lanes import PROFILE
from tests.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ADAPTIVE", "QUICK", "quick_workers"]

ADAPTIVE: Final = "spark.sql.adaptive.enabled"
IS_NIGHT: Final = PROFILE == "nightly"
_ALWAYS: Final = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_BY_DAY: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    ADAPTIVE: "false",
}
QUICK: Final[Mapping[str, str]] = _ALWAYS if IS_NIGHT else _ALWAYS | _BY_DAY
"""Settings of a session."""
_PYTHON: Final = "PYSPARK_PYTHON"


@contextmanager
def quick_workers() -> Iterator[None]:
    """By day, let Python workers of sessions that start meanwhile find the package of Spark where it is installed."""
    if IS_NIGHT or _PYTHON in os.environ:
        yield
        return
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(prefix="python-") as folder:
        program = Path(folder, "python")
        lines = ["#!/bin/sh", f'PYTHONPATH={quote(path)} exec {quote(sys.executable)} "$@"', ""]
        program.write_text("\n".join(lines))
        program.chmod(0o755)
        os.environ[_PYTHON] = str(program)
        try:
            yield
        finally:
            del os.environ[_PYTHON]
