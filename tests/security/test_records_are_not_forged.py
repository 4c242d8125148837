"""Attack: whoever may write a topic or a source table.  Goal: the table of another one, the memory of the worker."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import fastavro
import pytest

from table_core.cdc.debezium.avro_events import AvroEvents
from table_core.cdc.source.kafka.records import JsonRecords, json_text, record_line
from table_core.errors import EventError
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import record


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b'{"id":1},"topic":"p.s.salaries"'),
        (None, b'{"id":1},"\\u0074opic":"p.s.salaries"'),
        (None, b'1} {"topic":"p.s.salaries","value":{"id":1}'),
        (b'1,"topic":"p.s.salaries","value":{"id":2}', b'{"id":1}'),
        (b"12abc", b'{"id":1}'),
        (None, b'{"schema":{},"payload":{"id":1}},"topic":"p.s.salaries"'),
    ],
)
def test_a_record_says_nothing_of_where_it_is_from(key: bytes | None, value: bytes) -> None:
    form = JsonRecords()
    for good in (b'{"schema":{},"payload":{"id":0}}', b'{"id":0}'):
        assert form.value(good) == good
    line = json.loads(record_line(("t.s.visits", 0, 7), (), key, value, form))
    assert (line["topic"], line["offset"]) == ("t.s.visits", 7)
    assert line.keys() == {"topic", "partition", "offset", "headers", "key", "value"}
    is_bad = value != b'{"id":1}'
    assert ("table_core.unreadable" in line["value"]) == is_bad


def test_values_that_are_too_large_or_too_deep_are_told_and_not_parsed() -> None:
    form = JsonRecords(max_bytes=100)
    assert b"more than max_event_bytes=100" in form.value(b'{"a":"' + b"x" * 200 + b'"}')
    deep = b"[" * 100_000 + b"]" * 100_000
    assert b"nested too deep" in JsonRecords().value(deep)
    assert json.loads(json_text(deep)) == deep.decode()


@pytest.mark.parametrize(
    "items",
    [
        "null",
        {"type": "record", "name": "n", "fields": []},
        {"type": "fixed", "name": "f", "size": 0},
    ],
)
def test_arrays_of_values_without_bytes_are_refused(items: Any) -> None:
    field = {"name": "v", "type": {"type": "array", "items": items}}
    schema = {"type": "record", "name": "r", "fields": [field]}
    events = AvroEvents(lambda _: json.dumps(schema), json_text)
    count = io.BytesIO()
    fastavro.schemaless_writer(count, "long", 1 << 28)
    tracemalloc.start()
    told = events.value(b"\0\0\0\0\1" + count.getvalue() + b"\0")
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()
    assert b"an array of values without bytes has no bound" in told


@pytest.mark.parametrize("size", [1, 2])
def test_two_source_tables_do_not_feed_one_table_unless_somebody_says_so(
    lake: Lake, size: int
) -> None:
    events = [record("s_1.p", "c", {"id": 1}), record("s.1_p", "c", {"id": 1})]
    lake.put("0.jsonl", *events[:size])
    if size == 1:
        lake.sync(merge_shards=False)
        lake.put("1.jsonl", events[1])
    refused = r"'s\.1_p' would go into lake\.s_1_p, which 's_1\.p' feeds"
    with pytest.raises(EventError, match=refused):
        lake.sync(merge_shards=False)
    lake.sync(merge_shards=False, table_mapping={"s.1_p": "other"})
    assert lake.catalog.tables("lake") == ["other", "s_1_p"]
    for name in ("other", "s_1_p"):
        assert [row["id"] for row in lake.rows(name)] == [1]


@pytest.mark.parametrize("name", ["p$branch_b", "a/b", "../x", "a.b", " "])
def test_a_name_that_no_table_can_have_is_refused_by_name(lake: Lake, name: str) -> None:
    lake.put("1.jsonl", record("s.p", "c", {"id": 1}))
    lake.sync()
    lake.catalog.table("lake.p").branches.create("b")
    bad = record("s.p", "c", {"id": 2})
    bad["value"]["source"]["table"] = name
    lake.put("2.jsonl", bad, record("s.p", "c", {"id": 3}))
    with pytest.raises(EventError, match="table_mapping"):
        lake.sync()
    lake.sync(dead_letter="lake.bad")
    assert [row["id"] for row in lake.rows("p")] == [1, 3]
    assert len(lake.rows("bad")) == 1
    assert lake.catalog.table("lake.p$branch_b").read().to_arrow().num_rows == 0
