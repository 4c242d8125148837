"""What statements in the log of MariaDB do to rows that are there, and to tables."""

from __future__ import annotations

import pytest

from table_core.cdc.source.mysql.ddl import altered
from table_core.cdc.source.mysql.sql_tokens import Dialect, tokens_of
from table_core.cdc.source.mysql.statements import effects_of

MARIADB = Dialect.of_server("10.11.19-MariaDB-log")


@pytest.mark.parametrize(
    ("statement", "table", "defaults"),
    [
        ("ALTER TABLE s.t ADD COLUMN a INT DEFAULT 7", ("s", "t"), {"a": "7"}),
        ("alter online table if exists `t x` add a int default -1 first", ("", "t x"), {"a": "-1"}),
        ("ALTER TABLE t ADD (a DECIMAL(6,3) DEFAULT 1.5, b VARCHAR(5) DEFAULT 'x''y'), ADD KEY (a)",
         ("", "t"), {"a": "1.5", "b": "x'y"}),
        ("ALTER TABLE t ADD COLUMN IF NOT EXISTS `index` BOOL DEFAULT TRUE", ("", "t"), {"index": "1"}),
        ("ALTER TABLE t ADD a INT NOT NULL, ADD b TEXT NOT NULL", ("", "t"), {"a": "0", "b": ""}),
        ("ALTER TABLE t ADD a VARCHAR(9) NOT NULL COMMENT 'DEFAULT 3'", ("", "t"), {"a": ""}),
        ("ALTER TABLE t ADD a INT, ADD b INT DEFAULT NULL", ("", "t"), {"a": None, "b": None}),
        ("ALTER TABLE t ADD INDEX (a), ADD UNIQUE KEY k (b), DROP COLUMN c", ("", "t"), {}),
        ("ALTER TABLE t WAIT 5 ENGINE=InnoDB ROW_FORMAT=DYNAMIC, LOCK=NONE", ("", "t"), {}),
        (r"ALTER TABLE t ADD a VARCHAR(9) DEFAULT 'a\\b\n'", ("", "t"), {"a": "a\\b\n"}),
    ],
)  # fmt: skip
def test_rows_are_known_after(statement: str, table: object, defaults: object) -> None:
    found = altered(tokens_of(statement))
    assert found is not None
    assert (found.table, found.defaults, found.why + found.columns_why) == (table, defaults, "")


@pytest.mark.parametrize(
    "actions",
    [
        "ADD c TIMESTAMP DEFAULT NOW()", "ADD c TIMESTAMP", "ADD c DATE NOT NULL",
        "ADD a INT AS (b * 2) STORED", "ADD d INT DEFAULT (1 + 1)", "ADD d INT DEFAULT 1 + 1",
        "ADD d DECIMAL(5,1) DEFAULT 1.25", "ADD d INT DEFAULT '7.5'", "ADD d BIT DEFAULT b'1'",
        "ADD d SERIAL", "ADD d INT AUTO_INCREMENT PRIMARY KEY", "ADD d ENUM('a','b') NOT NULL",
        "CHANGE b c INT", "CHANGE a A INT", "RENAME COLUMN a TO b", "CONVERT TO CHARACTER SET latin1",
        "EXCHANGE PARTITION p WITH TABLE u", "TRUNCATE PARTITION p", "DROP PARTITION p",
        "IMPORT TABLESPACE", "ENGINE=BLACKHOLE", "ADD SYSTEM VERSIONING", "FROBNICATE a",
        "ADD FOREIGN KEY (a) REFERENCES u (id) ON DELETE CASCADE", "DROP FOREIGN KEY f",
        "CONVERT PARTITION p TO TABLE u", "CONVERT TABLE u TO PARTITION p VALUES LESS THAN (5)",
    ],
)  # fmt: skip
def test_rows_are_read_again_after(actions: str) -> None:
    found = altered(tokens_of(f"ALTER TABLE t {actions}"))
    assert found is not None
    assert found.why or found.columns_why


@pytest.mark.parametrize(
    "statement", ["ALTER DATABASE d CHARACTER SET utf8mb4", "CREATE TABLE t (a INT)"]
)
def test_no_table_is_altered_by(statement: str) -> None:
    assert altered(tokens_of(statement)) is None


@pytest.mark.parametrize(
    ("statement", "truncated"),
    [
        ("TRUNCATE /* c */ TABLE `we ird`", [("", "we ird")]),
        ('TRUNCATE "s" . "t"', []),
        ("/*!50000 TRUNCATE TABLE t */", [("", "t")]),
        ("/*M!100100 TRUNCATE TABLE t */", [("", "t")]),
        ("/*!50701 TRUNCATE TABLE t */ FLUSH TABLES", []),
        ("/*M!999999 TRUNCATE TABLE t */ FLUSH TABLES", []),
        ("SET STATEMENT a=1, b='FOR' FOR TRUNCATE s.t WAIT 5", [("s", "t")]),
        ("-- one\n# two\nTRUNCATE t", [("", "t")]),
    ],
)
def test_tables_are_emptied_by(statement: str, truncated: object) -> None:
    assert effects_of(tokens_of(statement, MARIADB)).truncated == truncated


def test_names_that_are_quoted_as_the_session_does_it() -> None:
    ansi = Dialect(sql_mode=4)
    assert effects_of(tokens_of('TRUNCATE "s" . "t""x"', ansi)).truncated == [("s", 't"x')]
    no_escapes = Dialect(sql_mode=1 << 20)
    found = altered(tokens_of(r"ALTER TABLE t ADD a VARCHAR(9) DEFAULT 'a\'", no_escapes))
    assert found is not None
    assert found.defaults == {"a": "a\\"}


def test_tables_that_trade_their_names_are_not_gone() -> None:
    found = effects_of(tokens_of("RENAME TABLE a TO x, b TO a, x TO b"))
    assert {name for name, _ in found.arrived} == {("", "a"), ("", "b")}
    assert found.dropped == [("", "x")]


def test_a_verb_that_nobody_knows_may_have_changed_rows() -> None:
    assert not effects_of(tokens_of("FROBNICATE TABLE t")).is_known
    assert effects_of(tokens_of("WITH c AS (SELECT 1) DELETE FROM t")).writes
