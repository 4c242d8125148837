"""Datasets are named as OpenLineage asks: by where the table is, whoever tells of it."""

from __future__ import annotations

import pytest

from paimon_provider.hooks.datasets import dataset_name
from paimon_provider.lineage.columns import Derivation, origins, origins_document
from paimon_provider.operators.sync import PaimonSyncDatabaseOperator, PaimonSyncTableOperator
from paimon_provider.operators.write import PaimonMergeIntoOperator, PaimonWriteOperator


@pytest.mark.parametrize(
    ("warehouse", "named"),
    [
        ("s3://bucket/data/wh", ("s3://bucket", "data/wh/shop.db/orders")),
        ("s3://bucket", ("s3://bucket", "shop.db/orders")),
        ("hdfs://nn:8020/wh/", ("hdfs://nn:8020", "wh/shop.db/orders")),
        ("file:///data/wh", ("file", "/data/wh/shop.db/orders")),
        ("/data/wh", ("file", "/data/wh/shop.db/orders")),
    ],
)
def test_a_dataset_is_where_the_table_is(warehouse: str, named: tuple[str, str]) -> None:
    assert dataset_name(warehouse, "shop.orders") == named
    assert dataset_name(warehouse, "shop.orders$branch_try") == named


def test_operators_say_what_they_read() -> None:
    sources = {"o": {"table": "a.o", "mode": "changes"}, "c": {"table": "a.c"}}
    write = PaimonWriteOperator(task_id="w", table="a.b", sql="SELECT 1", sources=sources)
    assert write.tables_read() == ["a.o", "a.c"]
    more = {"table": "a.b", "on": ["x"], "when": [{"action": "matched-delete"}]}
    merge = PaimonMergeIntoOperator(task_id="m", source={"table": "a.o"}, **more)
    assert merge.tables_read() == ["a.o"]
    states = {"o": {"table": "a.o"}, "c": {"table": "a.c"}}
    query = PaimonMergeIntoOperator(task_id="q", source={"sql": "S", "sources": states}, **more)
    assert query.tables_read() == ["a.o", "a.c"]
    files = PaimonWriteOperator(task_id="f", table="a.b", rows_uri="s3://lake/in/*.parquet")
    assert (files.tables_read(), files.files_read()) == ([], ["s3://lake/in/*.parquet"])
    source = {"kind": "files", "uri": "file:///in/*.jsonl", "format": "debezium-json"}
    sync = PaimonSyncTableOperator(task_id="s", table="a.b", source=source)
    assert sync.files_read() == ["file:///in/*.jsonl"]
    other = PaimonSyncDatabaseOperator(task_id="d", database="a", source={"kind": "mysql"})
    assert other.files_read() == []


ORDERS = {"o": ["id", "customer", "amount"], "c": ["id", "country"]}


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT id, amount * 2 AS twice FROM o", {"id": ["o.id"], "twice": ["o.amount"]}),
        ("SELECT * FROM c", {"id": ["c.id"], "country": ["c.country"]}),
        (
            "SELECT country, sum(amount) AS s, count(*) AS n FROM o JOIN c ON c.id = customer GROUP BY 1",
            {"country": ["c.country"], "s": ["o.amount"]},
        ),
        (
            "WITH x AS (SELECT id FROM o UNION ALL SELECT id FROM c) SELECT id FROM x",
            {"id": ["c.id", "o.id"]},
        ),
        (
            "SELECT coalesce(o.amount, c.id) AS v FROM (SELECT * FROM o) o CROSS JOIN c",
            {"v": ["c.id", "o.amount"]},
        ),
        ("SELECT 1 AS one", {}),
        ("SELECT x FROM nowhere", {}),
        ("SELECT FROM", {}),
        ("DROP TABLE o", {}),
    ],
)
def test_sql_tells_where_columns_come_from(sql: str, told: dict[str, list[str]]) -> None:
    found = origins(Derivation(views={"o": "a.o", "c": "a.c"}, sql=sql), ORDERS)
    assert {name: [".".join(of) for of in all_of] for name, all_of in found.items()} == told


def test_merged_values_win_over_columns_of_the_same_name() -> None:
    values = {"id": "source.customer", "zero": "0", "sum": "source.amount + target.sum"}
    merge = Derivation(views={"o": "a.o"}, values=values)
    assert origins(merge, ORDERS) == {
        "id": [("o", "customer")],
        "customer": [("o", "customer")],
        "amount": [("o", "amount")],
        "sum": [("o", "amount")],
    }


def test_a_result_names_tables_by_their_assets_and_has_bounded_room() -> None:
    sql = "SELECT O.id AS ID, c.country || O.customer AS who, 1 AS one FROM O JOIN c USING (id)"
    views = {"O": "shop.Orders", "c": "shop.c"}
    columns = {"O": ORDERS["o"], "c": ORDERS["c"]}
    told = origins_document(
        Derivation(views=views, sql=sql), columns, ["who", "id", "one", "more"], catalog="lake"
    )
    orders, countries = "paimon://lake/shop/orders", "paimon://lake/shop/c"
    assert told == {
        "columns_from": {
            "who": [[countries, "country"], [orders, "customer"]],
            "id": [[orders, "id"]],
        }
    }
    wide = [f"c{at}" for at in range(130)]
    same = Derivation(views={"w": "shop.w"})
    told = origins_document(same, {"w": wide}, wide, catalog="lake")
    assert len(told["columns_from"]) == 100
    assert told["columns_left_out"] == 30
    assert origins_document(same, {"w": ["x"]}, ["y"], catalog="lake") == {}


def test_what_cannot_be_told_after_the_commit_fails_nothing() -> None:
    sources = {"o": {"table": "a.o"}}
    write = PaimonWriteOperator(
        task_id="w",
        table="a.b",
        sql="SELECT * FROM o",
        sources=sources,
        paimon_conn_id="nobody_has_it",
    )
    result = {"snapshot_after": 4, "details": {"replayed": False}}
    assert write.with_origins(result) == result
