"""Goal: INSERT, UPDATE, DELETE, TRUNCATE and MERGE leave the rows that SQL says, in one snapshot or in none."""

from __future__ import annotations

from decimal import Decimal as D
from typing import Any

import pytest

import table_core as tc
from tests.sql.conftest import answer
from tests.tables import new_catalog, rows_of

pytestmark = pytest.mark.usefixtures("here")

KEY = "TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')"


@pytest.fixture(params=["key table", "append table"])
def shop(request: pytest.FixtureRequest) -> tc.Catalog:
    catalog = new_catalog()
    key = KEY if request.param == "key table" else ""
    catalog.sql(
        f"CREATE TABLE d.t (id INT, dt STRING, n BIGINT, s STRING) PARTITIONED BY (dt) {key}"
    )
    catalog.sql("INSERT INTO d.t VALUES (1, 'a', 10, 'x'), (2, 'a', 20, NULL), (3, 'b', 30, 'z')")
    return catalog


def rows(catalog: tc.Catalog) -> list[tuple[Any, ...]]:
    return [tuple(row[:2]) + tuple(row[2:]) for row in rows_of(catalog.table("d.t"))]


def change(catalog: tc.Catalog, sql: str, **parameters: Any) -> tc.ResultDocument:
    """One statement; it makes one snapshot with rows."""
    before = catalog.table("d.t").latest_snapshot()
    done = catalog.sql(sql, parameters)
    assert isinstance(done, tc.ResultDocument)
    new = [s for s in catalog.table("d.t").snapshots() if before is None or s.id > before.id]
    assert len([s for s in new if s.commit_kind.value != "COMPACT"]) == 1, sql
    return done


FIRST = [(1, "a", 10, "x"), (2, "a", 20, None), (3, "b", 30, "z")]
CHANGES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("INSERT INTO d.t VALUES (4, 'c', 1 + 2, 'it''s')", [*FIRST, (4, "c", 3, "it's")]),
    ("INSERT INTO d.t VALUES (:id, :dt, NULL, NULL)", [*FIRST, (9, "q'", None, None)]),
    ("INSERT INTO TABLE d.t (s, ID, dt) VALUES ('y', 4, 'c')", [*FIRST, (4, "c", None, "y")]),
    (
        "INSERT INTO d.t SELECT id + 10, dt, n, s FROM d.t WHERE dt = 'b'",
        [*FIRST, (13, "b", 30, "z")],
    ),
    (
        "INSERT INTO d.t (SELECT id + 10, dt, n, s FROM d.t WHERE id = 3)",
        [*FIRST, (13, "b", 30, "z")],
    ),
    ("INSERT INTO d.t BY NAME SELECT 'c' AS DT, 4 AS id", [*FIRST, (4, "c", None, None)]),
    ("INSERT INTO d.t PARTITION (dt = 'c') SELECT 4, 40, 'q'", [*FIRST, (4, "c", 40, "q")]),
    ("INSERT INTO d.t PARTITION (dt = 'c') VALUES (4, 40, 'q')", [*FIRST, (4, "c", 40, "q")]),
    ("INSERT OVERWRITE d.t VALUES (4, 'c', 40, 'q')", [(4, "c", 40, "q")]),
    (
        "INSERT OVERWRITE d.t PARTITION (dt = 'a') VALUES (4, 40, 'q')",
        [(3, "b", 30, "z"), (4, "a", 40, "q")],
    ),
    (
        "INSERT OVERWRITE d.t PARTITION (dt = 'a') SELECT id, n, s FROM d.t WHERE id = 2",
        [(2, "a", 20, None), (3, "b", 30, "z")],
    ),
    ("INSERT OVERWRITE d.t PARTITION (dt) SELECT 4, 'c', 40, 'q'", [(4, "c", 40, "q")]),
    (
        "UPDATE d.t SET n = N + 1, s = 'new' WHERE dt = 'a' AND s IS NOT NULL",
        [(1, "a", 11, "new"), *FIRST[1:]],
    ),
    (
        "UPDATE d.t AS o SET o.s = NULL WHERE o.id IN (1, 3)",
        [(1, "a", 10, None), FIRST[1], (3, "b", 30, None)],
    ),
    ("UPDATE d.t SET n = n * 2", [(1, "a", 20, "x"), (2, "a", 40, None), (3, "b", 60, "z")]),
    ("UPDATE d.t SET s = :dt WHERE id = :one", [(1, "a", 10, "q'"), *FIRST[1:]]),
    ("DELETE FROM d.t WHERE t.n >= 20", [FIRST[0]]),
    ("DELETE FROM d.t AS x WHERE x.s IS NULL OR x.ID = :one", [FIRST[2]]),
    ("DELETE FROM d.t", []),
    ("TRUNCATE TABLE d.t", []),
    ("TRUNCATE TABLE d.t PARTITION (DT = 'a')", [FIRST[2]]),
    ('INSERT INTO d.t VALUES (4, \'c\', 3, "say ""hi""")', [*FIRST, (4, "c", 3, 'say "hi"')]),
    ("UPDATE d.t SET s = 'it''@''s' WHERE id = 3", [*FIRST[:2], (3, "b", 30, "it'@'s")]),
    ("ALTER TABLE d.t DROP PARTITION (Dt = 'a')", [FIRST[2]]),
    ("ALTER TABLE d.t DROP IF EXISTS PARTITION (dt = 'a'), PARTITION (dt = 'b')", []),
    (
        "MERGE INTO d.t USING (SELECT 1 AS id, 'a' AS dt, 99 AS n, 'm' AS s) AS new "
        "ON t.id = new.id AND t.dt = new.dt WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        [(1, "a", 99, "m"), *FIRST[1:]],
    ),
    (
        "MERGE INTO d.t AS o USING (SELECT id + 1 AS k, dt, n FROM d.t WHERE dt = 'a') s "
        "ON s.k = o.id AND o.dt = s.dt "
        "WHEN MATCHED AND o.n > 15 THEN UPDATE SET o.n = o.n + s.n, s = CASE WHEN s.n > 5 THEN 'big' ELSE 'small' END "
        "WHEN NOT MATCHED AND s.k = 3 THEN INSERT (id, dt, n) VALUES (s.k, s.dt, :one)",
        [FIRST[0], (2, "a", 30, "big"), FIRST[2], (3, "a", 1, None)],
    ),
    (
        "MERGE INTO d.t o USING (SELECT 1 AS id, 'a' AS dt) s ON o.id = s.id AND o.dt = s.dt "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE AND o.dt = 'b' THEN UPDATE SET n = -1",
        [FIRST[1], (3, "b", -1, "z")],
    ),
    (
        "MERGE INTO d.t o USING (SELECT 1 AS id, 'a' AS dt) s ON o.id = s.id AND o.dt = s.dt "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        [FIRST[0]],
    ),
]


