"""Facts about Debezium's events that cost people data: a test for each."""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.cdc.model.unavailable_values import without_unavailable
from table_core.errors import EventError
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.shapes import (
    ID,
    MILLIS,
    MOMENT,
    UNAVAILABLE,
    bytes_of,
    news,
    of_mariadb,
    record,
    with_schema,
)  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize("order", [(0, 2, 1), (0, 1, 2), (1, 0, 2)])
def test_1_a_moved_key_is_a_delete_and_a_create_in_two_partitions(
    lake: Lake, order: tuple[int, ...]
) -> None:
    old, new = {"id": 1, "v": "a"}, {"id": 2, "v": "a"}
    moved = [
        record("d", old, None, lsn=20, offset=1, headers={"__debezium.newkey": {"id": 2}}),
        record("c", None, new, lsn=20, partition=1, headers={"__debezium.oldkey": {"id": 1}}),
        {"topic": "p.s.t", "partition": 0, "offset": 2, "key": {"id": 1}, "value": None},
    ]
    lake.put("1.jsonl", record("r", None, old, lsn=10), *(moved[n] for n in order))
    lake.sync()
    assert lake.rows("t") == [new]


def test_2_a_delete_of_postgres_holds_filler_and_an_update_no_old_row(lake: Lake) -> None:
    lake.put(
        "1.jsonl",
        record("c", None, {"id": 1, "v": "a", "n": 5}),
        record("c", None, {"id": 2, "v": "b", "n": 6}),
        record("u", None, {"id": 1, "v": "c", "n": 7}),
        record("d", {"id": 2, "v": "", "n": 0}, None),
    )
    lake.sync(options={"changelog-producer": "lookup"})
    assert lake.rows("t") == [{"id": 1, "v": "c", "n": 7}]


@pytest.mark.parametrize("runs", [1, 2])
def test_3_what_was_not_sent_is_that_of_the_row_before_even_under_another_key(
    lake: Lake, runs: int
) -> None:
    ints = list(UNAVAILABLE.encode())
    events = [
        record("c", None, {"id": 1, "v": "large", "n": [1, 2]}),
        record("u", None, {"id": 1, "v": UNAVAILABLE, "n": [3]}),
        record("d", {"id": 1, "v": "", "n": None}, None),
        record("c", None, {"id": 2, "v": UNAVAILABLE, "n": ints},
               headers={"__debezium.oldkey": {"id": 1}}),
    ]  # fmt: skip
    cut = len(events) if runs == 1 else 2
    told = {"id": ID, "v": ("string", None, None, None)}
    told["n"] = ("array", None, None, None)
    schemas = with_schema(told, *events)
    for one in schemas:
        for side in one["value"]["schema"]["fields"]:
            side["fields"][2]["items"] = {"type": "int32", "optional": True}
    lake.put("1.jsonl", *schemas[:cut])
    lake.sync()
    lake.put("2.jsonl", *schemas[cut:], "")
    lake.sync()
    assert lake.rows("t") == [{"id": 2, "v": "large", "n": [3]}]


def test_3_arrays_of_uuids_hold_one_made_of_the_placeholder() -> None:
    unavailable = str(uuid.UUID(bytes=hashlib.md5(UNAVAILABLE.encode()).digest(), version=3))
    values, lacking = without_unavailable(pa.array([["a"], [unavailable], None]))
    assert values.to_pylist() == [["a"], None, None]
    assert lacking is not None
    assert lacking.tolist() == [False, True, False]


def test_4_a_truncate_has_no_key_and_no_row_and_is_of_one_source_table(lake: Lake) -> None:
    other = {"source": {"schema": "s2"}}
    lake.put(
        "1.jsonl",
        record("c", None, {"id": 1}),
        record("c", None, {"id": 2}, **other),
        record("t", None, None, **other),
    )
    lake.sync()
    assert lake.rows("t") == [{"id": 1}]


