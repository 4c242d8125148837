"""Datasets are named as OpenLineage asks: by where the table is, whoever tells of it."""

from __future__ import annotations

import pytest

from paimon_provider.lineage import dataset_name
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
    more = {"table": "a.b", "on": ["x"], "when": []}
    merge = PaimonMergeIntoOperator(task_id="m", source={"table": "a.o"}, **more)
    assert merge.tables_read() == ["a.o"]
    query = PaimonMergeIntoOperator(task_id="q", source={"sql": "S", "sources": sources}, **more)
    assert query.tables_read() == ["a.o", "a.c"]
