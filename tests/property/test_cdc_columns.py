"""Reading in columns gives what reading line by line gives, however lines are cut into blocks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.cdc.debezium.json_blocks import DebeziumDecoder
from table_core.cdc.model.record import LineBlock
from tests.unit.cdc.feed import Feed, columns, event, lines

FIELDS = columns(
    id="BIGINT NOT NULL", n="INT", d="DOUBLE", s="STRING", b="BOOLEAN", m="DECIMAL(12, 3)"
)
VALUES = {
    "n": st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9).map(str),
    "d": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
    "s": st.none() | st.text(st.characters(codec="utf-8")) | st.integers(-9, 9) | st.booleans(),
    "b": st.none() | st.booleans() | st.integers(0, 1),
    "m": st.none() | st.integers(-(10**6), 10**6) | st.decimals(-999, 999, places=3).map(str),
    "new": st.integers(-9, 9),
}


@st.composite
def streams(draw: st.DrawFn) -> list[Any]:
    """Legal events over a few keys, with the columns of each row at random."""
    there: dict[int, dict[str, Any]] = {}
    found: list[Any] = []

    def fresh(id: int) -> dict[str, Any]:
        names = draw(st.sets(st.sampled_from(sorted(VALUES))))
        return {"id": id, **{name: draw(VALUES[name]) for name in sorted(names)}}

    for _ in range(draw(st.integers(1, 12))):
        id = draw(st.integers(0, 4))
        if id not in there:
            there[id] = fresh(id)
            found.append(event(draw(st.sampled_from("cr")), None, there[id]))
        elif draw(st.booleans()):
            old, to = there.pop(id), draw(st.integers(0, 4))
            there[to if to not in there else id] = new = fresh(to if to not in there else id)
            found.append(
                event("u", draw(st.sampled_from([old, None])) if new["id"] == id else old, new)
            )
        else:
            found.append(event("d", there.pop(id)))
    return found


def oracle(events: list[Any]) -> set[int]:
    """The keys that are left."""
    there: set[int] = set()
    for one in events:
        there -= {one[side]["id"] for side in ("before", "after") if one[side] is not None}
        if one["op"] != "d":
            there.add(one["after"]["id"])
    return there


@given(streams(), st.lists(st.integers(1, 12), max_size=4), st.sampled_from(["plain", "record"]))
def test_blocks_and_paths_make_no_difference(events: list[Any], cuts: list[int], form: str) -> None:
    wrapped = (
        events if form == "plain" else [{"topic": "t", "key": None, "value": e} for e in events]
    )
    edges = [0, *sorted(c for c in cuts if c < len(events)), len(events)]
    by_columns, slowly = Feed(FIELDS), Feed(FIELDS)
    for first, end in pairwise(edges):
        by_columns.give(lines(*wrapped[first:end]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DebeziumDecoder, "_columnar", _not_columnar)
        slowly.give(lines(*wrapped))
    assert {k[0] for k in by_columns.state} == oracle(events)
    assert by_columns.state == slowly.state
    assert changes(by_columns) == changes(slowly)
    assert by_columns.added == slowly.added


def changes(feed: Feed) -> list[dict[str, Any]]:
    """Those of a key in their order, whichever commits they are in."""
    return sorted(feed.rows, key=lambda row: row["id"])


def _not_columnar(*_: Any) -> None:
    """As if no block could be read in columns."""


@given(
    st.lists(st.sampled_from([b"{}", b"", b"  ", b"\r", b'{"a":"\\n"}']), max_size=30),
    st.integers(1, 9),
)
def test_lines_keep_their_numbers(given: list[bytes], first: int) -> None:
    block = LineBlock("f", first, lines(*given))
    expected = [(n, line) for n, line in enumerate(given, first) if line.strip()]
    assert block.numbers.tolist() == [n for n, _ in expected]
    assert [line.as_py() for line in block.lines] == [line + b"\n" for _, line in expected]
    assert block.count == len(given)
    json.dumps(block.count)
