"""The commands about a source, with real servers: a look at it, and tables that are read again."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.test_live_mariadb_log import Log
from tests.cdc.test_live_postgres import source as of_postgres


def test_a_table_that_differs_is_read_again_on_request(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "asked")
    mariadb.sql(
        "CREATE TABLE asked.u (id INT PRIMARY KEY)",
        "INSERT INTO asked.u VALUES (1)",
    )
    log.sync()
    mariadb.sql(
        "SET sql_log_bin = OFF",
        "DELETE FROM asked.t",
        "INSERT INTO asked.t VALUES (8, 'unlogged')",
        "DELETE FROM asked.u",
    )
    mariadb.sql("INSERT INTO asked.u VALUES (2)")
    log.sync()
    assert log.rows() != log.there()
    described = tmp_path / "source.json"
    described.write_text(
        json.dumps(
            {"kind": "mysql", "host": "127.0.0.1", "user": "root", "port": mariadb.port,
             "databases": "asked"}
        )
    )  # fmt: skip
    command = [
        "source",
        "resync",
        "-w",
        f"file://{tmp_path}/wh",
        "lake.t",
        "--source",
        str(described),
    ]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    assert log.rows() == log.there()
    assert log.rows("u") == [(1,), (2,)]  # nobody asked for it
    tc.resync(
        log.catalog,
        ["lake.u"],
        tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="asked"),
    )
    assert log.rows("u") == [(2,)]
    assert log.sync().rows_written == 0


def test_what_is_in_the_way_of_a_mariadb_is_found(mariadb: MariaDb) -> None:
    mariadb.sql(
        "CREATE OR REPLACE DATABASE ill",
        "CREATE TABLE ill.p (id INT PRIMARY KEY)",
        "CREATE TABLE ill.c (id INT, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        "CREATE TABLE ill.h (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        "CREATE USER 'poor'@'127.0.0.1'",
        "GRANT SELECT ON *.* TO 'poor'@'127.0.0.1'",
    )
    found = tc.source_doctor(
        tc.MySqlSource("127.0.0.1", "poor", port=mariadb.port, databases="ill")
    )
    said = {one.what: one for one in found if one.level != "ok"}
    assert said["REPLICATION SLAVE"].remedy == "run GRANT REPLICATION SLAVE ON *.* TO 'poor'@…"
    assert "WITH SYSTEM VERSIONING" in said["ill.h"].status
    assert {one.status for one in found if one.what == "ill.c"} == {
        "no primary key",
        "a foreign key follows ill.p",
    }
    assert all(one.remedy and one.effect for one in said.values())
    mariadb.sql("DROP DATABASE ill")
    well = tc.source_doctor(tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="one"))
    assert not [one for one in well if one.level == "error"]


def test_what_is_in_the_way_of_a_postgres_is_found(postgres: Postgres) -> None:
    postgres.sql(
        "CREATE SCHEMA ill",
        "CREATE TABLE ill.nokey (id INT)",
        "CREATE TABLE ill.parent (id INT PRIMARY KEY)",
        "CREATE TABLE ill.heir () INHERITS (ill.parent)",
        "CREATE UNLOGGED TABLE ill.fleeting (id INT PRIMARY KEY)",
        "ALTER TABLE ill.parent ENABLE ROW LEVEL SECURITY",
        "CREATE ROLE poor LOGIN",
        "GRANT USAGE ON SCHEMA ill TO poor",
        "GRANT SELECT ON ill.parent TO poor",
    )
    given = of_postgres(postgres, "ill", "ill") | {"user": "poor"}
    found = tc.source_doctor(tc.PostgresSource(**given))
    remedies = {(one.what, one.remedy) for one in found if one.level != "ok"}
    assert remedies >= {
        ("REPLICATION", "run ALTER ROLE poor REPLICATION"),
        ("ill.parent", "run ALTER ROLE poor BYPASSRLS"),
        ("ill.parent", "sync the heirs too"),
        ("ill.nokey", "run GRANT SELECT ON ill.nokey TO poor"),
        ("ill.nokey", "run ALTER TABLE ill.nokey REPLICA IDENTITY FULL"),
        ("ill.fleeting", "run ALTER TABLE ill.fleeting SET LOGGED"),
    }
    postgres.sql("DROP SCHEMA ill CASCADE")
