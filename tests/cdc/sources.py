"""Sources as users write them, of the servers of these tests."""

from __future__ import annotations

from typing import Any

from tests.cdc.servers import MariaDb, Postgres


def postgres_source(server: Postgres, schemas: str, slot: str) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": server.port,
        "user": "postgres",
        "database": "postgres",
        "schemas": schemas,
        "slot": slot,
        "publication": f"{slot}_pub",
        "batch_changes": 500,
    }


def mariadb_source(server: MariaDb, databases: str, **more: Any) -> dict[str, Any]:
    given = {"host": "127.0.0.1", "port": server.port, "user": "root", "databases": databases}
    return {**given, **more}
