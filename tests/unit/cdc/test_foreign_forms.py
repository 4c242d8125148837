"""Canal, Maxwell, GoldenGate and plain JSON, as their documentation writes them."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.datatypes.text import type_text
from table_core.errors import EventError, TableError
from tests.unit.cdc.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def source(lake: Lake, format: str) -> tc.FilesSource:
    return tc.FilesSource(lake.source.uri, format=format)


@pytest.mark.parametrize(
    ("format", "lines"),
    [
        ("canal-json", [
            {"type": "INSERT", "database": "s", "table": "a", "es": 5, "isDdl": False,
             "data": [{"id": "1", "n": "5"}, {"id": "2", "n": "6"}], "old": None},
            {"type": "UPDATE", "database": "s", "table": "a", "es": 6, "isDdl": False,
             "data": [{"id": "1", "n": "7"}], "old": [{"n": "5"}]},
            {"type": "DELETE", "database": "s", "table": "a", "es": 7, "isDdl": False,
             "data": [{"id": "2", "n": "6"}], "old": None},
            {"type": "ALTER", "database": "s", "table": "a", "isDdl": True, "sql": "ALTER …"},
        ]),
        ("maxwell-json", [
            {"type": "insert", "database": "s", "table": "a", "ts": 5, "data": {"id": 1, "n": 5}},
            {"type": "bootstrap-insert", "database": "s", "table": "a", "ts": 5,
             "data": {"id": 2, "n": 6}},
            {"type": "update", "database": "s", "table": "a", "ts": 6, "data": {"id": 1, "n": 7},
             "old": {"n": 5}},
            {"type": "delete", "database": "s", "table": "a", "ts": 7, "data": {"id": 2, "n": 6}},
        ]),
        ("ogg-json", [
            {"table": "S.a", "op_type": "I", "after": {"id": 1, "n": 5}},
            {"table": "S.a", "op_type": "I", "after": {"id": 2, "n": 6}},
            {"table": "S.a", "op_type": "U", "before": {"id": 1, "n": 5}, "after": {"id": 1, "n": 7}},
            {"table": "S.a", "op_type": "D", "before": {"id": 2, "n": 6}},
        ]),
        ("json", [{"id": 1, "n": 5}, {"id": 1, "n": 7}]),
    ],
)  # fmt: skip
def test_other_forms_of_events(lake: Lake, format: str, lines: list[Any]) -> None:
    lake.put("1.jsonl", *lines)
    lake.catalog.create_database("lake")
    tc.sync_table(lake.catalog, "lake.a", source(lake, format), primary_key=("id",))
    assert [[str(v) for v in row.values()] for row in lake.rows("a")] == [["1", "7"]]


POINT = (struct.pack("<I", 4326) + struct.pack("<BIdd", 1, 1, 1.0, 2.5)).decode("latin-1")
CANAL = {
    "id": ("bigint(20)", "18446744073709551615", 18446744073709551615),
    "price": ("decimal(12,2)", "-12.50", Decimal("-12.50")),
    "ok": ("tinyint(1)", "1", True),
    "few": ("tinyint unsigned", "255", 255),
    "kinds": ("set('a','b')", "a,b", ["a", "b"]),
    "none": ("set('a','b')", "0", []),
    "both": ("set('a','B','it''s')", "5", ["a", "it's"]),
    "word": ("enum('x','Y','2')", "2", "Y"),
    "text": ("enum('x','Y','2')", "x", "x"),
    "empty": ("enum('x')", "0", ""),
    "flags": ("bit(12)", "291", b"\x01\x23"),
    "all": ("bit(64)", "18446744073709551615", b"\xff" * 8),
    "flag": ("bit(1)", "1", True),
    "place": ("point", POINT, '{"coordinates":[1,2.5],"type":"Point","srid":4326}'),
    "body": ("varbinary(8)", "\x00\xffA", b"\x00\xffA"),
    "day": ("date", "2024-02-29", dt.date(2024, 2, 29)),
    "at": ("datetime(3)", "2024-02-29 01:02:03.456", dt.datetime(2024, 2, 29, 1, 2, 3, 456000)),
    "moment": (
        "timestamp(3)",
        "2024-02-29 23:02:03.456",
        dt.datetime(2024, 2, 29, 23, 2, 3, 456000, dt.UTC),
    ),
    "second": ("timestamp", "2024-02-29 23:02:03", dt.datetime(2024, 2, 29, 23, 2, 3, 0, dt.UTC)),
    "length": ("time", "-838:59:59", "-838:59:59"),
    "note": ("varchar(20)", None, None),
    "ratio": ("double", "0.1", 0.1),
}
"""Type, text and value of each column."""


@pytest.mark.parametrize("wrapped", [False, True], ids=["event", "record"])
def test_canal_tells_types_and_keys(lake: Lake, wrapped: bool) -> None:
    told = {name: type_ for name, (type_, _, _) in CANAL.items()} | {"id": "bigint(20) unsigned"}
    row = {name: text for name, (_, text, _) in CANAL.items()}
    about = {"database": "s", "table": "a", "isDdl": False, "mysqlType": told, "pkNames": ["id"]}
    events: list[Any] = [
        {**about, "type": "INSERT", "es": 5, "data": [{**row, "note": "old"}], "old": None},
        {**about, "type": "UPDATE", "es": 6, "data": [row], "old": [{"note": "old"}]},
    ]
    if wrapped:
        events = [{"topic": "t", "partition": 0, "key": None, "value": e} for e in events]
    lake.put("1.jsonl", *events)
    tc.sync_database(lake.catalog, "lake", source(lake, "canal-json"))
    table = lake.catalog.table("lake.a")
    assert table.primary_key == ("id",)
    assert lake.rows("a") == [{name: value for name, (_, _, value) in CANAL.items()}]


@pytest.mark.parametrize(
    ("type_", "text", "why"),
    [
        ("enum('x')", "2", "an ENUM of 1 words has none at place 2"),
        ("set('x')", "2", "a SET of 1 words has no bits 2"),
        ("bit(9)", "65536", "65536 has more than 16 bits"),
        ("point", "\x01", "no geometry"),
        ("bigint unsigned", "", "column 'v' cannot take '': "),
    ],
)
def test_a_value_of_canal_that_its_type_has_not_is_refused(
    lake: Lake, type_: str, text: str, why: str
) -> None:
    event = {"database": "s", "table": "a", "type": "INSERT", "pkNames": ["id"],
             "mysqlType": {"id": "int", "v": type_}, "data": [{"id": "1", "v": text}]}  # fmt: skip
    lake.put("1.jsonl", event)
    with pytest.raises(TableError, match=why):
        tc.sync_database(lake.catalog, "lake", source(lake, "canal-json"))


def test_type_mapping_holds_for_canal(lake: Lake) -> None:
    told = {"id": "int(11)", "ok": "tinyint(1)", "text": "char(5)"}
    event = {"database": "s", "table": "a", "type": "INSERT", "mysqlType": told, "pkNames": ["id"],
             "data": [{"id": "1", "ok": "5", "text": "x"}]}  # fmt: skip
    lake.put("1.jsonl", event)
    mapping = ["tinyint1-not-bool", "char-to-string"]
    tc.sync_database(lake.catalog, "lake", source(lake, "canal-json"), type_mapping=mapping)
    assert lake.rows("a") == [{"id": 1, "ok": 5, "text": "x"}]
    fields = lake.catalog.table("lake.a").definition.fields
    assert [type_text(f.type) for f in fields] == ["INT NOT NULL", "TINYINT", "STRING"]


@pytest.mark.parametrize(
    ("format", "event"),
    [
        ("maxwell-json", {"type": "insert", "database": "s", "table": "a", "ts": 5,
                          "primary_key_columns": ["k", "id"], "data": {"id": 1, "k": 2}}),
        ("ogg-json", {"table": "S.a", "op_type": "I", "primary_keys": ["k", "id"],
                      "after": {"id": 1, "k": 2}}),
    ],
)  # fmt: skip
def test_keys_that_events_name(lake: Lake, format: str, event: Any) -> None:
    lake.put("1.jsonl", event)
    tc.sync_database(lake.catalog, "lake", source(lake, format))
    assert lake.catalog.table("lake.a").primary_key == ("k", "id")


@pytest.mark.parametrize(
    ("format", "event"),
    [
        ("canal-json", {"type": "INSERT", "database": "s", "table": "a", "es": 1_700_000_000_123,
                        "pkNames": ["id"], "data": [{"id": "1"}]}),
        ("maxwell-json", {"type": "insert", "database": "s", "table": "a", "ts": 1_700_000_000,
                          "primary_key_columns": ["id"], "data": {"id": 1}}),
        ("ogg-json", {"table": "s.a", "op_type": "I", "op_ts": "2023-11-14 22:13:20.123456",
                      "primary_keys": ["id"], "after": {"id": 1}}),
    ],
)  # fmt: skip
def test_times_of_events_become_column_and_watermark(lake: Lake, format: str, event: Any) -> None:
    lake.put("1.jsonl", event)
    tc.sync_database(
        lake.catalog, "lake", source(lake, format), metadata_columns=("database_name", "op_ts")
    )
    at = dt.datetime(2023, 11, 14, 22, 13, 20, 0 if format[0] == "m" else 123_000, dt.UTC)
    (row,) = lake.rows("a")
    assert (row["database_name"], row["op_ts"]) == ("s", at)
    snapshot = lake.catalog.table("lake.a").latest_snapshot()
    assert snapshot is not None
    assert snapshot.watermark == int(at.timestamp() * 1000)


def test_rows_that_debezium_flattened(lake: Lake) -> None:
    """``ExtractNewRecordState`` with ``delete.tombstone.handling.mode=rewrite`` and ``tombstone``."""
    about = {"topic": "t", "partition": 0}
    rows = [
        {"id": 1, "v": "a", "__deleted": "false", "__op": "c", "__table": "t"},
        {"id": 2, "v": "b", "__deleted": "false", "__op": "r", "__source_ts_ms": 7},
        {"id": 1, "v": "z", "__deleted": "false", "__op": "u"},
        {"id": 2, "v": "b", "__deleted": "true", "__op": "d"},
        {"id": 3, "v": "c"},
        {"id": 4, "v": "d"},
    ]
    records = [{**about, "key": {"id": row["id"]}, "value": row} for row in rows]
    lake.put("1.jsonl", *records, {**about, "key": {"id": 3}, "value": None})
    lake.catalog.create_database("lake")
    tc.sync_table(lake.catalog, "lake.t", source(lake, "json"), primary_key=("id",))
    assert lake.rows("t") == [{"id": 1, "v": "z"}, {"id": 4, "v": "d"}]


def test_rows_that_debezium_flattened_go_to_the_tables_of_their_topics(lake: Lake) -> None:
    def put(topic: str, id: int, row: Any) -> dict[str, Any]:
        value = row and {"id": id, **row, "__deleted": str(row.get("gone", False)).lower()}
        return {"topic": topic, "partition": 0, "key": {"id": id}, "value": value}

    lake.put(
        "1.jsonl",
        put("shop.s1.orders", 1, {"v": "a"}),
        put("shop.s2.orders", 2, {"v": "b"}),
        put("notes", 1, {"w": 5}),
        put("shop.s1.orders", 1, {"v": "z"}),
        put("shop.s2.orders", 2, None),
        {"topic": "shop", "value": {"ddl": "SET …", "databaseName": "", "tableChanges": []}},
        {"topic": "__debezium-heartbeat.shop", "value": {"ts_ms": 5}},
        {
            "topic": "shop.message",
            "key": {"prefix": "p"},
            "value": {"op": "m", "source": {}, "message": {"prefix": "p", "content": ""}},
        },
        {"topic": "shop.transaction", "value": {"status": "END", "id": "1", "event_count": 1}},
    )
    tc.sync_database(lake.catalog, "lake", source(lake, "json"), merge_shards=False)
    assert lake.rows("s1_orders") == [{"id": 1, "v": "z"}]
    assert lake.rows("s2_orders") == []
    assert lake.rows("notes") == [{"id": 1, "w": 5}]
    assert lake.catalog.tables("lake") == ["notes", "s1_orders", "s2_orders"]
    assert lake.catalog.table("lake.notes").primary_key == ("id",)


def test_rows_of_no_table_are_refused_in_a_database(lake: Lake) -> None:
    lake.put("1.jsonl", {"id": 1})
    with pytest.raises(EventError, match="of which table the row is: read it with sync_table"):
        tc.sync_database(lake.catalog, "lake", source(lake, "json"))
