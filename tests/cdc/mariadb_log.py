"""A database of a MariaDB, and the tables that follow its binary log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import table_core as tc
from tests.cdc.servers import MariaDb


class Log:
    """A database of its own, and the tables that follow it."""

    def __init__(self, server: MariaDb, folder: Path, name: str) -> None:
        self.server, self.name = server, name
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        server.sql(
            f"CREATE DATABASE {name}",
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY, v VARCHAR(20))",
            f"INSERT INTO {name}.t VALUES (1, 'first')",
        )
        self.sync()

    def source(self, **more: Any) -> tc.MySqlSource:
        return tc.MySqlSource(
            "127.0.0.1", "root", port=self.server.port, databases=self.name, **more
        )

    def sync(self, tables: str | None = None, **more: Any) -> tc.ResultDocument:
        return tc.sync_database(self.catalog, "lake", self.source(tables=tables), **more)

    def rows(self, table: str = "t") -> list[tuple[Any, ...]]:
        found = self.catalog.table(f"lake.{table}").read().to_arrow().to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def there(self, table: str = "t") -> list[tuple[Any, ...]]:
        return sorted(self.server.sql(f"SELECT * FROM {self.name}.{table}"))
