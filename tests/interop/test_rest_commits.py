"""Paimon's writer and ours on one table of a REST catalog at the same time.

Goal: nothing is lost, in either direction, though answers to commits are lost in between, and whoever is killed in the
middle finds what it committed.

``ROUNDS`` commits each; the night takes 100.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from both_write import paimon_writes, require_rows_of_both
from judge import Judge

import table_core as tc
from tests.catalogs.rest.server import WAREHOUSE, RestCatalogServer, rest_catalog
from tests.lanes import budget
from tests.servers import ROOT
from tests.tables import write_rows

pytestmark = pytest.mark.interop

ROUNDS = budget("ROUNDS", ci=8, nightly=100)
KILLS = budget("KILLS", ci=2, nightly=20)
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
TURNS = {"commit.max-retries": "1000", "commit.max-retry-wait": "200 ms", "write-only": "true"}


@pytest.fixture(scope="module")
def server() -> Iterator[RestCatalogServer]:
    with rest_catalog() as server:
        yield server


def add(table: tc.Table, key: int) -> tc.Commit:
    return write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))


@pytest.mark.parametrize("key", [(), ("k",)], ids=["append", "key"])
def test_nothing_is_lost_though_answers_are(
    paimon: Judge, server: RestCatalogServer, key: tuple[str, ...]
) -> None:
    catalog = tc.open_catalog(WAREHOUSE, server.options())
    name = f"both{len(key)}.t"
    catalog.create_database(name.partition(".")[0])
    settings = {**TURNS, "bucket": "1" if key else "-1"}
    table = catalog.create_table(name, SCHEMA, primary_key=key, options=settings)
    theirs = paimon.table(Path(WAREHOUSE), name, server.options())
    with paimon_writes(theirs, ROUNDS):
        for n in range(ROUNDS):
            if n % 4 == 0:
                server.lose_next_answer()  # to one of both
            add(table, n)
    require_rows_of_both(table, theirs, ROUNDS)


WRITER = """
import sys
import pyarrow as pa
import table_core as tc
uri, token, first = sys.argv[1:]
table = tc.open_catalog({warehouse!r}, {{"metastore": "rest", "uri": uri, "token.provider": "bear", "token": token, "local-tables.enabled": "true"}}).table("killed.t")
schema = table.arrow_schema
for n in range(int(first), int(first) + 1000):
    with table.write(commit=tc.CommitAs(user="loader", identifier=n)) as writer:
        writer.write(pa.table({{"k": [n], "v": [n]}}, schema=schema))
        print(n, writer.commit().replayed, flush=True)
"""


def test_a_writer_that_is_killed_again_and_again_commits_each_number_once(
    server: RestCatalogServer, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(WAREHOUSE, server.options())
    catalog.create_database("killed")
    table = catalog.create_table("killed.t", SCHEMA, options={"bucket": "-1"})
    script = tmp_path / "writer.py"
    script.write_text(WRITER.format(warehouse=WAREHOUSE))
    last = -1
    for kill in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, str(script), server.uri, server.login["token"], str(last + 1)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT}"},
        )
        assert process.stdout is not None
        until = last + 3 + kill % 3
        while last < until:
            last = int(process.stdout.readline().split()[0])
        time.sleep(0.007 * (kill % 10))  # somewhere in the next commit
        process.send_signal(signal.SIGKILL)
        process.wait()
    rows = sorted(table.read().to_arrow()["k"].to_pylist())
    assert rows == list(range(len(rows)))
    assert last + 1 <= len(rows) <= last + 3
    assert [s.commit_identifier for s in table.snapshots()] == rows
