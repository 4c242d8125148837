"""Events whose ``source`` block is cut out before they are parsed say what they said with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from table_core.cdc.debezium.json_blocks import DebeziumDecoder
from table_core.cdc.debezium.json_fallback import decode_json_fallback
from table_core.cdc.debezium.source_block import CutSource, cut_source
from table_core.cdc.model.record import LineBlock, SourceTable
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.model.changes import Changes

ORDERS = SourceTable("shop", "orders")
MYSQL: dict[str, Any] = {
    "version": "3.5", "connector": "mariadb", "name": "m", "ts_ms": 1_700_000_000_000,
    "snapshot": "false", "db": "shop", "sequence": None, "ts_us": 1_700_000_000_000_000,
    "table": "orders", "server_id": 1, "gtid": "0-1-1", "file": "log.000001", "pos": 5, "query": None,
}  # fmt: skip
POSTGRES: dict[str, Any] = {
    "version": "3.5", "connector": "postgresql", "name": "p", "ts_ms": 1_700_000_000_000,
    "snapshot": "false", "db": "d", "sequence": '["5","6"]', "schema": "shop", "table": "orders",
    "txId": 8, "lsn": 6, "xmin": None,
}  # fmt: skip


def event(n: int, op: str = "c", base: dict[str, Any] = MYSQL, **source: Any) -> str:
    row = {"id": n, "note": f"of {n}"}
    value = {"before": row if op in "ud" else None, "after": None if op == "d" else row}
    told = {**base, "ts_ms": 1_700_000_000_000 + n, **source}
    return text({**value, "source": told, "op": op, "ts_ms": 1_800_000_000_000})


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def block(lines: Sequence[str]) -> LineBlock:
    return LineBlock("f", 1, "".join(line + "\n" for line in lines).encode())


def cut(*lines: str, table: SourceTable = ORDERS) -> CutSource:
    found = cut_source(block(lines).lines, table)
    assert found is not None
    found.lines.validate(full=True)
    return found


@pytest.mark.parametrize("base", [MYSQL, POSTGRES])
def test_what_is_left_is_the_event_without_its_block_and_the_time(base: dict[str, Any]) -> None:
    ops = "crudcc"
    found = cut(*(event(n, op, base) for n, op in enumerate(ops)))
    assert found.is_cut.to_pylist() == [True] * len(ops)
    assert found.times_ms.to_pylist() == [1_700_000_000_000 + n for n in range(len(ops))]
    for n, (line, op) in enumerate(zip(found.lines.to_pylist(), ops, strict=True)):
        whole = json.loads(event(n, op, base))
        del whole["source"]
        assert json.loads(line) == whole


@pytest.mark.parametrize(
    "other",
    [
        event(1, table="others"),
        event(1, db="elsewhere"),
        event(1, query="UPDATE t SET j = '{}'"),
        event(1, ts_ms=17),
        event(1, ts_ms=None),
        event(1, version="3.6"),
        event(1, more=1),
        event(1).replace('"table":"orders"', '"table":"\\u006frders"'),
        event(1).replace(':"0-1-1"', ":0-1-1"),
        event(1).replace(":5,", ":05,"),
        json.dumps(json.loads(event(1))),
        text({"ts_ms": 5}),
        "null",
    ],
)
def test_a_line_that_differs_by_more_than_values_stays_as_it_is(other: str) -> None:
    found = cut(event(0), other, event(2))
    assert found.is_cut.to_pylist() == [True, False, True]
    assert found.times_ms.to_pylist() == [1_700_000_000_000, None, 1_700_000_000_002]
    assert found.lines[1].as_py() == other.encode() + b"\n"


@pytest.mark.parametrize(
    "first",
    [
        event(0, table="others"),
        event(0, ts_ms="soon"),
        event(0).replace('"pos":', '"table":"orders","pos":'),
        event(0, query="}"),
    ],
)
def test_nothing_is_cut_where_the_first_block_does_not_show_the_way(first: str) -> None:
    assert cut_source(block([first, event(1)]).lines, ORDERS) is None


def told(changes: list[Changes]) -> list[tuple[Any, ...]]:
    rows = []
    for one in changes:
        assert one.times_ms is not None
        sides = []
        for images in (one.before, one.after):
            there = images.there.to_pylist()
            columns = {name: column.to_pylist() for name, column in images.columns.items()}
            sides.append(
                [{k: v[n] for k, v in columns.items()} if t else None for n, t in enumerate(there)]
            )
        parts = (one.lines.tolist(), one.ops.to_pylist(), *sides, one.times_ms.to_pylist())
        rows += [(*row, one.table) for row in zip(*parts, strict=True)]
    return sorted(rows, key=lambda row: row[0])


TWICE = event(1).replace(',"op"', ',"source":' + text({**MYSQL, "table": "others"}) + ',"op"')


@pytest.mark.parametrize(
    "middle",
    [
        event(1, "u"),
        event(1, "d"),
        event(1, table="others"),
        event(1).replace("of 1", '\\",\\"source\\":{\\"before\\":null,'),
        event(1, "u").replace("of 1", '\\"before\\":null,'),
        text({"ts_ms": 5}),
        text({"status": "BEGIN", "id": "1", "source": {**MYSQL, "table": None}}),
        "null",
    ],
)
@pytest.mark.parametrize("windows", [1, 2])
def test_events_are_what_they_are_line_by_line(middle: str, windows: int) -> None:
    lines = block([event(0), middle, event(2, pos=71, gtid=None), event(3, "u"), event(4, "d")])
    decoder = DebeziumDecoder(lambda _: None, lambda table: True)
    for _ in range(windows - 1):
        assert told(decoder.decode(block([event(0), event(5)])))
    assert told(decoder.decode(lines)) == told(decode_json_fallback(lines, lambda table: True))


@pytest.mark.parametrize(
    "middle",
    [
        event(1).replace('"before":null', '"before":null,"before":null'),
        event(1).replace('"op":"c"', '"op":"c","op":"d"'),
        TWICE,
    ],
)
@pytest.mark.parametrize("windows", [1, 2])
def test_an_event_with_a_member_twice_is_refused(middle: str, windows: int) -> None:
    decoder = DebeziumDecoder(lambda _: None, lambda table: True)
    for _ in range(windows - 1):
        assert told(decoder.decode(block([event(0), event(5)])))
    with pytest.raises(EventError, match=r"line 2: no JSON: member '.*' occurs twice"):
        decoder.decode(block([event(0), middle, event(2)]))


def test_inserts_alone_are_what_they_are_line_by_line() -> None:
    lines = block([event(n, "cr"[n % 2], pos=10**n) for n in range(9)])
    decoder = DebeziumDecoder(lambda _: None, lambda table: True)
    assert told(decoder.decode(lines)) == told(decode_json_fallback(lines, lambda table: True))


def test_tombstones_that_a_console_shows_are_no_rows() -> None:
    decoder = DebeziumDecoder(lambda _: None, lambda table: True)
    lines = block(["null", event(0), "null", event(2, table="others"), "null"])
    assert [row[0] for row in told(decoder.decode(lines))] == [2, 4]
    assert decoder.decode(block(["null", "null"])) == []
    assert [row[0] for row in told(decoder.decode(block([" null", event(5)])))] == [2]
