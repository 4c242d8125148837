"""First snapshots that are interrupted: what was read is not read again, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import DataError
from tests.cdc.conftest import need
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.torture import ROOT, Torture, position
from tests.lanes import budget

ROWS = 60_000
CHANGED = [
    "UPDATE {0}.big SET v = v + 1 WHERE id % 7 = 0",
    "DELETE FROM {0}.big WHERE id % 11 = 0",
    "UPDATE {0}.big SET id = id + 1000000 WHERE id % 13 = 0",
    "INSERT INTO {0}.big VALUES (0, -1), (2000000, -2)",
]
"""Rows that were read, rows that were not, and rows that move from one side to the other."""


def killed_in_the_snapshot(torture: Torture, table: str) -> None:
    """Let a sync commit a part of the snapshot, and kill it before it is through."""
    process = torture.start()
    deadline = time.monotonic() + 120
    try:
        while process.poll() is None and time.monotonic() < deadline:
            if '"snapshots"' in position(torture, table):
                break
            time.sleep(0.005)
    finally:
        process.kill()
        _, error = process.communicate()
    reached = position(torture, table)
    assert '"snapshots"' in reached, f"the kill came too late or too early: {reached} {error}"


def goes_on(torture: Torture, sql: Callable[..., list[tuple[Any, ...]]], database: str) -> None:
    killed_in_the_snapshot(torture, "big")
    sql(*(statement.format(database) for statement in CHANGED))
    read = torture.sync()["events"]
    changes = ROWS // 7 + ROWS // 11 + ROWS // 13 + 2
    assert read < ROWS + changes, "everything was read once more"
    there = Counter((int(a), int(b)) for a, b in sql(f"SELECT id, v FROM {database}.big"))
    rows = torture.catalog.table("lake.big").read().to_arrow().to_pylist()
    assert Counter((row["id"], row["v"]) for row in rows) == there
    assert torture.sync() == {"rows": 0, "events": 0}


def test_mariadb_goes_on_behind_the_last_key(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    need(MariaDb, whole=True)
    mariadb: MariaDb = request.getfixturevalue("mariadb")
    mariadb.sql(
        "CREATE DATABASE halted",
        "CREATE TABLE halted.big (id BIGINT PRIMARY KEY, v INT NOT NULL)",
        f"INSERT INTO halted.big SELECT seq, seq % 100 FROM mysql.seq_1_to_{ROWS}",
    )
    source = {
        "host": "127.0.0.1", "port": mariadb.port, "user": "root", "databases": "halted",
        "chunk_rows": 500,
    }  # fmt: skip
    goes_on(Torture(tmp_path / "wh", "mysql", source, commit_rows=1000), mariadb.sql, "halted")


def test_postgres_goes_on_behind_the_last_key(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    need(Postgres, whole=True)
    postgres: Postgres = request.getfixturevalue("postgres")
    postgres.sql(
        "CREATE SCHEMA halted",
        "CREATE TABLE halted.big (id BIGINT PRIMARY KEY, v INT NOT NULL)",
        f"INSERT INTO halted.big SELECT n, n % 100 FROM generate_series(1, {ROWS}) n",
    )
    source = {
        "host": "127.0.0.1", "port": postgres.port, "user": "postgres", "database": "postgres",
        "schemas": "halted", "slot": "halted", "publication": "halted", "chunk_rows": 500,
    }  # fmt: skip
    goes_on(Torture(tmp_path / "wh", "postgres", source, commit_rows=1000), postgres.sql, "halted")
    postgres.sql("SELECT pg_drop_replication_slot('halted')", "DROP PUBLICATION halted")


def test_a_large_snapshot_takes_little_memory() -> None:
    """``CDC_SNAPSHOT=20000000`` reads as many rows; memory does not follow them."""
    need(MariaDb, whole=True)
    events = str(budget("CDC_SNAPSHOT", ci=300_000, nightly=2_000_000))
    command = [sys.executable, "-m", "bench.cdc", "--here", "snapshot", "--events", events]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["mib"] < 512


def test_a_table_without_key_is_read_in_parts_and_becomes_visible_at_once(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    mariadb.sql(
        "CREATE DATABASE bags",
        "CREATE TABLE bags.bag (n BIGINT UNSIGNED)",
        "INSERT INTO bags.bag SELECT seq % 700 FROM mysql.seq_1_to_5000",
        "INSERT INTO bags.bag VALUES (18446744073709551615)",
    )
    source = tc.MySqlSource(
        "127.0.0.1", "root", port=mariadb.port, databases="bags", chunk_rows=100
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    given: dict[str, Any] = {
        "type_mapping": ["bigint-unsigned-to-bigint"], "commit_rows": 50, "max_rows": 10,
    }  # fmt: skip
    with pytest.raises(DataError, match="18446744073709551615"):
        tc.sync_database(catalog, "lake", source, **given)
    table = catalog.table("lake.bag")
    assert table.latest_snapshot() is None, "a part of it would come once more with the next run"
    mariadb.sql("UPDATE bags.bag SET n = 5 WHERE n > 1000")
    tc.sync_database(catalog, "lake", source, **given)
    assert len(table.snapshots()) == 1
    rows = table.read().to_arrow()["n"].to_pylist()
    assert Counter(rows) == Counter(int(n) for (n,) in mariadb.sql("SELECT n FROM bags.bag"))
