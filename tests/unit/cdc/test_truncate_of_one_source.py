"""One of several source tables of a table is emptied: its rows go, and memory does not grow with them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.cdc.apply.shares import Shares
from tests.lanes import budget
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import emptied, record


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def handed_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were in memory at once, each time."""
    monkeypatch.setattr(Shares, "most_rows", 10)
    found: list[int] = []
    rows = Shares.rows

    def counted(self: Shares, share: int, cuts: int, cut: int) -> pa.Table | None:
        part = rows(self, share, cuts, cut)
        found.append(0 if part is None else part.num_rows)
        return part

    monkeypatch.setattr(Shares, "rows", counted)
    return found


def stream(seed: int, count: int, key: str | None) -> tuple[list[Any], Counter[tuple[Any, ...]]]:
    """Events of two shards with truncates of one, and the rows that are left."""
    rand, events = random.Random(seed), []
    rows: list[tuple[str, dict[str, Any]]] = []
    by_key: dict[int, tuple[str, dict[str, Any]]] = {}

    def left() -> list[tuple[str, dict[str, Any]]]:
        return list(by_key.values()) if key else rows

    for _ in range(count):
        shard = rand.choice(["s1.a", "s2.a"])
        there = [row for owner, row in left() if owner == shard] if count < 1000 else []
        if there and rand.random() < 0.3:
            row = rand.choice(there)
            events.append(record(shard, "d", row, key=key))
            if key:
                del by_key[row["id"]]
            else:
                rows.remove((shard, row))
            continue
        id = rand.randrange(count * 2) if count >= 1000 else rand.randrange(9)
        row = {"id": id, "n": rand.choice([None, "x", "y"]), "must": f"m{rand.randrange(3)}"}
        events.append(record(shard, "c", row, key=key))
        if key:
            by_key[id] = (shard, row)
        else:
            rows.append((shard, row))
        if count < 1000 and rand.random() < 0.1:
            events.append(emptied("s1.a"))
            by_key = {k: v for k, v in by_key.items() if v[0] != "s1.a"}
            rows = [one for one in rows if one[0] != "s1.a"]
    events.append(emptied("s1.a"))
    return events, Counter(tuple(row.values()) for owner, row in left() if owner != "s1.a")


def rows_of(lake: Lake) -> Counter[tuple[Any, ...]]:
    found = lake.catalog.table("lake.a").read(columns=["id", "n", "must"]).to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in found)


@pytest.mark.parametrize("columns", [(), ("database_name", "table_name")])
@pytest.mark.parametrize("key", ["id", None])
@pytest.mark.parametrize("most", [1, 100_000])
def test_only_the_rows_of_that_source_go_however_they_are_dealt_out(
    tmp_path: Path,
    key: str | None,
    columns: tuple[str, ...],
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Shares, "most_rows", most)
    for seed in range(budget("TRUNCATES", ci=1, nightly=20)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        lake = Lake(folder)
        events, left = stream(seed, 40, key)
        lake.put("1.jsonl", *events[:30])
        lake.sync(metadata_columns=columns)
        lake.put("2.jsonl", *events[30:])
        lake.sync(metadata_columns=columns)
        assert rows_of(lake) == left, seed


@pytest.mark.parametrize("most", [1, 100_000])
def test_rows_go_also_where_a_column_must_not_be_null(
    lake: Lake, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shares, "most_rows", most)
    columns = {"id": pa.int64(), "n": pa.string(), "must": pa.string()}
    schema = pa.schema([pa.field(n, t, nullable=n == "n") for n, t in columns.items()])
    lake.catalog.create_database("lake")
    lake.catalog.create_table("lake.a", schema, primary_key=("id",), options={"bucket": "1"})
    events, left = stream(5, 60, "id")
    lake.put("1.jsonl", *events)
    lake.sync()
    assert rows_of(lake) == left


@pytest.mark.parametrize("key", ["id", None])
def test_of_many_rows_few_are_in_memory_at_once(
    lake: Lake, key: str | None, handed_out: list[int]
) -> None:
    events, left = stream(7, 3_000, key)
    lake.put("1.jsonl", *events)
    lake.sync()
    assert rows_of(lake) == left
    assert sum(handed_out) > 1_200
    assert max(handed_out) < 40, "the shares are as small as was asked for"