@pytest.mark.parametrize(
    ("sql", "want"), CHANGES, ids=lambda x: x[:50] if isinstance(x, str) else ""
)
def test_a_statement_leaves_what_it_says(shop: tc.Catalog, sql: str, want: list[Any]) -> None:
    assert rows(shop) == FIRST
    change(shop, sql, id=9, dt="q'", one=1)
    assert rows(shop) == sorted(want, key=lambda row: [(v is not None, v) for v in row])


def test_a_source_that_is_a_table_at_a_state(shop: tc.Catalog) -> None:
    shop.sql("UPDATE d.t SET n = 0 WHERE true")
    shop.sql(
        "MERGE INTO d.t USING d.t VERSION AS OF 1 AS old ON t.id = old.id AND t.dt = old.dt "
        "WHEN MATCHED AND old.n > 15 THEN UPDATE SET n = old.n"
    )
    assert [row[2] for row in rows(shop)] == [0, 20, 30]


def test_dynamic_overwrite_replaces_the_partitions_of_the_rows(shop: tc.Catalog) -> None:
    session = shop.sql_session("d")
    session.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    session.sql("INSERT OVERWRITE t SELECT 7, 'a', n, s FROM t WHERE id = 1")
    assert rows(shop) == [(3, "b", 30, "z"), (7, "a", 10, "x")]
    session.sql("SET spark.sql.sources.partitionOverwriteMode = static")
    session.sql("INSERT OVERWRITE t SELECT 8, 'a', n, s FROM t WHERE id = 7")
    assert rows(shop) == [(8, "a", 10, "x")]


def test_a_named_commit_lands_once(shop: tc.Catalog) -> None:
    commit = tc.CommitAs(user="etl", identifier=5)
    text = "INSERT INTO d.t VALUES (4, 'c', 40, 'q')"
    first = shop.sql(text, commit=commit)
    again = shop.sql(text, commit=commit)
    assert isinstance(first, tc.ResultDocument)
    assert isinstance(again, tc.ResultDocument)
    assert (first.details["replayed"], again.details["replayed"]) == (False, True)
    assert len(rows(shop)) == 4
    with pytest.raises(tc.errors.ArgumentError, match="change rows"):
        shop.sql("SELECT 1", commit=commit)


FAILS = [
    ("INSERT INTO d.t VALUES (4, 'c', 40, 'q'), (5, 'c', 'forty', 'q')", "forty"),
    ("INSERT INTO d.t SELECT 99999999999, 'c', 1, 'q'", "99999999999"),
    ("UPDATE d.t SET n = n * 9223372036854775807", "overflow"),
    ("UPDATE d.t SET id = id + 2147483646", "."),
]


@pytest.mark.parametrize(("sql", "match"), FAILS)
def test_rows_that_do_not_fit_leave_no_snapshot(shop: tc.Catalog, sql: str, match: str) -> None:
    with pytest.raises(tc.errors.TableError, match=match):
        shop.sql(sql)
    assert [snapshot.id for snapshot in shop.table("d.t").snapshots()] == [1]
    assert rows(shop) == FIRST


def test_values_take_the_types_of_their_columns() -> None:
    catalog = new_catalog()
    catalog.sql(
        "CREATE TABLE d.v (a TINYINT, b DECIMAL(10, 3), c DOUBLE, d DATE, e TIMESTAMP_NTZ, f BOOLEAN, "
        "g BINARY, h FLOAT)"
    )
    catalog.sql(
        "INSERT INTO d.v VALUES (1, 2, 3, DATE '2026-01-31', TIMESTAMP_NTZ '2026-01-31 10:00:00', true, "
        "X'0aff', 1.5), (-128, 2.125, 1e3, NULL, NULL, NULL, NULL, NULL)"
    )
    got = answer(catalog.sql("SELECT a, b, c, d, f, g, h FROM d.v"))
    assert got == [
        (1, D("2.000"), 3.0, "2026-01-31", True, b"\x0a\xff", 1.5),
        (-128, D("2.125"), 1000.0, None, None, None, None),
    ]
