"""Goal: Apache Paimon reads the tables that our SQL defines and changes, with the rows that the statements say.

Method: one script on each shape of table; after each statement Paimon's rows are compared with ours.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from judge import Judge, agree

import table_core as tc

pytestmark = pytest.mark.interop

COLUMNS = """(id INT NOT NULL, dt STRING NOT NULL, n BIGINT, price DECIMAL(10, 2), at TIMESTAMP_NTZ,
  tags ARRAY<STRING>, who STRUCT<name: STRING, age: INT>) PARTITIONED BY (dt)"""
TABLES = {
    "key": f"CREATE TABLE default.t {COLUMNS} TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '2')",
    "append": f"CREATE TABLE default.t {COLUMNS}",
    "flink": """CREATE TABLE default.t (id INT, dt STRING, n BIGINT, price DECIMAL(10, 2), at TIMESTAMP(6),
        tags ARRAY<STRING>, who ROW<name STRING, age INT>, PRIMARY KEY (id, dt) NOT ENFORCED)
        PARTITIONED BY (dt) WITH ('bucket' = '1', 'deletion-vectors.enabled' = 'true')""",
}
CHANGES = [
    "INSERT INTO default.t (id, dt, n, price, at) VALUES (1, 'a', 10, 1.5, TIMESTAMP_NTZ '2026-01-01 10:00:00'), "
    "(2, 'a', 20, NULL, NULL), (3, 'b', 30, -7.25, NULL), (4, 'c', NULL, 0, NULL)",
    "UPDATE default.t SET n = n + 1, price = price + 1 WHERE dt = 'a'",
    "MERGE INTO default.t USING (SELECT 1 AS id, 'a' AS dt, 5 AS n) AS s ON t.id = s.id AND t.dt = s.dt "
    "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED BY SOURCE AND t.n > 25 THEN DELETE",
    "DELETE FROM default.t WHERE n IS NULL",
    "ALTER TABLE default.t ADD COLUMN note STRING COMMENT 'new' AFTER n",
    "INSERT INTO default.t (id, dt, note) SELECT id + 10, 'd', 'copied' FROM default.t",
    "INSERT OVERWRITE default.t PARTITION (dt = 'd') (id, n) VALUES (9, 9)",
    "TRUNCATE TABLE default.t PARTITION (dt = 'a')",
    "CALL sys.compact(table => 'default.t')",
]


@pytest.mark.parametrize("kind", TABLES)
def test_paimon_reads_what_statements_leave(kind: str, paimon: Judge, tmp_path: Path) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.sql("CREATE DATABASE IF NOT EXISTS default")
    catalog.sql(TABLES[kind])
    theirs = paimon.table(tmp_path, "default.t")
    counts = []
    for statement in CHANGES:
        catalog.sql(statement)
        ours = catalog.table("default.t").read().to_arrow()
        agree(ours, [["+I", *cells] for _, *cells in theirs.read()])
        counts.append(ours.num_rows)
    assert counts == [4, 4, 3, 2, 2, 4, 3, 1, 1]
    assert [name for name, _ in theirs.columns()][3] == "note"
