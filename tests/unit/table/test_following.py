"""Goal: a reader that follows starts where it is told, gets every change once, and ends where bounded.

Method: tables on a memory store and a clock that never lets time pass: a reader that would wait
raises instead, which is how a test knows that nothing more is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.table.api.table import Table
from tests.clocks import Impatient, WouldWaitError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())])


def table(**options: str) -> tc.Table:
    catalog = new_catalog()
    options = {"bucket": "1", "write-only": "true"} | options
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)


def write(t: tc.Table, *rows: tuple[str, int, str | None], watermark: int | None = None) -> None:
    kinds, keys, values = zip(*rows, strict=True)
    data = pa.table({"k": pa.array(keys, pa.int32()), "v": values, "_ROW_KIND": kinds})
    write_rows(t, data, commit=tc.CommitAs(watermark=watermark))


def reader(t: tc.Table, options: dict[str, str] | None = None, **how: Any) -> Iterator[pa.Table]:
    handle = tc.open_table(t.uri, options=options)
    access = replace(handle.access, clock=Impatient(handle.access.clock))
    return Table(access).follow(**how)


def rest(stream: Iterator[pa.Table]) -> list[list[str]]:
    """What is there now: the rows of each batch."""
    found = []
    try:
        for batch in stream:
            rows = batch.to_pylist()
            found.append([f"{r['_ROW_KIND']}{r['k']}{r['v'] or ''}" for r in rows])
    except WouldWaitError:
        pass
    return found


@pytest.fixture
def three() -> tc.Table:
    t = table()
    write(t, ("+I", 1, "a"), ("+I", 2, "b"), watermark=10)
    write(t, ("+I", 1, "c"), watermark=20)
    write(t, ("-D", 2, None), watermark=30)
    return t


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({}, [["+I1c"]]),
        ({"scan.mode": "latest"}, []),
        ({"scan.snapshot-id": "2"}, [["+I1c"], ["-D2"]]),
        (
            {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1"},
            [["+I1a", "+I2b"], ["+I1c"], ["-D2"]],
        ),
        ({"scan.timestamp-millis": "1"}, [["+I1a", "+I2b"], ["+I1c"], ["-D2"]]),
        ({"scan.mode": "compacted-full"}, [["+I1c"]]),
        ({"scan.snapshot-id": "1", "scan.bounded.watermark": "20"}, [["+I1a", "+I2b"], ["+I1c"]]),
        (
            {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "1"},
            [["+I1c"]],
        ),
    ],
)
def test_it_starts_as_the_scan_mode_says(three: tc.Table, options: Any, batches: Any) -> None:
    assert rest(reader(three, options)) == batches


def test_after_comes_before_the_mode(three: tc.Table) -> None:
    assert rest(reader(three, {"scan.mode": "latest"}, after=1)) == [["+I1c"], ["-D2"]]


def test_modes_that_read_once_are_refused(three: tc.Table) -> None:
    with pytest.raises(tc.errors.OptionError):
        reader(three, {"scan.mode": "latest-delta"})


def test_a_bounded_stream_ends_after_the_full_read_that_passes_the_bound(three: tc.Table) -> None:
    assert [b.num_rows for b in reader(three, {"scan.bounded.watermark": "15"})] == [1]


def test_a_batch_counts_as_taken_when_the_next_is_asked_for(three: tc.Table) -> None:
    first = reader(three, consumer="c")
    next(first)
    assert three.system("consumers").to_arrow().num_rows == 0
    assert rest(first) == []
    write(three, ("+I", 5, "e"))
    second = reader(three, consumer="c")
    assert next(second)["k"].to_pylist() == [5]
    third = reader(three, consumer="c")
    assert rest(third) == [["+I5e"]]
    assert three.system("consumers").to_arrow().to_pylist() == [
        {"consumer_id": "c", "next_snapshot_id": 5}
    ]


def test_changes_that_expired_are_reported_and_not_skipped(three: tc.Table) -> None:
    three.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(tc.errors.NotFoundError, match="expired"):
        rest(reader(three, after=0))


def test_a_reader_ahead_of_a_rollback_is_refused(three: tc.Table) -> None:
    three.rollback_to(snapshot=1)
    with pytest.raises(tc.errors.NotFoundError, match="rolled back"):
        rest(reader(three, after=3))


@pytest.mark.parametrize(("reads", "batches"), [("false", []), ("true", [["-D1a", "+I7z"]])])
def test_overwrites_are_left_out_unless_asked_for(reads: str, batches: Any) -> None:
    t = table()
    write(t, ("+I", 1, "a"))
    write_rows(t, pa.table({"k": pa.array([7], pa.int32()), "v": ["z"]}), overwrite="table")
    found = rest(reader(t, {"streaming-read-overwrite": reads}, after=1))
    assert [row for batch in found for row in batch] == [row for batch in batches for row in batch]


def test_the_first_read_leaves_out_what_comes_again_as_changes() -> None:
    """With a changelog at compaction, rows that wait for it are not read twice (format T56)."""
    t = table(**{"changelog-producer": "full-compaction"})
    write(t, ("+I", 1, "a"))
    tc.open_table(t.uri, options={"write-only": "false"}).compact()
    write(t, ("+I", 2, "b"))
    stream = reader(t)
    assert rest(stream) == [["+I1a"]]
    begun = reader(t)
    assert next(begun)["k"].to_pylist() == [1]
    tc.open_table(t.uri, options={"write-only": "false"}).compact()
    assert rest(begun) == [["+I2b"]]


def test_changelogs_outlive_their_snapshots() -> None:
    """What expiry keeps under ``changelog/`` is read as if the snapshot were there."""
    t = table(**{"changelog-producer": "input"})
    write(t, ("+I", 1, "a"))
    write(t, ("+I", 2, "b"))
    storage = t.access.storage
    storage.write("changelog/changelog-1", storage.read("snapshot/snapshot-1"))
    storage.write("snapshot/EARLIEST", b"2")
    storage.delete(["snapshot/snapshot-1"])
    assert rest(reader(t, after=0)) == [["+I1a"], ["+I2b"]]
    assert t.changes(after=0).to_arrow()["k"].to_pylist() == [1, 2]
