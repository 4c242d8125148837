"""Goal: Spark SQL over our tables answers as it does over Parquet copies of the same rows.

Method: rows are kept beside the tables in a dict, and go to the copies from there, so that no reader of
ours has a part in what is expected.  Queries are put together at random: filters, projections,
joins, aggregations, windows, set operations; what a stream has read answers too.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import table_core as tc
import table_core.spark as tcs
from tests.lanes import budget
from tests.tables import write_rows

if TYPE_CHECKING:
    from pathlib import Path

SEED = int(os.environ.get("DIFFERENTIAL_SEED", "8"))
QUERIES = budget("DIFFERENTIAL_QUERIES", ci=10, nightly=60)
ORDERS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("day", pa.date32()),
        ("customer", pa.int32()),
        ("price", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us")),
        ("note", pa.string()),
        ("ratio", pa.float64()),
        ("paid", pa.bool_()),
    ]
)
CUSTOMERS = pa.schema(
    [pa.field("key", pa.int32(), nullable=False), ("country", pa.string()), ("score", pa.int16())]
)
RATIOS = ("0.0D", "1.5D", "double('NaN')", "double('inf')")
WORDS = (None, "", "a", "Ab", "é", "漢", "a%b", "long enough to fit no slot")


def order(choice: random.Random, id: int) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if choice.random() < 0.15 else value

    return {
        "id": id,
        "day": maybe(dt.date(2026, 1, 1) + dt.timedelta(days=choice.randrange(4))),
        "customer": maybe(choice.randrange(12)),
        "price": maybe(Decimal(choice.randrange(-(10**12) + 1, 10**12)).scaleb(-2)),
        "at": maybe(dt.datetime(1969, 12, 31) + dt.timedelta(seconds=choice.randrange(10**6) / 7)),
        "note": choice.choice(WORDS),
        "ratio": maybe(choice.choice([0.0, -0.0, 1.5, float("inf"), float("nan")])),
        "paid": maybe(choice.random() < 0.5),
    }


class Shop:
    """The tables, and the rows that they have."""

    def __init__(self, catalog: tc.Catalog, choice: random.Random) -> None:
        self.choice = choice
        self.orders: dict[int, dict[str, Any]] = {}
        options = {"bucket": "3", "write-only": "true", "changelog-producer": "input"}
        self.table = catalog.create_table("d.orders", ORDERS, primary_key=("id",), options=options)
        self.customers = [
            {"key": key, "country": choice.choice(["is", "sm", None]), "score": key * 7 % 5}
            for key in range(0, 16, 2)
        ]
        table = catalog.create_table(
            "d.customers", CUSTOMERS, partition_by=("country",), options={"bucket": "-1"}
        )
        write_rows(table, pa.Table.from_pylist(self.customers, schema=CUSTOMERS))
        self.customer_table = table

    def put(self, ids: Any) -> None:
        rows = [order(self.choice, id) for id in ids]
        self.orders |= {row["id"]: row for row in rows}
        self._write([{**row, "_ROW_KIND": "+I"} for row in rows])

    def drop(self, ids: Any) -> None:
        self._write([{**self.orders.pop(id), "_ROW_KIND": "-D"} for id in ids])

    def _write(self, rows: list[dict[str, Any]]) -> None:
        schema = ORDERS.append(pa.field("_ROW_KIND", pa.string()))
        write_rows(self.table, pa.Table.from_pylist(rows, schema=schema))

    def copies(self, spark: Any, folder: Path) -> None:
        for name, schema, rows in (
            ("orders_copy", ORDERS, list(self.orders.values())),
            ("customers_copy", CUSTOMERS, self.customers),
        ):
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / f"{name}.parquet")
            spark.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)


@pytest.fixture
def shop(catalog: tc.Catalog) -> Shop:
    """Buckets with files that overlap and deletes, and one that needs no merge."""
    made = Shop(catalog, random.Random(SEED))
    made.put(range(150))
    made.table.compact()
    one_bucket = [id for id in range(150, 400) if id % 2][:60]
    made.put(one_bucket)
    made.put(range(40, 60))
    made.drop(range(55, 70))
    return made


class Asker:
    """Queries over ``{0}`` (orders) and ``{1}`` (customers)."""

    def __init__(self, choice: random.Random) -> None:
        self.choice = choice

    def condition(self, depth: int = 2) -> str:
        pick = self.choice.choice
        if depth and self.choice.random() < 0.6:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return pick([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])
        comparison = pick(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        return pick(
            [
                f"o.id {comparison} {self.choice.randrange(200)}",
                f"o.id BETWEEN {self.choice.randrange(80)} AND {self.choice.randrange(220)}",
                f"o.day {comparison} DATE'2026-01-0{self.choice.randrange(1, 5)}'",
                f"o.price {comparison} {self.choice.randrange(-(10**9), 10**9)}.5",
                f"o.at {comparison} TIMESTAMP_NTZ'1970-01-0{self.choice.randrange(1, 9)} 00:00:00.5'",
                f"o.note {comparison} '{pick([w for w in WORDS if w is not None])}'",
                f"o.note LIKE '{pick(['a%', '%b', '%n%', '_'])}'",
                f"o.ratio {comparison} {pick(RATIOS)}",
                f"o.customer IN ({self.choice.randrange(12)}, 4, NULL)",
                f"o.{pick(ORDERS.names)} IS {pick(['NULL', 'NOT NULL'])}",
                "o.paid",
                "o.customer % 3 = 1",
                "upper(o.note) = 'A'",
            ]
        )

    def query(self) -> str:
        where = self.condition()
        columns = ", ".join(f"o.{c}" for c in self.choice.sample(ORDERS.names, 3))
        join = self.choice.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        half = self.choice.choice(["LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        group = self.choice.choice(["o.day", "o.note", "o.customer", "o.paid", "o.ratio"])
        return self.choice.choice(
            [
                f"SELECT {columns} FROM {{0}} o WHERE {where}",
                f"SELECT * FROM {{0}} o WHERE {where}",
                f"SELECT DISTINCT o.note, o.paid FROM {{0}} o WHERE {where}",
                f"SELECT {group} g, count(*), count(o.note), count(DISTINCT o.customer), sum(o.price),"
                f" avg(o.id), min(o.at), max(o.day), max(o.note) FROM {{0}} o WHERE {where} GROUP BY 1",
                f"SELECT c.country, sum(o.price), count(*) FROM {{0}} o {join} {{1}} c"
                f" ON o.customer = c.key AND {where} GROUP BY c.country HAVING count(*) > 1",
                f"SELECT o.id, c.score FROM {{0}} o {join} {{1}} c ON o.customer = c.key WHERE {where}",
                f"SELECT {columns} FROM {{0}} o {half} {{1}} c ON o.customer = c.key WHERE {where}",
                f"SELECT o.id, row_number() OVER (PARTITION BY o.day ORDER BY o.id) n,"
                f" sum(o.customer) OVER (PARTITION BY o.paid ORDER BY o.id) s FROM {{0}} o WHERE {where}",
                f"SELECT o.id FROM {{0}} o WHERE {where} EXCEPT SELECT key FROM {{1}}",
                f"SELECT o.note FROM {{0}} o WHERE {where} UNION ALL SELECT country FROM {{1}}",
                f"SELECT {columns} FROM {{0}} o WHERE {where} AND o.customer ="
                " (SELECT max(key) FROM {1} WHERE score < 4)",
                f"SELECT o.id, o.price FROM {{0}} o WHERE {where} ORDER BY o.id DESC LIMIT 7",
            ]
        )


def answer(spark: Any, query: str, *names: str) -> list[str]:
    """Comparable rows: NaN is not equal to itself."""
    return sorted(repr(tuple(row)) for row in spark.sql(query.format(*names)).collect())


def test_spark_sql_answers_as_over_parquet_copies(spark: Any, shop: Shop, tmp_path: Path) -> None:
    shop.copies(spark, tmp_path)
    tcs.view(spark, shop.table, "orders_ours")
    tcs.view(spark, shop.customer_table, "customers_ours")
    tcs.register(spark)
    for name, table in (("orders", shop.table), ("customers", shop.customer_table)):
        frame = spark.read.format("paimon").load(table.uri)
        frame.createOrReplaceTempView(f"{name}_source")
    asker, told = Asker(random.Random(SEED)), 0
    for number in range(QUERIES):
        query = asker.query()
        expected = answer(spark, query, "orders_copy", "customers_copy")
        told += bool(expected)
        kind = "source" if number % 4 == 0 else "ours"
        assert answer(spark, query, f"orders_{kind}", f"customers_{kind}") == expected, query
    assert told > QUERIES // 3


def test_what_a_stream_has_read_answers_as_a_batch(
    spark: Any, shop: Shop, catalog: tc.Catalog, tmp_path: Path
) -> None:
    tcs.register(spark)
    copy = catalog.create_table("d.streamed", ORDERS, primary_key=("id",), options={"bucket": "2"})

    def run() -> None:
        changes = spark.readStream.format("paimon").option("read.changelog", "true")
        query = changes.load(shop.table.uri).writeStream.format("paimon")
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
        started = query.trigger(availableNow=True).start(copy.uri)
        assert started.awaitTermination(300)

    run()
    shop.put(range(10, 30))
    shop.drop(range(5, 12))
    run()
    shop.copies(spark, tmp_path)
    tcs.view(spark, copy, "orders_streamed")
    asker = Asker(random.Random(SEED + 1))
    for query in ("SELECT * FROM {0}", *(asker.query() for _ in range(QUERIES // 4))):
        expected = answer(spark, query, "orders_copy", "customers_copy")
        assert answer(spark, query, "orders_streamed", "customers_copy") == expected, query
