"""Expressions that mean the same in every engine."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

SAME = [
    "SELECT * FROM t",
    "SELECT name, sum(amount) AS s, count(*), max(placed) FROM t GROUP BY name",
    "SELECT name, CAST(sum(amount) AS DECIMAL(18, 2)) AS s FROM t GROUP BY 1 HAVING count(*) > 2",
    "WITH d AS (SELECT id, n FROM t UNION ALL SELECT id, n FROM u) SELECT * FROM d WHERE NOT EXISTS "
    "(SELECT 1 FROM u WHERE u.id = d.id)",
    "SELECT DISTINCT name FROM t WHERE name LIKE 'a%' AND n IN (1, 2) AND id BETWEEN 3 AND 5",
    "SELECT coalesce(n, 0) AS n, CASE WHEN x > 0.5 THEN 'high' ELSE 'low' END AS level FROM t",
    "SELECT id + n AS s, x * x AS y, amount * n AS total FROM t",
    "SELECT id, row_number() OVER (PARTITION BY name ORDER BY placed NULLS FIRST) AS place FROM t",
    "SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id WHERE t.dt = DATE '2026-01-01'",
    "SELECT f, moment, code FROM t",
    "SELECT id FROM t WHERE b OR (NOT b AND dt > '2025-01-01') OR placed > '2026-01-01 00:00:00.5'",
    "SELECT CASE WHEN b THEN 'yes' WHEN n = 0 THEN NULL ELSE name END AS c, if(b, 1, n) AS d FROM t",
    "SELECT CASE n WHEN 0 THEN 'none' ELSE 'some' END AS c FROM t WHERE b = 'true' OR b IS NOT TRUE",
    "SELECT name FROM t WHERE id = $id AND name = $name",
    "SELECT count(name) - count(DISTINCT(name)) AS n, 5 - count(dt) AS m FROM t",
    "SELECT 'a' AS c, min(v) AS r FROM (SELECT CASE WHEN count(*) > 2 THEN 1 ELSE 0 END AS v FROM t) AS q UNION ALL "
    "SELECT 'b' AS c, min(w) AS r FROM (SELECT CASE WHEN n > 0 THEN 1 ELSE 0 END AS w FROM t) AS q",
]

D = Decimal
COLUMNS = {
    "id": pa.array([1, 2, 3, -(2**62), None, 7], pa.int64()),
    "n": pa.array([None, 0, -5, 2**30, 1, 2], pa.int32()),
    "tiny": pa.array([1, None, -128, 127, 0, 5], pa.int8()),
    "amount": pa.array(
        [D("0.01"), D("-9999999999.99"), None, D("5.50"), D("0.00"), D("3.33")],
        pa.decimal128(12, 2),
    ),
    "wide": pa.array([D("1.0000000001"), None, D(0), D(-1), D(2), D(3)], pa.decimal128(30, 10)),
    "x": pa.array([float("nan"), -0.0, 0.5, float("inf"), None, 0.50000001], pa.float64()),
    "f": pa.array([0.1, None, -0.0, 0.0, float("nan"), 3.0], pa.float32()),
    "name": pa.array(["a", "ab", "", None, "ÄÖ", "a\u0301"], pa.string()),
    "code": pa.array(["abc", "xyz", None, "abc", "def", "ghi"], pa.string()),
    "dt": pa.array([dt.date(2026, 1, 1), None, *[dt.date(1969, 12, 31)] * 4], pa.date32()),
    "placed": pa.array(
        [dt.datetime(2026, 1, 1, 1), None, *[dt.datetime(1970, 1, 1)] * 4], pa.timestamp("ms")
    ),
    "b": pa.array([True, False, None, True, False, None], pa.bool_()),
    "moment": pa.array(
        [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * 5 + [None], pa.timestamp("ms", "UTC")
    ),
}
ROWS = pa.table(COLUMNS)
MORE = pa.table({**COLUMNS, "id": pa.array([1, 2, 9, 9, 7, 8], pa.int64())})
