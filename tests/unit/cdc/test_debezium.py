"""Debezium events to rows: operations, envelopes, types, faults."""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from table_core.cdc.debezium.json_blocks import DebeziumDecoder
from table_core.cdc.model.encoding import PlainSettings
from table_core.cdc.model.record import LineBlock, SourceTable
from table_core.cdc.model.rows import Target, event_batch
from table_core.datatypes.kinds import Array, Atomic, Root
from table_core.errors import DataError, EventError
from tests.unit.cdc.feed import Feed, columns, event, lines

NAMED = columns(id="BIGINT NOT NULL", name="STRING")


def kinds(feed: Feed) -> list[tuple[Any, ...]]:
    return [(r["_ROW_KIND"], *(v for k, v in r.items() if k != "_ROW_KIND")) for r in feed.rows]


def row(id: Any, name: Any = "x") -> dict[str, Any]:
    return {"id": id, "name": name}


# ------------------------------------------------------------------------------- operations
def test_create_read_update_delete() -> None:
    feed = Feed(NAMED)
    feed.give(
        lines(
            event("c", None, row(1, "a")),
            event("r", None, row(2, "b")),
            event("u", row(1, "a"), row(1, "c")),
            event("d", row(2, "b")),
        )
    )
    assert kinds(feed) == [
        ("+I", 1, "a"),
        ("-U", 1, "a"),
        ("+U", 1, "c"),
        ("+I", 2, "b"),
        ("-D", 2, "b"),
    ]


def test_old_rows_of_updates_can_be_spared_but_not_those_of_deletes() -> None:
    body = lines(event("u", row(1, "a"), row(1, "c")), event("d", row(1, "c")))
    decoder = DebeziumDecoder(lambda _: NAMED, lambda _: True)
    target = Target(fields=NAMED, key=("id",), keep_before=False)
    found = event_batch(decoder.decode(LineBlock("f", 1, body)), target, PlainSettings()).rows
    assert found.select(["_ROW_KIND", "id", "name"]).to_pylist() == [
        {"_ROW_KIND": "+U", "id": 1, "name": "c"},
        {"_ROW_KIND": "-D", "id": 1, "name": "c"},
    ]
    feed = Feed(NAMED, keep_before=False)
    feed.give(body)
    assert feed.state == {}


@pytest.mark.parametrize("keep_before", [True, False])
def test_an_update_of_the_primary_key_is_a_delete_and_an_insert(keep_before: bool) -> None:
    feed = Feed(NAMED, keep_before=keep_before)
    feed.give(lines(event("c", None, row(1, "a"))))
    feed.give(lines(event("u", row(1, "a"), row(2, "a"))))
    assert feed.state == {(2,): row(2, "a")}
    if keep_before:
        assert kinds(feed) == [("+I", 1, "a"), ("-D", 1, "a"), ("+I", 2, "a")]


def test_an_update_without_its_old_row_is_an_update_all_the_same() -> None:
    feed = Feed(NAMED)
    feed.give(lines(event("u", None, row(1, "c"))))
    assert kinds(feed) == [("+U", 1, "c")]


def test_a_truncate_takes_out_what_came_before_it() -> None:
    feed = Feed(NAMED)
    found = feed.give(lines(event("c", None, row(1)), event("t"), event("c", None, row(2))))
    assert feed.state == {(2,): row(2)}
    assert found.details["truncates"] == 1
    assert feed.give(lines(event("t"))).details["truncates"] == 1
    assert feed.state == {}


def test_a_delete_without_a_row_goes_by_the_key_of_its_record() -> None:
    feed = Feed(NAMED)
    feed.give(lines({"topic": "t", "key": {"id": 4}, "value": event("d")}))
    assert kinds(feed) == [("-D", 4, None)]


def test_event_time_is_the_latest_commit_in_the_source() -> None:
    found = Feed(NAMED).give(
        lines(
            event("c", None, row(1), ts_ms=30, table="t"),
            event("c", None, row(2), ts_ms=20, table="t"),
        )
    )
    assert found.details["event_time_ms"] == 30


