"""One Spark session for all tests of this folder, and an empty catalog for each.

``SPARK_TESTS_ON`` says where the rows are computed: in this process (the default), on a
``standalone`` cluster, or on a Spark ``connect`` server; ``make test-spark-cluster`` runs the folder on both.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

import table_core as tc
from tests import spark_servers
from tests.quick_spark import ADAPTIVE, QUICK, quick_workers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from table_core.spark.session.create import open_session

    place = os.environ.get("SPARK_TESTS_ON", "here")
    with ExitStack() as servers:
        if place == "connect":
            session = open_session(QUICK, servers.enter_context(spark_servers.connect()).url)
        elif place == "standalone":
            cluster = servers.enter_context(spark_servers.standalone())
            conf = {**QUICK, **spark_servers.SMALL, "spark.master": cluster.master}
            session = open_session({**conf, "spark.driver.host": "127.0.0.1"})
        else:
            assert place == "here", place
            servers.enter_context(quick_workers())
            session = open_session({**QUICK, "spark.master": "local[2]"})
        if place != "connect":
            session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture
def adaptive(spark: SparkSession) -> Iterator[None]:
    """Queries are planned anew between their stages, as in a session of Spark's defaults."""
    before = str(spark.conf.get(ADAPTIVE))
    spark.conf.set(ADAPTIVE, "true")
    yield
    spark.conf.set(ADAPTIVE, before)


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    found = tc.open_catalog(str(tmp_path / "warehouse"))
    found.create_database("d")
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/tests/spark/" in item.path.as_posix():
            item.add_marker(pytest.mark.spark)
