"""A sync without an end commits news at once, then at most so often, and nothing where there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.sync.sync import sync_table
from table_core.errors import ArgumentError
from tests.clocks import SetClock
from tests.unit.cdc.feed import event, lines

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
START_MS = SetClock().now_ms()


class Arrivals(SetClock):
    """A clock whose sleeps bring what arrives meanwhile."""

    def __init__(self, arrives: Callable[[int], None]) -> None:
        super().__init__()
        self.arrives = arrives

    def sleep_ms(self, duration_ms: int) -> None:
        self.at_ms += duration_ms
        self.arrives(self.at_ms - START_MS)


def new(id: int) -> Any:
    return event("c", after={"id": id, "name": str(id)})


def commits(folder: Path, arrives: Callable[[int], list[Any]], **keywords: Any) -> list[int]:
    """When there were commits, in milliseconds from the start, of events that arrive at some times."""
    events, written, times = folder / "events", 0, list[int]()
    events.mkdir()

    def append(at_ms: int) -> None:
        nonlocal written
        if came := arrives(at_ms):
            written += 1
            (events / f"{written:04}.jsonl").write_bytes(lines(*came))

    catalog = tc.open_catalog(f"file://{folder}/wh")
    catalog.create_database("shop")
    catalog.create_table("shop.t", SCHEMA, primary_key=("id",), options={"bucket": "1"})
    clock = Arrivals(append)

    def progress(stage: str, **_: Any) -> None:
        if stage == "committed":
            times.append(clock.now_ms() - START_MS)

    sync_table(
        replace(catalog, clock=clock),
        "shop.t",
        tc.FilesSource(f"file://{events}/*.jsonl"),
        until="forever",
        progress=progress,
        **keywords,
    )
    return times


def test_news_after_a_quiet_time_are_committed_at_once(tmp_path: Path) -> None:
    came = {3000: [new(1)], 9000: [new(2)]}
    times = commits(tmp_path, lambda at: came.get(at, []), max_duration="20 s", interval="5 s")
    assert times == [3000, 9000]


def test_news_in_a_row_are_committed_at_most_so_often(tmp_path: Path) -> None:
    times = commits(tmp_path, lambda at: [new(at)], max_duration="20 s", interval="5 s")
    assert times == [1000, 6000, 11_000, 16_000, 20_000]  # the last one is that of its end


def test_once_a_second_is_the_default(tmp_path: Path) -> None:
    times = commits(tmp_path, lambda at: [new(at)], max_duration="4 s")
    assert times == [1000, 2000, 3000]  # what comes as it ends is of the next run


def test_who_is_told_to_stop_commits_what_was_read(tmp_path: Path) -> None:
    read: list[int] = []

    def arrives(at_ms: int) -> list[Any]:
        read.append(at_ms)
        return [new(at_ms)]

    times = commits(tmp_path, arrives, interval="1 h", stops=lambda: len(read) == 3)
    assert times == [1000, 3000]
    table = tc.open_catalog(f"file://{tmp_path}/wh").table("shop.t")
    assert table.read().to_arrow()["id"].to_pylist() == [1000, 2000]


def test_an_interval_of_a_run_that_ends_is_refused(tmp_path: Path) -> None:
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.FilesSource(f"file://{tmp_path}/*.jsonl")
    with pytest.raises(ArgumentError, match="until='forever'"):
        sync_table(catalog, "shop.t", source, interval="1 s")
    with pytest.raises(ArgumentError, match="interval"):
        sync_table(catalog, "shop.t", source, until="forever", interval="soon")
