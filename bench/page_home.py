"""An Airflow with tables to look at, for work on the tables page and for measuring it.

    python -m bench.page_home --home /tmp/page --port 18100 [--tables 10000 --snapshots 5000]

Makes a warehouse with some real tables of every kind, collects their metadata, adds made-up histories of
``--tables`` further tables, and starts an API server with the users ``ada`` (admin) and ``vera`` (viewer); their
passwords are ``ada-1815`` and ``vera-1815``.  Ctrl-C stops it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.history.kinds import Kind
from table_core.history.snapshots import CHUNK, Chunk, SnapshotRow, chunk_part
from table_core.table.api.collect_metadata import metadata_table

__all__ = ["environment", "made_up", "main", "make_warehouse"]

META = "airflow.table_metadata"
CATALOG = "demo"
COUNTRIES = ("Brazil", "Chile", "France", "Ghana", "Japan", "Kenya", "Peru", "Spain")


def environment(home: Path, port: int) -> dict[str, str]:
    """What the components find in their environment."""
    passwords = home / "passwords.json"
    passwords.write_text(json.dumps({"ada": "ada-1815", "vera": "vera-1815"}))
    project = Path(__file__).parents[1]
    connection = {
        "conn_type": "paimon",
        "extra": {"warehouse": (home / "warehouse").as_uri(), "catalog_name": CATALOG},
    }
    return {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ada:admin,vera:viewer",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__API_AUTH__JWT_SECRET": "only-for-a-bench-" * 4,
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW_CONN_PAIMON_DEFAULT": json.dumps(connection),
        "PYTHONPATH": os.pathsep.join([str(project), str(project / "provider")]),
    }


def make_warehouse(home: Path) -> tc.Catalog:
    """Real tables: a sales table that is aggregated, orders by day, one with a hostile name, an empty one."""
    catalog = tc.open_catalog((home / "warehouse").as_uri())
    for database in ("shop", "raw"):
        catalog.create_database(database, if_not_exists=True)
    _sales(catalog)
    _orders(catalog)
    evil = [pa.field("id", pa.int64(), nullable=False), pa.field("<b>x</b>", pa.string())]
    catalog.create_table(
        "raw.<script>alert(1)<",
        pa.schema(evil),
        primary_key=["id"],
        options={"bucket": "1"},
        comment="<img src=x onerror=alert(1)>",
    )
    fill(
        catalog.table("raw.<script>alert(1)<"),
        {"id": [1], "<b>x</b>": ["<script>alert(2)</script>"]},
    )
    catalog.create_table("raw.empty", pa.schema([("n", pa.int64())]), options={"bucket": "-1"})
    for database in ("shop", "raw"):
        catalog.collect_metadata(database, META, CATALOG)
    return catalog


def _sales(catalog: tc.Catalog) -> None:
    fields = [pa.field("country", pa.string(), nullable=False), pa.field("revenue", pa.float64())]
    options = {
        "bucket": "2",
        "merge-engine": "aggregation",
        "changelog-producer": "lookup",
        "fields.revenue.aggregate-function": "sum",
    }
    table = catalog.create_table(
        "shop.country_sales",
        pa.schema(fields),
        primary_key=["country"],
        options=options,
        comment="Sales by country",
    )
    for at in range(30):
        chosen = random.Random(at).sample(COUNTRIES, 4)
        fill(table, {"country": chosen, "revenue": [float(at * 10 + i) for i in range(4)]})
    table.tags.create("monthly")


def _orders(catalog: tc.Catalog) -> None:
    fields = [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("amount", pa.float64()),
    ]
    options = {"bucket": "2", "write-only": "true", "num-sorted-run.compaction-trigger": "3"}
    table = catalog.create_table(
        "shop.orders",
        pa.schema(fields),
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options=options,
    )
    for at in range(40):
        days = [f"2026-11-{1 + at % 7:02d}"] * 200
        fill(table, {"dt": days, "id": list(range(at, at + 200)), "amount": [1.5] * 200})
    catalog.alter_table("shop.orders", [tc.AddColumn("note", "STRING")])


def fill(table: Any, columns: dict[str, list[Any]]) -> None:
    """One commit."""
    with table.write() as writer:
        writer.write(pa.table(columns))
        writer.commit()


def made_up(catalog: tc.Catalog, tables: int, snapshots: int) -> None:
    """Histories of tables that are not there, as the collector keeps them."""
    target = metadata_table(catalog, META)
    now_ms = int(time.time() * 1000)
    chunks = _chunks(snapshots, now_ms)
    step = max(1, 20_000 // (len(chunks) + 8))
    for first in range(0, tables, step):
        rows: list[tuple[str, str, str, str]] = []
        for number in range(first, min(first + step, tables)):
            rows += _documents(number, snapshots, now_ms, chunks)
        kinds, uris, parts, texts = zip(*rows, strict=True)
        columns = {"kind": kinds, "uri": uris, "part": parts, "document": texts}
        at = pa.array([now_ms] * len(rows), pa.timestamp("ms", "UTC"))
        with target.write() as writer:
            writer.write(pa.table({**columns, "collected_at": at}))
            writer.commit()


def _chunks(snapshots: int, now_ms: int) -> list[tuple[str, str]]:
    """Part and text of each full chunk, and the open one without a part."""
    rows = [
        SnapshotRow(
            id=id,
            at_ms=now_ms - (snapshots - id) * 60_000,
            kind="COMPACT" if id % 5 == 0 else "APPEND",
            operation="WRITE",
            user=f"00000000-0000-4000-8000-{id % 97:012d}",
            identifier=id,
            rows_added=id % 1000,
            rows_deleted=id % 7,
            rows=id * 500,
            bytes=id * 40_000,
            files_added=2,
            files_deleted=1,
            files=20 + id % 30,
            bytes_added=80_000,
            bytes_deleted=40_000,
            mark=f"manifest-list-{id:08d}-0",
            by_bucket=(
                ("dt=2026-11-01", 0, 1, 0, 10, 0, 40_000, 0),
                ("dt=2026-11-01", 1, 1, 1, 5, 3, 40_000, 40_000),
            ),
        )
        for id in range(1, snapshots + 1)
    ]
    found = []
    for at in range(0, len(rows), CHUNK):
        part = tuple(rows[at : at + CHUNK])
        text = json.dumps(Chunk(part).to_document(), separators=(",", ":"))
        found.append((chunk_part(part[0].id) if len(part) == CHUNK else "", text))
    return found


def _documents(
    number: int, snapshots: int, now_ms: int, chunks: list[tuple[str, str]]
) -> list[tuple[str, str, str, str]]:
    name = f"team_{number % 40:02d}.table_{number:05d}"
    uri = f"paimon://{CATALOG}/{name.replace('.', '/')}"
    health = ("ok", "ok", "ok", "due", "bad")[number % 5]
    line = {
        "version": 1, "uri": uri, "table": name, "kind": "primary-key",
        "rows": number * 1000, "bytes": number * 77_777, "files": number % 900, "small_files": number % 90,
        "partitions": number % 60, "snapshot_id": snapshots, "updated_ms": now_ms - number * 1000,
        "user": f"00000000-0000-4000-8000-{number % 97:012d}", "health": health,
        "badges": [] if health == "ok" else [{"code": "compact", "text": "7 sorted runs in the worst bucket, due from 5 on", "severity": "warning"}],
        "next_maintenance": None if health == "ok" else {"action": "compact", "reason": "7 sorted runs in the worst bucket"},
        "cut": {},
    }  # fmt: skip
    fields = [
        {"id": i, "name": f"column_{i}", "type": "BIGINT", "nullable": True, "comment": None}
        for i in range(40)
    ]
    detail = {
        "version": 1, "comment": None, "primary_key": ["column_0"], "partition_by": ["dt"],
        "merge_engine": "deduplicate", "changelog_producer": "none", "bucket": 8, "format": "parquet",
        "fields": fields, "options": {"bucket": "8"},
    }  # fmt: skip
    levels = {
        "version": 1,
        "total": 480,
        "buckets": [
            [f"dt=2026-11-{1 + b % 28:02d}", b, 3, [[0, 2, 9000, 90], [5, 1, 900_000, 9000]]]
            for b in range(480)
        ],
    }
    parts = {
        "version": 1,
        "total": 60,
        "partitions": [
            {
                "values": {"dt": f"2026-11-{1 + p % 28:02d}"},
                "rows": p,
                "bytes": p * 10,
                "files": p,
                "small_files": 0,
                "written_ms": now_ms - p * 3_600_000,
            }
            for p in range(60)
        ],
    }
    schemas = {"version": 1, "schemas": [{"id": 0, "at_ms": now_ms, "changes": []}]}
    refs: dict[str, Any] = {"version": 1, "tags": [], "branches": [], "consumers": []}
    single = {
        Kind.LINE: line,
        Kind.DETAIL: detail,
        Kind.LEVELS: levels,
        Kind.PARTITIONS: parts,
        Kind.SCHEMAS: schemas,
        Kind.REFS: refs,
    }
    found = [
        (kind.value, uri, "", json.dumps(document, separators=(",", ":")))
        for kind, document in single.items()
    ]
    for part, text in chunks:
        found.append((Kind.SNAPSHOTS.value if part else Kind.OPEN.value, uri, part, text))
    return found


def main(arguments: list[str]) -> int:
    """Make the home, start the server, wait for it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tables", type=int, default=0)
    parser.add_argument("--snapshots", type=int, default=5_000)
    wish = parser.parse_args(arguments)
    home = wish.home.resolve()
    is_new = not (home / "airflow.db").exists()
    (home / "dags").mkdir(parents=True, exist_ok=True)
    settings = environment(home, wish.port)
    airflow = [sys.executable, "-m", "airflow"]
    if is_new:
        subprocess.run(
            [*airflow, "db", "migrate"], env=settings, check=True, stdout=subprocess.DEVNULL
        )
        catalog = make_warehouse(home)
        made_up(catalog, wish.tables, wish.snapshots)
    return subprocess.run([*airflow, "api-server"], env=settings, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
