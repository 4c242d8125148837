"""A pipeline on a real MariaDB: killed anywhere, and its server with it, it goes on exactly."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.cdc.sources import mariadb_source
from tests.eventually import eventually
from tests.lanes import budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cdc.servers import MariaDb

KILLS = budget("KILLS", ci=4, nightly=50)
SEED = int(os.environ.get("SEED", "0"))
SALES = """SELECT c.country, CAST(sum(o.amount) AS DECIMAL(18, 2)) AS revenue, count(*) AS n
FROM paid o JOIN customers c ON c.id = o.customer GROUP BY c.country"""


class Shop:
    """Orders of a server, a pipeline to sales by country in a process of its own, and what they are to be."""

    def __init__(self, server: MariaDb, folder: Path, name: str) -> None:
        self.server, self.name, self.folder = server, name, folder
        self.warehouse = f"file://{folder}/wh"
        server.sql(
            f"CREATE DATABASE {name}",
            f"CREATE TABLE {name}.customers (id BIGINT PRIMARY KEY, country VARCHAR(2))",
            f"CREATE TABLE {name}.orders (id BIGINT PRIMARY KEY, customer BIGINT, amount DECIMAL(12,2))",
            f"INSERT INTO {name}.customers VALUES (0, 'is'), (1, 'no'), (2, 'fi')",
        )
        self.catalog = tc.open_catalog(self.warehouse)
        self.catalog.create_database("lake")
        keyed = {"bucket": "1", "changelog-producer": "input"}
        order = [pa.field("id", pa.int64(), nullable=False), ("customer", pa.int64())]
        self.catalog.create_table(
            "lake.paid",
            pa.schema([*order, ("amount", pa.decimal128(12, 2))]),
            primary_key=("id",),
            options=keyed,
        )
        sums = {f"fields.{one}.aggregate-function": "sum" for one in ("revenue", "n")}
        self.catalog.create_table(
            "lake.sales",
            pa.schema(
                [
                    pa.field("country", pa.string(), nullable=False),
                    ("revenue", pa.decimal128(18, 2)),
                    ("n", pa.int64()),
                ]
            ),
            primary_key=("country",),
            options={"bucket": "1", "merge-engine": "aggregation", **sums},
        )
        self.orders = 0

    @property
    def hops(self) -> list[dict[str, Any]]:
        source = {"kind": "mysql", **mariadb_source(self.server, self.name)}
        sync = {"source": source, "options": {"bucket": "1", "changelog-producer": "input"}}
        paid = {
            "sql": "SELECT id, customer, amount FROM orders",
            "sources": {"orders": {"table": "lake.orders", "mode": "changes"}},
        }
        sales = {
            "sql": SALES,
            "sources": {
                "paid": {"table": "lake.paid", "mode": "changes"},
                "customers": {"table": "lake.customers"},
            },
        }
        return [
            {"name": "shop", "action": "sync-database", "target": "lake", "args": sync},
            {"name": "paid", "action": "write", "target": "lake.paid", "args": paid},
            {"name": "sales", "action": "write", "target": "lake.sales", "args": sales},
        ]

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """The pipeline, by the command line; killed behind this block if it runs still."""
        hops = self.folder / "hops.json"
        hops.write_text(json.dumps(self.hops))
        command = [
            *(
                sys.executable,
                "-m",
                "table_core.cli.main",
                "pipeline",
                "-w",
                self.warehouse,
                "lake",
            ),
            *("--name", "sales", "--hops", str(hops), "--interval", "200 ms"),
        ]
        with (
            (self.folder / "log").open("ab") as log,
            subprocess.Popen(command, stdout=log, stderr=log) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    def order(self) -> None:
        """One more order, and sometimes several in one transaction."""
        first, count = self.orders + 1, 1 + self.orders % 3
        rows = ", ".join(f"({n}, {n % 3}, {n}.25)" for n in range(first, first + count))
        self.server.sql(f"INSERT INTO {self.name}.orders VALUES {rows}")
        self.orders += count

    def counted(self) -> int:
        rows = self.catalog.table("lake.sales").read().to_arrow()
        return sum(n for n in rows["n"].to_pylist() if n)

    def has_all(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until each order counts."""
        eventually(
            lambda: self.counted() >= self.orders or process.poll() is not None,
            f"{self.orders} orders",
        )
        assert process.poll() is None, (self.folder / "log").read_text()[-2000:]
        self.is_exact()

    def is_exact(self) -> None:
        rows = self.catalog.table("lake.sales").read().to_arrow().to_pylist()
        found = {row["country"]: (str(row["revenue"]), row["n"]) for row in rows}
        asked = (
            f"SELECT c.country, CAST(sum(o.amount) AS DECIMAL(18, 2)), count(*) FROM {self.name}.orders o "
            f"JOIN {self.name}.customers c ON c.id = o.customer GROUP BY c.country"
        )
        told = tc.MySqlSource(**mariadb_source(self.server, self.name)).connect().rows(asked)
        assert found == {country: (str(revenue), int(n)) for country, revenue, n in told}


def test_a_pipeline_that_is_killed_anywhere_neither_loses_nor_doubles_a_row(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    shop, chance = Shop(mariadb, tmp_path, "killed"), random.Random(SEED)
    is_over = threading.Event()

    def ordered() -> None:
        while not is_over.is_set():
            shop.order()
            time.sleep(0.05)

    writer = threading.Thread(target=ordered)
    writer.start()
    try:
        for _ in range(KILLS):
            before = shop.counted()
            with shop.running() as process:
                eventually(
                    lambda before=before, process=process: (  # type: ignore[misc]  # mypy infers no default of a lambda
                        shop.counted() > before or process.poll() is not None
                    ),
                    "the pipeline goes on",
                )
                assert process.poll() is None, (tmp_path / "log").read_text()[-2000:]
                time.sleep(chance.random())  # anywhere: there is no moment to wait for
    finally:
        is_over.set()
        writer.join()
    with shop.running() as process:
        shop.has_all(process)
        shop.order()
        shop.has_all(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    shop.is_exact()


def test_a_server_that_is_killed_is_waited_for_and_a_schedule_goes_on_where_the_pipeline_ended(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    shop = Shop(mariadb, tmp_path, "away")
    shop.order()
    with shop.running() as process:
        shop.has_all(process)
        mariadb.crash()
        time.sleep(1)  # not for the pipeline: a server that is away for a moment
        mariadb.start()
        shop.order()
        shop.has_all(process)
    shop.order()
    for hop in shop.hops:  # by a schedule, once the pipeline was killed
        named = {"name": hop["name"]} if hop["action"] == "write" else {}
        run_embedded(
            JobSpec(
                action=hop["action"],
                warehouse=shop.warehouse,
                table=hop["target"],
                args={**hop["args"], **named},
            )
        )
    shop.is_exact()
    assert shop.counted() == shop.orders