# -------------------------------------------------------------------------------- envelopes
SCHEMA = {
    "type": "struct",
    "fields": [
        {
            "type": "struct",
            "optional": True,
            "field": side,
            "fields": [
                {"type": "int64", "optional": False, "field": "id"},
                {"type": "string", "optional": True, "field": "name"},
            ],
        }
        for side in ("before", "after")
    ],
}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda e: e,
        lambda e: {"schema": SCHEMA, "payload": e},
        lambda e: {"payload": e, "schema": SCHEMA},
        lambda e: {"topic": "t", "key": {"id": 1}, "value": e, "offset": 3},
        lambda e: {"topic": "t", "key": None, "value": {"schema": SCHEMA, "payload": e}},
        lambda e: {"topic": "t", "key": '{"id":1}', "value": json.dumps(e)},
        lambda e: {
            "key": {"schema": {"type": "struct"}, "payload": {"id": 1}},
            "value": {"schema": SCHEMA, "payload": e},
            "topic": "t",
        },
    ],
)
def test_every_wrapping_gives_the_same_rows(wrap: Any) -> None:
    events = [event("c", None, row(1, "a")), event("u", row(1, "a"), row(1, "b"))]
    compact = [json.dumps(wrap(e), separators=(",", ":")).encode() for e in events]
    for body in (lines(*compact), lines(*map(wrap, events))):
        feed = Feed(NAMED)
        feed.give(body)
        assert kinds(feed) == [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b")]


def test_heartbeats_transactions_ddl_messages_and_blank_lines_are_no_rows_and_a_tombstone_removes_one() -> (
    None
):
    feed = Feed(NAMED)
    feed.give(
        lines(
            {"topic": "t", "key": {"id": 1}, "value": None},
            {"topic": "h", "key": {"serverName": "x"}, "value": {"ts_ms": 5}},
            {"topic": "x", "key": {"id": "1"}, "value": {"status": "BEGIN", "id": "1", "ts_ms": 5}},
            {"topic": "s", "key": {}, "value": {"ddl": "SET x", "tableChanges": []}},
            b"",
            b"   ",
            {"topic": "t", "key": None, "value": event("c", None, row(1))},
            {"topic": "t", "key": None, "value": {"op": "m", "message": {"prefix": "p"}}},
        )
    )
    assert kinds(feed) == [("-D", 1, None), ("+I", 1, "x")]


def test_tables_in_one_block_come_apart_and_keep_their_order() -> None:
    body = lines(
        event("c", None, {"id": 1}, table="a"),
        event("c", None, {"id": "x"}, table="b"),
        event("c", None, {"id": 2}, table="a"),
        event("c", None, {"id": 3}, table="a", schema="s"),
    )
    decoder = DebeziumDecoder(lambda _: NAMED, lambda table: table.name == "a")
    found = decoder.decode(LineBlock("f", 1, body))
    assert {(c.table, tuple(c.lines)) for c in found} == {
        (SourceTable("shop", "a"), (1, 3)),
        (SourceTable("s", "a"), (4,)),
    }


def test_shards_go_into_one_table_in_the_order_of_their_lines() -> None:
    feed = Feed(NAMED, tables="a")
    feed.give(
        lines(
            event("c", None, row(1, "old"), table="a", db="s1"),
            event("c", None, row(2), table="a", db="s2"),
            event("u", row(1, "old"), row(1, "new"), table="a", db="s1"),
        )
    )
    assert [k[:2] for k in kinds(feed)] == [("+I", 1), ("-U", 1), ("+U", 1), ("+I", 2)]
    assert feed.state == {(1,): row(1, "new"), (2,): row(2)}


# ------------------------------------------------------------------------------ new columns
def test_columns_of_a_new_table_come_from_json_types() -> None:
    feed = Feed()
    after = {"id": 1, "d": 1.5, "b": True, "s": "x", "when": "2024-01-01", "never": None}
    feed.give(lines(event("c", None, after), event("c", None, {**after, "d": 2})))
    assert [(f.name, f.type.root.value) for f in feed.fields] == [  # type: ignore[union-attr]  # atomic
        ("id", "BIGINT"),
        ("d", "DOUBLE"),
        ("b", "BOOLEAN"),
        ("s", "VARCHAR"),
        ("when", "VARCHAR"),
    ]
    assert feed.rows[0]["when"] == "2024-01-01"


def test_a_new_column_is_announced_before_the_rows_that_have_it() -> None:
    feed = Feed(NAMED)
    feed.give(lines(event("c", None, row(1))))
    feed.give(lines(event("c", None, row(2)), event("c", None, {**row(3), "age": 7})))
    assert feed.added == [("age", "BIGINT")]
    assert [feed.state[n,]["age"] for n in (1, 2, 3)] == [None, None, 7]


def test_a_number_too_large_for_its_digits_is_no_double() -> None:
    feed = Feed()
    feed.give(lines(event("c", None, {"id": 1, "n": 2**64})))
    assert feed.rows[0]["n"] == str(2**64)


def test_structures_and_too_large_numbers_become_text() -> None:
    feed = Feed()
    feed.give(lines(event("c", None, {"id": 1, "n": 2**64, "j": {"a": [1, 2.50]}})))
    assert feed.rows[0]["n"] == str(2**64)
    assert json.loads(feed.rows[0]["j"]) == {"a": [1, 2.5]}


# ------------------------------------------------------------------------------------ types
TYPED = [
    ("INT", 5, 5),
    ("INT", "5", 5),
    ("DOUBLE", 2, 2.0),
    ("FLOAT", 0.5, 0.5),
    ("DOUBLE", "Infinity", float("inf")),
    ("BOOLEAN", True, True),
    ("BOOLEAN", 1, True),
    ("DECIMAL(10, 2)", "12.5", Decimal("12.50")),
    ("DECIMAL(10, 2)", 12.34, Decimal("12.34")),
    ("DECIMAL(20, 0)", 2**64 - 1, Decimal(2**64 - 1)),
    ("STRING", 12, "12"),
    ("STRING", True, "true"),
    ("STRING", 1.5, "1.5"),
    ("BYTES", base64.b64encode(b"\0\xff").decode(), b"\0\xff"),
    ("DATE", 19723, dt.date(2024, 1, 1)),
    ("DATE", "2024-01-01", dt.date(2024, 1, 1)),
    ("TIMESTAMP(3)", 1704067200123, dt.datetime(2024, 1, 1, 0, 0, 0, 123000)),
    ("TIMESTAMP(6)", 1704067200123456, dt.datetime(2024, 1, 1, 0, 0, 0, 123456)),
    ("TIMESTAMP(6)", "2024-01-01T00:00:00.5", dt.datetime(2024, 1, 1, 0, 0, 0, 500000)),
    ("TIMESTAMP(6)", "2024-01-01T02:00:00+02:00", dt.datetime(2024, 1, 1)),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "2024-01-01T00:00:00.5Z", dt.datetime(2024, 1, 1, 0, 0, 0, 500000, dt.UTC)),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", 1704067200000, dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    ("TIME(3)", "10:00:01.5", dt.time(10, 0, 1, 500000)),
    (Array(Atomic(Root.INT)), [1, None], [1, None]),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "given", "stored"), TYPED)