def test_5_precise_decimals_are_scaled_by_the_schema_the_table_or_themselves(lake: Lake) -> None:
    row = {"id": 1, "d": bytes_of(-1250), "n": {"scale": 3, "value": bytes_of(12345)}}
    told = {
        "id": ID,
        "d": ("bytes", "org.apache.kafka.connect.data.Decimal", {"scale": "2"}, None),
        "n": ("struct", "io.debezium.data.VariableScaleDecimal", None, None),
    }
    lake.put("1.jsonl", *with_schema(told, record("c", None, row)))
    lake.sync()
    lake.put("2.jsonl", record("c", None, {**row, "id": 2}))  # the table tells the scale
    lake.sync()
    assert [(r["d"], r["n"]) for r in lake.rows("t")] == [(Decimal("-12.50"), "12.345")] * 2


def test_6_unsigned_bigints_are_base64_even_in_keys_and_beside_decimals_as_text(
    lake: Lake,
) -> None:
    decimal = ("bytes", "org.apache.kafka.connect.data.Decimal", {"scale": "0"}, None)
    events = [record("c", None, {"id": bytes_of(n), "d": "1.50"}) for n in (2**64 - 1, 5, 2**40)]
    gone = record("d", None, None)
    gone["key"] = {"id": bytes_of(5)}
    told = {"id": decimal, "d": ("string", None, None, None)}
    lake.put("1.jsonl", *with_schema(told, *events, gone))
    lake.sync()
    assert {(r["id"], r["d"]) for r in lake.rows("t")} == {
        (Decimal(2**64 - 1), "1.50"), (Decimal(2**40), "1.50"),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["plain", "schema", "propagated"])
def test_6_unsigned_bigints_of_mode_long_are_numbers_that_lost_their_sign(
    lake: Lake, form: str
) -> None:
    """The schema topic says that they have none, or ``datatype.propagate.source.type`` does."""
    source_type = {"__debezium.source.column.type": "BIGINT UNSIGNED ZEROFILL"}
    told = {"id": ID, "n": ("int64", None, source_type if form == "propagated" else None, 0)}
    topic = news([("id", "INT", None), ("n", "BIGINT UNSIGNED", None)], 1)
    topic["value"]["tableChanges"][0]["table"]["columns"][1]["defaultValueExpression"] = "0"
    for n, numbers in enumerate(((-1, 5), (-(2**63), None, 2**63 - 1)), 1):
        events = [
            of_mariadb({"id": 10 * n + i, "n": one}, 10 * n + i) for i, one in enumerate(numbers)
        ]
        events = events if form == "plain" else with_schema(told, *events)
        lake.put(f"{n}.jsonl", *([topic] if form != "propagated" and n == 1 else []), *events)
        lake.sync()
    found = [2**64 - 1, 5, 2**63, None, 2**63 - 1]
    assert [r["n"] for r in lake.rows("t")] == [None if n is None else Decimal(n) for n in found]


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("connect", [False, True], ids=["adaptive", "connect"])
def test_7_a_column_changes_its_unit_with_its_precision_unless_all_are_milliseconds(
    lake: Lake, connect: bool, runs: int
) -> None:
    per_milli = 1 if connect else 1000
    ten = 36_000_000
    first = [
        news([("id", "INT", None), ("at", "DATETIME", 3), ("long", "TIME", None)], 1),
        of_mariadb({"id": 1, "at": MILLIS, "long": ten * per_milli}, 2),
    ]
    then = [
        news([("id", "INT", None), ("at", "DATETIME", 6), ("long", "TIME", None)], 3),
        of_mariadb({"id": 2, "at": MILLIS * per_milli, "long": None}, 4),
        of_mariadb({"id": 3, "at": None, "long": 1000 * per_milli}, 5),
    ]
    lake.put("1.jsonl", *first, *(then if runs == 1 else ()))
    lake.sync()
    if runs == 2:
        lake.put("2.jsonl", *then)
        lake.sync()
    assert [(r["at"], r["long"]) for r in lake.rows("t")] == [
        (MOMENT, "10:00:00"), (MOMENT, None), (None, "00:00:01"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "digits", "first", "then"),
    [
        ("DATETIME", 6, MILLIS, MILLIS * 1000),
        ("DATETIME", 3, MILLIS, MILLIS * 1000),  # time.precision.mode=microseconds
        ("DATETIME", 6, MILLIS * 1000, MILLIS * 1_000_000),  # nanoseconds
        ("TIME", 0, 36_000_000, 36_000_000_000),
        ("TIME", 6, 36_000_000_000, 36_000_000_000_000),
    ],
)
def test_7_numbers_that_turn_out_to_be_others_are_refused(
    lake: Lake, type_: str, digits: int, first: int, then: int
) -> None:
    told = news([("id", "INT", None), ("at", type_, digits)], 1)
    lake.put("1.jsonl", told, of_mariadb({"id": 1, "at": first}, 2))
    lake.sync()
    lake.put("2.jsonl", of_mariadb({"id": 2, "at": then}, 3))
    with pytest.raises(EventError, match=r"2\.jsonl, line 1: column 'at' has numbers that are no"):
        lake.sync()


