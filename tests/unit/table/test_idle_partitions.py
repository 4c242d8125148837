"""Partitions that expire because nobody writes to them: somebody may, at the last moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.table.maintenance import expire_partitions
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("p", pa.string(), nullable=False), ("v", pa.int64())])


@pytest.mark.parametrize("batch", ["1", "10"])
@pytest.mark.parametrize("named", [True, False])
def test_a_row_that_comes_between_plan_and_commit_keeps_its_partition(
    batch: str, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SetClock()
    catalog = replace(new_catalog(), clock=clock)
    options = {
        "bucket": "-1",
        "partition.expiration-strategy": "update-time",
        "partition.expiration-time": "1 s",
        "partition.expiration-batch-size": batch,
        "write-only": "true",
    }
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=options)

    def put(*partitions: str) -> None:
        write_rows(table, pa.table({"p": partitions, "v": [1] * len(partitions)}, schema=SCHEMA))

    put("a", "b", "c")
    clock.sleep_ms(1_100)
    plain, calls = expire_partitions.commit_parts, []

    def late(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            put("b")
        return plain(*args, **kwargs)

    monkeypatch.setattr(expire_partitions, "commit_parts", late)
    commit = tc.CommitAs(user="u", identifier=0) if named else None
    done = table.expire_partitions(commit=commit)
    assert sorted(table.read().to_arrow()["p"].to_pylist()) == ["b", "b"]
    assert sorted(p["p"] for p in done.details["partitions"]) == ["a", "c"]  # type: ignore[attr-defined]
    assert done.files_deleted == 2


def test_a_commit_to_another_partition_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SetClock()
    catalog = replace(new_catalog(), clock=clock)
    options = {"bucket": "-1", "partition.expiration-strategy": "update-time"}
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=options)

    def put(partition: str) -> None:
        write_rows(table, pa.table({"p": [partition], "v": [1]}, schema=SCHEMA))

    put("a")
    clock.sleep_ms(1_100)
    plain, calls = expire_partitions.commit_parts, []

    def late(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        put("new")
        return plain(*args, **kwargs)

    monkeypatch.setattr(expire_partitions, "commit_parts", late)
    table.expire_partitions("1 s")
    assert table.read().to_arrow()["p"].to_pylist() == ["new"]
    assert len(calls) == 1
