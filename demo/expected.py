"""What ``country_sales`` must hold, computed from the raw input by DuckDB alone.

    python demo/expected.py INBOX

Every ``round-NN`` of the inbox is one run of the pipeline, in ascending order.  A run takes the
customer events, joins the waiting and the new orders with the customers as they are then, adds them
up, and makes the countries those in which customers live.  No line is shared with the pipeline.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Expected", "expected"]

SETUP = """
    CREATE TABLE events (round INT, pos BIGINT, op TEXT, id BIGINT, country TEXT);
    CREATE TABLE waiting (customer_id BIGINT, amount DECIMAL(12, 2), order_time TIMESTAMP);
    CREATE TABLE sales (country TEXT PRIMARY KEY, revenue DECIMAL(18, 2), order_count BIGINT,
                        last_order_time TIMESTAMP);
"""
CUSTOMERS = """
    CREATE OR REPLACE TEMP VIEW customers AS
    SELECT id, country FROM (
        SELECT *, row_number() OVER (PARTITION BY id ORDER BY pos DESC) AS newest FROM events)
    WHERE newest = 1 AND op <> 'd'
"""
FLOW = """
    INSERT INTO sales
    SELECT country, sum(amount), count(*), max(order_time)
    FROM waiting JOIN customers ON customer_id = id GROUP BY country
    ON CONFLICT DO UPDATE SET
        revenue = revenue + excluded.revenue,
        order_count = order_count + excluded.order_count,
        last_order_time = greatest(last_order_time, excluded.last_order_time);
    DELETE FROM waiting WHERE customer_id IN (SELECT id FROM customers);
"""
MERGE = """
    DELETE FROM sales WHERE country NOT IN (SELECT country FROM customers);
    INSERT INTO sales SELECT DISTINCT country, 0, 0, NULL::TIMESTAMP FROM customers
    WHERE country NOT IN (SELECT country FROM sales);
"""


@dataclass(frozen=True, slots=True)
class Expected:
    """The state of the pipeline after one run."""

    round: int
    sales: pa.Table
    """``country``, ``revenue``, ``order_count``, ``last_order_time``, ordered by country."""
    customers: int
    waiting: int
    """Orders whose customer is not there yet."""


def expected(inbox: Path) -> list[Expected]:
    """The states after each run over ``inbox``, oldest first."""
    states = []
    with duckdb.connect() as db:
        db.execute(SETUP)
        db.execute(CUSTOMERS)
        for path in sorted((inbox / "events" / "customers").glob("round-*.jsonl")):
            number = int(path.stem.removeprefix("round-"))
            db.execute(
                "INSERT INTO events SELECT ?, json ->> '$.source.pos', json ->> '$.op',"
                " coalesce(json ->> '$.after.id', json ->> '$.before.id'),"
                " json ->> '$.after.country' FROM read_ndjson_objects(?)",
                [number, str(path)],
            )
            orders = inbox / "orders" / path.stem / "*.parquet"
            db.execute(
                "INSERT INTO waiting SELECT customer_id, amount, order_time FROM read_parquet(?)",
                [str(orders)],
            )
            db.execute(FLOW)
            db.execute(MERGE)
            states.append(
                Expected(
                    number,
                    db.sql("SELECT * FROM sales ORDER BY country").to_arrow_table(),
                    _count(db, "customers"),
                    _count(db, "waiting"),
                )
            )
    return states


def _count(db: duckdb.DuckDBPyConnection, table: str) -> int:
    row = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    for state in expected(Path(sys.argv[1])):
        print(f"round {state.round}: {state.customers} customers, {state.waiting} orders wait")
        print(state.sales.to_pandas().to_string(index=False))
