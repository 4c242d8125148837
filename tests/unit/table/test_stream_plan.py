"""Goal: a stream that is read by positions, in steps of any size, gives what ``follow`` gives.

Method: random histories on a memory store; positions cross JSON at each step, as a checkpoint does.
The oracle is ``follow`` on a clock that never lets time pass.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, NotFoundError, SchemaError
from table_core.scan.follow import Levels
from table_core.scan.stream_offset import NO_LIMIT, ReadLimit, StreamOffset
from table_core.table.api.table import Table
from table_core.table.files.row_form import RowForm
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.stream_plan import StreamPlanner
from tests.clocks import Impatient, WouldWaitError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())])


def table(keyed: bool = True, **options: str) -> tc.Table:
    catalog = new_catalog()
    key = ("k",) if keyed else ()
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=key, options={"bucket": "2", "bucket-key": "k"} | options
    )


def write(t: tc.Table, keys: list[int], value: str, overwrite: str | None = None) -> None:
    write_rows(
        t,
        pa.table({"k": pa.array(keys, pa.int32()), "v": [value] * len(keys)}),
        overwrite=overwrite,
    )


def planner(t: tc.Table, **options: str) -> StreamPlanner:
    return StreamPlanner.of(tc.open_table(t.uri, options=options).access)


def rows_of(plan: StreamPlanner, begin: StreamOffset, end: StreamOffset) -> list[tuple[Any, ...]]:
    access = plan.access
    found = []
    reader = SplitReader(access=access, fields=access.schema.fields, form=RowForm.CHANGES)
    for split in plan.between(begin, end):
        for rows in reader.read(split):
            found += [tuple(row.values()) for row in rows.to_pylist()]
    return found


def stored(at: StreamOffset) -> StreamOffset:
    return StreamOffset.from_document(json.loads(json.dumps(at.to_document())))


def drained(t: tc.Table, limit: ReadLimit, **options: str) -> tuple[list[Any], int]:
    """All rows of the stream, and in how many steps; each with a planner that knows nothing."""
    at, found, steps = StreamOffset.of(planner(t, **options).begin()), [], 0
    while (end := planner(t, **options).reached(stored(at), limit)) != at:
        found += rows_of(planner(t, **options), stored(at), stored(end))
        at, steps = end, steps + 1
    return found, steps


def followed(t: tc.Table, **options: str) -> list[Any]:
    handle = tc.open_table(t.uri, options=options)
    access = replace(handle.access, clock=Impatient(handle.access.clock))
    found: list[Any] = []
    try:
        for rows in Table(access).follow():
            found += [tuple(row.values()) for row in rows.to_pylist()]
    except WouldWaitError:
        return found
    raise AssertionError("a reader that follows never ends")


MODES: list[dict[str, str]] = [
    {},
    {"scan.mode": "latest-full"},
    {"scan.mode": "latest"},
    {"scan.mode": "compacted-full"},
    {"scan.mode": "from-snapshot", "scan.snapshot-id": "2"},
    {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "3"},
    {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1"},
    {"scan.mode": "from-creation-timestamp", "scan.creation-time-millis": "1"},
    {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "1"},
]
LIMITS = [NO_LIMIT, ReadLimit(snapshots=1), ReadLimit(files=1), ReadLimit(rows=3, files=2)]


@pytest.mark.parametrize("options", MODES, ids=lambda o: o.get("scan.mode", "default"))
@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_every_mode_gives_what_follow_gives(options: dict[str, str], producer: str) -> None:
    t = table(**{"changelog-producer": producer, "source.split.target-size": "1 b"})
    chance = random.Random(producer)
    for round_ in range(5):
        write(t, chance.sample(range(12), 5), f"v{round_}")
        if chance.random() < 0.3:
            t.compact()
    expected = followed(t, **options)
    for limit in LIMITS:
        assert drained(t, limit, **options)[0] == expected, limit


def test_limits_cut_a_state_into_steps_and_overwrites_are_left_out() -> None:
    t = table(keyed=False, **{"source.split.target-size": "1 b", "write-only": "true"})
    for round_ in range(6):
        write(t, [1, 2, 3, 4], f"v{round_}")
    rows, steps = drained(t, ReadLimit(files=1))
    assert (len(rows), steps) == (24, len(t.access.live_entries(t.latest_snapshot())))
    at = StreamOffset.of(planner(t).begin())
    end = planner(t).reached(at)
    write(t, [9], "gone", overwrite="table")
    write(t, [10], "new")
    assert [r[1] for r in rows_of(planner(t), end, planner(t).reached(end))] == [10]
    shown = planner(t, **{"streaming-read-append-overwrite": "true"})
    assert sorted(r[1] for r in rows_of(shown, end, shown.reached(end))) == [9, 10]


def test_a_drain_ends_where_it_is_told() -> None:
    t = table(keyed=False)
    for round_ in range(4):
        write(t, [round_], "v")
    begin = StreamOffset(snapshot=1)
    until = StreamOffset(snapshot=3)
    assert planner(t).reached(begin, until=until) == until
    assert planner(t).reached(begin, ReadLimit(files=1), until).snapshot == 2
    assert planner(t).reached(until, until=until) == until
    assert planner(t).newest() == planner(t).reached(begin) == StreamOffset(snapshot=5)
    with pytest.raises(ArgumentError, match="back"):
        planner(t).between(until, begin)


def test_what_has_expired_is_an_error_that_names_it_and_what_to_set() -> None:
    t = table()
    for round_ in range(4):
        write(t, [round_], "v")
    at = StreamOffset(snapshot=1)
    end = planner(t).reached(at)
    t.expire_snapshots(retain_max=1, retain_min=1)
    for position in (at, replace(at, full="all")):
        with pytest.raises(NotFoundError, match=r"snapshot 1\b.*expired.*consumer-id"):
            planner(t).between(position, end)
    with pytest.raises(NotFoundError, match=r"snapshot 1 has expired.*consumer-id"):
        planner(t).reached(at)


def test_positions_of_others_are_refused() -> None:
    for wrong in ({}, {"offset": 1}, {"snapshot": "1"}, {"snapshot": 1, "full": "some"}):
        with pytest.raises(ArgumentError, match="no position"):
            StreamOffset.from_document(wrong)
    first = StreamOffset(snapshot=2, began=StreamOffset(snapshot=1, full=Levels.TOP))
    assert stored(first) == first
    t = table(keyed=False)
    write(t, [1], "v")
    with pytest.raises(ArgumentError, match="another table"):
        planner(t).between(StreamOffset(snapshot=1, index=7), StreamOffset(snapshot=2))
    with pytest.raises(NotFoundError, match="rolled back"):
        planner(t).reached(StreamOffset(snapshot=9))


def test_columns_that_change_on_the_way_are_an_error_and_options_are_none() -> None:
    t = table(keyed=False)
    write(t, [1], "v")
    plan = planner(t)
    fields = plan.access.schema.fields
    catalog = tc.open_catalog(t.uri.rpartition("/d.db")[0])

    def newest_splits() -> list[Any]:
        head = plan.access.metadata.head_id() or 0
        return plan.between(StreamOffset(snapshot=1), StreamOffset(snapshot=head + 1))

    catalog.alter_table("d.t", [tc.SetOption("num-sorted-run.compaction-trigger", "9")])
    write(tc.open_table(t.uri), [2], "v")
    plan.refuse_new_schema(newest_splits(), fields)
    catalog.alter_table("d.t", [tc.AddColumn("note", "STRING")])
    write(tc.open_table(t.uri), [3], "v")
    plan.refuse_new_schema(newest_splits(), fields[:1])
    with pytest.raises(SchemaError, match="start the query again"):
        plan.refuse_new_schema(newest_splits(), fields)
