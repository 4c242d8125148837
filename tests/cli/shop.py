"""The folder that the examples of the reference page are about: a warehouse, files of rows, a declaration."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import table_core as tc
from tests.tables import write_rows

__all__ = ["make_shop"]

DAYS = (dt.date(2025, 3, 1), dt.date(2025, 3, 2))
ORDERS = pa.schema(
    [
        pa.field("day", pa.date32(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("city", pa.string()),
        ("amount", pa.decimal128(9, 2)),
    ]
)
DECLARATION = """\
version: 1
name: shop
warehouse: warehouse
tables:
  shop.orders:
    columns: {day: DATE NOT NULL, id: BIGINT NOT NULL, city: STRING, amount: "DECIMAL(9, 2)"}
    primary_key: [day, id]
    partition_by: [day]
    options: {bucket: "1", write-only: "true", changelog-producer: input}
    comment: What customers ordered
  shop.sums:
    columns: {city: STRING NOT NULL, total: "DECIMAL(38, 2)"}
    primary_key: [city]
    options: {bucket: "1"}
flows:
  sums: {table: shop.sums, reads: {orders: shop.orders}, sql: "SELECT city, sum(amount) AS total FROM orders WHERE city IS NOT NULL GROUP BY city", overwrite: table, engine: local}
"""
EVENTS = (
    {"op": "c", "before": None, "after": {"id": 1, "name": "Ada"}, "source": {"db": "crm", "table": "people", "ts_ms": 1}},
    {"op": "c", "before": None, "after": {"id": 2, "name": "Alan"}, "source": {"db": "crm", "table": "people", "ts_ms": 2}},
)  # fmt: skip


def make_shop(folder: Path) -> None:
    """Fill ``folder``."""
    catalog = tc.open_catalog(str(folder / "warehouse"))
    for database in ("shop", "lake"):
        catalog.create_database(database)
    orders = catalog.create_table(
        "shop.orders",
        ORDERS,
        primary_key=("day", "id"),
        partition_by=("day",),
        options={"bucket": "1", "write-only": "true", "changelog-producer": "input"},
        comment="What customers ordered",
    )
    for number, rows in enumerate(
        (
            [(0, 1, "Oslo", "10.50"), (0, 2, "Bergen", None), (1, 3, None, "7.00")],
            [(0, 2, "Bergen", "4.00"), (1, 4, "Oslo", "-2.25")],
            [(1, 5, "Tromsø, a city north of the Arctic Circle", "99999.99")],
        ),
        start=1,
    ):
        columns = zip(*rows, strict=True)
        days, ids, cities, amounts = map(list, columns)
        table = pa.table(
            {
                "day": [DAYS[at] for at in days],
                "id": ids,
                "city": cities,
                "amount": [None if a is None else Decimal(a) for a in amounts],
            },
            schema=ORDERS,
        )
        write_rows(orders, table, commit=tc.CommitAs(user="nightly", identifier=number))
    orders.tags.create("monday", snapshot=1)
    orders.branches.create("trial", tag="monday")
    orders.consumers.reset("report", 2)
    cities = catalog.create_table(
        "shop.cities", pa.schema([pa.field("city", pa.string(), nullable=False), ("orders", pa.int64())]),
        primary_key=("city",), options={"bucket": "1"},
    )  # fmt: skip
    write_rows(cities, pa.table({"city": ["Oslo"], "orders": [2]}))
    cities.positions.set("tc.flow.cities", snapshot=1, source=orders)
    (folder / "orders.csv").write_text(
        "day,id,city,amount\n2025-03-01,1,Oslo,11.00\n2025-03-02,6,Narvik,3.10\n"
    )
    (folder / "bad.csv").write_text("day,id,amount\n2025-03-01,1,1.00\n2025-03-02,2,much\n")
    lines = (
        json.dumps({"topic": "crm.people", "key": {"id": e["after"]["id"]}, "value": e})
        for e in EVENTS
    )
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    source = {"kind": "files", "uri": f"{folder.as_uri()}/events.jsonl", "tables": "people"}
    (folder / "source.json").write_text(json.dumps(source))
    sync = {"source": source, "primary_key": ["id"]}
    flow = {
        "sql": "SELECT name AS city, count(*) AS orders FROM people GROUP BY name",
        "sources": {"people": {"table": "lake.people", "mode": "changes"}},
    }
    hops = [
        {"name": "people", "action": "sync-table", "target": "lake.people", "args": sync},
        {"name": "cities", "action": "write", "target": "shop.cities", "args": flow},
    ]
    (folder / "sales.json").write_text(json.dumps(hops))
    (folder / "shop.yaml").write_text(DECLARATION)
