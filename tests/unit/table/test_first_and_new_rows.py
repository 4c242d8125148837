"""What a flow reads at first and what it reads then are one whole: each row once, whatever the source keeps back.

A source keeps rows back at level 0, in the postpone bucket, or below the top level; they are told when they are
committed or when they are compacted, as the changelog producer says that the snapshot was written under.
"""

from __future__ import annotations

import itertools
import uuid
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import PositionDivergedError
from table_core.jobs.flow import run_flow
from table_core.table.files.row_form import RowForm
from table_core.table.read.commit_stream import CommitStream
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.stream_plan import StreamPlanner
from tests.sql_here import SqlHere
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
PRODUCERS = ("none", "input", "lookup", "full-compaction")
SWITCHES = list(itertools.permutations(PRODUCERS, 2))
FLOW = {"sql": "SELECT id, v FROM s", "sources": {"s": {"table": "d.s", "mode": "changes"}}}


class House:
    """A source that nobody compacts unasked, and a target."""

    def __init__(self, **options: str) -> None:
        self.catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
        self.catalog.create_database("d")
        given = {"bucket": "1", "write-only": "true", **options}
        self.catalog.create_table("d.s", SCHEMA, primary_key=["id"], options=given)
        self.catalog.create_table("d.t", SCHEMA)

    def put(self, *ids: int) -> None:
        rows = pa.table({"id": ids, "v": ids}, schema=SCHEMA)
        write_rows(self.catalog.table("d.s"), rows)

    def compact(self, strategy: str = "full") -> None:
        self.catalog.table("d.s", options={"write-only": "false"}).compact(strategy)

    def produce(self, producer: str) -> None:
        self.catalog.alter_table("d.s", [tc.SetOption("changelog-producer", producer)])

    def run(self, mode: str = "changes") -> list[int]:
        flow = {**FLOW, "sources": {"s": {"table": "d.s", "mode": mode}}, "name": "f"}
        run_flow(self.catalog, self.catalog.table("d.t"), flow, tc.CommitAs(), SqlHere())
        return sorted(self.catalog.table("d.t").read().to_arrow()["id"].to_pylist())


KEPT_BACK = [
    *({"changelog-producer": producer} for producer in PRODUCERS),
    *({"changelog-producer": producer, "bucket": "-2"} for producer in PRODUCERS[:3]),
    *(
        {"changelog-producer": producer, "deletion-vectors.enabled": "true"}
        for producer in ("none", "lookup")
    ),
    {"changelog-producer": "lookup", "merge-engine": "first-row"},
]


@pytest.fixture(params=KEPT_BACK, ids=lambda options: " ".join(options.values()))
def options(request: pytest.FixtureRequest) -> dict[str, str]:
    kept_back: dict[str, str] = request.param
    return kept_back


@pytest.fixture(params=[False, True], ids=["waiting", "compacted"])
def compacted(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def house(options: dict[str, str], compacted: bool) -> House:
    """A source with one row, which waits or is ``compacted``."""
    house = House(**options)
    house.put(1)
    if compacted:
        house.compact()
    return house


def test_rows_that_wait_when_a_flow_begins_are_taken_once(
    house: House, options: dict[str, str], compacted: bool
) -> None:
    house.put(2)
    first = house.run()
    told_at_once = options["changelog-producer"] == "none" or (
        options["changelog-producer"] == "input" and "bucket" not in options
    )
    assert first == ([1, 2] if told_at_once else [1] if compacted else [])
    house.put(3)
    house.run()
    house.compact()
    assert house.run() == [1, 2, 3]
    house.put(4)
    house.run()
    house.compact()
    assert house.run() == [1, 2, 3, 4]


@pytest.mark.parametrize(("one", "other"), SWITCHES)
def test_another_producer_costs_no_row_where_nothing_waits(one: str, other: str) -> None:
    house = House(**{"changelog-producer": one})
    house.put(1)
    house.compact()
    house.run()
    house.put(2)
    house.compact()
    house.produce(other)
    house.put(3)
    house.run()
    house.compact()
    assert house.run() == [1, 2, 3]


@pytest.mark.parametrize(("one", "other"), SWITCHES)
def test_another_producer_while_rows_wait_is_said_or_costs_no_row(one: str, other: str) -> None:
    house = House(**{"changelog-producer": one})
    house.put(1)
    house.run()
    house.put(2)
    house.produce(other)
    house.put(3)
    try:
        house.run()
        house.compact()
        house.run()
    except PositionDivergedError as error:
        assert error.facts["reason"] == "producer-changed"
        assert {one, other} & {"lookup", "full-compaction"}
        assert house.catalog.table("d.t").position("tc.flow.f") is not None
        return
    assert house.run() == [1, 2, 3]
    assert {one, other} in ({"none", "input"}, {"lookup", "full-compaction"})


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(PRODUCERS[:3], 2)))
def test_rows_without_a_bucket_are_told_once_or_it_is_said(one: str, other: str) -> None:
    house = House(**{"changelog-producer": one, "bucket": "-2"})
    house.put(1)
    house.run()
    house.put(2)
    house.produce(other)
    house.put(3)
    if "none" in {one, other}:
        with pytest.raises(PositionDivergedError, match="changelog-producer"):
            house.run()
        return
    house.run()
    house.compact()
    assert house.run() == [1, 2, 3]