def test_values_take_the_type_of_the_table(type_: Any, given: Any, stored: Any) -> None:
    feed = Feed(columns(id="INT NOT NULL", v=type_))
    for n in range(2):  # the second block knows what the first one learned
        feed.give(
            lines(event("c", None, {"id": n, "v": given}), event("c", None, {"id": 9, "v": None}))
        )
    assert [r["v"] for r in feed.rows] == [stored, None] * 2


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        ("INT", 2**31),
        ("INT", "x"),
        ("INT", 1.5),
        ("TINYINT", 128),
        ("BOOLEAN", 2),
        ("DECIMAL(4, 2)", "123.45"),
        ("DECIMAL(4, 2)", "1.234"),
        ("DECIMAL(4, 2)", "x y"),
        ("DATE", "today"),
        ("BYTES", "no base64!"),
        ("TIMESTAMP(3)", "2024-13-01T00:00:00"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "2024-01-01T00:00:00"),
        ("TIME(3)", 5),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_column_value_file_and_line(
    type_: str, given: Any
) -> None:
    feed = Feed(columns(id="INT NOT NULL", v=type_))
    good = [event("c", None, {"id": n, "v": None}) for n in range(5)]
    with pytest.raises(DataError) as caught:
        feed.give(lines(*good, b"", event("c", None, {"id": 6, "v": given}), *good), first_line=10)
    facts = caught.value.facts
    assert (facts["column"], facts["file"], facts["line"]) == ("v", feed.file.as_uri(), 16)
    assert str(given) in str(facts["value"])
    assert "f.jsonl, line 16" in str(caught.value)


