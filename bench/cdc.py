"""Change capture: events a second and core from source to commit, and memory.

    python -m bench.cdc [plain schema records binlog snapshot] [--events N]

Each measurement is a process of its own; seconds are CPU seconds of that process.  ``binlog`` and
``snapshot`` start a MariaDB and are left out where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import table_core as tc
from tests.cdc.servers import MariaDb

WORKLOADS = ("plain", "schema", "records", "binlog", "snapshot")
GOALS = {"plain": 100_000, "schema": 30_000, "binlog": 15_000}
"""Events a second and core."""
SNAPSHOT_MIB = 512
SOURCE = {
    "version": "3.5.0.Final", "connector": "mariadb", "name": "shop", "ts_ms": 1795267197000,
    "snapshot": "false", "db": "shop_1", "sequence": None, "table": "orders", "server_id": 1,
    "gtid": "0-1-1", "file": "binlog.000001", "pos": 78174, "row": 0,
}  # fmt: skip
COLUMNS = [
    {"field": "id", "type": "int64", "optional": False},
    {"field": "customer", "type": "int32", "optional": True},
    {"field": "status", "type": "string", "optional": True},
    {"field": "total", "type": "string", "optional": True},
    {
        "field": "placed",
        "type": "int64",
        "optional": True,
        "name": "io.debezium.time.MicroTimestamp",
    },
    {"field": "note", "type": "string", "optional": True},
]


def event(n: int, form: str) -> dict[str, Any]:
    after = {
        "id": n % 50_000, "customer": n % 99, "status": "paid", "total": f"{n % 1000}.50",
        "placed": 1_795_267_197_000_000 + n, "note": f"left at the door of number {n}",
    }  # fmt: skip
    value: dict[str, Any] = {
        "before": None, "after": after, "source": {**SOURCE, "pos": n}, "op": "c",
        "ts_ms": 1795267197218,
    }  # fmt: skip
    if form == "schema":
        row = {"type": "struct", "fields": COLUMNS, "optional": True}
        fields = [{**row, "field": "before"}, {**row, "field": "after"}]
        return {"schema": {"type": "struct", "fields": fields}, "payload": value}
    if form == "records":
        told = {"topic": "shop.shop_1.orders", "partition": n % 3, "offset": n // 3}
        return {**told, "key": {"id": n % 50_000}, "value": value}
    return value


def of_files(form: str, events: int, folder: Path) -> int:
    with (folder / "events.jsonl").open("w") as out:
        for n in range(events):
            out.write(json.dumps(event(n, form), separators=(",", ":")) + "\n")
    return measured(tc.FilesSource(f"file://{folder}/*.jsonl"), folder, events)


def of_server(form: str, events: int, folder: Path) -> int:
    with MariaDb() as server:
        server.sql(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT, status VARCHAR(20), "
            "total DECIMAL(12,2), placed DATETIME(6), note VARCHAR(100))",
        )
        source = tc.MySqlSource("127.0.0.1", "root", port=server.port, databases="shop")
        catalog = tc.open_catalog(f"file://{folder}/lake")
        if form == "binlog":  # the snapshot of an empty table comes first
            server.sql("INSERT INTO shop.orders VALUES (0, 0, '', 0, NULL, '')")
            tc.sync_database(catalog, "lake", source, primary_key=["id"])
        for start in range(1, events + 1, 2000):
            rows = ",".join(
                f"({n}, {n % 99}, 'paid', {n % 1000}.50, '2024-01-02 03:04:05.678901', "
                f"'left at the door of number {n}')"
                for n in range(start, min(start + 2000, events + 1))
            )
            server.sql(f"INSERT INTO shop.orders VALUES {rows}")
        return measured(source, folder, events)


def measured(source: Any, folder: Path, events: int) -> int:
    catalog = tc.open_catalog(f"file://{folder}/lake")
    started = time.process_time()
    tc.sync_database(catalog, "lake", source, primary_key=["id"])
    seconds = time.process_time() - started
    mib = peak_mib()
    print(json.dumps({"per_second": int(events / seconds), "mib": mib}))
    return 0


def peak_mib() -> int:
    """The most memory of this process; ``ru_maxrss`` would also count the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="|".join(WORKLOADS))
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--here", help="run one workload in this process")
    given = parser.parse_args()
    if given.here:
        with tempfile.TemporaryDirectory() as folder:
            run = of_server if given.here in {"binlog", "snapshot"} else of_files
            return run(given.here, given.events, Path(folder))
    for name in given.workloads or WORKLOADS:
        if name in {"binlog", "snapshot"} and (why := MariaDb.missing()):
            print(f"cdc {name:9} left out: {why}")
            continue
        command = [sys.executable, "-m", "bench.cdc", "--here", name, "--events", str(given.events)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr[-2000:])
            return 1
        found = json.loads(done.stdout.splitlines()[-1])
        goal = f", goal {GOALS[name]:,}" if name in GOALS else ""
        told = f"cdc {name:9} {found['per_second']:>9,} a second and core{goal}"
        print(f"{told}; {found['mib']} MiB at most, goal {SNAPSHOT_MIB}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
