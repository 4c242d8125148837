"""Each database that can keep a catalog, started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import Database, mariadb, postgres


@pytest.fixture(scope="session", params=["postgresql", "mariadb", "sqlite"])
def database_options(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """``storage_options`` of a JDBC catalog with its lock."""
    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("sqlite") / "catalog.db"
        yield {"metastore": "jdbc", "uri": f"jdbc:sqlite:{path}", "lock.enabled": "true"}
        return
    start = postgres if request.param == "postgresql" else mariadb
    with start() as database:
        assert isinstance(database, Database)
        yield database.options
