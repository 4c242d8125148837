"""Goal: a query gives the rows that SQL says, whatever its tables are, and reads no more of them than it needs."""

from __future__ import annotations

from decimal import Decimal as D
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import table_core as tc
from table_core.sql.grammar import parse_statements
from table_core.table.api.sql import queries
from table_core.table.api.sql.context import Context
from tests.sql.conftest import answer
from tests.tables import write_rows

pytestmark = pytest.mark.usefixtures("here")

OSLO, BERGEN = "Oslo", "Bergen"
ANSWERS: list[tuple[str, list[tuple[Any, ...]]]] = [
    # ------------------------------------------------------------------------- columns and conditions
    ("SELECT 1", [(1,)]),
    ("SELECT id FROM d.orders WHERE id > 2 ORDER BY id", [(3,), (4,)]),
    (
        "SELECT ID, Qty FROM D.Orders WHERE CITY = 'Bergen'".replace("D.Orders", "d.orders"),
        [(3, 3)],
    ),
    ("SELECT o.id FROM d.orders AS o WHERE o.qty < 0", [(4,)]),
    ("SELECT `id` FROM `d`.`orders` WHERE city IS NULL", [(4,)]),
    (
        "SELECT id FROM d.orders WHERE city IN ('Oslo', 'Bergen') AND NOT (qty = 2) ORDER BY id",
        [(1,), (3,)],
    ),
    ("SELECT id FROM d.orders WHERE amount BETWEEN 5 AND 8", [(3,)]),
    ("SELECT id FROM d.orders WHERE city LIKE 'O%' ORDER BY id DESC", [(2,), (1,)]),
    ("SELECT id FROM d.orders WHERE dt >= DATE '2026-01-02' ORDER BY dt", [(2,), (4,)]),
    ("SELECT id FROM d.orders WHERE paid ORDER BY id", [(1,), (4,)]),
    ("SELECT id FROM d.orders WHERE paid IS NOT TRUE ORDER BY id", [(2,), (3,)]),
    ("SELECT id + 1 AS next, -qty AS minus FROM d.orders WHERE id = 1", [(2, -1)]),
    ("SELECT * EXCEPT (city, amount, qty, paid, dt) FROM d.orders WHERE id = 1", [(1, 0.5)]),
    ("SELECT if(paid, 1, 0) AS p FROM d.orders ORDER BY id", [(1,), (0,), (0,), (1,)]),
    (
        "SELECT try_cast(amount AS DECIMAL(1, 0)) AS a FROM d.orders WHERE qty < 2 ORDER BY qty",
        [(D(1),), (None,)],
    ),
    (
        "SELECT coalesce(amount, 0) AS a FROM d.orders ORDER BY id LIMIT 2",
        [(D("10.50"),), (D("0.00"),)],
    ),
    (
        "SELECT CASE WHEN qty > 1 THEN 'many' ELSE 'few' END AS c FROM d.orders ORDER BY id",
        [("few",), ("many",), ("many",), ("few",)],
    ),
    ("SELECT city FROM d.Cities WHERE city = 'it''s'", [("it's",)]),
    ("SELECT city FROM d.Cities WHERE city = 'it\\'s'".replace("\\'", "''"), [("it's",)]),
    ('SELECT city FROM d.Cities WHERE city = "Oslo"', [(OSLO,)]),
    ("SELECT DISTINCT city FROM d.orders ORDER BY city", [(None,), (BERGEN,), (OSLO,)]),
    ("SELECT city FROM d.orders ORDER BY city DESC, id", [(OSLO,), (OSLO,), (BERGEN,), (None,)]),
    ("SELECT city FROM d.orders ORDER BY city NULLS LAST LIMIT 1", [(BERGEN,)]),
    # --------------------------------------------------------------------------------------- grouping
    ("SELECT count(*) FROM d.orders", [(4,)]),
    ("SELECT count(amount), min(amount), max(id) FROM d.orders", [(3, D("1.00"), 4)]),
    (
        "SELECT city, sum(qty) AS q, sum(amount) AS a FROM d.orders GROUP BY city ORDER BY city",
        [(None, -4, D("1.00")), (BERGEN, 3, D("7.25")), (OSLO, 3, D("10.50"))],
    ),
    ("SELECT city FROM d.orders GROUP BY city HAVING count(*) > 1", [(OSLO,)]),
    ("SELECT count(DISTINCT city) FROM d.orders", [(2,)]),
    # ----------------------------------------------------------------------------------------- several
    (
        "SELECT o.id, c.country FROM d.orders o JOIN d.Cities c ON o.city = c.city ORDER BY o.id",
        [(1, "NO"), (2, "NO"), (3, "NO")],
    ),
    (
        "SELECT o.id, c.country FROM d.orders o LEFT JOIN d.Cities c ON o.city = c.city "
        "WHERE c.country IS NULL",
        [(4, None)],
    ),
    (
        "SELECT c.city FROM d.orders o RIGHT JOIN d.Cities c ON o.city = c.city WHERE o.id IS NULL "
        "ORDER BY c.city",
        [("Malmö",), ("it's",)],
    ),
    (
        "SELECT c.city FROM d.Cities c WHERE NOT EXISTS (SELECT 1 FROM d.orders o WHERE o.city = c.city) "
        "ORDER BY c.city",
        [("Malmö",), ("it's",)],
    ),
    (
        "SELECT id FROM d.orders WHERE city IN (SELECT city FROM d.Cities) AND id > 1 ORDER BY id",
        [(2,), (3,)],
    ),
    (
        "WITH big AS (SELECT id FROM d.orders WHERE qty > 1), more AS (SELECT id FROM big WHERE id > 2) "
        "SELECT b.id, m.id AS m FROM big b LEFT JOIN more m ON b.id = m.id ORDER BY b.id",
        [(2, None), (3, 3)],
    ),
    ("WITH orders AS (SELECT id FROM d.orders WHERE id = 1) SELECT * FROM orders", [(1,)]),
    ("SELECT a.id FROM d.orders a JOIN d.orders b ON a.id = b.id WHERE b.qty = 3", [(3,)]),
    (
        "SELECT o.id FROM d.orders o LEFT ANTI JOIN d.Cities c ON o.city = c.city WHERE o.id > 1",
        [(4,)],
    ),
    (
        "SELECT city FROM d.Cities UNION SELECT city FROM d.orders ORDER BY city LIMIT 2",
        [(None,), (BERGEN,)],
    ),
    (
        "SELECT city FROM d.Cities EXCEPT SELECT city FROM d.orders ORDER BY city",
        [("Malmö",), ("it's",)],
    ),
    (
        "SELECT id, row_number() OVER (PARTITION BY city ORDER BY id) AS n FROM d.orders ORDER BY id",
        [(1, 1), (2, 2), (3, 1), (4, 1)],
    ),
    (
        "SELECT id, sum(qty) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM d.orders ORDER BY id",
        [(1, 1), (2, 3), (3, 6), (4, 2)],
    ),
    # ----------------------------------------------------------------------------- states and metadata
    ("SELECT count(*) FROM d.orders VERSION AS OF 1", [(2,)]),
    ("SELECT id FROM d.orders FOR VERSION AS OF 1 AS o WHERE o.id > 1", [(2,)]),
    ("SELECT count(*) FROM d.orders VERSION AS OF 'first'", [(2,)]),
    ("SELECT count(*) FROM d.orders TIMESTAMP AS OF '2100-01-01 00:00:00'", [(4,)]),
    ("SELECT count(*) FROM d.orders /*+ OPTIONS('scan.snapshot-id' = '1') */", [(2,)]),
    (
        "SELECT new.id FROM d.orders new LEFT JOIN d.orders VERSION AS OF 1 old ON new.id = old.id "
        "WHERE old.id IS NULL ORDER BY new.id",
        [(3,), (4,)],
    ),
    (
        "SELECT snapshot_id, commit_kind FROM d.orders$snapshots WHERE snapshot_id > 1",
        [(2, "APPEND")],
    ),
    ("SELECT count(*) FROM d.orders$files", [(3,)]),
    ("SELECT count(*) FROM `d`.`orders$files`", [(3,)]),
    (
        "SELECT `key`, `value` FROM d.orders$options WHERE `key` = 'target-file-size'",
        [("target-file-size", "64 mb")],
    ),
    ("SELECT table_name FROM sys.tables ORDER BY table_name", [("Cities",), ("orders",)]),
    ("SELECT id FROM d.orders$branch_dev ORDER BY id", [(1,), (2,)]),
    ("SELECT count(*) FROM d.orders$branch_dev$snapshots", [(1,)]),
    ("SELECT id FROM paimon_incremental_query('d.orders', 1, 2) ORDER BY id", [(3,), (4,)]),
    ("SELECT id FROM paimon_incremental_query('d.orders', '0', '1') ORDER BY id", [(1,), (2,)]),
    ("SELECT id -- VERSION AS OF 1\nFROM d.orders /* OPTIONS */ WHERE id = 4", [(4,)]),
    (
        "SELECT count(*) FROM d.orders -- /*+ OPTIONS('scan.snapshot-id' = '1') */\n"
        "/* a /*+ OPTIONS('scan.snapshot-id' = '1') */ ; */",
        [(4,)],
    ),
]


