"""Another server where one was read, or the same one from a backup: refused, and the ways out work.

The new servers do what the old ones did, statement by statement, and more: so that places in their
logs, their numbers and their names are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import ErrorKind, SourceDivergedError
from tests.cdc.conftest import need
from tests.cdc.servers import MariaDb, Postgres

Rows: TypeAlias = list[tuple[Any, ...]]
TABLES = ("t", "log")
MADE = (
    "CREATE TABLE r.t (id INT PRIMARY KEY, v VARCHAR(20))",
    "CREATE TABLE r.log (id INT, v VARCHAR(20))",
    *(f"INSERT INTO r.{t} VALUES (1, 'one'), (2, 'two'), (3, 'three')" for t in TABLES),
)
CHANGED = (
    "DELETE FROM r.t WHERE id = 2",
    *(f"INSERT INTO r.{t} VALUES (4, 'four')" for t in TABLES),
)
OTHERS = (
    *(f"UPDATE r.{t} SET v = 'other' WHERE id = 1" for t in TABLES),
    "DELETE FROM r.t WHERE id = 3",
)


class Lake:
    """Tables that follow one server."""

    def __init__(self, folder: Path, name: str, source: Callable[[], Any]) -> None:
        self.uri = f"file://{folder}/{name}"
        self.catalog, self.source = tc.open_catalog(self.uri), source

    def sync(self) -> tc.ResultDocument:
        return tc.sync_database(self.catalog, "lake", self.source())

    def rows(self, table: str) -> Rows:
        return sorted(
            tuple(r.values())
            for r in self.catalog.table(f"lake.{table}").read().to_arrow().to_pylist()
        )

    def refused(self, match: str) -> None:
        """Nothing is read, now or at the next try."""
        before = {t: self.catalog.table(f"lake.{t}").latest_snapshot() for t in TABLES}
        for _ in range(2):
            with pytest.raises(SourceDivergedError, match=match) as told:
                self.sync()
            assert told.value.kind is ErrorKind.UNKNOWN_OUTCOME
            assert "tc.source.positions" in str(told.value.facts["ways_out"])
        assert {t: self.catalog.table(f"lake.{t}").latest_snapshot() for t in TABLES} == before

    def reset(self) -> None:
        for table in TABLES:
            command = ["position", "reset", "-w", self.uri, f"lake.{table}", "tc.source.positions"]
            assert CliRunner().invoke(app, command).exit_code == 0

    def set(self, text: str) -> None:
        for table in TABLES:
            found = self.catalog.table(f"lake.{table}").positions
            found.set("tc.source.position", text=text)


def follows(lake: Lake, server: Any) -> None:
    """The tables are what the source has, now and after more changes."""
    lake.sync()
    for table in TABLES:
        assert lake.rows(table) == sorted(server.sql(f"SELECT * FROM r.{table}")), table
    server.sql(
        "DELETE FROM r.t WHERE id = 1", *(f"INSERT INTO r.{t} VALUES (9, 'nine')" for t in TABLES)
    )
    lake.sync()
    for table in TABLES:
        assert lake.rows(table) == sorted(server.sql(f"SELECT * FROM r.{table}")), table
    server.sql(
        "INSERT INTO r.t VALUES (1, 'one')", *(f"DELETE FROM r.{t} WHERE id = 9" for t in TABLES)
    )
    lake.sync()


def of_mariadb(server: MariaDb, **more: Any) -> Callable[[], tc.MySqlSource]:
    return lambda: tc.MySqlSource("127.0.0.1", "root", port=server.port, databases="r", **more)


def of_postgres(server: Postgres) -> Callable[[], tc.PostgresSource]:
    return lambda: tc.PostgresSource(
        "127.0.0.1", "postgres", "postgres", port=server.port, schemas="r"
    )


def test_another_mariadb_that_did_the_same_is_refused_and_then_read_anew(tmp_path: Path) -> None:
    need(MariaDb)
    with MariaDb() as old:
        old.sql("CREATE DATABASE r", *MADE)
        lakes = [Lake(tmp_path, f"gtid-{by}", of_mariadb(old, use_gtid=by)) for by in (False, True)]
        for lake in lakes:
            lake.sync()
        old.sql(*CHANGED)
        for lake in lakes:
            follows(lake, old)
    with MariaDb(port=old.port) as new:
        new.sql("CREATE DATABASE r", *MADE, *CHANGED, *OTHERS)
        new.sql(*(f"INSERT INTO r.log VALUES ({n}, 'new')" for n in range(20, 40)))
        for lake in lakes:
            lake.refused("another server")
            lake.reset()
            follows(lake, new)
        # a log that begins anew, and does what it did
        new.sql("RESET MASTER", "INSERT INTO r.log VALUES (50, 'fifty')", "FLUSH BINARY LOGS")
        for lake in lakes:
            lake.refused("reset|begins after|has not done")
        for lake in lakes:  # all was read that came before the reset
            lake.set('{"v":1,"kind":"mysql","at":[1,4],"name":"binlog.000001"}')
            follows(lake, new)


def test_a_replica_goes_on_by_transactions_only_if_it_has_those_that_were_read(
    tmp_path: Path,
) -> None:
    need(MariaDb)
    two = ("--server-id=2", "--log-slave-updates=ON", "--gtid-strict-mode=OFF")
    with MariaDb() as master, MariaDb(*two) as replica:
        master.sql("CREATE DATABASE r", *MADE)
        read = Lake(tmp_path, "wh", of_mariadb(master, use_gtid=True))
        read.sync()
        replica.sql(
            f"CHANGE MASTER TO master_host='127.0.0.1', master_port={master.port}, "
            "master_user='root', master_use_gtid=slave_pos",
            "START SLAVE",
        )
        master.sql("SET gtid_domain_id = 7", *CHANGED[1:])
        master.sql(CHANGED[0])
        read.sync()
        at = master.sql("SELECT @@gtid_binlog_pos")[0][0]
        replica.sql(f"SELECT MASTER_GTID_WAIT('{at}', 60)", "STOP SLAVE")
        read.source = of_mariadb(replica, use_gtid=True)
        replica.sql(*OTHERS)
        follows(read, replica)
        ahead = Lake(tmp_path, "ahead", of_mariadb(master, use_gtid=True))
        ahead.sync()
        master.sql("INSERT INTO r.log VALUES (60, 'lost')")
        ahead.sync()
        ahead.source = of_mariadb(replica, use_gtid=True)
        replica.sql(*(f"INSERT INTO r.log VALUES ({n}, 'replica')" for n in range(70, 80)))
        ahead.refused("had not come as far|has not done")
        ahead.reset()
        follows(ahead, replica)


def test_postgres_from_a_backup_promoted_or_another_one_is_refused_and_then_read_anew(
    tmp_path: Path,
) -> None:
    need(Postgres)
    with Postgres() as server:
        server.sql("CREATE SCHEMA r", *MADE, "ALTER TABLE r.log REPLICA IDENTITY FULL")
        lake = Lake(tmp_path, "wh", of_postgres(server))
        lake.sync()
        server.back_up()
        server.sql(*CHANGED)
        lake.sync()
        server.restore()
        lake.refused("ends before|restored from a backup")
        server.sql(*OTHERS)
        server.sql(*(f"INSERT INTO r.log VALUES ({n}, repeat('x', 20))" for n in range(20, 60)))
        server.sql("CREATE TABLE public.other AS SELECT generate_series(1, 9000) AS n")
        lake.refused("restored from a backup")
        lake.reset()
        follows(lake, server)
        server.restore(as_standby=True)
        lake.refused("timeline 2: its timeline is another one, so a standby was promoted")
        lake.reset()
        follows(lake, server)
        server.sql("SELECT pg_drop_replication_slot('table_core')", *OTHERS)
        lake.refused("slot 'table_core' is gone")
        lake.reset()
        follows(lake, server)
    with Postgres(port=server.port) as other:
        other.sql(
            "CREATE SCHEMA r", *MADE, *CHANGED, *OTHERS, "ALTER TABLE r.log REPLICA IDENTITY FULL"
        )
        lake.refused("another server")
        lake.reset()
        follows(lake, other)
