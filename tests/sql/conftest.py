"""A warehouse of a few rows, and SQL in the process of the test where its own process is not what is tested."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from table_core.table.api.sql import queries
from tests.tables import new_catalog

if TYPE_CHECKING:
    from collections.abc import Mapping

    import table_core as tc

TABLES = """
CREATE TABLE d.orders (
  id BIGINT NOT NULL, city STRING, amount DECIMAL(10, 2), qty INT, paid BOOLEAN, dt DATE, score DOUBLE
) PARTITIONED BY (city) TBLPROPERTIES ('target-file-size' = '64 mb');
INSERT INTO d.orders VALUES
  (1, 'Oslo', 10.50, 1, true, DATE '2026-01-01', 0.5), (2, 'Oslo', NULL, 2, false, DATE '2026-01-02', NULL);
INSERT INTO d.orders VALUES
  (3, 'Bergen', 7.25, 3, NULL, NULL, 1.5), (4, NULL, 1.00, -4, true, DATE '2026-02-01', -2.5);
CREATE TABLE d.Cities (city STRING, country STRING);
INSERT INTO d.Cities VALUES ('Oslo', 'NO'), ('Bergen', 'NO'), ('Malmö', 'SE'), ('it''s', NULL);
"""


def rows_here(
    sql: str, tables: Mapping[str, pa.RecordBatchReader], parameters: Mapping[str, Any], _: object
) -> pa.Table:
    """The rows that the process of SQL gives: it costs 0.3 s of CPU each, and is tested where nothing stands in for it."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in tables.items():
            connection.register(name, rows.read_all())
        relation = (
            connection.sql(sql, params=dict(parameters)) if parameters else connection.sql(sql)
        )
        return pa.RecordBatchReader.from_stream(relation).read_all()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "rows_of", rows_here)


@pytest.fixture
def catalog() -> tc.Catalog:
    catalog = new_catalog()
    for _ in catalog.sql_session().script(TABLES):
        pass
    return catalog


def answer(result: Any) -> list[tuple[Any, ...]]:
    """Rows in their order, dates as texts."""
    rows = [tuple(row.values()) for row in result.to_arrow().to_pylist()]
    return [tuple(str(c) if isinstance(c, dt.date) else c for c in row) for row in rows]
