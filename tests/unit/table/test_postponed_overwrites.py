"""Rows that wait for their bucket (``bucket=-2``) go with whatever takes their partition out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog

SCHEMA = pa.schema(
    [pa.field("p", pa.string(), nullable=False), pa.field("id", pa.int64(), nullable=False)]
)
OLD = "2020-01-01"


def rows(*pairs: tuple[str, int]) -> pa.Table:
    return pa.table({"p": [p for p, _ in pairs], "id": [i for _, i in pairs]}, schema=SCHEMA)


def put(table: tc.Table, *pairs: tuple[str, int], overwrite: Any = None) -> None:
    with table.write(overwrite=overwrite) as writer:
        if pairs:
            writer.write(rows(*pairs))
        writer.commit()


def overwritten(how: Any):
    return lambda table: put(table, (OLD, 9), overwrite=how)


VERBS = {
    "drop partitions": (lambda t: t.drop_partitions([{"p": OLD}]), {("a", 1)}),
    "truncate": (lambda t: t.truncate(), set()),
    "expire partitions": (lambda t: t.expire_partitions(expiration_time="1 d"), {("a", 1)}),
    "overwrite a partition": (overwritten({"p": OLD}), {("a", 1), (OLD, 9)}),
    "overwrite partitions": (overwritten("partitions"), {("a", 1), (OLD, 9)}),
    "overwrite the table": (overwritten("table"), {(OLD, 9)}),
}


@pytest.mark.parametrize("compacted", [False, True], ids=["all wait", "some have buckets"])
@pytest.mark.parametrize("verb", VERBS)
def test_what_takes_a_partition_out_takes_its_waiting_rows(
    tmp_path: Any, verb: str, compacted: bool
) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("p", "id"),
        partition_by=("p",),
        options={"bucket": "-2", "partition.timestamp-formatter": "yyyy-MM-dd"},
    )
    put(table, ("a", 1), (OLD, 2))
    if compacted:
        table.compact(strategy="full")
    put(table, (OLD, 5))
    act, expected = VERBS[verb]
    done = act(table)
    if done is not None:
        assert done.files_deleted == done.files_before - done.files_after > 0
    table.compact(strategy="full")
    found = table.read().to_arrow()
    assert set(zip(found["p"].to_pylist(), found["id"].to_pylist(), strict=True)) == expected
