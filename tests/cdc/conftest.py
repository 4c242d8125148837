from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cdc.servers import Kafka, MariaDb, Postgres


def need(server: type[MariaDb | Postgres | Kafka]) -> None:
    why = server.missing()
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