def test_rows_on_their_way_to_the_top_are_said_between_two_that_compact() -> None:
    house = House(**{"changelog-producer": "lookup"})
    house.put(*range(1000, 100_000))
    house.compact()
    house.put(1)
    house.compact("minor")
    levels = {e.file.level for e in _live(house)}
    assert len(levels) > 1, "this needs a file between"
    house.run()
    house.produce("full-compaction")
    house.put(2)
    with pytest.raises(PositionDivergedError, match="changelog-producer"):
        house.run()


def _live(house: House) -> list[Any]:
    access = house.catalog.table("d.s").access
    return access.live_entries(access.head())


def test_a_follower_is_told_each_row_once(options: dict[str, str]) -> None:
    house = House(**options)
    house.put(1)
    rows = house.catalog.table("d.s", options={"scan.bounded.watermark": "5"}).follow(
        poll_seconds=0
    )
    house.put(2)
    house.compact()
    write_rows(
        house.catalog.table("d.s"),
        pa.table({"id": [9], "v": [9]}, schema=SCHEMA),
        commit=tc.CommitAs(watermark=6),
    )
    assert sorted(id for table in rows for id in table["id"].to_pylist()) == [1, 2]


def test_a_follower_sees_that_the_producer_was_altered() -> None:
    house = House(**{"changelog-producer": "input"})
    house.put(1)
    rows = house.catalog.table("d.s").follow(poll_seconds=0)
    assert next(rows)["id"].to_pylist() == [1]
    house.produce("none")
    house.put(2)
    assert next(rows)["id"].to_pylist() == [2]
    house.produce("lookup")
    house.put(3)
    with pytest.raises(PositionDivergedError, match="changelog-producer"):
        next(rows)


def test_changes_and_notes_go_by_the_producer_that_a_snapshot_was_written_under() -> None:
    house = House(**{"changelog-producer": "none"})
    house.put(1)
    house.produce("input")
    house.put(2)
    house.produce("none")
    house.put(3)
    table = house.catalog.table("d.s")
    assert table.changes(after=0).to_arrow()["id"].to_pylist() == [1, 2, 3]
    assert [table.delivers(id).producer for id in (1, 2, 3)] == ["none", "input", "none"]
    told = house.catalog.table("d.s", options={"changelog-producer": "input"})
    assert told.changes(after=0).to_arrow()["id"].to_pylist() == [2]


def test_a_stream_of_tasks_reads_each_row_once(options: dict[str, str]) -> None:
    house = House(**options)
    house.put(1)
    table = house.catalog.table("d.s")
    planner = StreamPlanner.of(table.access)
    reader = SplitReader(
        access=table.access, fields=table.access.schema.fields, form=RowForm.CHANGES
    )
    begin = planner.begun()
    house.put(2)
    house.compact()
    splits = planner.between(begin, planner.reached(begin))
    rows = [rows for split in splits for rows in reader.read(split)]
    assert sorted(id for one in rows for id in one["id"].to_pylist()) == [1, 2]


def test_the_stream_of_a_page_shows_each_row_once(house: House) -> None:
    house.put(2)
    stream = CommitStream(house.catalog.table("d.s").access)
    shown = list(stream.state(stream.state_now(), ["id"]))
    house.put(3)
    house.compact()
    while (commit := stream.next()) is not None:
        shown += commit.batches(["id"])
    assert sorted(id for rows in shown for id in rows["id"].to_pylist()) == [1, 2, 3]


def test_a_flow_that_read_states_goes_on_by_changes_or_says_why_not(
    house: House, compacted: bool
) -> None:
    house.run("snapshot")
    house.put(2)
    try:
        house.run()
    except PositionDivergedError as error:
        assert error.facts["reason"] == "waiting"
        assert not compacted
        return
    house.compact()
    assert house.run() == [1, 2]