@pytest.mark.parametrize("schemas", [False, True])
def test_7_the_last_moment_of_all_is_one(lake: Lake, schemas: bool) -> None:
    last = 253_402_300_799_999_999
    told = news([("id", "INT", None), ("at", "DATETIME", 6), ("long", "TIME", 6)], 1)
    event = of_mariadb({"id": 1, "at": last, "long": -3_020_399_999_999}, 2)
    types = {
        "id": ID,
        "at": ("int64", "io.debezium.time.MicroTimestamp", None, None),
        "long": ("int64", "io.debezium.time.MicroTime", None, None),
    }
    lake.put("1.jsonl", told, *(with_schema(types, event) if schemas else [event]))
    lake.sync()
    at = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
    assert lake.rows("t") == [{"id": 1, "at": at, "long": "-838:59:59.999999"}]


def test_7_nanoseconds_are_refused_at_once(lake: Lake) -> None:
    told = news([("id", "INT", None), ("at", "DATETIME", 6)], 1)
    lake.put("1.jsonl", told, of_mariadb({"id": 1, "at": MILLIS * 1_000_000}, 2))
    with pytest.raises(EventError, match=r"no micros.*'nanos'"):
        lake.sync()


def test_7_times_as_text_of_a_schema_topic_lose_their_zone(lake: Lake) -> None:
    told = news([("id", "INT", None), ("t", "TIME", 3), ("d", "DATE", None),
                 ("at", "DATETIME", 6)], 1)  # fmt: skip
    row = {"id": 1, "t": "10:00:00.5Z", "d": "2024-02-29Z", "at": "2024-01-02T03:04:05Z"}
    lake.put("1.jsonl", told, of_mariadb(row, 2))
    lake.sync()
    assert lake.rows("t") == [{"id": 1, "t": "10:00:00.5", "d": dt.date(2024, 2, 29), "at": MOMENT}]


