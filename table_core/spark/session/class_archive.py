"""Spark's classes, read and checked once: an archive that each later JVM maps into memory.

Reading and checking some 15,000 classes is half of what a short job costs.  The JDK calls the archive
class data sharing.  ``python -m table_core.spark.class_archive`` makes it; sessions that start a JVM of
their own use it from then on.  It belongs to one Java and one Spark.  A JVM checks that it fits, and
goes on without it if it does not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
from pyspark.find_spark_home import _find_spark_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SUBMIT_OPTIONS", "archive_of", "recorded_into", "used"]

SUBMIT_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""Variable with options of a driver's JVM, which Spark's own scripts read; options of the session come later and win."""
_SILENT: Final = "-Xlog:cds*=off"
"""A JVM that the archive does not fit warns on the output of the job, who can do nothing about it."""


def archive_of(environment: Mapping[str, str]) -> Path | None:
    """Where the archive is for the Java and the Spark of ``environment``, made or not; None without Java.

    It lies in the Python environment, beside the packages: who may write there chooses the code anyway.
    """
    home = environment.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else environment.get("PATH"))
    if java is None:
        return None
    program = Path(java).resolve()
    parts = (str(program), str(program.stat().st_mtime_ns), _find_spark_home(), pyspark.__version__)
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "paimon-table-core" / f"spark-{key}.jsa"


@contextmanager
def used() -> Iterator[None]:
    """Let a JVM that starts meanwhile use the archive, if it was made."""
    archive = archive_of(os.environ)
    if archive is None or not archive.is_file():
        yield
        return
    with _options(f'-XX:SharedArchiveFile="{archive}" {_SILENT}'):
        yield


@contextmanager
def recorded_into(path: Path) -> Iterator[None]:
    """Let a JVM that starts meanwhile write an archive of its classes to ``path`` when it ends."""
    with _options(f'-XX:ArchiveClassesAtExit="{path}" {_SILENT}'):
        yield


@contextmanager
def _options(more: str) -> Iterator[None]:
    before = os.environ.get(SUBMIT_OPTIONS)
    # What the user has set comes last: of options that are there twice a JVM takes the last.
    os.environ[SUBMIT_OPTIONS] = f"{more} {before or ''}".strip()
    try:
        yield
    finally:
        if before is None:
            del os.environ[SUBMIT_OPTIONS]
        else:
            os.environ[SUBMIT_OPTIONS] = before