def test_times_of_day_in_numbers_need_their_unit_unless_they_show_it() -> None:
    fields = columns(id="INT NOT NULL", v="TIME(3)")
    shows = lines(event("c", None, {"id": 1, "v": 36_001_500_000}))
    body = lines(event("c", None, {"id": 1, "v": 60_000_000}))
    with pytest.raises(DataError, match="times='micros'"):
        Feed(fields).give(body)
    feed = Feed(fields)
    feed.give(shows)
    assert feed.rows[0]["v"] == dt.time(10, 0, 1, 500000)
    feed = Feed(fields, times="micros")
    feed.give(body)
    assert feed.rows[0]["v"] == dt.time(0, 1)
    with pytest.raises(DataError, match="not a time of day"):
        feed.give(lines(event("c", None, {"id": 1, "v": -1})))


def test_precise_decimals_are_base64() -> None:
    feed = Feed(columns(id="INT NOT NULL", v="DECIMAL(10, 2)"), decimals="base64")
    feed.give(
        lines(event("c", None, {"id": 1, "v": "BNI="}), event("c", None, {"id": 2, "v": "/w=="}))
    )
    assert [r["v"] for r in feed.rows] == [Decimal("12.34"), Decimal("-0.01")]


def test_large_values_that_postgres_left_out_are_refused() -> None:
    gone = "__debezium_unavailable_value"
    with pytest.raises(EventError, match="REPLICA IDENTITY FULL"):
        Feed(NAMED).give(lines(event("u", None, row(1, gone), table="t")))


# ----------------------------------------------------------------------------------- faults
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b'{"op":', "no JSON"),
        (b'{"op": "c", "after": {"id": NaN}}', "no JSON"),
        (b"[1]", "expected an event"),
        (b'{"id": 1}', "'op'"),
        (b'{"id": 1, "__deleted": "false"}', "format='json'"),
        (b'{"op": "x", "after": {"id": 1}}', "'op'"),
        (b'{"op": "c", "after": 5}', "no row but 5"),
        (b'{"op": "c", "after": null}', "no row 'after'"),
        (b'{"op": "d", "before": null}', "no row 'before'"),
        (b'{"op": "c", "after": {"id": 1, "name": "\xff"}}', "UTF-8"),
        (b'{"op": "c", "after": {"id": 1, "name": "\\ud800"}}', "half a character"),
        (b'{"op": "c", "after": {"id": 1}} {"op": "c", "after": {"id": 2}}', "no JSON"),
        (b'{"value": "no json", "topic": "t"}', "text, but no JSON"),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 4])
def test_a_bad_line_is_told_with_file_and_line(bad: bytes, words: str, at: int) -> None:
    good = [json.dumps(event("c", None, row(n))).encode() for n in range(4)]
    feed = Feed(NAMED)
    with pytest.raises(EventError, match=r"f\.jsonl, line") as caught:
        feed.give(lines(*good[:at], bad, *good[at:]), first_line=100)
    assert words in str(caught.value)
    assert (caught.value.facts["file"], caught.value.facts["line"]) == (
        feed.file.as_uri(),
        100 + at,
    )


def test_broken_json_is_told_with_its_column() -> None:
    with pytest.raises(EventError) as caught:
        Feed(NAMED).give(lines(b'{"op": "c", x}'))
    assert caught.value.facts["column"] == 13


def test_a_key_that_is_null_is_refused() -> None:
    feed = Feed(NAMED)
    with pytest.raises(DataError, match="line 2: column 'id' of the primary key is null"):
        feed.give(lines(event("c", None, row(1)), event("c", None, row(None))))
