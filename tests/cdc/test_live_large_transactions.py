"""A transaction of PostgreSQL of any size is read in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import table_core as tc
from tests.cdc.servers import Postgres
from tests.cdc.sources import postgres_source as source
from tests.lanes import budget

ROWS = budget("LARGE_TRANSACTION_ROWS", ci=100_000, nightly=1_000_000)
MOST_MIB = 400
SYNC = """
import json, resource, sys
import table_core as tc
given = json.loads(sys.argv[2])
done = tc.sync_database(tc.open_catalog(sys.argv[1]), "lake", tc.PostgresSource(**given))
print(done.rows_written, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_large_transaction_is_read_in_bounded_memory(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql(
        "CREATE SCHEMA large",
        "CREATE TABLE large.t (id INT PRIMARY KEY, v TEXT, n NUMERIC(12,2))",
        "INSERT INTO large.t VALUES (0, 'first', 1)",
    )
    uri, given = f"file://{tmp_path}/wh", source(postgres, "large", "large")
    given["batch_changes"] = 50_000
    tc.sync_database(tc.open_catalog(uri), "lake", tc.PostgresSource(**given))
    postgres.sql(
        f"INSERT INTO large.t SELECT n, md5(n::text), n / 7 FROM generate_series(1, {ROWS}) n"
    )
    done = subprocess.run(
        [sys.executable, "-c", SYNC, uri, json.dumps(given)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    written, mib = map(int, done.stdout.split())
    print(f"{ROWS} rows of one transaction: {mib} MiB")
    assert (written, mib < MOST_MIB) == (ROWS, True), mib
    found = tc.open_catalog(uri).table("lake.t").read().to_arrow()
    assert (found.num_rows, len(set(found["id"].to_pylist()))) == (ROWS + 1, ROWS + 1)
    postgres.sql("SELECT pg_drop_replication_slot('large')")
