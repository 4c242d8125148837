"""Parallel batches of records: what goes into one, and what a task makes of a window."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from table_core.cdc.model.encoding import PlainSettings
from table_core.cdc.model.parallel_batches import DecodedWindow, Known
from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.kafka import parallel_batches
from table_core.cdc.source.kafka.parallel_batches import WindowWork, next_parallel_batches
from table_core.cdc.source.kafka.records import JsonRecords
from table_core.schema.type_mapping import TypeMapping
from tests.unit.cdc.shapes import record

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema(
    [
        ("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()),
        ("headers", pa.list_(HEADER)), ("key", pa.binary()), ("value", pa.binary()),
        ("window", pa.int32()),
    ]
)  # fmt: skip


def work(**more: Any) -> WindowWork:
    given: dict[str, Any] = {
        "known": Known(fields={}, skipped=frozenset(), source_schemas={}, keys={}),
        "route": lambda table: f"lake.{table.name}", "form": JsonRecords(),
        "format": "debezium-json", "settings": PlainSettings(), "mapping": TypeMapping(),
        "by_topic": True,
    }  # fmt: skip
    return WindowWork(**{**given, **more})


def batch(*records: tuple[int, int, bytes | None]) -> pa.RecordBatch:
    rows = [
        {"topic": "p.s.t", "partition": partition, "offset": offset, "window": 0, "key": b"{}",
         "headers": [{"key": "h", "value": b"1"}], "value": value}
        for partition, offset, value in records
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def event(id: int, lsn: int) -> bytes:
    return json.dumps(record("c", None, {"id": id}, lsn=lsn)["value"]).encode()


def test_each_partition_gives_as_much_and_a_short_one_comes_first() -> None:
    last = {("a", 0): 1_000_000, ("a", 1): 500, ("news", 0): 9, ("done", 0): 7}
    batches = next_parallel_batches({("a", 0): 200, ("done", 0): 7}, last, 300)
    assert batches is not None
    assert (batches.step, batches.windows) == (100, 8)
    assert batches.ranges == {("a", 0): (200, 1000), ("a", 1): (0, 500), ("news", 0): (0, 9)}


def test_few_records_are_read_by_one() -> None:
    assert next_parallel_batches({}, {("a", 0): 99_999}, 10) is None
    assert next_parallel_batches({("a", 0): 1}, {("a", 0): 100_001}, 10) is not None


def test_a_window_is_put_into_the_order_of_the_source_whatever_order_it_comes_in() -> None:
    one, other = batch((1, 4, event(3, 30)), (0, 8, event(4, 40))), batch((0, 7, event(2, 20)))
    body = work()(iter([one, other]))
    found: DecodedWindow = pickle.loads(body or b"")
    (changes,) = found.changes
    assert changes.table == SourceTable("s", "t")
    assert changes.after.columns["id"].to_pylist() == [2, 3, 4]
    assert changes.place(1).text == "topic p.s.t, partition 1, offset 4"
    assert sorted(found.places) == [("p.s.t", 0, 7), ("p.s.t", 0, 8), ("p.s.t", 1, 4)]
    assert b'"headers":{"h":"1"}' in found.window.text_of(0)


def test_what_cannot_be_read_comes_back_as_lines() -> None:
    body = work()(iter([batch((0, 1, event(1, 1)), (0, 2, b"{"), (0, 3, None))]))
    found: DecodedWindow = pickle.loads(body or b"")
    assert (found.after, found.changes, len(found.window.lines)) == (None, [], 3)


def test_a_window_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_batches, "_LARGEST_WINDOW", 100)
    assert work()(iter([batch((0, 1, event(1, 1)))] * 9)) == b""
    assert work()(iter([])) is None
