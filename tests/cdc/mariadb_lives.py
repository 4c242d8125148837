"""Random lives of MariaDB's tables: whatever its people do between syncs, the lake equals the source.

Some statements are refused by the server; that is a part of life.  Syncs are cut, and die at any commit.
"""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql

import table_core as tc
from tests.cdc.both_sides import same
from tests.cdc.lives import Killed, killed_at, killed_process
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb

ROUNDS = 4
TABLES = ("t", "c", "p", "bag", "r")
NUMBERS = ("TINYINT", "SMALLINT UNSIGNED", "BIGINT", "DECIMAL(9,2)", "DOUBLE", "BIT(9)")
TEXTS = (
    *("ENUM('a','b','ä','c')", "VARBINARY(20)", "BLOB", "JSON", "CHAR(4)"),
    *("VARCHAR(9) CHARACTER SET utf16", "TEXT CHARACTER SET latin1"),
    "VARCHAR(9) CHARACTER SET cp1250 COLLATE cp1250_bin",
)
CHARSETS = ("utf8mb4", "latin1", "utf16le", "latin1 COLLATE latin1_general_cs", "cp850", "ucs2")
MADE = (
    "CREATE TABLE c (id INT PRIMARY KEY, t INT, v VARCHAR(20), FOREIGN KEY (t) REFERENCES t (id) "
    "ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE p (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY RANGE (id) "
    "(PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE bag (id INT, v VARCHAR(20))",
    "CREATE TABLE side (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM",
)
ONE = (
    "INSERT INTO {t} (id) VALUES ({n})",
    "INSERT INTO {t} (id, v) VALUES ({n}, '{w}'), ({m}, '{w}')",
    "REPLACE INTO {t} (id, v) VALUES ({n}, '{w}')",
    "UPDATE {t} SET v = '{w}' WHERE id > {n}",
    "UPDATE {t} SET id = id + 30 WHERE id = {n}",
    "DELETE FROM {t} WHERE id < {m} AND id > {n}",
    "DELETE FROM t WHERE id = {n}",
    "INSERT INTO c (id, t) SELECT {n}, MAX(id) FROM t",
    "INSERT INTO {t} (id, v) VALUES ({n}, '{w}') ON DUPLICATE KEY UPDATE v = 'twice'",
    "UPDATE t JOIN c ON c.t = t.id SET c.v = 'joined', t.v = '{w}' WHERE t.id > {n}",
    "DELETE t, p FROM t JOIN p ON p.id = t.id WHERE t.id > {n}",
    "INSERT INTO r (id, v, a, b, c) VALUES ({n}, '{w}', {n}, '{w}', '{w}')",
    "UPDATE IGNORE r SET id = id + 1, b = '{w}{n}' WHERE id > {n}",
)
DDL = (
    "ALTER TABLE {t} ADD COLUMN x{k} INT NOT NULL DEFAULT {n}",
    "ALTER TABLE {t} ADD COLUMN x{k} VARCHAR(9) DEFAULT '{w}'",
    "ALTER TABLE {t} ADD COLUMN x{k} DATETIME DEFAULT NOW()",
    "ALTER TABLE {t} ALTER x{k} SET DEFAULT 9",
    "ALTER TABLE {t} DROP COLUMN x{k}",
    "ALTER TABLE {t} CHANGE x{k} y{k} VARCHAR(20)",
    "ALTER TABLE {t} MODIFY x{k} BIGINT",
    "ALTER TABLE {t} RENAME COLUMN x{k} TO z{k}",
    "TRUNCATE /* all */ TABLE {t}",
    "ALTER TABLE p TRUNCATE PARTITION a",
    "CREATE TABLE n LIKE bag; RENAME TABLE bag TO old, n TO bag; DROP TABLE old",
    "DROP TABLE p; CREATE TABLE p (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY RANGE (id) "
    "(PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE)",
    "SET binlog_format = 'STATEMENT'; INSERT INTO {t} (id) VALUES ({n}); SET binlog_format = 'ROW'",
    "SET binlog_row_image = 'MINIMAL'; UPDATE {t} SET v = '{w}'; SET binlog_row_image = 'FULL'",
    "SET binlog_format = 'MIXED'; UPDATE {t} SET v = LEFT(UUID(), 5); INSERT INTO {t} (id) VALUES ({n})",
    "ALTER TABLE {t} CONVERT TO CHARACTER SET latin1",
    "ALTER TABLE {t} MODIFY v VARCHAR(40) CHARACTER SET utf16le",
    "ALTER TABLE {t} MODIFY v VARCHAR(20) CHARACTER SET cp850 FIRST",
    "ALTER TABLE {t} FORCE; OPTIMIZE TABLE {t}",
    "ALTER TABLE {t} ENGINE = Aria; INSERT INTO {t} (id) VALUES ({n})",
    "ALTER TABLE {t} ENGINE = InnoDB",
    "CREATE OR REPLACE TABLE bag AS SELECT id, v FROM t",
    "CREATE OR REPLACE TRIGGER g AFTER INSERT ON side FOR EACH ROW INSERT IGNORE INTO t (id) VALUES (NEW.id); "
    "INSERT INTO side (id) VALUES ({n})",
    "SET FOREIGN_KEY_CHECKS = 0; DELETE FROM t WHERE id > {n}; SET FOREIGN_KEY_CHECKS = 1",
    "FLUSH BINARY LOGS",
    "RENAME TABLE {t} TO away; UPDATE away SET v = 'away'; RENAME TABLE away TO {t}",
    "CREATE TEMPORARY TABLE {t} (id INT, v VARCHAR(9)); INSERT INTO {t} (id) VALUES ({n}); "
    "DROP TEMPORARY TABLE {t}",
    "LOCK TABLES {t} WRITE; INSERT INTO {t} (id) VALUES ({n}); UNLOCK TABLES",
    "ALTER TABLE {t} DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
    "ALTER TABLE {t} ADD COLUMN g{k} INT AS (id + 1) STORED",
    "ALTER TABLE {t} ADD COLUMN x{k} ENUM('a', 'b', 'ä') DEFAULT '{w}'",
    "ALTER TABLE {t} MODIFY x{k} ENUM('b', 'a', 'ä')",
)
AROUND = (
    ("BEGIN", "COMMIT"),
    ("BEGIN", "ROLLBACK"),
    ("BEGIN; CREATE TEMPORARY TABLE IF NOT EXISTS tmp (id INT); INSERT INTO tmp VALUES (1)", "ROLLBACK"),
    ("BEGIN; INSERT INTO {t} (id) VALUES ({n}); SAVEPOINT s",
     "REPLACE INTO side VALUES ({n}, 's'); ROLLBACK TO s; COMMIT"),
    ("XA START '{w}{n}'", "XA END '{w}{n}'; XA PREPARE '{w}{n}'; XA COMMIT '{w}{n}'"),
    ("XA START '{w}{n}'", "XA END '{w}{n}'; XA PREPARE '{w}{n}'; XA ROLLBACK '{w}{n}'"),
)  # fmt: skip


