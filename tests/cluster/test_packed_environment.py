"""Clusters with nothing installed: executors take their Python from an archive that the job brings."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from paimon_provider.connections.warehouse import SparkSettings
from paimon_provider.launchers.base import launcher_for
from table_core.jobs.job_spec import JobSpec
from tests.servers import ROOT
from tests.spark_servers import SMALL, standalone

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(600)]


def packed(folder: Path) -> Path:
    """An environment as ``venv-pack`` makes it; its Python notes that it was started."""
    start = folder / "python"
    start.write_text(
        f'#!/bin/sh\ntouch {folder}/started\nhere=$(dirname "$0")/..\n'
        f'export PYTHONPATH="$here/site:$PYTHONPATH"\nexec {sys.executable} "$@"\n'
    )
    start.chmod(0o755)
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as out:
        out.add(start, "bin/python")
        out.add(ROOT / "table_core", "site/table_core")
    return archive


def test_executors_run_the_python_of_the_archive(catalog: tc.Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    spec = JobSpec(
        action="write",
        warehouse=catalog.storage.uri,
        table="d.t",
        args={"sql": "SELECT id FROM range(10)", "sources": {}},
    )
    with standalone(project="") as cluster:
        conf = {
            **SMALL,
            "spark.archives": f"{packed(tmp_path)}#environment",
            "spark.pyspark.python": "./environment/bin/python",
        }
        settings = SparkSettings(backend="spark-submit", master=cluster.master, conf=conf)
        launcher_for("spark", settings).run(spec, log=print)
    assert table.read().to_arrow().num_rows == 10
    assert (tmp_path / "started").exists()
