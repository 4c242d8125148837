"""Goal: what is not understood is an error that says where it is and what to do; nothing is skipped, and nothing done."""

from __future__ import annotations

import pytest

import table_core as tc
from tests.sql.conftest import answer

pytestmark = pytest.mark.usefixtures("here")

WRONG = [
    # text, a part of the message, line, column
    ("SELEC id FROM d.orders", "a statement begins with one of", 1, 1),
    ("SELECT id FROM", "", 1, 11),
    ("SELECT id FROM d.orders WHERE (id = 1", "", 1, 37),
    ("SELECT idd FROM d.orders", "did you mean 'id'", 1, 8),
    ("SELECT o.idd\nFROM d.orders o", "no column 'idd' in 'o'", 1, 8),
    ("SELECT id\nFROM d.orders\nWHERE citi = 'a'", "did you mean 'city'", 3, 7),
    ("SELECT id FROM orders", "in which database", 1, 16),
    ("SELECT id FROM a.b.c", "has 3 parts", 1, 16),
    ("SELECT id FROM d.orders WHERE id = :id", ":id, which is not in the parameters", 1, 1),
    ("SELECT id FROM d.orders WHERE id = $id", "a parameter is written :name", 1, 36),
    ("SELECT id FROM d.orders WHERE id = ?", "a parameter is written :name", 1, 1),
    ("SELECT id, $x FROM d.orders", "a parameter is written :name", 1, 12),
    ("SELECT orders$snapshots FROM d.orders", "a table cannot stand here", 1, 8),
    ("SELECT id /*+ OPTIONS('a' = 'b') */ FROM d.orders", "a table cannot stand here", 1, 8),
    ("SELECT id FROM d.orders VERSION AS OF x", "", 1, 39),
    ("SELECT id FROM d.orders VERSION AS OF 1 VERSION AS OF 2", "once", 1, 56),
    ("SELECT id FROM d.orders TIMESTAMP AS OF 'yesterday'", "a time such as", 1, 52),
    ("SELECT id FROM paimon_incremental_query('d.orders', 1)", "2 arguments", 1, 16),
    ("SELECT 'a", "is not closed", None, None),
    ("SELECT id /* a", "", None, None),
    ("SELECT id {# a #} FROM d.orders", "no comment of SQL", 1, 11),
    ("SELECT id FROM d.orders -- a \\\nWHERE id = 1", "ends in a backslash", 1, 25),
    ("SELECT id, FROM d.orders", "something is missing", 1, 12),
    ("SELECT id FROM d.orders WHERE id IN (1, , 2)", "something is missing", 1, 41),
    ("DELETE FROM d.orders WHERE id IN (1, 2,)", "something is missing", 1, 40),
    ("TRUNCATE TABLE d.orders PARTITION (town = 'a')", "partitioned by city", 1, 16),
    ("INSERT INTO d.orders PARTITION (city = 'a', CITY = 'b') SELECT 1", "twice", 1, 13),
    (
        "MERGE INTO d.orders o USING d.Cities c ON o.city = c.city WHEN MATCHED THEN DELETE "
        "WHEN MATCHED AND o.id = 1 THEN UPDATE SET qty = 1",
        "the last of its kind",
        1,
        84,
    ),
    ("INSERT INTO d.orders VALUES (1, 'a')", "the rows have 2 columns, and 7 are wanted", 1, 30),
    ("INSERT INTO d.Cities VALUES ('a', 'b'), ('c')", "a row of VALUES has 1 values", 1, 46),
    ("INSERT INTO d.Cities (city, towns) VALUES ('a', 'b')", "no column 'towns'", 1, 13),
    ("INSERT INTO d.Cities (city, CITY) VALUES ('a', 'b')", "gets two values", 1, 13),
    ("INSERT INTO d.Cities SELECT id FROM d.orders", "the rows have 1 columns", 1, 13),
    ("INSERT INTO d.Cities PARTITION (dt = 'a') SELECT 'a'", "partitioned by nothing", 1, 13),
    ("INSERT INTO d.Cities BY NAME SELECT 1 AS town, 2 AS city", "no column 'town'", 1, 13),
    ("UPDATE d.orders SET nn = 1", "no column 'nn'", 1, 26),
    ("UPDATE d.orders SET qty = 1, QTY = 2", "set twice", 1, 36),
    ("UPDATE d.orders SET qty = qyt + 1", "did you mean 'qty'", 1, 27),
    ("UPDATE d.orders AS o SET qty = orders.qty", "no column 'orders'", 1, 32),
    ("UPDATE d.orders SET qty = 1 WHERE", "something is missing", 1, 34),
    ("DELETE FROM d.orders WHERE id = 1 LIMIT 1", "does not parse", 1, 28),
    ("DELETE FROM d.orders o, d.Cities c WHERE 1 = 1", "this is not expected here", 1, 23),
    ("MERGE INTO d.orders USING d.Cities ON orders.city = Cities.city", "at least one WHEN", 1, 64),
    (
        "MERGE INTO d.orders o USING (SELECT 1 AS id) ON o.id = 1 WHEN MATCHED THEN DELETE",
        "no name",
        1,
        46,
    ),
    ("CREATE TABLE d.t", "a table has columns", 1, 17),
    ("CREATE TABLE d.t (a INTT)", "INTT is no type", 1, 21),
    ("CREATE TABLE d.t (a TIMESTAMP(3))", "is a type of Flink", 1, 21),
    ("CREATE TABLE d.t (a STRUCT<b INT)", "expected >", 1, 33),
    ("CREATE TABLE d.t (a INT) COMMENT 'x' COMMENT 'y'", "said twice", 1, 49),
    ("CREATE TABLE d.t (a INT) WITH ('bucket' = '1', 'bucket' = '2')", "set twice", 1, 62),
    ("CREATE TABLE d.t (a INT) FORMAT parquet", "expected USING", 1, 26),
    ("ALTER TABLE d.orders ALTER COLUMN qty MAKE BIG", "expected TYPE", 1, 39),
    ("ALTER TABLE d.orders DROP PARTITION (city)", "expected = and a value", 1, 42),
    ("DROP TABLE d.orders, d.Cities", "this is not expected here", 1, 20),
    ("SHOW TABLES WHERE x", "this is not expected here", 1, 13),
    ("CALL sys.compakt(table => 'd.orders')", "did you mean 'compact'", 1, 6),
    ("CALL compact.orders('d.orders')", "expected sys.procedure", 1, 6),
    ("CALL sys.compact(tabel => 'd.orders')", "did you mean 'table'", 1, 18),
    ("CALL sys.compact()", "needs table", 1, 19),
    ("CALL sys.compact(table => 1)", "is a text in quotes", 1, 18),
    (
        "CALL sys.create_tag(table => 'd.orders', tag => 'a', snapshot => 'x')",
        "whole number",
        1,
        54,
    ),
    ("CALL sys.rollback('d.orders', '1', 2, 'a', 5)", "takes 4 arguments", 1, 44),
    ("CALL sys.delete_tag('d.orders', table => 'b')", "said twice", 1, 33),
    ("SET a = 1", "", None, None),
    ("", "these are 0", None, None),
    ("SELECT 1; SELECT 2", "these are 2", None, None),
]


