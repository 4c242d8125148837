"""Make Spark's local sessions start in half the time: ``python -m table_core.spark.class_archive``.

Runs small jobs, so that their classes are loaded, and keeps those classes in an archive for later JVMs
(``session.class_archive``).  Takes about a minute and 170 MB.  Do it again for another Java or Spark.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark import SparkContext

from table_core.errors import ArgumentError, JobFailedError, TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_job
from table_core.spark.engine import SparkEngine
from table_core.spark.session.class_archive import archive_of, recorded_into
from table_core.spark.session.create import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["main", "make_archive"]

_CONF: Final = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"}
_ORDERS: Final = {
    "columns": {
        "id": "BIGINT",
        "country": "STRING",
        "amount": "DECIMAL(12, 2)",
        "at": "TIMESTAMP(3)",
    },
    "options": {"bucket": "-1"},
}
_SALES: Final = {
    "columns": {"country": "STRING NOT NULL", "revenue": "DECIMAL(18, 2)", "n": "BIGINT"},
    "primary_key": ["country"],
    "options": {"bucket": "1"},
}
_ROWS: Final = (
    "SELECT id, concat('c', id % 7) country, CAST(id AS DECIMAL(12, 2)) amount, "
    "CAST(timestamp_millis(id) AS TIMESTAMP_NTZ) at FROM range(1000)"
)
_OF: Final = {"orders": {"table": "d.orders", "mode": "changes", "position": None}}
_SUMS: Final = (
    "SELECT o.country, CAST(sum(amount) AS DECIMAL(18, 2)) revenue, count(*) n FROM orders o "
    "JOIN (SELECT DISTINCT country FROM orders WHERE amount > 3) c ON c.country = o.country GROUP BY 1"
)
_SEEN: Final = {"orders": {"table": "d.orders", "mode": "snapshot", "position": None}}
_MERGE: Final[dict[str, Any]] = {
    "source": {"sql": "SELECT DISTINCT country FROM orders", "sources": _SEEN},
    "on": ["country"],
    "when": [
        {
            "action": "not-matched-insert",
            "values": {"country": "source.country", "revenue": "0", "n": "0"},
            "condition": None,
        },
        {"action": "not-matched-by-source-delete", "values": None, "condition": None},
    ],
}
_JOBS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("create-table", "d.orders", _ORDERS),
    ("create-table", "d.sales", _SALES),
    ("write", "d.orders", {"sql": _ROWS}),
    ("write", "d.sales", {"sql": _SUMS, "sources": _OF}),
    ("write", "d.sales", {"sql": _SUMS, "sources": _SEEN}),
    ("merge-into", "d.sales", _MERGE),
    ("compact", "d.sales", {"strategy": "full"}),
)
"""What most jobs are like: a flow, a query, a merge, a compaction."""


def make_archive() -> Path:
    """Make the archive for this Java and this Spark; where it is.

    Raises:
        ArgumentError: there is no Java, or a session runs in this process already.
        JobFailedError: Java wrote no archive.
        OSError: the folder of the Python environment cannot be written.
    """
    archive = archive_of(os.environ)
    if archive is None:
        raise ArgumentError("there is no Java on the path", argument="JAVA_HOME", value=None)
    if SparkContext._gateway is not None:  # noqa: SLF001
        raise ArgumentError(
            "Spark runs in this process already: make the archive in one of its own",
            argument="session",
        )
    archive.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with recorded_into(draft):
            session = open_session(_CONF)
        try:
            _run_jobs(session)
        finally:
            _end(session)
        if not draft.is_file():
            raise JobFailedError(
                "Java wrote no archive: version 17 or newer does", exit_code=None, log_tail=""
            )
        draft.chmod(0o644)
        os.replace(draft, archive)
    finally:
        draft.unlink(missing_ok=True)
    return archive


def _run_jobs(session: SparkSession) -> None:
    with tempfile.TemporaryDirectory(prefix="paimon-archive-") as folder:
        warehouse = Path(folder).as_uri()
        for action, table, args in _JOBS:
            spec = JobSpec(action=action, warehouse=warehouse, table=table, args=args)
            run_job(spec, SparkEngine(session))


def _end(session: SparkSession) -> None:
    """End the JVM as it ends by itself: only then it writes what it was told to."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def main() -> int:
    """Make the archive and say where it is."""
    started = time.monotonic()
    try:
        archive = make_archive()
    except (TableError, OSError) as error:
        sys.stderr.write(f"class archive: {error}\n")
        return 1
    size = archive.stat().st_size >> 20
    seconds = time.monotonic() - started
    sys.stdout.write(f"{archive}: {size} MB in {seconds:.0f} s; Spark's sessions use it\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