def test_7_times_may_be_negative_or_longer_than_a_day_and_dates_text_with_a_zone(
    lake: Lake,
) -> None:
    told = {
        "id": ID,
        "long": ("int64", "io.debezium.time.MicroTime", None, None),
        "day": ("string", "io.debezium.time.IsoDate", None, None),
        "at": ("string", "io.debezium.time.ZonedTimestamp", None, None),
    }
    rows = [
        {"id": 1, "long": -3_020_399_000_000, "day": "0001-01-01Z", "at": "2024-01-02T03:04:05Z"},
        {"id": 2, "long": 86_400_000_001, "day": "2024-02-29Z", "at": "2024-01-02T05:04:05+02:00"},
    ]
    lake.put("1.jsonl", *with_schema(told, *(record("c", None, row) for row in rows)))
    lake.sync()
    at = MOMENT.replace(tzinfo=dt.UTC)
    assert [tuple(r.values())[1:] for r in lake.rows("t")] == [
        ("-838:59:59", dt.date(1, 1, 1), at), ("24:00:00.000001", dt.date(2024, 2, 29), at),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["3q2+7//+", "3q2-7__-", "deadbeeffffe"], ids=["base64", "base64-url-safe", "hex"]
)
def test_8_bits_are_little_endian_and_bytes_base64_or_hexadecimal(lake: Lake, text: str) -> None:
    told = {
        "id": ID,
        "bit": ("boolean", None, None, None),
        "bits": ("bytes", "io.debezium.data.Bits", {"length": "10"}, None),
    }
    events = with_schema(told, record("c", None, {"id": 1, "bit": True, "bits": "AQI="}))
    lake.put("1.jsonl", *events)
    lake.sync()
    assert lake.rows("t") == [{"id": 1, "bit": True, "bits": b"\x02\x01"}]
    told["body"] = ("bytes", None, None, None)
    lake.put("2.jsonl", *with_schema(told, record("c", None, {"id": 3, "body": None})))
    lake.sync()
    lake.put("3.jsonl", record("c", None, {"id": 2, "bits": None, "body": text}))
    lake.sync()
    assert [r["body"] for r in lake.rows("t")] == [None, bytes.fromhex("deadbeeffffe"), None]


def test_9_json_is_text_whatever_the_schema_calls_it(lake: Lake) -> None:
    text = '{"a": 1.50, "b": [null]}'
    for n, logical in enumerate((None, "io.debezium.data.Json"), 1):
        told = {"id": ID, "j": ("string", logical, None, None)}
        lake.put(f"{n}.jsonl", *with_schema(told, record("c", None, {"id": n, "j": text})))
    lake.sync()
    assert [r["j"] for r in lake.rows("t")] == [text, text]


def test_10_words_of_enum_and_set_are_text_and_new_ones_no_change(lake: Lake) -> None:
    for n, allowed in enumerate(("a,b", "a,b,c"), 1):
        told = {"id": ID, "e": ("string", "io.debezium.data.Enum", {"allowed": allowed}, None)}
        row = {"id": n, "e": allowed[-1]}
        lake.put(f"{n}.jsonl", *with_schema(told, record("c", None, row)))
        lake.sync()
    assert [r["e"] for r in lake.rows("t")] == ["b", "c"]


def test_11_numbers_that_are_none_come_as_text(lake: Lake) -> None:
    told = {"id": ID, "f": ("double", None, None, None), "g": ("float", None, None, None)}
    rows = [{"id": n, "f": text, "g": text} for n, text in enumerate(("NaN", "-Infinity", 1.5), 1)]
    lake.put("1.jsonl", *with_schema(told, *(record("c", None, row) for row in rows)))
    lake.sync()
    assert [(repr(r["f"]), repr(r["g"])) for r in lake.rows("t")] == [
        ("nan", "nan"), ("-inf", "-inf"), ("1.5", "1.5"),
    ]  # fmt: skip


def test_12_new_columns_just_appear(lake: Lake) -> None:
    lake.put("1.jsonl", record("c", None, {"id": 1}), record("c", None, {"id": 2, "new": "x"}))
    lake.sync()
    assert lake.rows("t") == [{"id": 1, "new": None}, {"id": 2, "new": "x"}]


