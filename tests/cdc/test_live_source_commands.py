"""The commands about a source, with real servers: a look at it, and tables that are read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import ArgumentError, TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.sources import postgres_source as of_postgres


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


def job(action: str, folder: Path, server: MariaDb, **args: Any) -> JobSpec:
    """As an operator would ask for it."""
    source = {"kind": "mysql", "host": "127.0.0.1", "user": "root", "port": server.port}
    return JobSpec(
        action=action,
        warehouse=f"file://{folder}/wh",
        table="lake",
        args={**args, "source": {**source, **args["source"]}},
    )


def test_the_first_job_looks_at_the_server_and_errors_end_it(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    said: list[dict[str, Any]] = []

    def told(stage: str, **facts: Any) -> None:
        said.append({"stage": stage, **facts})

    mariadb.sql(
        "CREATE OR REPLACE DATABASE looked",
        "CREATE TABLE looked.bag (id INT)",
        "INSERT INTO looked.bag VALUES (1)",
        "CREATE TABLE looked.past (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
    )
    source = {"databases": "looked"}
    sync = job("sync-database", tmp_path, mariadb, source=source)
    with pytest.raises(ArgumentError, match=r"looked\.past: WITH SYSTEM VERSIONING.*leave it out"):
        run_embedded(sync, told)
    assert {one["stage"] for one in said} == {"source"}  # and no row was read
    assert {one["what"] for one in said} == {"looked.bag", "looked.past"}
    sync = job("sync-database", tmp_path, mariadb, source=source, excluding="past")
    run_embedded(sync, told)
    assert "remedy" in said[2]
    said.clear()
    run_embedded(sync, told)
    assert not [one for one in said if one["stage"] == "source"]  # it was read before
    with pytest.raises(ArgumentError, match="no primary key"):
        run_embedded(
            job(
                "source-doctor",
                tmp_path,
                mariadb,
                source=source,
                including="bag",
                fail_on="warning",
            )
        )
    seen: Any = run_embedded(
        job("source-doctor", tmp_path, mariadb, source=source, including="bag")
    )
    assert (seen["details"]["error"], seen["details"]["warning"]) == (0, 1)
    assert {one["level"] for one in seen["details"]["findings"]} == {"ok", "warning"}
    mariadb.sql("SET sql_log_bin = OFF", "INSERT INTO looked.bag VALUES (2)")
    done = run_embedded(job("resync", tmp_path, mariadb, source=source, tables=["bag"]))
    assert done["rows_written"] == 2
    mariadb.sql("DROP DATABASE looked")


def test_tables_that_cannot_be_followed_are_left_out_if_asked_and_told(
    mariadb: MariaDb, postgres: Postgres, tmp_path: Path
) -> None:
    mariadb.sql(
        "CREATE OR REPLACE DATABASE unfit",
        "CREATE TABLE unfit.t (id INT PRIMARY KEY)",
        "INSERT INTO unfit.t VALUES (1)",
        "CREATE TABLE unfit.past (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
    )
    postgres.sql(
        "CREATE SCHEMA unfit",
        "CREATE TABLE unfit.t (id INT PRIMARY KEY)",
        "INSERT INTO unfit.t VALUES (1)",
        "CREATE TABLE unfit.bag (id INT)",
        "CREATE UNLOGGED TABLE unfit.fleeting (id INT PRIMARY KEY)",
    )
    maria = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="unfit")
    pg = tc.PostgresSource(**of_postgres(postgres, "unfit", "unfit"))
    for source, lacking in ((maria, ["past"]), (pg, ["bag", "fleeting"])):
        catalog = tc.open_catalog(f"file://{tmp_path}/{type(source).__name__}")
        said: dict[str, str] = {}

        def told(stage: str, said: dict[str, str] = said, **facts: Any) -> None:
            if stage == "left out":
                said[facts["table"]] = facts["why"]

        with pytest.raises(TableError, match=r"leave (it|the table) out"):
            tc.sync_database(catalog, "lake", source)
        for rows in (1, 0):
            done = tc.sync_database(
                catalog, "lake", source, ignore_incompatible=True, progress=told
            )
            assert done.rows_written == rows
            assert done.details["skipped"] == [f"lake.{name}" for name in lacking]
        assert said.keys() == {f"unfit.{name}" for name in lacking}
        assert all("out" in why for why in said.values())
    postgres.sql("SELECT pg_drop_replication_slot('unfit')", "DROP SCHEMA unfit CASCADE")
    mariadb.sql("DROP DATABASE unfit")


def test_a_source_of_which_no_table_is_meant_is_not_synced_in_silence(
    mariadb: MariaDb, postgres: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mariadb.sql("CREATE OR REPLACE DATABASE meant", "CREATE TABLE meant.t (id INT PRIMARY KEY)")
    postgres.sql("CREATE SCHEMA meant", "CREATE TABLE meant.t (id INT PRIMARY KEY)")
    maria = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="ment")
    pg = tc.PostgresSource(**of_postgres(postgres, "meant", "meant"))
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    for source, filters in ((maria, {}), (pg, {"including": "orders|x"})):
        caplog.clear()
        tc.sync_database(catalog, "lake", source, **filters)
        assert caplog.text.count("is meant: look at the databases or schemas") == 1
    caplog.clear()
    tc.sync_database(catalog, "lake", pg)
    assert not caplog.text
    with pytest.raises(ArgumentError, match=r"leaves out meant\.t only because"):
        tc.source_doctor(pg, excluding="mea.*")
    postgres.sql("SELECT pg_drop_replication_slot('meant')", "DROP SCHEMA meant CASCADE")
    mariadb.sql("DROP DATABASE meant")
