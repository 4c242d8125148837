"""Freshness: how long after its commit in the source a row is visible, and what waiting costs.

    python -m bench.fresh [sync|pipeline] [--orders N] [--every S] [--idle S] [--keywords JSON]

A MariaDB gets one order every ``--every`` seconds.  What brings it into tables is a process of its own; this one reads
the last table of the way and notes when each order counts.  Then nothing comes for ``--idle`` seconds: CPU seconds of
the process in that time, for each second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from statistics import quantiles
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa

import table_core as tc
from table_core.errors import TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.cdc.servers import MariaDb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WAYS = ("sync", "pipeline")
_LOOK_SECONDS = 0.02


SALES = """SELECT country, CAST(sum(amount) AS DECIMAL(18, 2)) AS revenue, count(*) AS orders
FROM orders JOIN customers ON customers.id = orders.customer GROUP BY country"""


def counted(catalog: tc.Catalog, way: str) -> int:
    """Orders that the last table of the way has."""
    with suppress(TableError):
        if way == "pipeline":
            sales = catalog.table("lake.country_sales").read().to_arrow()
            return sum(n for n in sales["orders"].to_pylist() if n)
        return int(catalog.table("lake.orders").read(columns=["id"]).to_arrow().num_rows)
    return 0


def until(what: Callable[[], bool], process: subprocess.Popen[Any], seconds: float = 60) -> float:
    """When it is so."""
    late = time.time() + seconds
    while not what():
        if process.poll() is not None or time.time() > late:
            raise SystemExit(f"it ended with {process.poll()}, or takes longer than {seconds} s")
        time.sleep(_LOOK_SECONDS)
    return time.time()


def cpu_seconds(pid: int) -> float:
    """Of a process, and of those that it started."""
    one = psutil.Process(pid)
    ended = one.cpu_times().children_user + one.cpu_times().children_system
    running = [one, *one.children(recursive=True)]
    return ended + sum(t.user + t.system for t in (p.cpu_times() for p in running))


@contextmanager
def running(way: str, asked: dict[str, Any]) -> Iterator[subprocess.Popen[Any]]:
    command = [sys.executable, "-m", "bench.fresh", way, "--here", json.dumps(asked)]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def pipeline(asked: dict[str, Any]) -> int:
    catalog = tc.open_catalog(asked["warehouse"])
    catalog.create_database("lake", if_not_exists=True)
    sums = {f"fields.{name}.aggregate-function": "sum" for name in ("revenue", "orders")}
    catalog.create_table(
        "lake.country_sales",
        pa.schema(
            [
                pa.field("country", pa.string(), nullable=False),
                pa.field("revenue", pa.decimal128(18, 2)),
                pa.field("orders", pa.int64()),
            ]
        ),
        primary_key=("country",),
        options={"bucket": "1", "merge-engine": "aggregation", **sums},
    )
    server = {"kind": "mysql", "host": "127.0.0.1", "user": "root", "port": asked["port"]}
    sync = {
        "source": {**server, "databases": "shop"},
        "options": {"bucket": "1", "changelog-producer": "input"},
    }
    flow = {
        "sql": SALES,
        "sources": {
            "orders": {"table": "lake.orders", "mode": "changes"},
            "customers": {"table": "lake.customers"},
        },
    }
    hops = [
        {"name": "shop", "action": "sync-database", "target": "lake", "args": sync},
        {"name": "sales", "action": "write", "target": "lake.country_sales", "args": flow},
    ]
    args = {"name": "sales", "hops": hops, **asked["keywords"]}
    spec = JobSpec(action="pipeline", warehouse=asked["warehouse"], table="lake", args=args)
    run_embedded(spec, lambda stage, **facts: print(stage, facts, flush=True))
    return 0


def here(way: str, asked: dict[str, Any]) -> int:
    """What is measured, in this process, without an end."""
    if way == "pipeline":
        return pipeline(asked)
    source = tc.MySqlSource("127.0.0.1", "root", port=asked["port"], databases="shop")
    catalog = tc.open_catalog(asked["warehouse"])
    tc.sync_database(catalog, "lake", source, until="forever", **asked["keywords"])
    return 0


def measure(way: str, given: argparse.Namespace) -> dict[str, Any]:
    with MariaDb() as server, tempfile.TemporaryDirectory() as folder:
        server.sql(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.customers (id BIGINT PRIMARY KEY, country VARCHAR(2))",
            "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer BIGINT, amount DECIMAL(12,2))",
            "INSERT INTO shop.customers VALUES (0, 'is'), (1, 'no'), (2, 'fi')",
            "INSERT INTO shop.orders VALUES (0, 0, 1.00)",
        )
        asked = {
            "port": server.port,
            "warehouse": f"file://{folder}/lake",
            "keywords": json.loads(given.keywords),
        }
        catalog = tc.open_catalog(asked["warehouse"])
        with running(way, asked) as process:
            until(lambda: counted(catalog, way) == 1, process)
            time.sleep(2)
            lags = []
            begun, used = time.time(), cpu_seconds(process.pid)
            for n in range(1, given.orders + 1):
                server.sql(f"INSERT INTO shop.orders VALUES ({n}, {n % 3}, 2.50)")
                committed = time.time()
                lags.append(until(lambda n=n: counted(catalog, way) > n, process) - committed)
                time.sleep(max(committed + given.every - time.time(), 0))
            busy = (cpu_seconds(process.pid) - used) / (time.time() - begun)
            time.sleep(2)
            begun, used = time.time(), cpu_seconds(process.pid)
            time.sleep(given.idle)
            idle = (cpu_seconds(process.pid) - used) / (time.time() - begun)
        cuts = quantiles(lags, n=20)
        return {
            "way": way,
            "orders": len(lags),
            "p50_s": round(cuts[9], 2),
            "p95_s": round(cuts[18], 2),
            "max_s": round(max(lags), 2),
            "busy_percent": round(100 * busy, 1),
            "idle_percent": round(100 * idle, 1),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", nargs="?", choices=WAYS, default="sync")
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--idle", type=float, default=20.0)
    parser.add_argument("--keywords", default="{}", help="of the sync, as JSON")
    parser.add_argument("--here", help="run it in this process, as JSON says")
    given = parser.parse_args()
    if given.here:
        return here(given.way, json.loads(given.here))
    print(json.dumps(measure(given.way, given)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
