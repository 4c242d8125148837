"""What a server and a process hold of a sync does not grow with the number of its runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import table_core as tc
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.sources import mariadb_source, postgres_source
from tests.lanes import budget

SYNCS = budget("SYNCS", ci=60, nightly=1_000)
RUNS = budget("SYNCS_OF_ONE_PROCESS", ci=200, nightly=2_000)
MIB = 1 << 20
MOST_LOG = 80 * MIB
MOST_GROWTH_MIB = 24
_TABLES = [f"CREATE TABLE often.{t} (id INT PRIMARY KEY, v INT)" for t in "abc"]
MOST_OBJECTS = 3_000
"""More in the second half than in the first; a sync makes tens of thousands, and the caches are kept small."""
MANY = """
import gc, json, sys
import psutil
import table_core as tc
uri, kind, arguments, runs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
server = getattr(tc, kind)(**arguments)
if kind == "MySqlSource":
    from tests.cdc.servers import mariadb
    connection = mariadb.connect(arguments["port"])
    row = "REPLACE INTO often.{t} VALUES ({k}, {n})"
else:
    import psycopg
    connection = psycopg.connect(
        host="127.0.0.1", port=arguments["port"], user="postgres", dbname="postgres", autocommit=True
    )
    row = "INSERT INTO often.{t} VALUES ({k}, {n}) ON CONFLICT (id) DO UPDATE SET v = {n}"
me, mib, objects = psutil.Process(), [], []
cursor = connection.cursor()
for n in range(runs):
    for t in "abc":
        cursor.execute(row.format(t=t, k=n % 500, n=n))
    tc.sync_database(tc.open_catalog(uri), "lake", server)
    if (n + 1) % (runs // 10) == 0:
        for t in "abc":
            tc.open_catalog(uri).table(f"lake.{t}").expire_snapshots(retain_max=5, retain_min=1)
        gc.collect()
        objects.append(len(gc.get_objects()))
        print(n + 1, objects[-1], me.memory_info().rss >> 20, file=sys.stderr, flush=True)
    mib.append(me.memory_info().rss >> 20)
print(json.dumps([mib, objects]))
"""


def test_a_busy_server_with_quiet_tables_keeps_little_log(
    postgres: Postgres, tmp_path: Path
) -> None:
    postgres.sql(
        "CREATE SCHEMA quiet",
        "CREATE TABLE quiet.t (id INT PRIMARY KEY)",
        "INSERT INTO quiet.t VALUES (1)",
        "CREATE TABLE public.busy (id INT, v TEXT)",
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**postgres_source(postgres, "quiet", "quiet"))
    kept = (
        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint "
        "FROM pg_replication_slots WHERE slot_name = 'quiet'"
    )
    tc.sync_database(catalog, "lake", server)
    most = 0
    for n in range(SYNCS):
        postgres.sql(
            "INSERT INTO public.busy SELECT n, repeat('x', 100) FROM generate_series(1, 15000) n"
        )
        if n % 5 == 0:
            postgres.sql("TRUNCATE public.busy", "CHECKPOINT")
        tc.sync_database(catalog, "lake", server)
        most = max(most, int(postgres.sql(kept)[0][0]))
    print(f"{SYNCS} syncs: at most {most // MIB} MiB of log kept")
    assert most < MOST_LOG
    snapshots = len(list(catalog.table("lake.t").snapshots()))
    assert snapshots < SYNCS / 4  # runs that bring nothing leave nothing, mostly
    postgres.sql("INSERT INTO quiet.t VALUES (2)")
    tc.sync_database(catalog, "lake", server)
    assert sorted(catalog.table("lake.t").read().to_arrow()["id"].to_pylist()) == [1, 2]
    postgres.sql("SELECT pg_drop_replication_slot('quiet')", "DROP TABLE public.busy")


def test_many_syncs_of_one_process_hold_no_more_memory(mariadb: MariaDb, tmp_path: Path) -> None:
    mariadb.sql("CREATE DATABASE often", *_TABLES)
    _holds_no_more(tmp_path, "MySqlSource", mariadb_source(mariadb, "often"))


def test_many_syncs_of_a_postgres_hold_no_more_memory(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql("CREATE SCHEMA often", *_TABLES)
    _holds_no_more(tmp_path, "PostgresSource", postgres_source(postgres, "often", "often"))
    postgres.sql("SELECT pg_drop_replication_slot('often')")


def _holds_no_more(tmp_path: Path, kind: str, source: dict[str, Any]) -> None:
    arguments = [f"file://{tmp_path}/wh", kind, json.dumps(source), str(RUNS)]
    done = subprocess.run(
        [sys.executable, "-c", MANY, *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "TABLE_CORE_CACHED_ENTRIES_MAX": "100"},
    )
    assert done.returncode == 0, done.stderr
    mib, objects = json.loads(done.stdout.splitlines()[-1])
    begun, ended = max(mib[RUNS // 4 : RUNS // 2]), max(mib[-RUNS // 4 :])
    print(
        f"{done.stderr}{RUNS} syncs: {begun} MiB in the second quarter, {ended} MiB in the last one"
    )
    assert max(objects[5:]) - max(objects[1:5]) < MOST_OBJECTS, objects
    assert ended - begun < MOST_GROWTH_MIB, mib[:: RUNS // 20]