@pytest.fixture
def past(catalog: tc.Catalog) -> tc.Catalog:
    """With a tag and a branch of the first snapshot."""
    catalog.sql("CALL sys.create_tag(table => 'd.orders', tag => 'first', snapshot => 1)")
    catalog.sql("CALL sys.create_branch(table => 'd.orders', branch => 'dev', tag => 'first')")
    return catalog


def test_answers(past: tc.Catalog) -> None:
    wrong = []
    for sql, want in ANSWERS:
        try:
            got: Any = answer(past.sql(sql))
        except tc.errors.TableError as error:
            got = error
        if got != want:
            wrong.append(f"{sql}\n  gives {got}\n  not   {want}")
    assert not wrong, "\n".join(wrong)


def test_types_are_those_of_spark(past: tc.Catalog) -> None:
    sql = "SELECT sum(qty) AS q, sum(amount) AS a, sum(score) AS s, count(*) AS c, max(qty) AS m FROM d.orders"
    kinds = [str(field.type) for field in past.sql(sql).schema]
    assert kinds == ["int64", "decimal128(20, 2)", "double", "int64", "int32"]
    sums = past.sql(
        "SELECT sum(n) AS n, sum(1) AS one, sum(CASE WHEN city = 'Oslo' THEN 1 ELSE 0 END) AS c "
        "FROM (SELECT city, count(*) AS n FROM d.orders GROUP BY city) AS x"
    )
    assert [str(field.type) for field in sums.schema] == ["int64"] * 3
    assert answer(sums) == [(4, 3, 1)]
    ranked = past.sql("SELECT rank() OVER (ORDER BY id) AS r FROM d.orders").schema
    assert str(ranked.field("r").type) == "int32"


