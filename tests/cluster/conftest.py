"""A session on a standalone cluster that runs slow tasks twice, and loses executors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import table_core as tc
from tests.provider.conftest import airflow_home  # noqa: F401  # before anything imports Airflow
from tests.spark_servers import SMALL, Standalone, standalone

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.2",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "0ms",
}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Standalone]:
    with standalone() as found:
        yield found


@pytest.fixture(scope="session")
def spark(cluster: Standalone) -> Iterator[SparkSession]:
    from table_core.spark.session.create import open_session

    conf = {
        **SMALL,
        **SPECULATION,
        "spark.master": cluster.master,
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
        "spark.default.parallelism": "8",
        "spark.task.maxFailures": "8",
    }
    session = open_session(conf)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    found = tc.open_catalog(str(tmp_path / "warehouse"))
    found.create_database("d")
    return found