def statements(chance: random.Random, ddl: float) -> list[str]:
    """What is done at once: DDL with the chance ``ddl``, after which tables are read again."""

    def filled(text: str) -> list[str]:
        n = chance.randrange(40)
        given = {
            "t": chance.choice(TABLES),
            "n": n,
            "m": n + chance.randrange(1, 9),
            "k": chance.randrange(3),
        }
        return [part.format(**given, w=chance.choice("äbc")) for part in text.split("; ")]

    if chance.random() < ddl:
        return filled(chance.choice(DDL))
    some = [one for _ in range(chance.randrange(1, 5)) for one in filled(chance.choice(ONE))]
    if chance.random() < 0.5:
        return some
    before, after = chance.choice(AROUND)
    n, w, t = chance.randrange(40), chance.choice("äbc"), chance.choice(TABLES)
    around = [[p.format(n=n, w=w, t=t) for p in text.split("; ")] for text in (before, after)]
    return [*around[0], *some, *around[1]]


def synced(log: Log, **more: int) -> None:
    """A sync, or its error and the way out that it names."""
    for _ in TABLES:
        try:
            log.sync(**more)
        except tc.errors.EventError as error:
            if "drop the table here" not in str(error):
                raise
            log.catalog.drop_table(f"lake.{str(error.facts['table']).partition('.')[2]}")
        else:
            return


def live(mariadb: MariaDb, folder: Path, seed: int, name: str | None = None) -> None:
    """One life.

    Raises:
        AssertionError: the lake is not what the source is, or nobody said how to mend it.
    """
    chance, name = random.Random(seed), name or f"life_{seed}"
    log = Log(mariadb, folder, name)
    told: list[str] = []
    session: list[Any] = []

    def connect() -> None:
        session[:] = [mariadb.connect()]
        session[0].cursor().execute(f"USE {name}")

    def do(statement: str) -> None:
        told.append(statement)
        try:
            session[0].cursor().execute(statement)
        except pymysql.err.MySQLError as error:
            told.append(f"-- {error}")

    ddl = 0.02 if seed % 4 > 1 else 0.3
    types = chance.choice(NUMBERS), chance.choice(TEXTS)
    key = chance.choice(["id", "id, v", "v, id"])
    random_table = (
        f"CREATE TABLE r (id INT, v VARCHAR(20) CHARACTER SET {chance.choice(CHARSETS)} "
        f"DEFAULT 'k', a {types[0]}, b {types[1]}, c VARCHAR(20), PRIMARY KEY ({key}))"
    )
    connect()
    for statement in (*MADE, random_table):
        do(statement)
    for _ in range(ROUNDS):
        for _ in range(chance.randrange(3, 12)):
            for statement in statements(chance, ddl):
                do(statement)
            do("ROLLBACK")
            do("SET binlog_format = 'ROW'")
            do("SET binlog_row_image = 'FULL'")
        told.append("-- sync")
        try:
            if chance.random() < 0.3:
                synced(log, max_rows=chance.randrange(1, 20))
            if chance.random() < 0.3:
                with suppress(Killed), killed_at(chance.randrange(1, 6)):
                    synced(log)
                told.append("-- killed, perhaps")
            if chance.random() < 0.1:
                killed_process(log.catalog.warehouse, log.source(), chance.randrange(1, 8))
                told.append("-- process killed, perhaps")
            if chance.random() < 0.03:
                mariadb.crash()
                mariadb.start()
                connect()
                told.append("-- crash")
            synced(log)
            same(log, *TABLES, all_columns=False)
        except (AssertionError, tc.errors.TableError) as error:
            raise AssertionError("; ".join(told)) from error
    session[0].close()