@pytest.mark.parametrize("runs", [1, 2])
def test_13_rows_that_are_there_get_the_default_of_a_new_column(lake: Lake, runs: int) -> None:
    decimal = ("bytes", "org.apache.kafka.connect.data.Decimal", {"scale": "2"}, bytes_of(150))
    told = {
        "id": ID,
        "d": decimal,
        "n": ("int32", None, None, 7),
        "at": ("int64", "io.debezium.time.MicroTimestamp", None, MILLIS * 1000),
        "b": ("bytes", None, None, "AP8="),
        "l": ("array", None, None, [1, None]),
    }
    lake.put("1.jsonl", *with_schema({"id": ID}, record("c", None, {"id": 1})))
    if runs == 2:
        lake.sync()
    after = {"id": 2, "d": bytes_of(-1), "n": None, "at": None, "b": None, "l": None}
    (event,) = with_schema(told, record("c", None, after))
    for side in event["value"]["schema"]["fields"]:
        side["fields"][-1]["items"] = {"type": "int32", "optional": True}
    lake.put("2.jsonl", event)
    lake.sync()
    assert [tuple(r.values()) for r in lake.rows("t")] == [
        (1, Decimal("1.50"), 7, MOMENT, b"\x00\xff", [1, None]),
        (2, Decimal("-0.01"), None, None, None, None),
    ]  # fmt: skip


def test_14_transactions_and_heartbeats_are_no_rows(lake: Lake) -> None:
    row = record("c", None, {"id": 1})
    row["value"]["transaction"] = None
    then = record("c", None, {"id": 2})
    then["value"]["transaction"] = {"id": "f,1", "total_order": 1, "data_collection_order": 1}
    begin = {"status": "BEGIN", "id": "f,1", "ts_ms": 5, "event_count": None,
             "data_collections": None}  # fmt: skip
    lake.put(
        "1.jsonl",
        row,
        {"topic": "p.transaction", "partition": 0, "key": {"id": "f,1"}, "value": begin},
        then,
        {"topic": "__debezium-heartbeat.p", "partition": 0, "key": {"serverName": "p"},
         "value": {"ts_ms": 5}},
    )  # fmt: skip
    lake.sync()
    assert lake.rows("t") == [{"id": 1}, {"id": 2}]
    assert lake.catalog.tables("lake") == ["t"]


def test_15_a_null_that_is_sent_stays_null_whatever_the_default_is(lake: Lake) -> None:
    told = {"id": ID, "n": ("int32", None, None, 7)}
    rows = (record("c", None, {"id": 1, "n": None}), record("u", None, {"id": 1, "n": None}))
    lake.put("1.jsonl", *with_schema(told, *rows))
    lake.sync()
    assert lake.rows("t") == [{"id": 1, "n": None}]


def test_16_statements_without_a_table_are_normal_in_the_schema_topic(lake: Lake) -> None:
    setting = {"source": {"db": "", "file": "f.1", "pos": 1}, "databaseName": "",
               "ddl": "SET character_set_server=utf8mb4", "tableChanges": []}  # fmt: skip
    lake.put(
        "1.jsonl",
        {"topic": "p", "partition": 0, "key": {"databaseName": ""}, "value": setting},
        news([("id", "INT", None)], 2),
        of_mariadb({"id": 1}, 3),
    )
    lake.sync()
    assert lake.rows("t") == [{"id": 1}]


def test_17_the_log_tells_the_order_and_not_the_time(lake: Lake) -> None:
    def event(op: str, id: int, at: tuple[int, int], ts: int, partition: int) -> dict[str, Any]:
        source = {"connector": "mariadb", "db": "s", "schema": None, "file": "f.1", "pos": at[0],
                  "row": at[1], "ts_ms": ts}  # fmt: skip
        row = {"id": id, "v": f"{at}"}
        sides = (row, None) if op == "d" else (None, row)
        return record(op, *sides, source=source, partition=partition)

    lake.put(
        "1.jsonl",
        event("c", 2, (20, 1), 1000, 1),  # of the same event of the log as the next
        event("c", 1, (10, 0), 9000, 0),
        event("d", 2, (20, 0), 1000, 0),
        event("c", 2, (10, 1), 9000, 2),
    )
    lake.sync()
    assert lake.rows("t") == [{"id": 1, "v": "(10, 0)"}, {"id": 2, "v": "(20, 1)"}]
