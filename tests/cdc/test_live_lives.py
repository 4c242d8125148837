"""Random lives of a database: whatever its people do between syncs, the lake equals the source.

Some statements are refused by the server; that is a part of life.
"""

from __future__ import annotations

import random
from pathlib import Path

import pymysql
import pytest

import table_core as tc
from tests.cdc.servers import MariaDb
from tests.cdc.test_live_mariadb_log import Log
from tests.cdc.test_live_rewritten import same
from tests.lanes import budget

LIVES = budget("LIVES", ci=4, nightly=300)
ROUNDS = 4
TABLES = ("t", "c", "p", "bag")
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


def statements(chance: random.Random) -> list[str]:
    """What is done at once."""

    def filled(text: str) -> list[str]:
        n = chance.randrange(40)
        given = {
            "t": chance.choice(TABLES),
            "n": n,
            "m": n + chance.randrange(1, 9),
            "k": chance.randrange(3),
        }
        return [part.format(**given, w=chance.choice("äbc")) for part in text.split("; ")]

    if chance.random() < 0.3:
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


@pytest.mark.parametrize("seed", range(LIVES))
def test_the_lake_equals_the_source_after_each_sync(
    mariadb: MariaDb, tmp_path: Path, seed: int
) -> None:
    chance, name = random.Random(seed), f"life_{seed}"
    log = Log(mariadb, tmp_path, name)
    told: list[str] = []
    connection = mariadb.connect()
    with connection.cursor() as cursor:

        def do(statement: str) -> None:
            told.append(statement)
            try:
                cursor.execute(statement)
            except pymysql.err.MySQLError as error:
                told.append(f"-- {error}")

        for statement in (f"USE {name}", *MADE):
            do(statement)
        for _ in range(ROUNDS):
            for _ in range(chance.randrange(3, 12)):
                for statement in statements(chance):
                    do(statement)
                do("ROLLBACK")
                do("SET binlog_format = 'ROW'")
                do("SET binlog_row_image = 'FULL'")
            told.append("-- sync")
            try:
                if chance.random() < 0.3:
                    synced(log, max_rows=chance.randrange(1, 20))
                synced(log)
                same(log, *TABLES, all_columns=False)
            except (AssertionError, tc.errors.TableError) as error:
                raise AssertionError("; ".join(told)) from error
    connection.close()
