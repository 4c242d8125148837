"""SQL that ``engine="auto"`` may give to either engine, and SQL that it may not."""

from __future__ import annotations

import pytest

from table_core.datatypes.kinds import Atomic, Field, Root
from table_core.sql.common_sql import why_only_spark
from tests.common_sql import SAME

TYPES = {
    "id": Atomic(Root.BIGINT),
    "n": Atomic(Root.INT),
    "tiny": Atomic(Root.TINYINT),
    "amount": Atomic(Root.DECIMAL, precision=12, scale=2),
    "wide": Atomic(Root.DECIMAL, precision=30, scale=10),
    "x": Atomic(Root.DOUBLE),
    "f": Atomic(Root.FLOAT),
    "name": Atomic(Root.VARCHAR, length=2**31 - 1),
    "code": Atomic(Root.CHAR, length=3),
    "dt": Atomic(Root.DATE),
    "placed": Atomic(Root.TIMESTAMP, precision=3),
    "moment": Atomic(Root.TIMESTAMP_LTZ, precision=3),
    "b": Atomic(Root.BOOLEAN),
}
FIELDS = [Field(n, name, type_) for n, (name, type_) in enumerate(TYPES.items())]
ONLY_SPARK = {
    "SELECT concat(name, 'x') FROM t": "",
    "SELECT upper(name) FROM t": "UPPER",
    "SELECT amount / 3 FROM t": "",
    "SELECT avg(amount) FROM t": "AVG",
    "SELECT CAST(x AS INT) FROM t": "CAST",
    "SELECT CAST(x AS DECIMAL(10, 2)) FROM t": "CAST",
    "SELECT CAST(placed AS DATE) FROM t": "CAST",
    "SELECT CAST(name AS BIGINT) FROM t": "CAST",
    "SELECT name FROM t ORDER BY name": "other things",
    'SELECT "name" FROM t': "other things",
    "SELECT name FROM t WHERE name LIKE 'a\\\\_%'": "",
    "SELECT name FROM t WHERE 'a' LIKE name": "LIKE name",
    "SELECT id FROM t WHERE n": "WHERE n",
    "SELECT id FROM t WHERE NOT (n)": "NOT (n)",
    "SELECT id FROM t WHERE b OR n": "b OR n",
    "SELECT t.id FROM t JOIN u ON u.n": "ON u.n",
    "SELECT id FROM t WHERE n IS TRUE": "n IS TRUE",
    "SELECT CASE WHEN n THEN 1 END AS c FROM t": "",
    "SELECT CASE WHEN b THEN 1 ELSE '05' END AS c FROM t": "CASE",
    "SELECT CASE WHEN b THEN name ELSE n END AS c FROM t": "CASE",
    "SELECT CASE n WHEN '07' THEN 1 END AS c FROM t": "CASE",
    "SELECT if(b, 1, 'x') AS c FROM t": "",
    "SELECT id FROM t WHERE dt < 'infinity'": "infinity",
    "SELECT id FROM t WHERE dt = '2026'": "2026",
    "SELECT id FROM t WHERE placed = '2026-01-01 24:00:00'": "24:00",
    "SELECT id FROM t WHERE placed = '2026-01-01T00:00:00Z'": "placed",
    "SELECT id FROM t WHERE b = 'yes'": "yes",
    "SELECT id FROM t WHERE dt = CAST('2026-01-01 x' AS DATE)": "CAST",
    "SELECT CAST(1.5 AS INT) AS c FROM t": "CAST",
    "SELECT CAST(15e-1 AS BIGINT) AS c FROM t": "CAST",
    "SELECT wide * wide FROM t": "wide * wide",
    "SELECT tiny + 1 FROM t": "tiny + 1",
    "SELECT id FROM t WHERE f > 0.1": "f > 0.1",
    "SELECT id FROM t WHERE moment > '2026-01-01'": "moment",
    "SELECT id FROM t WHERE code = 'a'": "code",
    "SELECT id FROM t WHERE name = 5": "name = 5",
    "SELECT id FROM t WHERE id = '5'": "id = '5'",
    "SELECT id FROM t WHERE id = $name": "id = 'ada'",
    "SELECT g FROM (SELECT f AS g FROM t) AS s WHERE g > 0.1": "g > 0.1",
    "SELECT id FROM (SELECT name AS id FROM t) AS s WHERE id > 1": "id > 1",
    "SELECT dt + 1 FROM t": "dt + 1",
    "SELECT id FROM t UNION ALL SELECT name FROM t": "UNION",
    "SELECT count(DISTINCT id, n) FROM t": "",
    "SELECT current_date FROM t": "",
    "SELECT FROM WHERE": "not understood",
    "SELECT try_cast(n AS STRING) FROM t": "",
    "SELECT explode(array(1, 2))": "",
}
VALUES = {"id": 7, "name": "ada"}


@pytest.mark.parametrize("sql", SAME)
def test_what_both_engines_answer_alike(sql: str) -> None:
    assert why_only_spark(sql, FIELDS, VALUES) == ""


@pytest.mark.parametrize("sql", ONLY_SPARK)
def test_what_spark_alone_is_sure_about(sql: str) -> None:
    why = why_only_spark(sql, FIELDS, VALUES)
    assert why
    assert ONLY_SPARK[sql] in why


def test_a_name_of_two_types_is_compared_as_neither() -> None:
    both = [*FIELDS, Field(99, "id", Atomic(Root.VARCHAR, length=9))]
    assert why_only_spark("SELECT id FROM t WHERE id = 5", both)
    assert why_only_spark("SELECT id FROM t WHERE id = 5", FIELDS) == ""