@pytest.mark.parametrize(("text", "message", "line", "column"), WRONG, ids=lambda x: str(x)[:40])
def test_a_wrong_statement_says_where(
    catalog: tc.Catalog, text: str, message: str, line: int | None, column: int | None
) -> None:
    before = state(catalog)
    with pytest.raises(tc.errors.TableError) as raised:
        catalog.sql(text)
    assert message in str(raised.value)
    assert raised.value.kind is tc.errors.ErrorKind.INVALID
    if line is not None:
        assert (raised.value.facts["line"], raised.value.facts["column"]) == (line, column)
    assert state(catalog) == before


REFUSED = [
    # a query that may mean something else to DuckDB
    ("SELECT upper(city) FROM d.orders", "UPPER", 1, 14),
    ("SELECT id,\n  amount / 2 FROM d.orders", "DIV", 2, 3),
    ("SELECT avg(qty) FROM d.orders", "AVG", 1, 12),
    ("SELECT concat(city, 'x') FROM d.orders", "CONCAT", 1, 15),
    ("SELECT city || 'x' FROM d.orders", "DPIPE", 1, 8),
    ("SELECT id FROM d.orders WHERE city = 5", "city = 5", 1, 31),
    ("SELECT CAST(score AS INT) FROM d.orders", "CAST", 1, 13),
    ("SELECT /*+ BROADCAST(o) */ id FROM d.orders o", "this hint", 1, 8),
    ("SELECT id FROM d.orders /*+ LOOKUP('table' = 'x') */", "this hint", 1, 25),
    ("SELECT id FROM d.orders TABLESAMPLE (10 PERCENT)", "SAMPLE", 1, 16),
    ("SELECT * FROM range(3)", "table function", 1, 1),
    ("SELECT * FROM read_csv('/etc/passwd')", "table function", 1, 1),
    ("SELECT explode(array(1, 2))", "EXPLODE", 1, 1),
    ("SELECT d.orders.id FROM d.orders", "alias.column", 1, 8),
    ("WITH RECURSIVE r AS (SELECT 1 AS n) SELECT n FROM r", "WITH RECURSIVE", 1, 1),
    ("SELECT id FROM d.orders PIVOT (sum(qty) FOR city IN ('a'))", "", 1, None),
    ("SELECT id FROM d.orders LATERAL VIEW explode(array(1)) AS y", "", 1, None),
    ("SELECT DISTINCT ON (city) id FROM d.orders", "DISTINCT ON", 1, 21),
    ("SELECT DISTINCT city FROM d.orders ORDER BY id", "DISTINCT", 1, None),
    ("SELECT DISTINCT city AS c FROM d.orders ORDER BY city", "DISTINCT", 1, None),
    ("SELECT count(*) AS id FROM d.orders GROUP BY city ORDER BY sum(id)", "ORDER BY", 1, None),
    ("SELECT 1 FROM d.Cities JOIN d.orders RIGHT JOIN d.Cities c ON c.city = 'a' ON id = 1", "JOIN", 1, None),
    ("SELECT count(o.*) FROM d.orders o", "*", 1, None),
    ("SELECT count(id, qty) FROM d.orders", "COUNT", 1, 14),
    ("SELECT sum(paid) FROM d.orders", "SUM", 1, 12),
    ("SELECT max(id, 2) FROM d.orders", "MAX", 1, 12),
    ("SELECT rank() OVER (PARTITION BY city) FROM d.orders", "RANK", 1, None),
    ("SELECT sum(DISTINCT qty) OVER () FROM d.orders", "DISTINCT", 1, None),
    ("SELECT id FROM d.orders WHERE (id, qty) NOT IN ((1, 2))", "TUPLE", 1, 32),
    ("SELECT 9223372036854775808", "9223372036854775808", 1, None),
    ("SELECT 1 AS x UNION ALL SELECT 'a' AS x", "UNION", 1, None),
    ("SELECT * FROM d.orders JOIN d.Cities USING (city)", "USING", 1, None),
    ("SELECT * FROM d.orders NATURAL JOIN d.Cities", "NATURAL", 1, None),
    ("SELECT id FROM d.orders WHERE city = 'a' 'b'", "CONCAT", 1, None),
    ("DELETE FROM d.orders WHERE city = 'a'\"b\"", "one text", 1, 28),
    ("INSERT INTO d.Cities VALUES ('a'/**/'b', 'c')", "one text", 1, 30),
    ("CREATE TABLE d.t AS SELECT sum(qty) FROM d.orders", "unnamed column SUM(qty)", None, None),
    # statements of Spark and Flink that are not done
    ("CREATE CATALOG c WITH ('type' = 'paimon')", "CREATE CATALOG", 1, 8),
    ("CREATE VIEW d.v AS SELECT 1", "CREATE VIEW", 1, 8),
    ("CREATE OR REPLACE TABLE d.t AS SELECT 1 AS a", "CREATE OR", 1, 8),
    ("CREATE TEMPORARY TABLE t (a INT) WITH ('connector' = 'paimon')", "CREATE TEMPORARY", 1, 8),
    ("CREATE DATABASE x COMMENT 'y'", "an option of a database", 1, 19),
    ("CREATE TABLE d.t (a INT) LOCATION '/x'", "LOCATION", 1, 26),
    ("CREATE TABLE d.t (a INT) USING parquet", "USING parquet", 1, 39),
    ("CREATE TABLE d.t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS", "CLUSTERED BY", 1, 26),
    ("CREATE TABLE d.t (a INT) PARTITIONED BY (bucket(4, a))", "PARTITIONED BY bucket", 1, 48),
    ("CREATE TABLE d.t (a INT, CONSTRAINT c CHECK (a > 1))", "a constraint", 1, 26),
    ("CREATE TABLE d.t (a INT) AS SELECT 1 AS a", "columns and a query", 1, 29),
    ("ALTER TABLE d.orders ADD PARTITION (city = 'a')", "this ALTER TABLE", 1, 22),
    ("ALTER TABLE d.orders REPLACE COLUMNS (a INT)", "this ALTER TABLE", 1, 22),
    ("ALTER DATABASE d SET LOCATION 'x'", "ALTER DATABASE", 1, 7),
    ("SHOW CATALOGS", "this SHOW", 1, 6),
    ("SHOW FUNCTIONS", "this SHOW", 1, 6),
    ("SHOW PARTITIONS d.orders PARTITION (city = 'a')", "SHOW PARTITIONS of some", 1, 26),
    ("DESCRIBE DATABASE d", "DESCRIBE of what is no table", 1, 10),
    ("EXPLAIN EXTENDED SELECT 1", "EXPLAIN with a mode", 1, 9),
    ("EXPLAIN DELETE FROM d.orders", "EXPLAIN of what is no query", 1, 9),
    ("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", "DIRECTORY", 1, 18),
    ("DELETE FROM d.orders WHERE city IN (SELECT city FROM d.Cities)", "a query inside", 1, 28),
    ("UPDATE d.orders SET qty = (SELECT 1)", "a query inside", 1, 27),
    ("UPDATE d.orders SET city = upper(city)", "upper", 1, 28),
    ("MERGE INTO d.orders o USING d.Cities c ON o.city = c.city OR 1 = 1 WHEN MATCHED THEN DELETE",
     "ON with more", 1, 43),
    ("MERGE INTO d.orders o USING d.Cities c ON o.city = c.city WHEN NOT MATCHED THEN INSERT *", "* in MERGE",
     None, None),
    ("MERGE WITH SCHEMA EVOLUTION INTO d.orders o USING d.Cities c ON 1 = 1 WHEN MATCHED THEN DELETE",
     "SCHEMA EVOLUTION", 1, 7),
    ("ANALYZE TABLE d.orders COMPUTE STATISTICS", "ANALYZE", 1, 1),
    ("MSCK REPAIR TABLE d.orders", "MSCK", 1, 1),
    ("CACHE TABLE d.orders", "CACHE", 1, 1),
    ("GRANT SELECT ON d.orders TO ada", "GRANT", 1, 1),
    ("CALL sys.migrate_table(source_type => 'hive')", "migrate_table", 1, 6),
    ("CALL sys.purge_files('d.orders')", "purge_files", 1, 6),
    ("CALL sys.compact(table => 'd.orders', partition_idle_time => '1 h')", "partition_idle_time", 1, 39),
    ("INSERT INTO d.orders$snapshots VALUES (1)", "system table", None, None),
    ("UPDATE d.orders$files SET level = 1", "system table", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "feature", "line", "column"), REFUSED, ids=lambda x: str(x)[:40])
