"""Attack: whoever may send one event.  Goal: that the sync of all tables stops, although dead letters are on."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import TableError
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import record

ROWS = 1500
DEEP = "[" * 50_000 + "]" * 50_000


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def good(id: int) -> dict[str, Any]:
    row = {"id": id, "name": f"n{id}", "amount": id / 4, "data": {"scale": 2, "value": "BNI="}}
    return record("s.a", "c", row)


def changed(id: int, **members: Any) -> dict[str, Any]:
    event = good(id)
    event["value"] |= members
    return event


def with_row(id: int, /, **columns: Any) -> dict[str, Any]:
    event = good(id)
    event["value"]["after"] |= columns
    return event


def of_table(id: int, name: Any, database: Any = "s") -> dict[str, Any]:
    event = good(id)
    event["value"]["source"] |= {"table": name, "db": database}
    return event


def with_schema(id: int, fields: Any) -> dict[str, Any]:
    event = good(id)
    event["value"] = {"schema": {"type": "struct", "fields": fields}, "payload": event["value"]}
    return event


def struct(fields: Any) -> list[dict[str, Any]]:
    return [{"field": "after", "type": "struct", "fields": fields}]


def news(id: int, changes: Any) -> dict[str, Any]:
    value = {"source": {"db": "s", "table": "a"}, "ddl": "…", "tableChanges": changes}
    return {"topic": "s", "partition": 0, "key": None, "value": value}


WAYS: list[Callable[[int], Any]] = [
    lambda n: "no json",
    lambda n: '{"id": 1},"topic":"s.s.b"',
    lambda n: '"\\ud800"',
    lambda n: DEEP,
    lambda n: json.dumps({**good(n), "value": DEEP}),
    lambda n: json.dumps(good(n))[:-30],
    lambda n: {**good(n), "value": 5},
    lambda n: {**good(n), "value": [1]},
    lambda n: changed(n, op="x"),
    lambda n: changed(n, op=["c"]),
    lambda n: changed(n, op=None, status=["x"]),
    lambda n: changed(n, after=None),
    lambda n: changed(n, after=7),
    lambda n: changed(n, op="d", before=None, after=None) | {"key": None},
    lambda n: changed(n, source={"db": "s", "table": "a", "ts_ms": 10**30}),
    lambda n: with_row(n, id=None),
    lambda n: with_row(n, id=["x"]),
    lambda n: with_row(n, amount="x" * 300),
    lambda n: with_row(n, amount=[[[]]]),
    lambda n: with_row(n, data={"scale": 10**40, "value": "AQ=="}),
    lambda n: with_row(n, data={"scale": 0, "value": "no base64!"}),
    lambda n: json.dumps(with_row(n, name="@")).replace("@", "\\ud800"),
    lambda n: json.dumps(with_row(n, **{"@": 1})).replace("@", "\\udfff"),
    lambda n: with_row(n, _KEY_x=1),
    lambda n: with_row(n, _SEQUENCE_NUMBER=1),
    lambda n: with_row(n, _ROW_KIND="+I"),
    lambda n: with_row(n, **{"": 1}),
    lambda n: with_row(n, **{f"c{m}": 1 for m in range(80)}),
    lambda n: of_table(n, "a/b"),
    lambda n: of_table(n, "../x"),
    lambda n: of_table(n, ""),
    lambda n: of_table(n, "a$branch_b"),
    lambda n: with_schema(n, 5),
    lambda n: with_schema(n, struct([5])),
    lambda n: with_schema(n, struct([{"field": "id", "type": {"x": 1}}])),
    lambda n: with_schema(n, struct([{"field": ["id"], "type": "int64"}])),
    lambda n: news(n, [5]),
    lambda n: news(n, [{"id": '"s"."a"', "table": {"columns": [{}]}}]),
]
"""How an event can be hostile."""


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("at", [0, 3])
def test_a_hostile_event_is_a_dead_letter_or_no_harm(lake: Lake, way: int, at: int) -> None:
    events = [good(id) for id in range(6)]
    events[at] = WAYS[way](at)
    lake.put("1.jsonl", *events)
    result = lake.sync(dead_letter="lake.bad", max_columns=50)
    ids = {str(row["id"]) for row in lake.rows("a")}
    assert {str(n) for n in range(6) if n != at} <= ids
    bad = lake.rows("bad") if "bad" in lake.catalog.tables("lake") else []
    assert all(row["place"].endswith(f"1.jsonl, line {at + 1}") for row in bad)
    assert result.details["dead_letters"] == len(bad)
    assert lake.sync(dead_letter="lake.bad").details["events"] == 0


def test_of_many_events_each_good_one_is_there_and_each_bad_one_has_its_place(lake: Lake) -> None:
    hostile = {n for n in range(ROWS) if n % 10 == 3}
    lines = [WAYS[(n // 10) % len(WAYS)](n) if n in hostile else good(n) for n in range(ROWS)]
    for first in range(0, ROWS, 500):
        lake.put(f"{first:04}.jsonl", *lines[first : first + 500])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = lake.sync(dead_letter="lake.bad", max_columns=50)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 400 << 10, "kilobytes"
    rows = {row["id"]: row for row in lake.rows("a")}
    assert set(range(ROWS)) - hostile <= rows.keys()
    assert all(rows[n]["amount"] == n / 4 for n in range(ROWS) if n not in hostile)
    places = [row["place"] for row in lake.rows("bad")]
    expected = {f"{n // 500 * 500:04}.jsonl, line {n % 500 + 1}" for n in hostile}
    assert {place.rpartition("/")[2] for place in places} <= expected
    assert result.details["dead_letters"] == len(places) > len(hostile) * 0.8


def test_three_bad_lines_of_a_file_with_a_colon_in_its_name_are_three_dead_letters(
    lake: Lake,
) -> None:
    lake.put("a: b.jsonl", "no json", record("s.a", "c", {"id": 1}), "nor this", "nor that")
    lake.sync(dead_letter="lake.bad")
    found = sorted((row["place"], row["event"]) for row in lake.rows("bad"))
    assert [event for _, event in found] == ["no json", "nor this", "nor that"]
    assert [place.rpartition(", ")[2] for place, _ in found] == ["line 1", "line 3", "line 4"]
    assert all(row["reason"].startswith("no JSON") for row in lake.rows("bad"))


def test_a_null_in_a_computed_key_or_partition_is_a_dead_letter(lake: Lake) -> None:
    events = [
        record("s.a", "c", {"id": n, "at": None if n == 2 else "2024-05-06"}) for n in (1, 2, 3)
    ]
    lake.put("1.jsonl", *events)
    more: dict[str, Any] = {
        "computed_columns": ["dt=date_format(at, yyyy)"],
        "primary_key": ["id", "dt"],
        "partition_by": ["dt"],
    }
    with pytest.raises(TableError, match=r"line 2: column 'dt' is null"):
        lake.sync(**more)
    lake.sync(**more, dead_letter="lake.bad")
    assert [row["id"] for row in lake.rows("a")] == [1, 3]
    assert [row["column"] for row in lake.rows("bad")] == ["dt"]


def test_a_null_in_a_partition_of_a_table_without_key_is_a_dead_letter(lake: Lake) -> None:
    import pyarrow as pa

    schema = pa.schema([pa.field("p", pa.string(), nullable=False), ("v", pa.int64())])
    lake.catalog.create_database("lake")
    lake.catalog.create_table("lake.a", schema, partition_by=("p",))
    lake.put("1.jsonl", *(json.dumps({"p": p, "v": n}) for n, p in enumerate(["x", None, "y"])))
    source = tc.FilesSource(lake.source.uri, format="json")
    tc.sync_table(lake.catalog, "lake.a", source, dead_letter="lake.bad")
    assert sorted(row["v"] for row in lake.rows("a")) == [0, 2]
    assert len(lake.rows("bad")) == 1


def test_a_value_that_cannot_be_computed_from_is_a_dead_letter(lake: Lake) -> None:
    lake.put(
        "1.jsonl",
        *(record("s.a", "c", {"id": n, "at": t}) for n, t in enumerate(["2024-05-06", "?"])),
    )
    lake.sync(computed_columns=["y=year(at)"], dead_letter="lake.bad")
    assert [(row["id"], row["y"]) for row in lake.rows("a")] == [(0, 2024)]
    assert [row["column"] for row in lake.rows("bad")] == ["y"]


def test_deletes_of_rows_that_are_not_there_are_dead_letters(lake: Lake) -> None:
    kinds = [("c", 1), ("c", 1), ("d", 2), ("d", 1), ("c", 3), ("d", 4)]
    lake.put("1.jsonl", *(record("s.log", op, {"v": v}, key=None) for op, v in kinds))
    lake.sync(dead_letter="lake.bad")
    assert sorted(row["v"] for row in lake.rows("log")) == [1, 3]
    assert sorted(row["place"][-1] for row in lake.rows("bad")) == ["3", "6"]


def test_numbers_with_absurd_scales_take_no_memory(lake: Lake) -> None:
    data = {"scale": -190_000, "value": "AQ=="}
    lake.put("1.jsonl", *(with_row(n, data=data) for n in range(2000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lake.sync()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert lake.rows("a")[0]["data"] == "1e+190000"


def test_a_line_that_is_too_long_is_not_held(lake: Lake) -> None:
    lines = [
        json.dumps(record("s.a", "c", {"id": n, "t": "x" * (5000 if n == 1 else 5)}))
        for n in range(3)
    ]
    lake.put("1.jsonl", *lines)
    source = tc.FilesSource(lake.source.uri, max_event_bytes=1000)
    with pytest.raises(TableError, match=r"line 2: .*more than max_event_bytes=1000"):
        tc.sync_database(lake.catalog, "lake", source)
    tc.sync_database(lake.catalog, "lake", source, dead_letter="lake.bad")
    assert [row["id"] for row in lake.rows("a")] == [0, 2]
    lake.put("2.jsonl", lines[0].replace('"id": 0', '"id": 7'))
    tc.sync_database(lake.catalog, "lake", source, dead_letter="lake.bad")
    assert [row["id"] for row in lake.rows("a")] == [0, 2, 7]
