"""A real MariaDB: snapshot, log, schema changes, kills, and errors that say how to mend them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import ArgumentError, EventError, StorageUnavailableError
from tests.cdc.servers import MariaDb
from tests.cdc.sources import mariadb_source as source
from tests.cdc.torture import CHANGES, Torture, changes, spelled

DDL = [
    "ALTER TABLE tor_1.orders ADD COLUMN rank INT NOT NULL DEFAULT 7",
    "ALTER TABLE tor_2.orders ADD COLUMN rank INT NOT NULL DEFAULT 7 FIRST",
    "ALTER TABLE tor_1.items MODIFY qty BIGINT NOT NULL",
    "ALTER TABLE tor_2.items MODIFY qty BIGINT NOT NULL",
    "CREATE TABLE tor_1.late (k VARCHAR(20) PRIMARY KEY, v DECIMAL(9,3))",
    "INSERT INTO tor_1.late VALUES ('a', 1.5), ('b', -2.125)",
    "ALTER TABLE tor_1.orders MODIFY price DECIMAL(16,4) NOT NULL",
    "ALTER TABLE tor_2.orders MODIFY price DECIMAL(16,4) NOT NULL",
]


def test_many_changes_with_ddl_and_kills_leave_both_sides_equal(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    for schema in ("tor_1", "tor_2"):
        mariadb.sql(
            f"CREATE DATABASE {schema}",
            f"CREATE TABLE {schema}.orders (id BIGINT UNSIGNED PRIMARY KEY, customer INT NOT NULL, "
            "price DECIMAL(12,2) NOT NULL, note TEXT)",
            f"CREATE TABLE {schema}.items (id BIGINT, line SMALLINT, qty INT NOT NULL, "
            "PRIMARY KEY (id, line))",
            f"CREATE TABLE {schema}.notes (a INT, b VARCHAR(40))",
        )
        first = int(schema[-1]) * 50_000_000
        values = ", ".join(f"({first + n}, {n % 9}, {n}.50, 'first')" for n in range(500))
        mariadb.sql(f"INSERT INTO {schema}.orders VALUES {values}")
    torture = Torture(
        tmp_path / "wh",
        "mysql",
        source(mariadb, "tor_.*", chunk_rows=200),
        options={"changelog-producer": "input"},
    )
    connection = mariadb.connect()
    cursor = connection.cursor()
    torture.run(changes(1, CHANGES, ["tor_1", "tor_2"], DDL), cursor.execute, seed=2)
    for table in ("orders", "items", "notes"):
        there = []
        for schema in ("tor_1", "tor_2"):
            cursor.execute(f"SELECT * FROM {schema}.{table}")
            names = [d[0] for d in cursor.description]
            there += [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        assert torture.rows(table) == spelled(names, there), table
    assert torture.rows("late") == spelled(
        ["k", "v"], [{"k": "a", "v": "1.500"}, {"k": "b", "v": "-2.125"}]
    )
    for table in ("orders", "items"):
        assert torture.replayed(table) == torture.rows(table)
    assert torture.sync() == {"rows": 0, "events": 0}


def test_one_table_follows_its_source(mariadb: MariaDb, tmp_path: Path) -> None:
    mariadb.sql(
        "CREATE DATABASE one",
        "CREATE TABLE one.t (id INT PRIMARY KEY, ok TINYINT(1), at TIMESTAMP(3) NULL)",
        "INSERT INTO one.t VALUES (1, 1, '2024-01-02 03:04:05.678'), (2, 0, NULL)",
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    catalog.create_database("lake")
    server = tc.MySqlSource(**source(mariadb, "one", tables="one.t"))
    tc.sync_table(catalog, "lake.t", server, computed_columns=["y=year(at)"])
    mariadb.sql(
        "UPDATE one.t SET id = 3 WHERE id = 1",
        "TRUNCATE one.t",
        "INSERT INTO one.t VALUES (9,1,NULL)",
    )
    tc.sync_table(catalog, "lake.t", server, computed_columns=["y=year(at)"])
    rows = catalog.table("lake.t").read().to_arrow().to_pylist()
    assert rows == [{"id": 9, "ok": True, "at": None, "y": None}]


def test_what_the_server_refuses_is_told_with_what_mends_it(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    mariadb.sql(
        "CREATE DATABASE err",
        "CREATE TABLE err.t (id INT PRIMARY KEY)",
        "CREATE USER weak@'127.0.0.1' IDENTIFIED BY 's3cret'",
        "GRANT SELECT ON err.* TO weak@'127.0.0.1'",
    )

    def sync(**more: Any) -> None:
        tc.sync_database(catalog, "lake", tc.MySqlSource(**source(mariadb, "err", **more)))

    with pytest.raises(
        ArgumentError, match="GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR"
    ) as told:
        sync(user="weak", password="s3cret")
    assert "s3cret" not in str(told.value)
    with pytest.raises(ArgumentError, match="password"):
        sync(user="weak", password="wr0ng")
    with pytest.raises(StorageUnavailableError, match="cannot be reached"):
        sync(port=1)
    mariadb.sql("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
    try:
        with pytest.raises(ArgumentError, match="SET GLOBAL binlog_row_metadata = 'FULL'"):
            sync()
    finally:
        mariadb.sql("SET GLOBAL binlog_row_metadata = 'FULL'")


def test_a_purged_log_is_named(mariadb: MariaDb, tmp_path: Path) -> None:
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    mariadb.sql(
        "CREATE DATABASE gone",
        "CREATE TABLE gone.t (id INT PRIMARY KEY)",
        "INSERT INTO gone.t VALUES (1)",
    )
    server = tc.MySqlSource(**source(mariadb, "gone"))
    tc.sync_database(catalog, "lake", server)
    mariadb.sql("FLUSH BINARY LOGS", "INSERT INTO gone.t VALUES (2)", "FLUSH BINARY LOGS")
    name = mariadb.sql("SHOW MASTER STATUS")[0][0]
    for _ in range(100):  # a log that a reader has just left stays for a moment
        mariadb.sql(f"PURGE BINARY LOGS TO '{name}'")
        if mariadb.sql("SHOW BINARY LOGS")[0][0] == name:
            break
        mariadb.sql("FLUSH BINARY LOGS")
        time.sleep(0.1)
    with pytest.raises(EventError, match="no longer has the binary log"):
        tc.sync_database(catalog, "lake", server)


def test_a_second_server_on_the_machine_takes_no_temporary_table_of_the_first(
    mariadb: MariaDb,
) -> None:
    connection = mariadb.connect()
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE beside")
        cursor.execute("CREATE TEMPORARY TABLE beside.held (a TEXT) ENGINE=Aria")
        cursor.execute("INSERT INTO beside.held VALUES ('row')")
        with MariaDb():
            pass
        cursor.execute("DROP TEMPORARY TABLE beside.held")  # its file is missing: error 1051
    connection.close()