def test_what_is_not_supported_is_refused_by_name(
    catalog: tc.Catalog, text: str, feature: str, line: int | None, column: int | None
) -> None:
    before = state(catalog)
    with pytest.raises(tc.errors.UnsupportedFeatureError) as raised:
        catalog.sql(text)
    assert feature in str(raised.value)
    if line is not None:
        assert raised.value.facts["line"] == line
        assert column is None or raised.value.facts["column"] == column
    assert state(catalog) == before


def state(catalog: tc.Catalog) -> object:
    newest = [catalog.table(f"d.{name}").latest_snapshot() for name in catalog.tables("d")]
    return catalog.databases(), catalog.tables("d"), [head and head.id for head in newest]


def test_a_missing_table_says_what_there_is_and_where(catalog: tc.Catalog) -> None:
    with pytest.raises(tc.errors.NotFoundError) as raised:
        catalog.sql("SELECT a\nFROM d.order")
    assert raised.value.facts["available"] == ["Cities", "orders"]
    assert "line 2, column 6" in raised.value.__notes__[0]


def test_a_script_is_read_before_it_runs(catalog: tc.Catalog) -> None:
    before = state(catalog)
    with pytest.raises(tc.errors.SqlError):
        catalog.sql_session("d").script("DELETE FROM orders; DELET FROM orders")
    assert state(catalog) == before


def test_a_script_that_fails_says_what_is_done(catalog: tc.Catalog) -> None:
    script = catalog.sql_session("d").script(
        "DELETE FROM Cities; USE d;\nINSERT INTO Cities VALUES (1, 2); DELETE FROM orders"
    )
    with pytest.raises(tc.errors.SqlError) as raised:
        list(script)
    assert (
        raised.value.__notes__[-1]
        == "statement 3 of 4, in line 2, failed; the 2 before it are done"
    )
    assert answer(catalog.sql("SELECT count(*) FROM d.orders")) == [(4,)]


def test_a_session_needs_a_session(catalog: tc.Catalog) -> None:
    with pytest.raises(tc.errors.ArgumentError, match="sql_session"):
        catalog.sql("USE d")
    session = catalog.sql_session()
    with pytest.raises(tc.errors.NotFoundError):
        session.sql("USE e")
    with pytest.raises(tc.errors.ArgumentError, match="memory-limit"):
        session.sql("SET sql.memory-limit = lots")
    with pytest.raises(tc.errors.UnsupportedFeatureError, match=r"sql\.threads"):
        session.sql("SET sql.thread = 1")
