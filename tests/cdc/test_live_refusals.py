"""What servers refuse or lack is told with the statement or argument that mends it; it does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import table_core as tc
from table_core.errors import ArgumentError, EventError, StorageUnavailableError, TableError
from tests.cdc.conftest import need
from tests.cdc.servers import MariaDb, Postgres


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    return tc.open_catalog(f"file://{tmp_path}/wh")


def mysql(server: MariaDb, **more: Any) -> tc.MySqlSource:
    given = {"host": "127.0.0.1", "user": "root", "port": server.port, "databases": "refused"}
    return tc.MySqlSource(**{**given, **more})


def postgres_source(server: Postgres, **more: Any) -> tc.PostgresSource:
    given = {
        "host": "127.0.0.1", "port": server.port, "user": "postgres", "database": "postgres",
        "schemas": "refused", "slot": "refused", "publication": "refused",
    }  # fmt: skip
    return tc.PostgresSource(**{**given, **more})


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("binlog_format", "STATEMENT", "ROW"),
        ("binlog_row_image", "MINIMAL", "FULL"),
        ("binlog_row_metadata", "MINIMAL", "FULL"),
    ],
)
def test_a_setting_of_the_binary_log(
    mariadb: MariaDb, catalog: tc.Catalog, name: str, wrong: str, right: str
) -> None:
    mend = f"SET GLOBAL {name} = '{right}'"
    mariadb.sql("CREATE DATABASE IF NOT EXISTS refused", f"SET GLOBAL {name} = '{wrong}'")
    try:
        with pytest.raises(ArgumentError, match=f"{name} is {wrong}.*run {mend}"):
            tc.sync_database(catalog, "lake", mysql(mariadb))
    finally:
        mariadb.sql(mend)
    tc.sync_database(catalog, "lake", mysql(mariadb))


@pytest.mark.parametrize("has", ["SELECT", "REPLICATION SLAVE", "BINLOG MONITOR"])
def test_grants_of_mariadb(mariadb: MariaDb, catalog: tc.Catalog, has: str) -> None:
    user = f"'{has.partition(' ')[0].lower()}'@'127.0.0.1'"
    mariadb.sql(
        "CREATE DATABASE IF NOT EXISTS refused",
        "CREATE TABLE IF NOT EXISTS refused.t (id INT PRIMARY KEY)",
        f"CREATE USER {user} IDENTIFIED BY 's3cret'",
        f"GRANT {has} ON *.* TO {user}",
    )
    source = mysql(mariadb, user=has.partition(" ")[0].lower(), password="s3cret")
    grants = "SELECT, REPLICATION SLAVE, BINLOG MONITOR"
    with pytest.raises(ArgumentError, match=f"GRANT {grants}") as told:
        tc.sync_database(catalog, "lake", source)
    assert "s3cret" not in f"{told.value} {told.value.facts} {source}"
    mariadb.sql(f"GRANT {grants} ON *.* TO {user}")
    tc.sync_database(catalog, "lake", source)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MariaDb, Path]]:
    """A server without binary log, which takes nobody without TLS but root."""
    need(MariaDb, whole=True)
    folder = tmp_path_factory.mktemp("tls")
    for name in ("cert", "other"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
    tls = (f"--ssl-cert={folder}/cert.pem", f"--ssl-key={folder}/cert.key")
    with MariaDb("--skip-log-bin", *tls) as server:
        server.sql("CREATE USER safe@'127.0.0.1' IDENTIFIED BY 's3cret' REQUIRE SSL",
                   "GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO safe@'127.0.0.1'")  # fmt: skip
        yield server, folder


def test_a_server_without_binary_log(closed: tuple[MariaDb, Path], catalog: tc.Catalog) -> None:
    with pytest.raises(ArgumentError, match=r"log_bin is OFF.*start the server with --log-bin"):
        tc.sync_database(catalog, "lake", mysql(closed[0]))


def test_tls_of_mariadb(
    closed: tuple[MariaDb, Path], mariadb: MariaDb, catalog: tc.Catalog
) -> None:
    server, folder = closed

    def refused(server: MariaDb, why: str, **more: Any) -> None:
        with pytest.raises(ArgumentError, match=why) as told:
            tc.sync_database(catalog, "lake", mysql(server, **more))
        assert "s3cret" not in str(told.value)

    user = {"user": "safe", "password": "s3cret"}
    other, trusted = {"ca": f"{folder}/other.pem"}, {"ca": f"{folder}/cert.pem"}
    refused(server, r"certificate verify failed.*ssl=\{'ca'", **user, ssl=other)
    refused(mariadb, r"ssl=\{'ca'.*REQUIRE NONE", ssl={"check_hostname": False})
    refused(server, "log_bin is OFF", **user, ssl=trusted)  # it got in


def test_a_postgres_that_does_not_decode(catalog: tc.Catalog) -> None:
    need(Postgres, whole=True)
    with Postgres("-c wal_level=replica") as server:
        with pytest.raises(ArgumentError, match="ALTER SYSTEM SET wal_level = 'logical'"):
            tc.sync_database(catalog, "lake", postgres_source(server))
        wanted = postgres_source(server, options={"sslmode": "require"})
        with pytest.raises(ArgumentError, match="ALTER SYSTEM SET ssl = on"):
            tc.sync_database(catalog, "lake", wanted)


def test_grants_of_postgres(postgres: Postgres, catalog: tc.Catalog) -> None:
    postgres.sql(
        "CREATE SCHEMA refused",
        "CREATE TABLE refused.t (id INT PRIMARY KEY)",
        "INSERT INTO refused.t VALUES (1)",
        "CREATE ROLE shy LOGIN PASSWORD 's3cret'",
    )
    source = postgres_source(postgres, user="shy", password="s3cret")
    mends = [
        (r"GRANT SELECT ON refused\.t TO shy", "GRANT SELECT ON refused.t TO shy"),
        (
            r'CREATE PUBLICATION "refused" FOR TABLE "refused"\."t" WITH',
            "CREATE PUBLICATION refused FOR TABLE refused.t",
        ),
        (r"ALTER ROLE shy REPLICATION", "ALTER ROLE shy REPLICATION"),
    ]
    postgres.sql("GRANT USAGE ON SCHEMA refused TO shy")
    for told, mend in mends:
        with pytest.raises(TableError, match=told) as error:
            tc.sync_database(catalog, "lake", source)
        assert error.value.kind == "invalid"
        assert "s3cret" not in f"{error.value} {error.value.facts} {source}"
        postgres.sql(mend)
    tc.sync_database(catalog, "lake", source)
    assert catalog.table("lake.t").read().to_arrow().to_pylist() == [{"id": 1}]
    postgres.sql("SELECT pg_drop_replication_slot('refused')", "DROP PUBLICATION refused",
                 "DROP SCHEMA refused CASCADE")  # fmt: skip


def test_a_table_that_is_locked(mariadb: MariaDb, postgres: Postgres, catalog: tc.Catalog) -> None:
    mariadb.sql("CREATE OR REPLACE DATABASE refused", "CREATE TABLE refused.t (id INT PRIMARY KEY)")
    holder = mariadb.connect()
    with holder.cursor() as cursor:
        cursor.execute("LOCK TABLES refused.t WRITE")
        with pytest.raises(StorageUnavailableError, match=r"locked for more than 1 s.*lock_wait_s"):
            tc.sync_database(catalog, "lake", mysql(mariadb, lock_wait_s=1))
    holder.close()
    tc.sync_database(catalog, "lake", mysql(mariadb, lock_wait_s=1))
    postgres.sql("CREATE SCHEMA refused", "CREATE TABLE refused.l (id INT PRIMARY KEY)")
    with psycopg.connect(host="127.0.0.1", port=postgres.port, user="postgres") as connection:
        connection.execute("LOCK TABLE refused.l IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StorageUnavailableError, match=r"locked for more than 1 s.*lock_wait_s"):
            tc.sync_database(catalog, "lake2", postgres_source(postgres, lock_wait_s=1))
    tc.sync_database(catalog, "lake2", postgres_source(postgres, lock_wait_s=1))
    postgres.sql("SELECT pg_drop_replication_slot('refused')", "DROP PUBLICATION refused",
                 "DROP SCHEMA refused CASCADE")  # fmt: skip


def test_a_log_that_the_slot_needs_and_the_server_dropped(catalog: tc.Catalog) -> None:
    need(Postgres, whole=True)
    small = "-c max_slot_wal_keep_size=1MB -c max_wal_size=32MB -c min_wal_size=32MB"
    with Postgres(small) as server:
        server.sql(
            "CREATE SCHEMA refused",
            "CREATE TABLE refused.t (id INT PRIMARY KEY)",
            "INSERT INTO refused.t VALUES (1)",
        )
        source = postgres_source(server)
        tc.sync_database(catalog, "lake", source)
        status = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'refused'"
        for n in range(50):
            server.sql(
                f"INSERT INTO refused.t VALUES ({n + 2})", "SELECT pg_switch_wal()", "CHECKPOINT"
            )
            if (found := server.sql(status)[0][0]) == "lost":
                break
        assert found == "lost"
        with pytest.raises(
            EventError, match=r"pg_drop_replication_slot\('refused'\).*max_slot_wal"
        ):
            tc.sync_database(catalog, "lake", source)
        server.sql("SELECT pg_drop_replication_slot('refused')")
        catalog.drop_table("lake.t")
        tc.sync_database(catalog, "lake", source)
        assert catalog.table("lake.t").read().to_arrow().num_rows == n + 2
