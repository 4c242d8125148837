"""What starts Spark's Python workers in a local session: they are born ready for the work of this package.

Spark starts one such process, which forks a worker for each core.  Its own leaves them much to do.  The packages of
Spark come first on their path as zips of sources, whose directories Python reads again for each task, and each worker
imports Arrow and this package anew.  Here they are imported before the fork, from where they are installed.

``open_session`` sets it; ``spark.python.daemon.module=pyspark.daemon`` takes Spark's own.  Files of ``--py-files`` are
on the path as ever: a worker puts them there.
"""

from __future__ import annotations

import gc
import sys
import zipfile
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

__all__ = ["MODULE", "installed_path", "leave_zips"]

MODULE: Final = "table_core.spark.session.python_daemon"
_ZIPS: Final = ("pyspark.zip", "-src.zip")
_VERSION: Final = "pyspark/version.py"
_BEFORE_THE_FORK: Final = (
    "pyarrow.compute",
    "pyarrow.parquet",
    "table_core.spark.session.tasks",
    "table_core.spark.reading.frames",
    "table_core.spark.writing.in_tasks",
)
_LOOKUP: Final = "pyspark.sql.worker.lookup_data_sources"
"""A kind of worker that imports nothing of ours."""


def installed_path(path: list[str]) -> list[str]:
    """``path`` without the zips of Spark, where the same version of it is installed; else as it is."""
    zips = [entry for entry in path if entry.endswith(_ZIPS)]
    rest = [entry for entry in path if entry not in zips]
    spec = PathFinder.find_spec("pyspark", rest)
    if spec is None or spec.origin is None or PathFinder.find_spec("py4j", rest) is None:
        return path
    version = Path(spec.origin).with_name("version.py").read_bytes()
    for entry in zips:
        if entry.endswith(_ZIPS[0]):
            try:
                with zipfile.ZipFile(entry) as packed:
                    if packed.read(_VERSION) != version:
                        return path
            except (OSError, KeyError, zipfile.BadZipFile):
                return path
    return rest


def leave_zips() -> None:
    """Take the zips of Spark off the path, where that may be, and forget who has looked into them.

    Python asks each of those to read its directory again whenever a task puts files on the path.
    """
    path = installed_path(sys.path)
    for entry in set(sys.path).difference(path):
        for known in [name for name in sys.path_importer_cache if name.startswith(entry)]:
            del sys.path_importer_cache[known]
    sys.path[:] = path


def main() -> None:
    """Serve until Spark closes standard input; ``sys.argv[1]`` names the kind of worker."""
    leave_zips()
    daemon = import_module("pyspark.daemon")
    for name in () if _LOOKUP in sys.argv else _BEFORE_THE_FORK:
        import_module(name)
    gc.collect()
    gc.freeze()  # what is there stays, and pages stay shared
    daemon.manager()


if __name__ == "__main__":
    main()
