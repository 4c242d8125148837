"""Limits count events and rows wherever they are reached, also in the middle of what is read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from tests.unit.cdc.lake import Lake

FEW = 100


def plain(tmp_path: Path, count: int = FEW) -> Lake:
    lake = Lake(tmp_path)
    lake.source = tc.FilesSource(f"file://{lake.events}/*.jsonl", format="json")
    lake.catalog.create_database("lake")
    lake.put("a.jsonl", *({"id": n, "v": f"{n}"} for n in range(count)))
    return lake


def sync(lake: Lake, **more: Any) -> Any:
    return tc.sync_table(lake.catalog, "lake.t", lake.source, primary_key=["id"], **more)


def ids(lake: Lake) -> list[int]:
    return sorted(row["id"] for row in lake.rows("t"))


def test_a_run_ends_after_so_many_events(tmp_path: Path) -> None:
    lake = plain(tmp_path)
    ends = []
    for _ in range(4):
        sync(lake, max_rows=30)
        ends.append(ids(lake))
    assert ends == [list(range(n)) for n in (30, 60, 90, 100)]
    assert sync(lake, max_rows=30).rows_written == 0


def test_a_table_is_committed_once_so_many_rows_wait(tmp_path: Path) -> None:
    lake = plain(tmp_path)
    assert sync(lake, commit_rows=30).details["commits"] == 4
    assert ids(lake) == list(range(FEW))


def test_a_run_gets_on_where_no_event_is_for_its_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path)

    def event(table: str, n: int) -> dict[str, Any]:
        source = {"db": "s", "table": table, "file": "l.1", "pos": n, "ts_ms": 1}
        return {"op": "c", "before": None, "after": {"id": n}, "source": source}

    lake.put("a.jsonl", *(event("mine" if n in {0, 39} else "other", n) for n in range(40)))
    for _ in range(4):
        lake.sync(including="mine", max_rows=10, primary_key=["id"])
    assert [row["id"] for row in lake.rows("mine")] == [0, 39]


@pytest.mark.parametrize("limit", ["max_rows", "commit_rows"])
def test_a_table_without_a_key_gets_every_row_once(tmp_path: Path, limit: str) -> None:
    lake = plain(tmp_path)
    for _ in range(4):
        more: Any = {limit: 30}
        tc.sync_table(lake.catalog, "lake.t", lake.source, **more)
    assert ids(lake) == list(range(FEW))
