"""One follower tells all who look at a table, and ends with the last of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from paimon_provider.pages.bars import BarsOf
from paimon_provider.pages.live import LiveTables, Viewer
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("country", pa.string(), nullable=False), ("sales", pa.int64())])
URI = "paimon://demo/shop/sales"


@pytest.fixture
def table(tmp_path: Path) -> Any:
    return table_with(tmp_path, "lookup")


def table_with(tmp_path: Path, producer: str) -> Any:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("shop")
    return catalog.create_table(
        "shop.sales",
        SCHEMA,
        primary_key=("country",),
        options={"bucket": "1", "changelog-producer": producer},
    )


def sell(table: Any, **sales: int) -> None:
    rows = {"country": list(sales), "sales": list(sales.values())}
    write_rows(table, pa.table(rows, schema=SCHEMA))


async def told(viewer: Viewer, event: str) -> Any:
    """The next document of that event."""
    while True:
        while viewer.waiting:
            name, document = viewer.waiting.popleft()
            if name == event:
                return document
        viewer.arrived.clear()
        await asyncio.wait_for(viewer.arrived.wait(), 60)


async def state_with(viewer: Viewer, bars: list[tuple[str, int]]) -> None:
    while [tuple(bar) for bar in (await told(viewer, "state"))["bars"]] != bars:
        pass


def test_two_viewers_see_a_commit_and_the_follower_ends_with_the_last(table: Any) -> None:
    sell(table, Spain=5, Peru=3)

    async def look() -> None:
        live, loop = LiveTables(), asyncio.get_running_loop()
        viewers = [Viewer(loop, BarsOf("country", "sales")), Viewer(loop, None)]
        followers = [live.join(URI, viewer, lambda: table.access) for viewer in viewers]
        assert followers[0] is followers[1]
        await state_with(viewers[0], [("Spain", 5), ("Peru", 3)])
        sell(table, Peru=9)
        await state_with(viewers[0], [("Peru", 9), ("Spain", 5)])
        while not (changes := await told(viewers[1], "changes"))["rows"]:
            pass
        assert changes["counts"] == {"+I": 0, "-U": 1, "+U": 1, "-D": 0}
        assert sorted(changes["rows"]) == [["+U", "Peru", "9"], ["-U", "Peru", "3"]]
        live.leave(followers[0], viewers[0])
        assert live.followed == 1
        live.leave(followers[0], viewers[1])
        assert live.followed == 0
        await asyncio.to_thread(followers[0].join, 60)
        assert not followers[0].is_alive()

    asyncio.run(look())


@pytest.mark.parametrize("producer", ["input", "none", "lookup"])
def test_sums_are_those_of_the_table_however_it_keeps_its_changes(
    producer: str, tmp_path: Path
) -> None:
    """With ``input`` a row that replaces one is written as an insert."""
    table = table_with(tmp_path, producer)
    sell(table, Spain=5, Peru=3)

    async def look() -> None:
        live = LiveTables()
        viewer = Viewer(asyncio.get_running_loop(), BarsOf("country", "sales"))
        follower = live.join(URI, viewer, lambda: table.access)
        await state_with(viewer, [("Spain", 5), ("Peru", 3)])
        sell(table, Peru=9)
        await state_with(viewer, [("Peru", 9), ("Spain", 5)])
        sell(table, Peru=1, Spain=1, Chile=7)
        await state_with(viewer, [("Chile", 7), ("Peru", 1), ("Spain", 1)])
        live.leave(follower, viewer)
        await asyncio.to_thread(follower.join, 60)

    asyncio.run(look())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "fault", [tc.errors.NotFoundError("gone", name="shop.sales"), OSError("no")]
)
def test_whoever_looks_is_told_that_the_view_has_ended(fault: Exception) -> None:
    def broken() -> Any:
        raise fault

    async def look() -> None:
        live = LiveTables()
        viewer = Viewer(asyncio.get_running_loop(), None)
        follower = live.join(URI, viewer, broken)
        document = await told(viewer, "gone")
        assert document["error"]["message"]
        assert live.followed == 0
        await asyncio.to_thread(follower.join, 60)  # or its fault fails the next test
        assert not follower.is_alive()

    asyncio.run(look())