def test_a_sum_over_a_name_that_a_query_gives_to_something_else_is_not_cut(
    past: tc.Catalog,
) -> None:
    sql = "SELECT sum(qty) AS s FROM (SELECT score AS qty FROM d.orders) AS x"
    assert answer(past.sql(sql)) == [(-0.5,)]


def test_a_member_of_a_row_has_not_the_type_of_a_column_of_its_name(past: tc.Catalog) -> None:
    past.sql("CREATE TABLE d.w (qty INT, who STRUCT<qty: DOUBLE>)")
    rows = pa.table({"qty": pa.array([1], pa.int32()), "who": [{"qty": 1.5}]})
    write_rows(past.table("d.w"), rows)
    assert answer(past.sql("SELECT who.qty AS q FROM d.w")) == [(1.5,)]
    with pytest.raises(tc.errors.UnsupportedFeatureError, match=r"SUM\(who.qty\)"):
        past.sql("SELECT sum(who.qty) AS q FROM d.w")


def test_columns_are_called_as_the_query_writes_them(past: tc.Catalog) -> None:
    for sql in ("SELECT ID, Qty FROM d.orders", "SELECT ID, Qty FROM d.orders ORDER BY id LIMIT 1"):
        assert past.sql(sql).to_arrow().column_names == ["ID", "Qty"]


def test_a_cast_that_does_not_fit_is_an_error(past: tc.Catalog) -> None:
    # DuckDB raises its own error where it meets the value at once, and Arrow one of its own where it streams.
    with pytest.raises((duckdb.Error, OSError), match="out of range"):
        past.sql("SELECT CAST(amount AS DECIMAL(1, 0)) AS a FROM d.orders")


def test_a_number_that_is_none_is_a_value(past: tc.Catalog) -> None:
    past.sql("CREATE TABLE d.x (x DOUBLE)")
    write_rows(past.table("d.x"), pa.table({"x": [float("nan"), 1.0]}))
    assert len(answer(past.sql("SELECT x FROM d.x WHERE x = :x", {"x": float("nan")}))) == 1
    assert len(answer(past.sql("SELECT x FROM d.x WHERE x < :x", {"x": float("inf")}))) == 1


def test_parameters_are_values(past: tc.Catalog) -> None:
    rows = past.sql(
        "SELECT id FROM d.orders WHERE city = :city AND id > :id", {"city": OSLO, "id": 1}
    )
    assert answer(rows) == [(2,)]
    hostile = "x' OR '1' = '1"
    assert answer(past.sql("SELECT id FROM d.orders WHERE city = :city", {"city": hostile})) == []
    joined = "SELECT o.id FROM d.orders o JOIN d.Cities c ON o.city = c.city WHERE c.city = :city"
    assert answer(past.sql(joined, {"city": hostile})) == []
    assert answer(past.sql(joined + " ORDER BY o.id", {"city": OSLO})) == [(1,), (2,)]


