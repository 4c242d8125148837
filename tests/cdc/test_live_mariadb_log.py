"""What else the log of a MariaDB may hold: XA, statements, compressed events, tables replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import EventError, UnsupportedFeatureError
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb


def test_another_choice_of_tables_goes_on_where_each_of_them_is(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "choice")
    mariadb.sql(
        "INSERT INTO choice.t VALUES (2, 'second')", "CREATE TABLE choice.u (id INT PRIMARY KEY)"
    )
    log.sync(including="t")
    assert log.rows() == log.there()
    mariadb.sql("INSERT INTO choice.t VALUES (3, 'third')", "INSERT INTO choice.u VALUES (1)")
    log.sync(including="t|u")
    mariadb.sql("DELETE FROM choice.t WHERE id = 1", "INSERT INTO choice.u VALUES (2)")
    log.sync(excluding="x")
    assert (log.rows(), log.rows("u")) == (log.there(), log.there("u"))
    assert log.sync(excluding="x").rows_written == 0


def test_xa_transactions_come_with_their_commit_and_not_if_they_are_undone(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "xa")

    def transaction(id: int, end: str) -> None:
        xid = f"'x{id}'"
        rows = [
            f"INSERT INTO xa.t VALUES ({id}, 'xa')",
            f"UPDATE xa.t SET v = 'y{id}' WHERE id = 1",
        ]
        mariadb.sql(
            f"XA START {xid}", *rows, f"XA END {xid}", *(s.format(xid) for s in end.split(";"))
        )

    transaction(2, "XA PREPARE {0};XA COMMIT {0}")
    transaction(3, "XA COMMIT {0} ONE PHASE")
    transaction(4, "XA ROLLBACK {0}")
    log.sync()
    assert log.rows() == log.there()
    mariadb.sql("CREATE TABLE xa.other (id INT PRIMARY KEY)")
    mariadb.sql(
        "XA START 'o'",
        "INSERT INTO xa.other VALUES (1)",
        "XA END 'o'",
        "XA PREPARE 'o'",
        "XA ROLLBACK 'o'",
    )
    log.sync(including="t")  # nobody wants the rows that were undone
    transaction(5, "XA PREPARE {0};XA ROLLBACK {0}")
    log.sync()
    assert log.rows() == log.there()


def test_rows_that_a_statement_writes_are_read_again_or_refused(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "stated")
    mariadb.sql("CREATE TABLE stated.other (id INT PRIMARY KEY)")
    statement = "SET SESSION binlog_format = 'STATEMENT'"
    mariadb.sql(statement, "INSERT INTO stated.other VALUES (1)")
    log.sync(including="t")
    mariadb.sql(statement, "USE stated", "/* by hand */ UPDATE t SET v = 'z'")
    with pytest.raises(EventError, match=r"stated\.t: its rows were written by a statement"):
        log.sync(including="t", on_rewrite="fail")
    log.sync(including="t")
    assert log.rows() == log.there()


def test_compressed_events_are_read_and_others_tables_of_unknown_types_left_alone(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "packed")
    mariadb.sql(
        "CREATE TABLE packed.odd (id INT PRIMARY KEY, z TEXT COMPRESSED)",
        "INSERT INTO packed.odd VALUES (1, 'x')",
    )
    mariadb.sql("SET GLOBAL log_bin_compress = ON", "SET GLOBAL log_bin_compress_min_len = 10")
    try:
        mariadb.sql("INSERT INTO packed.t SELECT seq + 10, REPEAT('v', 20) FROM mysql.seq_1_to_900")
        mariadb.sql(
            "UPDATE packed.t SET v = 'w' WHERE id % 3 = 0", "DELETE FROM packed.t WHERE id % 7 = 0"
        )
    finally:
        mariadb.sql("SET GLOBAL log_bin_compress = OFF")
    log.sync(including="t")
    assert log.rows() == log.there()


def test_a_table_that_is_replaced_was_dropped(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "again")
    mariadb.sql(
        "CREATE OR REPLACE TABLE again.t (id INT PRIMARY KEY, w INT)",
        "INSERT INTO again.t VALUES (9, 9)",
    )
    with pytest.raises(EventError, match=r"the source table again\.t was dropped"):
        log.sync(on_drop="fail")


def test_tables_that_trade_their_names(mariadb: MariaDb, tmp_path: Path) -> None:
    """As tools for online schema changes do it."""
    log = Log(mariadb, tmp_path, "swap")
    mariadb.sql(
        "CREATE TABLE swap._t_gho LIKE swap.t",
        "ALTER TABLE swap._t_gho ADD COLUMN n INT NOT NULL DEFAULT 5, MODIFY v VARCHAR(99) FIRST",
        "INSERT INTO swap._t_gho (id, v) SELECT id, v FROM swap.t",
        "UPDATE swap.t SET v = 'last' WHERE id = 1",
        "UPDATE swap._t_gho SET v = 'last' WHERE id = 1",
        "RENAME TABLE swap.t TO swap._t_del, swap._t_gho TO swap.t",
        "INSERT INTO swap.t (id, v, n) VALUES (2, 'new', 6)",
        "DROP TABLE swap._t_del",
    )
    log.sync(excluding="_.*")
    rows = log.catalog.table("lake.t").read().to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "v": "last", "n": 5}, {"id": 2, "v": "new", "n": 6}]


def test_sequences_are_no_tables_and_tables_with_history_are_refused(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "odd")
    mariadb.sql("CREATE SEQUENCE odd.s", "INSERT INTO odd.t VALUES (NEXTVAL(odd.s) + 9, 'n')")
    log.sync()
    assert log.catalog.tables("lake") == ["t"]
    assert log.rows() == log.there()
    mariadb.sql("CREATE TABLE odd.h (id INT PRIMARY KEY) WITH SYSTEM VERSIONING")
    with pytest.raises(UnsupportedFeatureError, match=r"odd\.h is WITH SYSTEM VERSIONING"):
        log.sync()
    log.sync(excluding="h")


def test_shards_with_one_key_in_both_keep_their_rows_by_the_name_of_the_shard(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    for name in ("part_1", "part_2"):
        mariadb.sql(
            f"CREATE DATABASE {name}",
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY, v INT)",
            f"INSERT INTO {name}.t VALUES (1, {name[-1]})",
        )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="part_.")

    def synced() -> list[tuple[Any, ...]]:
        tc.sync_database(
            catalog,
            "lake",
            source,
            metadata_columns=("database_name",),
            primary_key=("database_name", "id"),
        )
        rows = catalog.table("lake.t").read().to_arrow().to_pylist()
        return sorted((row["database_name"], row["id"], row["v"]) for row in rows)

    assert synced() == [("part_1", 1, 1), ("part_2", 1, 2)]
    mariadb.sql("UPDATE part_1.t SET v = 3", "DELETE FROM part_2.t")
    assert synced() == [("part_1", 1, 3)]
    mariadb.sql("INSERT INTO part_2.t VALUES (1, 4)", "UPDATE part_1.t SET id = 2")
    assert synced() == [("part_1", 2, 3), ("part_2", 1, 4)]
