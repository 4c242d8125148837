"""One Spark session for all tests of this folder, and an empty catalog for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import table_core as tc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from table_core.spark.session import open_session

    session = open_session(
        {
            "spark.master": "local[2]",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    found = tc.open_catalog(str(tmp_path / "warehouse"))
    found.create_database("d")
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/tests/spark/" in item.path.as_posix():
            item.add_marker(pytest.mark.spark)