EXPLAINED = [
    ("SELECT id FROM d.orders WHERE city = 'Oslo'", "id, city", "`city` = 'Oslo'", None, 1, True),
    (
        "SELECT id FROM d.orders WHERE city = 'Oslo' LIMIT 1",
        "id, city",
        "`city` = 'Oslo'",
        1,
        1,
        True,
    ),
    ("SELECT id FROM d.orders ORDER BY qty LIMIT 1", "id, qty", "", None, 3, False),
    (
        "SELECT count(*) FROM d.orders WHERE city = 'Oslo'",
        "city",
        "`city` = 'Oslo'",
        None,
        1,
        False,
    ),
    ("SELECT count(*) FROM d.orders LIMIT 1", "id", "", None, 3, False),
    ("SELECT DISTINCT city FROM d.orders LIMIT 1", "city", "", None, 3, False),
    ("SELECT * FROM d.orders", "id, city, amount, qty, paid, dt, score", "", None, 3, True),
    ("SELECT id FROM d.orders WHERE id = :id", "id", "`id` = 7", None, 0, True),
]


@pytest.mark.parametrize(("sql", "columns", "where", "limit", "files", "whole"), EXPLAINED)
def test_a_scan_is_asked_for_what_is_needed(
    catalog: tc.Catalog,
    sql: str,
    columns: str,
    where: str,
    limit: int | None,
    files: int,
    whole: bool,
) -> None:
    (row,) = catalog.sql(f"EXPLAIN {sql}", {"id": 7}).to_arrow().to_pylist()
    assert (row["columns"], row["where"], row["limit"]) == (columns, where, limit)
    assert row["files_read"] == files
    assert (row["then"] == "") == whole


NOT_PUSHED = [
    "SELECT o.id FROM d.Cities c LEFT JOIN d.orders o ON o.city = c.city WHERE o.city = 'Oslo'",
    "SELECT o.id FROM d.orders o RIGHT JOIN d.Cities c ON o.city = c.city WHERE o.city = 'Oslo'",
    "SELECT o.id FROM d.orders o FULL JOIN d.Cities c ON o.city = c.city WHERE o.city = 'Oslo'",
    "SELECT o.id FROM d.orders o JOIN d.orders p ON o.id = p.id WHERE o.city = 'Oslo'",
    "SELECT o.id FROM d.orders o WHERE o.city = 'Oslo' OR o.id IN (SELECT 1)",
]


@pytest.mark.parametrize("sql", NOT_PUSHED)
def test_a_condition_that_takes_rows_of_a_join_stays_behind_it(
    catalog: tc.Catalog, sql: str
) -> None:
    rows = catalog.sql(f"EXPLAIN {sql}").to_arrow().to_pylist()
    assert [row["where"] for row in rows] == [""] * len(rows)


def test_conditions_of_inner_joins_reach_their_tables(catalog: tc.Catalog) -> None:
    sql = (
        "SELECT o.id FROM d.orders o JOIN d.Cities c ON o.city = c.city WHERE c.country = 'NO' AND "
        "o.qty > 1 AND o.id < c.country"
    ).replace(" AND o.id < c.country", "")
    rows = {r["table"]: r["where"] for r in catalog.sql(f"EXPLAIN {sql}").to_arrow().to_pylist()}
    assert rows == {"d.orders": "`qty` > 1", "d.Cities": "`country` = 'NO'"}


def test_a_table_named_twice_is_read_once(catalog: tc.Catalog) -> None:
    ((_, statement),) = parse_statements(
        "SELECT a.id FROM d.orders a JOIN d.orders b ON a.id = b.id"
    )
    assert [view.times for view in statement.query.views] == [2]
    result = queries.result_of(statement.query, Context(catalog=catalog))
    assert result.to_arrow().num_rows == 4


def test_rows_stream_where_a_scan_is_enough(catalog: tc.Catalog) -> None:
    result = catalog.sql("SELECT amount, id FROM d.orders WHERE id < 3")
    assert pa.table(result).column_names == ["amount", "id"]
    assert sorted(pa.table(result)["id"].to_pylist()) == [1, 2]


def test_conditions_give_the_same_in_a_scan_and_behind_it(catalog: tc.Catalog) -> None:
    """A join keeps every condition in DuckDB, a table alone has it in its scan."""
    conditions = [
        *("qty > 1", "qty <> 2", "qty IN (1, 3, NULL)", "NOT (qty IN (1, NULL))", "amount = 10.5"),
        *(
            "amount < 8.001",
            "paid = 'true'",
            "paid",
            "NOT paid",
            "dt < '2026-01-15'",
            "score > 0.5",
        ),
        *("city LIKE '%e%'", "city IS NULL OR qty = 1", "coalesce(qty, 0) = 3", "qty + 1 = 4"),
        *("nullif(qty, 1) IS NULL", "id BETWEEN 2 AND 3"),
    ]
    for condition in conditions:
        alone = f"SELECT id FROM d.orders WHERE {condition} ORDER BY id"
        joined = (
            f"SELECT id FROM (SELECT * FROM d.orders UNION ALL SELECT * FROM d.orders WHERE 1 = 0) AS x "
            f"WHERE {condition} ORDER BY id"
        )
        assert answer(catalog.sql(alone)) == answer(catalog.sql(joined)), condition
