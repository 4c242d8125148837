"""New rows are numbered after all rows of their bucket, whatever was done to it, at the same cost each time."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError
from table_core.schema.change import SetOption
from table_core.table.metadata import documents
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.remembered import Remembered
from tests.tables import altered_elsewhere, new_catalog, rows_of, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])


def made(*, buckets: str = "2", **options: str) -> tc.Table:
    given = {"bucket": buckets, "write-only": "true", "manifest.merge-min-count": "4", **options}
    return new_catalog().create_table("d.t", SCHEMA, primary_key=("k",), options=given)


def again(table: tc.Table) -> tc.Table:
    """Another handle, which knows nothing."""
    return tc.Table(replace(table.access, metadata=Metadata(table.access.storage)))


class Life:
    """A table, and the rows that it should have."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.table = made()
        self.rows: dict[int, int] = {}
        self.states: dict[int, dict[int, int]] = {}
        self.count = 0

    def _new(self) -> pa.Table:
        keys = sorted(self.chance.sample(range(8), 3))
        self.count += 1
        return pa.table({"k": keys, "v": [self.count] * 3}, schema=SCHEMA)

    def write(self) -> None:
        rows, table = self._new(), self.chance.choice([self.table, again(self.table)])
        before = self._newest()
        write_rows(table, rows)
        head = self.table.latest_snapshot()
        assert head is not None
        for entry in self.table.access.metadata.delta(head):
            assert entry.file.min_sequence_number > before.get(entry.bucket, -1)
        self.rows |= dict(zip(*rows.to_pydict().values(), strict=True))

    def overwrite(self) -> None:
        rows = self._new()
        with self.table.write(overwrite="table") as writer:
            writer.write(rows)
            writer.commit()
        self.rows = dict(zip(*rows.to_pydict().values(), strict=True))

    def truncate(self) -> None:
        self.table.truncate()
        self.rows = {}

    def compact(self) -> None:
        self.table.compact("full")

    def roll_back(self) -> None:
        id = self.chance.choice(sorted(self.states))
        self.table.rollback_to(snapshot=id)
        self.rows = dict(self.states[id])
        self.states = {known: rows for known, rows in self.states.items() if known <= id}

    def _newest(self) -> dict[int, int]:
        newest: dict[int, int] = {}
        for entry in self.table.access.live_entries(self.table.latest_snapshot()):
            high = entry.file.max_sequence_number
            newest[entry.bucket] = max(high, newest.get(entry.bucket, high))
        return newest

    def step(self) -> None:
        verbs: list[Callable[[], None]] = [self.write] * 6
        verbs += [self.compact, self.overwrite, self.truncate]
        if self.states:
            verbs.append(self.roll_back)
        self.chance.choice(verbs)()
        head = self.table.latest_snapshot()
        if head is not None:
            self.states[head.id] = dict(self.rows)
        read = self.table.read().to_arrow().to_pydict()
        assert dict(zip(read["k"], read["v"], strict=True)) == self.rows


@pytest.mark.parametrize("seed", range(4))
def test_the_newer_row_wins_whatever_came_before(seed: int) -> None:
    life = Life(seed)
    for _ in range(25):
        life.step()


def test_how_many_buckets_files_had_that_went_is_no_matter() -> None:
    catalog = new_catalog()
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
    write_rows(table, pa.table({"k": [1], "v": [1]}, schema=SCHEMA))
    altered_elsewhere(catalog, "d.t", SetOption("bucket", "2"))
    with pytest.raises(OptionError, match="has 1 buckets"):
        write_rows(catalog.table("d.t"), pa.table({"k": [2], "v": [2]}, schema=SCHEMA))
    table.truncate()
    write_rows(catalog.table("d.t"), pa.table({"k": [2], "v": [2]}, schema=SCHEMA))
    assert rows_of(table) == [(2, 2)]


def _calls(act: Callable[[], object]) -> int:
    """How many calls ``act`` makes, on this thread and on those that it starts."""
    count = 0

    def seen(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


@pytest.mark.parametrize("key", [("k",), ()])
def test_a_commit_costs_the_same_however_many_files_a_bucket_has(key: tuple[str, ...]) -> None:
    options = {"bucket": "1", "write-only": "true"} | ({} if key else {"bucket-key": "k"})
    table = new_catalog().create_table("d.t", SCHEMA, primary_key=key, options=options)

    def commit() -> None:
        write_rows(table, pa.table({"k": [1], "v": [1]}, schema=SCHEMA))

    def cheapest() -> int:
        """Of some: one in thirty merges manifests."""
        return min(_calls(commit) for _ in range(3))

    for _ in range(32):
        commit()
    few = cheapest()
    for _ in range(87):  # as many small manifests as before
        commit()
    assert cheapest() <= 1.1 * few


def test_of_a_large_manifest_only_the_partitions_that_are_written_are_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = new_catalog()
    options = {"bucket": "2", "write-only": "true"}
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k", "v"), partition_by=("v",), options=options
    )
    for n in range(4):
        write_rows(table, pa.table({"k": range(6), "v": [n % 2, n % 3] * 3}, schema=SCHEMA))
    head = table.latest_snapshot()
    rows = sorted({e.partition for e in table.access.live_entries(head)})
    whole = table.access.highest_of_partitions(head, rows)
    monkeypatch.setattr(documents, "_WHOLE_MAX", 0)
    for cache in ("_MANIFESTS", "_COLUMNS"):
        monkeypatch.setattr(documents, cache, Remembered(weight_max=0))
    for row in rows:
        want = {bucket: highest for bucket, highest in whole.items() if bucket[0] == row}
        assert again(table).access.highest_of_partitions(head, [row]) == want
