"""Rows of a MariaDB that change without a word in its log: the lake equals the source all the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import table_core as tc
from table_core.errors import DataError, EventError
from tests.cdc.both_sides import is_read_again, same
from tests.cdc.conftest import need
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb
from tests.lanes import sampled

MORE = (
    "CREATE TABLE {0}.u (id INT PRIMARY KEY, v VARCHAR(20))",
    "INSERT INTO {0}.u VALUES (1, 'u')",
)
CASES: dict[str, Sequence[str]] = {
    "a rotated table": (
        "CREATE TABLE {0}.n LIKE {0}.t",
        "RENAME TABLE {0}.t TO {0}.o, {0}.n TO {0}.t",
        "INSERT INTO {0}.t VALUES (7, 'seven')",
    ),
    "a table that is renamed by ALTER": (
        *MORE,
        "ALTER TABLE {0}.t RENAME TO {0}.o",
        "ALTER TABLE {0}.u RENAME AS {0}.t",
    ),
    "a table that is created anew": (
        "DROP TABLE {0}.t",
        "CREATE TABLE {0}.t (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO {0}.t VALUES (7, 'seven')",
    ),
    "a database that is created anew": (
        "DROP DATABASE {0}",
        "CREATE DATABASE {0}",
        "CREATE TABLE {0}.t (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO {0}.t VALUES (7, 'seven')",
    ),
    "a default that is dropped": (
        "ALTER TABLE {0}.t ADD n INT NOT NULL DEFAULT 5",
        "ALTER TABLE {0}.t ALTER n DROP DEFAULT",
        "INSERT INTO {0}.t VALUES (2, 'b', 6)",
    ),
    "a default that comes later": (
        "ALTER TABLE {0}.t ADD n INT",
        "ALTER TABLE {0}.t ALTER n SET DEFAULT 5",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "a default that changes": (
        "ALTER TABLE {0}.t ADD n INT DEFAULT 5",
        "ALTER TABLE {0}.t ALTER n SET DEFAULT 7",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "defaults that the server computes": (
        "ALTER TABLE {0}.t ADD a DATETIME DEFAULT NOW(), ADD b VARCHAR(36) DEFAULT UUID(), "
        "ADD c INT AS (id * 2) STORED, ADD d INT NOT NULL AUTO_INCREMENT UNIQUE",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "columns that must not be null": (
        "ALTER TABLE {0}.t ADD a INT NOT NULL, ADD b VARCHAR(9) NOT NULL, ADD c ENUM('x','y') NOT NULL",
        "INSERT INTO {0}.t VALUES (2, 'b', 1, 'b', 'y')",
    ),
    "defaults with escapes": (
        r"ALTER TABLE {0}.t ADD a VARCHAR(9) DEFAULT 'a\\b', ADD b VARCHAR(9) DEFAULT 'x\ny'",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "a default that takes its type": (
        "ALTER TABLE {0}.t ADD a DECIMAL(5,1) DEFAULT 1.25, ADD b DOUBLE DEFAULT 1e3, ADD c INT DEFAULT '7'",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "names that trade places": (
        "ALTER TABLE {0}.t ADD w VARCHAR(20) DEFAULT 'w'",
        "INSERT INTO {0}.t VALUES (2, 'b', 'c')",
        "ALTER TABLE {0}.t CHANGE v w VARCHAR(20), CHANGE w v VARCHAR(20)",
    ),
    "a column that is dropped and added": (
        "ALTER TABLE {0}.t DROP v",
        "ALTER TABLE {0}.t ADD v VARCHAR(20)",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "a column that is narrowed": (
        "ALTER TABLE {0}.t ADD n DECIMAL(10,4) DEFAULT 1.2345",
        "INSERT INTO {0}.t VALUES (2, 'b', 2.3456)",
        "ALTER TABLE {0}.t MODIFY n DECIMAL(10,2)",
        "INSERT INTO {0}.t VALUES (3, 'b', 2.34)",
    ),
    "EXCHANGE PARTITION": (
        "CREATE TABLE {0}.p (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY RANGE (id) "
        "(PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)",
        "INSERT INTO {0}.p VALUES (2, 'two'), (20, 'twenty')",
        "-- sync",
        "ALTER TABLE {0}.p EXCHANGE PARTITION a WITH TABLE {0}.t",
    ),
    "TRUNCATE and DROP PARTITION": (
        "CREATE TABLE {0}.p (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY RANGE (id) "
        "(PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20), "
        "PARTITION c VALUES LESS THAN MAXVALUE)",
        "INSERT INTO {0}.p VALUES (2, 'two'), (12, 'twelve'), (20, 'twenty')",
        "-- sync",
        "ALTER TABLE {0}.p TRUNCATE PARTITION a",
        "ALTER TABLE {0}.p DROP PARTITION b",
    ),
    "TRUNCATE with a comment": ("TRUNCATE /* c */ TABLE {0}.t",),
    "TRUNCATE in a comment": ("/*!50000 TRUNCATE TABLE {0}.t */",),
    "TRUNCATE with settings": ("SET STATEMENT lock_wait_timeout = 5 FOR TRUNCATE TABLE {0}.t",),
    "TRUNCATE behind a line": ("# c\nTRUNCATE {0}.t",),
    "no TRUNCATE, of a later version": ("/*!999999 TRUNCATE TABLE {0}.t */ DO 1",),
    "TRUNCATE with ANSI quotes": ("SET sql_mode = 'ANSI_QUOTES'", 'TRUNCATE TABLE "{0}"."t"'),
    "rows of a statement": (
        "SET binlog_format = 'STATEMENT'",
        "INSERT /* x */ INTO {0}.t VALUES (2, 'two')",
    ),
    "rows of a statement with settings": (
        "SET binlog_format = 'STATEMENT'",
        "SET STATEMENT sort_buffer_size = 100000 FOR INSERT INTO {0}.t VALUES (2, 'two')",
    ),
    "rows of a file": (
        "SELECT 5, 'five' INTO OUTFILE './{0}.txt'",
        "SET binlog_format = 'STATEMENT'",
        "LOAD DATA INFILE './{0}.txt' INTO TABLE {0}.t",
    ),
    "a name in other letters": (
        "INSERT INTO {0}.t VALUES (2, 'b')",
        "ALTER TABLE {0}.t CHANGE v V VARCHAR(20)",
        "INSERT INTO {0}.t VALUES (3, 'c')",
    ),
    "rows of a function": (
        "SET GLOBAL log_bin_trust_function_creators = ON",
        "CREATE FUNCTION {0}.f() RETURNS INT BEGIN INSERT INTO {0}.t VALUES (5, 'f'); RETURN 1; END",
        "SET binlog_format = 'STATEMENT'",
        "DO {0}.f()",
    ),
    "rows of a trigger": (
        "CREATE TABLE {0}.log_u (id INT PRIMARY KEY)",
        "CREATE TRIGGER {0}.g AFTER INSERT ON {0}.log_u FOR EACH ROW INSERT INTO {0}.t VALUES (NEW.id, 'g')",
        "SET binlog_format = 'STATEMENT'",
        "INSERT INTO {0}.log_u VALUES (9)",
    ),
    "rows of a join": (
        *MORE,
        "SET binlog_format = 'STATEMENT'",
        "UPDATE {0}.u o JOIN {0}.t t ON o.id = t.id SET t.v = 'joined'",
    ),
    "rows that are deleted by another table": (
        *MORE,
        "SET binlog_format = 'STATEMENT'",
        "USE {0}",
        "DELETE FROM o, t USING {0}.u o JOIN {0}.t t ON o.id = t.id",
    ),
    "rows without all columns": (
        "SET binlog_row_image = 'MINIMAL'",
        "UPDATE {0}.t SET v = 'minimal'",
        "SET binlog_row_image = 'NOBLOB'",
        "INSERT INTO {0}.t (id) VALUES (3)",
    ),
    "a transaction that is rolled back": (
        "BEGIN",
        "INSERT INTO {0}.t VALUES (2, 'two')",
        "CREATE TEMPORARY TABLE {0}.x (id INT)",
        "ROLLBACK",
    ),
    "a part of a transaction that is rolled back": (
        "CREATE TEMPORARY TABLE {0}.x (id INT)",
        "CREATE TABLE {0}.m (id INT PRIMARY KEY) ENGINE=MyISAM",
        "BEGIN",
        "INSERT INTO {0}.t VALUES (2, 'two')",
        "SAVEPOINT `S 1`",
        "INSERT INTO {0}.t VALUES (3, 'three')",
        "INSERT INTO {0}.m VALUES (1)",
        "INSERT INTO {0}.x VALUES (1)",
        "ROLLBACK TO `s 1`",
        "INSERT INTO {0}.t VALUES (4, 'four')",
        "COMMIT",
    ),
    "a temporary table in a transaction": (
        "SET binlog_format = 'MIXED'",
        "BEGIN",
        "INSERT INTO {0}.t VALUES (2, LEFT(UUID(), 9))",
        "CREATE TEMPORARY TABLE {0}.x (id INT)",
        "INSERT INTO {0}.t VALUES (3, LEFT(UUID(), 9))",
        "COMMIT",
    ),
}  # fmt: skip
FROM_THE_LOG = {
    "a default that is dropped",
    "a default that comes later",
    "a default that changes",
    "defaults with escapes",
    "TRUNCATE with a comment",
    "TRUNCATE in a comment",
    "TRUNCATE with settings",
    "TRUNCATE behind a line",
    "no TRUNCATE, of a later version",
    "TRUNCATE with ANSI quotes",
    "a transaction that is rolled back",
    "a part of a transaction that is rolled back",
    "a temporary table in a transaction",
}
"""Of these the log tells all; after the others the table is read again."""


@pytest.mark.parametrize("case", sampled(CASES, 4))
def test_the_lake_equals_the_source_after(mariadb: MariaDb, tmp_path: Path, case: str) -> None:
    name = f"rw_{list(CASES).index(case)}"
    log = Log(mariadb, tmp_path, name)
    mariadb.sql("SET GLOBAL log_bin_trust_function_creators = ON")
    for n, part in enumerate("\n;".join(CASES[case]).replace("{0}", name).split("\n;-- sync")):
        if n:
            log.sync()
        mariadb.sql(*filter(None, part.split("\n;")))
    assert is_read_again(log.sync) == (case not in FROM_THE_LOG)
    log.sync()
    there = {row[0] for row in mariadb.sql(f"SHOW FULL TABLES FROM {name}")}
    same(log, *sorted(there & {"t", "u", "p"}))
    mariadb.sql(
        f"DELETE FROM {name}.t WHERE id = 1", f"INSERT IGNORE INTO {name}.t (id) VALUES (99)"
    )
    log.sync()
    same(log, *sorted(there & {"t", "u", "p"}))
    assert log.sync().rows_written == 0


def test_a_table_that_was_dropped_in_one_run_and_made_in_another_is_read_again(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "rw_later")
    mariadb.sql("CREATE TABLE IF NOT EXISTS rw_later.t (id INT)")
    assert log.sync(on_rewrite="fail").rows_written == 0  # the table was there
    mariadb.sql("DROP TABLE rw_later.t")
    log.sync()
    assert log.rows() == [(1, "first")]
    mariadb.sql("CREATE TABLE IF NOT EXISTS rw_later.t (id INT PRIMARY KEY, v VARCHAR(20))")
    mariadb.sql("INSERT INTO rw_later.t VALUES (7, 'seven')")
    log.sync()
    same(log, "t")
    assert log.sync().rows_written == 0


def test_a_sync_that_is_to_fail_names_the_way_out(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "rw_fail")
    mariadb.sql("ALTER TABLE rw_fail.t CHANGE v w VARCHAR(20)")
    with pytest.raises(EventError, match=r"rw_fail\.t: a column was renamed.*source resync"):
        log.sync(on_rewrite="fail")
    log.sync()
    same(log, "t")


def test_children_of_a_foreign_key_follow_their_parents(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "rw_keys")
    mariadb.sql(
        "CREATE TABLE rw_keys.c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) "
        "ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE rw_keys.g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id) "
        "ON DELETE SET NULL)",
        "INSERT INTO rw_keys.t VALUES (2, 'b'), (3, 'c')",
        "INSERT INTO rw_keys.c VALUES (1, 1), (2, 2), (3, 3)",
        "INSERT INTO rw_keys.g VALUES (1, 1), (2, 2), (3, 3)",
    )
    log.sync()
    few = tc.open_catalog(f"file://{tmp_path}/few")  # a user who sees no foreign keys
    mariadb.sql(
        "CREATE USER 'few'@'127.0.0.1'",
        "GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO 'few'@'127.0.0.1'",
    )
    source = tc.MySqlSource("127.0.0.1", "few", port=mariadb.port, databases="rw_keys")
    tc.sync_database(few, "lake", source)
    mariadb.sql("DELETE FROM rw_keys.t WHERE id = 1", "UPDATE rw_keys.t SET id = 20 WHERE id = 2")
    log.sync()
    same(log, "t", "c", "g")
    tc.sync_database(few, "lake", source)
    for table in ("t", "c", "g"):
        rows = few.table(f"lake.{table}").read().to_arrow().to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == log.rows(table)
    mariadb.sql("DELETE FROM rw_keys.t WHERE id = 20", "UPDATE rw_keys.t SET v = 'x' WHERE id = 3")
    log.sync(excluding="t")
    same(log, "c", "g")


def test_xa_transactions_count_from_their_commit_on(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "rw_xa")

    def prepare(id: int) -> None:
        xid = f"'r{id}'"
        mariadb.sql(
            f"XA START {xid}", f"INSERT INTO rw_xa.t VALUES ({id}, 'xa')", f"XA END {xid}",
            f"XA PREPARE {xid}",
        )  # fmt: skip

    for id in (2, 3, 4):
        prepare(id)
    other = tc.open_catalog(f"file://{tmp_path}/other")
    source = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="rw_xa")
    tc.sync_database(other, "lake", source)  # a first snapshot sees none of them
    log.sync()
    same(log, "t")
    mariadb.sql("XA COMMIT 'r2'", "XA ROLLBACK 'r3'")
    prepare(5)
    mariadb.sql("XA COMMIT 'r5'")
    log.sync()
    tc.sync_database(other, "lake", source)
    same(log, "t")
    mariadb.sql("XA COMMIT 'r4'")
    log.sync()
    same(log, "t")
    tc.sync_database(other, "lake", source)
    assert sorted(other.table("lake.t").read().to_arrow()["id"].to_pylist()) == [1, 2, 4, 5]


KEYS: list[tuple[str, list[str]]] = [
        ("c ENUM('US','DE','FR')", ["'US'", "'DE'", "'FR'"]),
        ("c BIT(1)", ["b'0'", "b'1'"]),
        ("c BIT(12)", ["b'100000000000'", "b'1'", "b'11'"]),
        ("c DECIMAL(40,0)", [str(10**39), "5", "-7"]),
        ("c DECIMAL(65,0)", [str(10**64), str(10**64 + 1), "-7"]),
        ("c DECIMAL(65,38)", ["1.5", "-0.00000000000000000000000000000000000001", "2"]),
        ("c DOUBLE", ["1e300", "-0.1", "3"]),
        ("c FLOAT", ["1e30", "-0.1", "3"]),
        ("c YEAR", ["1999", "0", "2020"]),
        ("c VARBINARY(4)", ["x'00ff'", "x'25'", "''"]),
        ("c VARCHAR(9) COLLATE utf8mb4_german2_ci", ["'a'", "'Ä'", "'z'", "'%s'"]),
        ("c VARCHAR(9) CHARACTER SET latin1", ["'a'", "'Ä'", "'ÿ'"]),
        ("c TIME(3)", ["'-10:00:00.5'", "'00:00:00'", "'800:00:00'"]),
    ]  # fmt: skip


@pytest.mark.parametrize(("types", "values"), sampled(KEYS, 3))
@pytest.mark.parametrize("first", [True, False])
def test_a_snapshot_in_small_chunks_has_each_key_once(
    mariadb: MariaDb, tmp_path: Path, types: str, values: list[str], first: bool
) -> None:
    name = "rw_chunks"
    key = "c, id" if first else "id, c"
    rows = ", ".join(f"({n}, {value})" for n in range(7) for value in values)
    mariadb.sql(
        f"CREATE OR REPLACE DATABASE {name}",
        f"CREATE TABLE {name}.t (id INT, {types}, PRIMARY KEY ({key}))",
        f"INSERT INTO {name}.t VALUES {rows}",
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases=name, chunk_rows=2)
    tc.sync_database(catalog, "lake", source)
    assert catalog.table("lake.t").read().to_arrow().num_rows == 7 * len(values)


def test_names_in_any_letters_where_the_server_folds_them(tmp_path: Path) -> None:
    need(MariaDb)
    with MariaDb("--lower-case-table-names=1") as server:
        log = Log(server, tmp_path, "folded")
        server.sql(
            "INSERT INTO Folded.T VALUES (2, 'b')",
            "TRUNCATE Folded.T",
            "INSERT INTO folded.t VALUES (3, 'c')",
        )
        log.sync()
        same(log, "t")
        server.sql(
            "CREATE TABLE folded.n LIKE folded.t",
            "RENAME TABLE FOLDED.T TO FOLDED.o, Folded.N TO Folded.T",
        )
        log.sync()
        same(log, "t")


def test_a_run_that_is_cut_leaves_the_table_due(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "rw_cut")
    mariadb.sql(
        "CREATE TABLE rw_cut.u (id INT PRIMARY KEY)",
        "ALTER TABLE rw_cut.t CHANGE v w VARCHAR(20)",
        *(f"INSERT INTO rw_cut.u VALUES ({n})" for n in range(5)),
    )
    log.sync(max_rows=1)  # ends before the table is read again
    log.sync()
    same(log, "t", "u")
    mariadb.sql("ALTER TABLE rw_cut.t CHANGE w v VARCHAR(20)", "DELETE FROM rw_cut.t")
    with pytest.raises(OSError, match="cut"):
        log.sync(progress=cut_at_the_snapshot)
    assert log.catalog.table("lake.t").read().to_arrow().num_rows == 1  # nobody sees half of it
    log.sync()
    same(log, "t", "u")


def test_a_limit_within_a_snapshot_ends_the_run_behind_what_was_read(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "rw_limit")
    rows = ", ".join(f"({n})" for n in range(5))
    mariadb.sql(
        "CREATE TABLE rw_limit.u (id INT PRIMARY KEY)", f"INSERT INTO rw_limit.u VALUES {rows}"
    )
    for _ in range(4):
        log.sync(max_rows=1, commit_rows=1)
    log.sync(commit_rows=2)
    same(log, "t", "u")


def test_a_run_that_is_cut_within_the_changes_of_a_table_that_had_another_name(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "rw_away")
    mariadb.sql(
        "CREATE TABLE rw_away.bag (id INT, v VARCHAR(9))",
        "INSERT INTO rw_away.bag VALUES (1, 'a'), (2, 'b'), (3, NULL)",
    )
    log.sync()
    mariadb.sql(
        "RENAME TABLE rw_away.bag TO rw_away.away",
        "UPDATE rw_away.away SET v = 'away'",
        "RENAME TABLE rw_away.away TO rw_away.bag",
    )
    for _ in range(3):
        log.sync(max_rows=1)
    log.sync()
    same(log, "t", "bag")


def cut_at_the_snapshot(stage: str, **_: object) -> None:
    if stage == "snapshot":
        raise OSError("cut")


def test_a_number_that_is_no_boolean_names_the_type_mapping(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "rw_bool")
    mariadb.sql(
        "CREATE TABLE rw_bool.b (id INT PRIMARY KEY, n TINYINT(1))",
        "INSERT INTO rw_bool.b VALUES (1, 2)",
    )
    with pytest.raises(DataError, match=r"type_mapping=\['tinyint1-not-bool'\]"):
        log.sync()
    log.sync(type_mapping=["tinyint1-not-bool"])
    same(log, "b")


def test_a_type_that_no_column_here_can_become_is_refused_and_the_way_out_works(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "rw_type")
    mariadb.sql("ALTER TABLE rw_type.t ADD n INT", "INSERT INTO rw_type.t VALUES (2, 'b', 5)")
    log.sync()
    mariadb.sql("ALTER TABLE rw_type.t MODIFY n TEXT", "INSERT INTO rw_type.t VALUES (3, 'b', 'x')")
    for _ in range(2):
        with pytest.raises(EventError, match=r"column 'n' is STRING now, and INT in lake\.t.*drop"):
            log.sync()
    log.catalog.drop_table("lake.t")
    log.sync()
    same(log, "t")
