from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cdc.kafka_on_spark import spark_jars
from tests.cdc.servers import Kafka, MariaDb, Postgres


def need(server: type[MariaDb | Postgres | Kafka], *, whole: bool = False) -> None:
    """Skip where the server is not installed, or (``whole``) outside of ``make test-cdc``."""
    why = server.missing()
    if whole and not os.environ.get("CDC_REQUIRED"):
        pytest.skip("a part of make test-cdc only")
    if why and os.environ.get("CDC_REQUIRED"):
        pytest.fail(why)
    if why:
        pytest.skip(why)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    need(MariaDb)
    with MariaDb() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    need(Postgres)
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    need(Kafka)
    with Kafka() as server:
        yield server


@pytest.fixture(scope="module")
def postgres_of_lives() -> Iterator[Postgres]:
    need(Postgres)
    with Postgres("-c max_prepared_transactions=5") as server:
        yield server


@pytest.fixture(scope="session")
def jars() -> str:
    need(Kafka)
    return spark_jars()
