"""A server that is killed and comes back: a run without an end goes on, and neither loses nor doubles a row."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.apply import outage
from table_core.errors import StorageUnavailableError
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.sources import mariadb_source, postgres_source
from tests.eventually import eventually

ROWS = 3000
KINDS = ("mariadb", "postgres")


class Ended(BaseException):
    """Nothing that a run could catch."""


class Follower:
    """A run without an end over a database with a table that has a key, and one that has none."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path, kind: str, name: str) -> None:
        self.server: MariaDb | Postgres = request.getfixturevalue(kind)
        self.name, self.catalog = name, tc.open_catalog(f"file://{folder}/wh")
        if isinstance(self.server, MariaDb):
            self.server.sql(f"CREATE DATABASE {name}")
            given = mariadb_source(self.server, name, chunk_rows=500)
            self.source: Any = tc.MySqlSource(**given)
        else:
            self.server.sql(f"CREATE SCHEMA {name}")
            given = {**postgres_source(self.server, name, name), "chunk_rows": 500}
            self.source = tc.PostgresSource(**given)
        self.server.sql(
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY)", f"CREATE TABLE {name}.bag (id INT)"
        )
        if isinstance(self.server, Postgres):
            self.server.sql(f"ALTER TABLE {name}.bag REPLICA IDENTITY FULL")
        self.is_over = threading.Event()
        self.put(range(ROWS))

    def put(self, ids: range) -> None:
        values = ", ".join(f"({id})" for id in ids)
        self.server.sql(
            *(f"INSERT INTO {self.name}.{table} VALUES {values}" for table in ("t", "bag"))
        )

    def begin(self, at: Any = lambda *_: None) -> Future[Any]:
        """``at``: told what the run does, in its thread."""

        def progress(stage: str, **facts: Any) -> None:
            at(stage, facts)
            if self.is_over.is_set():
                raise Ended

        return ThreadPoolExecutor(1).submit(
            tc.sync_database,
            self.catalog,
            "lake",
            self.source,
            until="forever",
            progress=progress,
            commit_rows=100,
        )

    def end(self, run: Future[Any]) -> None:
        """Stop the run, and have what it did not come to."""
        self.is_over.set()
        with pytest.raises(Ended):
            run.result(180)
        tc.sync_database(self.catalog, "lake", self.source)

    def has(self, run: Future[Any], count: int) -> None:
        """Wait until the tables have so many rows."""

        def has() -> bool:
            names = self.catalog.tables("lake") if "lake" in self.catalog.databases() else []
            there = all(name in names and len(self.ids(name)) >= count for name in ("t", "bag"))
            return there or run.done()

        eventually(has, f"{count} rows")
        assert not run.done(), run.exception()

    def told(self, run: Future[Any], caplog: pytest.LogCaptureFixture, what: str, n: int) -> None:
        """Wait until the log says something for the n-th time."""
        eventually(lambda: caplog.text.count(what) >= n or run.done(), f"{what}, {n}")
        assert not run.done(), run.exception()

    def ids(self, table: str) -> list[int]:
        found = self.catalog.table(f"lake.{table}").read().to_arrow()["id"].to_pylist()
        return sorted(found)

    def close(self) -> None:
        if isinstance(self.server, Postgres):
            self.server.sql(f"SELECT pg_drop_replication_slot('{self.name}')")


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_killed_while_a_run_waits_is_asked_again(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    follower = Follower(request, tmp_path, kind, "waiting")
    run = follower.begin()
    for n in (1, 2):
        follower.has(run, n * ROWS)
        follower.server.crash()
        follower.told(run, caplog, "It is asked again", n)
        follower.server.start()
        follower.put(range(n * ROWS, (n + 1) * ROWS))
        follower.told(run, caplog, "answers again", n)
    follower.end(run)
    assert follower.ids("t") == follower.ids("bag") == list(range(3 * ROWS))
    follower.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_killed_in_a_snapshot_or_in_its_log_is_asked_again(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    follower = Follower(request, tmp_path, kind, "midway")
    killed: list[str] = []

    def kill(stage: str, facts: dict[str, Any]) -> None:
        is_midway = stage == "snapshot" and facts["rows"] < ROWS
        is_later = len(killed) == 1 and stage == "events" and caplog.text.count("answers again")
        if (is_midway and not killed) or is_later:
            killed.append(stage)
            follower.server.crash()
            again.submit(come_back)

    def come_back() -> None:
        n = len(killed)
        eventually(lambda: caplog.text.count("It is asked again") >= n, "the run misses the server")
        follower.server.start()
        follower.put(range(n * ROWS, (n + 1) * ROWS))

    again = ThreadPoolExecutor(1)
    run = follower.begin(kill)
    follower.told(run, caplog, "answers again", 2)
    again.shutdown()
    follower.end(run)
    assert follower.ids("t") == follower.ids("bag") == list(range(3 * ROWS))
    follower.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_stays_away_ends_the_run(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(outage, "_LONGEST_MS", 1500)
    follower = Follower(request, tmp_path, kind, "away")
    run = follower.begin()
    follower.has(run, ROWS)
    follower.server.crash()
    with pytest.raises(StorageUnavailableError) as told:
        run.result(180)
    assert told.value.kind == "unavailable"
    with pytest.raises(StorageUnavailableError):  # one with an end does not wait
        tc.sync_database(follower.catalog, "lake", follower.source)
    follower.server.start()
    tc.sync_database(follower.catalog, "lake", follower.source)
    assert follower.ids("t") == follower.ids("bag") == list(range(ROWS))
    follower.close()
