"""A table of a server and the table that follows it, for audits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.sources import postgres_source

ROWS = 3000


class Pair:
    """A table of a server with rows, and the table here that follows it."""

    def __init__(self, server: MariaDb | Postgres, folder: Path, name: str) -> None:
        self.server, self.name = server, name
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        is_mariadb = isinstance(server, MariaDb)
        server.sql(f"CREATE {'DATABASE' if is_mariadb else 'SCHEMA'} {name}")
        self.source: Any = (
            tc.MySqlSource("127.0.0.1", "root", port=server.port, databases=name)
            if is_mariadb
            else tc.PostgresSource(**postgres_source(server, name, name))
        )

    def sql(self, *statements: str) -> None:
        """Run statements where the tables are."""
        use = "USE" if isinstance(self.server, MariaDb) else "SET search_path TO"
        self.server.sql(f"{use} {self.name}", *statements)

    def fill(self, table: str, *values: str, rows: int = ROWS) -> None:
        """Give a table ``rows`` rows; ``values`` are made of ``n``."""
        maria = isinstance(self.server, MariaDb)
        numbers = f"seq_1_to_{rows}" if maria else f"generate_series(1, {rows}) AS n"
        listed = ", ".join(one.replace("{n}", "seq" if maria else "n") for one in values)
        self.sql(f"INSERT INTO {table} SELECT {listed} FROM {numbers}")

    def sync(self) -> None:
        tc.sync_database(self.catalog, "lake", self.source)

    def audit(self, *tables: str, **more: Any) -> dict[str, Any]:
        names = [f"lake.{table}" for table in tables or ("t",)]
        return dict(tc.source_audit(self.catalog, names, self.source, **more).details)

    def write(self, rows: list[dict[str, Any]], kind: str = "+I", table: str = "t") -> None:
        """As nobody should: past the sync."""
        to = self.catalog.table(f"lake.{table}")
        batch = pa.Table.from_pylist(rows, to.arrow_schema)
        with to.write() as writer:
            writer.write(batch.append_column("_ROW_KIND", pa.array([kind] * len(rows))))
            writer.commit()
