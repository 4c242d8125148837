"""What ALTER TABLE fills the rows with that are there."""

from __future__ import annotations

import pytest

from table_core.cdc.mysql.ddl import added_defaults


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("ALTER TABLE s.t ADD COLUMN a INT DEFAULT 7", ("s", "t", {"a": "7"})),
        ("alter online table if exists `t x` add a int default -1.50 first", ("", "t x", {"a": "-1.50"})),
        ("ALTER TABLE t ADD (a DECIMAL(6,3) DEFAULT 1.5, b VARCHAR(5) DEFAULT 'x''y'), ADD KEY (a)",
         ("", "t", {"a": "1.5", "b": "x'y"})),
        ("ALTER TABLE t ADD COLUMN IF NOT EXISTS `index` BOOL DEFAULT TRUE", ("", "t", {"index": "1"})),
        ("ALTER TABLE t ADD a INT NOT NULL, ADD b TEXT NOT NULL, ADD c DATE NOT NULL",
         ("", "t", {"a": "0", "b": ""})),
        ("ALTER TABLE t ADD a VARCHAR(9) NOT NULL COMMENT 'DEFAULT 3'", ("", "t", {"a": ""})),
        ("ALTER TABLE t ADD a INT, ADD b INT DEFAULT NULL, ADD c TIMESTAMP DEFAULT NOW()", None),
        ("ALTER TABLE t ADD a INT AS (b * 2) STORED, ADD d INT DEFAULT (1 + 1)", None),
        ("ALTER TABLE t MODIFY a INT NOT NULL DEFAULT 5, CHANGE b c INT DEFAULT 6", None),
        ("ALTER TABLE t ADD INDEX (a), ADD UNIQUE KEY k (b), DROP COLUMN c", None),
        ("ALTER DATABASE d CHARACTER SET utf8mb4", None),
        ("CREATE TABLE t (a INT DEFAULT 5)", None),
        ("ALTER TABLE t COMMENT = 'torn", None),
    ],
)  # fmt: skip
def test_columns_that_are_added_with_a_constant(statement: str, found: object) -> None:
    assert added_defaults(statement) == found
