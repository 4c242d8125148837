"""Expressions that mean the same in every engine."""

from __future__ import annotations

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
]
