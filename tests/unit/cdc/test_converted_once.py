"""Values of events are converted once, also where they make a table or a column."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from table_core.cdc.debezium.json_blocks import DebeziumDecoder
from table_core.cdc.model.encoding import PlainSettings, convert
from table_core.cdc.model.record import LineBlock
from table_core.cdc.model.rows import Converted, Target, event_batch
from tests.unit.cdc.feed import Feed, columns, event, lines

EVENTS = 1000


@contextmanager
def conversions() -> Iterator[Counter[str]]:
    """How many values each type of the tables got."""
    count: Counter[str] = Counter()

    def look(frame: FrameType, what: str, _: Any) -> None:
        if what == "call" and frame.f_code is convert.__code__:
            count[frame.f_locals["type_"].root.name] += len(frame.f_locals["array"])

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield count
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def created(**more: Any) -> bytes:
    return lines(*(event("c", None, {"id": n, "name": f"n{n}"} | more) for n in range(EVENTS)))


@pytest.mark.parametrize("keep_before", [True, False])
def test_a_new_table(keep_before: bool) -> None:
    feed = Feed(keep_before=keep_before)
    with conversions() as count:
        feed.give(created())
    assert count == {"BIGINT": EVENTS, "VARCHAR": EVENTS}
    assert len(feed.state) == EVENTS


@pytest.mark.parametrize("keep_before", [True, False])
def test_a_new_column(keep_before: bool) -> None:
    feed = Feed(columns(id="BIGINT NOT NULL", name="STRING"), keep_before=keep_before)
    with conversions() as count:
        feed.give(created(age=1.5))
    assert count == {"BIGINT": EVENTS, "VARCHAR": EVENTS, "DOUBLE": EVENTS}
    assert feed.added == [("age", "DOUBLE")]
    assert {row["age"] for row in feed.state.values()} == {1.5}


@pytest.mark.parametrize("keep_before", [True, False])
def test_old_rows_of_a_new_table_are_converted_once_too(keep_before: bool) -> None:
    """Nothing is made where they do not convert, so they are converted also where they are spared."""
    feed, old, new = Feed(keep_before=keep_before), {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    moved = {"id": 2, "name": "c"}
    with conversions() as count:
        feed.give(lines(event("c", None, old), event("u", old, new), event("u", new, moved)))
    assert count == {"BIGINT": 5, "VARCHAR": 5}
    kinds = [(row["_ROW_KIND"], row["id"], row["name"]) for row in feed.rows]
    whole = [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 1, "b"), ("+I", 2, "c")]
    assert kinds == (whole if keep_before else [])
    assert feed.state == {(2,): moved}


@pytest.mark.parametrize(
    "other",
    [
        {"fields": columns(id="BIGINT NOT NULL", name="STRING", more="INT")},
        {"fields": columns(id="INT NOT NULL", name="STRING")},
        {"fields": columns(name="STRING", id="BIGINT NOT NULL")},
        {"key": ("id", "name")},
        {"keep_before": True},
    ],
)
def test_rows_for_another_table_are_converted_anew(other: dict[str, Any]) -> None:
    """Another run may have made or altered the table meanwhile."""
    fields = columns(id="BIGINT NOT NULL", name="STRING")
    made = Target(fields=fields, key=("id",), keep_before=False)
    block = LineBlock("f", 1, created())
    changes = DebeziumDecoder(lambda _: fields, lambda _: True).decode(block)
    converted = Converted(made, event_batch(changes, made, PlainSettings()))
    assert converted.fitted(replace(made, **other)) is None
    same = columns(
        id="BIGINT", name="STRING NOT NULL"
    )  # whether null is allowed is looked at later
    assert converted.fitted(replace(made, fields=same)) is not None
