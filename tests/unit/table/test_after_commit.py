"""What a commit takes along: expiry, tags, partitions, consumers (format 11).

Method: a clock that the test sets, on a memory store.  Mutants: write-only ignored; a fault raised; the
interval ignored; tags made after their snapshots expired.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import StorageUnavailableError
from table_core.ondisk import layout
from table_core.storage.system import SystemClock, SystemIds
from table_core.table.maintenance import expire_effects, expire_tags
from table_core.table.maintenance.after_commit import finish_maintenance
from table_core.table.metadata.refs.consumers import consumers, set_consumer
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("k", pa.int64()), ("dt", pa.string())])
HOUR_MS = 3_600_000
NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)
KEEP_TWO = {
    "snapshot.num-retained.min": "2",
    "snapshot.num-retained.max": "2",
}


class Early(SystemIds):
    """The random phase of a check is a whole interval."""

    def jitter(self) -> float:
        return 0.999


def create(*, partitioned: bool = False, **options: str) -> tuple[Any, SetClock]:
    catalog = new_catalog()
    table = catalog.create_table(
        "d.t", SCHEMA, partition_by=("dt",) if partitioned else (), options=options
    )
    clock = SetClock(NOON)
    return tc.Table(replace(table.access, clock=clock)), clock


def put(table: Any, key: int = 1, dt: str = "2026-11-20", **more: Any) -> None:
    write_rows(table, pa.table({"k": [key], "dt": [dt]}, schema=SCHEMA), **more)


def ids(table: Any) -> list[int]:
    return [snapshot.id for snapshot in table.snapshots()]


def test_snapshots_expire_after_commits() -> None:
    table, _ = create(**KEEP_TWO)
    for key in range(5):
        put(table, key)
    assert ids(table) == [4, 5]
    assert table.read().to_arrow().num_rows == 5


def test_a_write_only_table_keeps_them_until_somebody_else_cleans_up() -> None:
    table, _ = create(**KEEP_TWO, **{"write-only": "true"})
    for key in range(5):
        put(table, key)
    assert ids(table) == [1, 2, 3, 4, 5]


def test_age_counts_from_the_successor() -> None:
    table, clock = create(**{"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 h"})
    put(table)
    clock.at_ms += HOUR_MS
    put(table)
    clock.at_ms += HOUR_MS
    put(table)
    assert ids(table) == [1, 2, 3]
    clock.at_ms += 1
    put(table)
    assert ids(table) == [2, 3, 4]


def test_a_run_takes_no_more_than_the_limit_and_the_next_goes_on() -> None:
    table, clock = create(
        **{"snapshot.num-retained.min": "1", "snapshot.expire.limit": "2", "write-only": "true"}
    )
    for key in range(6):
        put(table, key)
    clock.at_ms += 2 * HOUR_MS
    on = tc.Table(table.access.with_options({"write-only": "false"}))
    put(on)
    assert ids(table) == [3, 4, 5, 6, 7]
    put(on)
    assert ids(table) == [5, 6, 7, 8]


def test_async_expiry_ends_the_same() -> None:
    table, _ = create(**KEEP_TWO, **{"snapshot.expire.execution-mode": "async"})
    for key in range(5):
        put(table, key)
        finish_maintenance()
    assert ids(table) == [4, 5]


def test_a_fault_that_nobody_foresaw_is_logged_where_nobody_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table, _ = create(**KEEP_TWO, **{"snapshot.expire.execution-mode": "async"})

    def fails(*_: Any) -> int:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(expire_effects, "delete_files", fails)
    for key in range(3):
        put(table, key)
        finish_maintenance()
    assert "the commit stands" in caplog.text
    assert "ZeroDivisionError: a fault of ours" in caplog.text
    monkeypatch.undo()
    put(table, 3)
    finish_maintenance()
    assert ids(table) == [3, 4]


def test_a_fault_is_logged_and_the_commit_stands(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table, _ = create(**KEEP_TWO)
    for key in range(2):
        put(table, key)

    def fails(*_: Any) -> int:
        raise StorageUnavailableError("the store did not answer", path="", reason="fault")

    monkeypatch.setattr(expire_effects, "delete_files", fails)
    put(table, 2)
    assert "expiring snapshots after it failed" in caplog.text
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == [0, 1, 2]
    monkeypatch.undo()
    put(table, 3)  # the next commit finishes what was begun
    assert ids(table) == [3, 4]


@pytest.mark.parametrize(("says", "left"), [("true", ["dt=2026-11-20"]), ("false", None)])
def test_empty_folders_go_where_the_table_says_so(
    says: str, left: list[str] | None, tmp_path: Path
) -> None:
    catalog = new_catalog(str(tmp_path))
    options = KEEP_TWO | {"snapshot.clean-empty-directories": says}
    table = catalog.create_table("d.t", SCHEMA, partition_by=("dt",), options=options)
    put(table, dt="2026-11-19")
    for _ in range(4):
        put(table, dt="2026-11-20", overwrite="table")
    folders = [path.name for path in (tmp_path / "d.db" / "t").glob("dt=*")]
    assert sorted(folders) == (left or ["dt=2026-11-19", "dt=2026-11-20"])


def test_snapshots_below_the_hint_go_when_others_are_due_and_not_before() -> None:
    table, clock = create()
    for key in range(4):
        put(table, key)
    # Paimon's fast-forward leaves the branch's hint on main; it reads what is below it
    table.access.storage.write(layout.hint_path("snapshot", "EARLIEST"), b"3")
    put(table, 4)
    assert ids(table) == [1, 2, 3, 4, 5]
    clock.at_ms += 2 * HOUR_MS
    for key in range(5, 15):
        put(table, key)
    assert min(ids(table)) > 3


def test_tags_are_made_before_their_snapshots_expire() -> None:
    table, clock = create(
        **{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"},
        **{"tag.automatic-creation": "process-time", "tag.num-retained-max": "2"},
        **{"tag.default-time-retained": "10 d"},
    )
    for day in range(4):
        for key in range(3):
            put(table, 10 * day + key, overwrite="table")
        clock.at_ms += 24 * HOUR_MS
    assert table.tags.list() == ["2026-11-21", "2026-11-22"]
    assert table.read(tag="2026-11-22").to_arrow()["k"].to_pylist() == [30]
    assert table.tags.get("2026-11-22").retained_ns == 10 * 24 * HOUR_MS * 1_000_000
    files = {i.path for i in table.access.storage.walk("") if "/data-" in i.path}
    assert len(files) == 3  # of the head, and one of each tag


@pytest.mark.parametrize(
    ("mode", "option", "zone", "name"),
    [
        ("watermark", "sink.watermark-time-zone", "UTC", "2026-11-20"),
        ("watermark", "sink.watermark-time-zone", "Asia/Kolkata", "2026-11-21"),
        ("watermark", "sink.process-time-zone", "Asia/Kolkata", "2026-11-20"),
        ("process-time", "sink.process-time-zone", "+05:30", "2026-11-21"),
        ("process-time", "sink.process-time-zone", "UTC-8", "2026-11-20"),
        ("process-time", "sink.process-time-zone", "+25:00", None),
        ("process-time", "sink.watermark-time-zone", "+05:30", "2026-11-20"),
        ("watermark", "sink.watermark-time-zone", "Mars/Base", None),
    ],
)
def test_tags_are_named_after_the_days_of_their_zone(
    mode: str, option: str, zone: str, name: str | None
) -> None:
    table, clock = create(**{"tag.automatic-creation": mode} | ({option: zone} if name else {}))
    if not name:  # another writer stored it: it stops no commit
        table = type(table)(table.access.with_options({option: zone}))
    clock.at_ms = NOON + (24 + 8) * HOUR_MS  # eight in the evening of the 21st in UTC
    put(table, commit=tc.CommitAs(watermark=clock.at_ms))
    assert table.tags.list() == ([name] if name else [])
    assert table.read().to_arrow().num_rows == 1


def test_the_watermark_that_ends_a_stream_makes_no_tag() -> None:
    table, _ = create(**{"tag.automatic-creation": "watermark"})
    put(table, commit=tc.CommitAs(watermark=2**63 - 1))
    assert (table.tags.list(), ids(table)) == ([], [1])


def test_tags_past_their_time_go_with_a_commit() -> None:
    for enabled, left in (("true", []), ("false", ["short"])):
        table, clock = create(**{"tag.time-expire-enabled": enabled})
        put(table)
        table.tags.create("short", time_retained="1 h")
        clock.at_ms += 2 * HOUR_MS
        put(table)
        assert table.tags.list() == left


def test_tags_are_read_again_only_when_one_changed_or_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, clock = create()
    put(table)
    table.tags.create("a", time_retained="2 h")
    put(table)
    read: list[str] = []
    tagged = expire_tags.tagged

    def counting(access: Any, name: str) -> Any:
        read.append(name)
        return tagged(access, name)

    monkeypatch.setattr(expire_tags, "tagged", counting)
    put(table)
    assert read == []
    table.tags.create("b", time_retained="1 h")
    put(table)
    assert sorted(set(read)) == ["a", "b"]
    clock.at_ms += HOUR_MS + 1
    put(table)
    assert table.tags.list() == ["a"]
    clock.at_ms += HOUR_MS
    put(table)
    assert table.tags.list() == []


def test_a_batch_write_moves_its_tag_on() -> None:
    table, clock = create(**{"tag.automatic-creation": "batch", "tag.num-retained-max": "2"})
    for day in range(3):
        put(table, day)
        put(table, day)
        if not day:
            table.tags.create("mine", snapshot=1)
        clock.at_ms += 24 * HOUR_MS
    assert table.tags.list() == ["batch-write-2026-11-21", "batch-write-2026-11-22", "mine"]
    assert table.tags.get("batch-write-2026-11-22").snapshot.id == 6


def test_partitions_are_looked_at_once_an_interval() -> None:
    options = {"partition.expiration-time": "2 d", "partition.expiration-check-interval": "1 h"}
    table, clock = create(partitioned=True, **options)
    table = tc.Table(replace(table.access, ids=Early()))
    put(table, dt="2026-11-01")
    assert table.read().to_arrow().num_rows == 1
    clock.at_ms += HOUR_MS
    put(table, dt="2026-11-20")
    assert table.read().to_arrow()["dt"].to_pylist() == ["2026-11-20"]
    assert table.latest_snapshot().commit_kind == "OVERWRITE"
    put(table, dt="2026-11-02")
    assert table.read().to_arrow().num_rows == 2
    clock.at_ms += HOUR_MS + 1
    put(table, dt="2026-11-20")
    assert set(table.read().to_arrow()["dt"].to_pylist()) == {"2026-11-20"}


def test_each_end_of_input_looks_at_partitions_where_the_table_says_so() -> None:
    options = {"partition.expiration-time": "2 d", "end-input.check-partition-expire": "true"}
    table, _ = create(partitioned=True, **options)
    put(table, dt="2026-11-20")
    put(table, dt="2026-11-01")
    assert table.read().to_arrow()["dt"].to_pylist() == ["2026-11-20"]


def test_consumers_that_stopped_no_longer_hold_snapshots() -> None:
    table, clock = create(**KEEP_TWO, **{"consumer.expiration-time": "1 h"})
    put(table)
    set_consumer(table.access, "stuck", 1)
    for key in range(4):
        put(table, key)
    assert ids(table) == [1, 2, 3, 4, 5]
    clock.at_ms = SystemClock().now_ms() + 2 * HOUR_MS  # files have the time of the store
    put(table)
    assert consumers(table.access) == {}
    assert ids(table) == [5, 6]


def test_a_commit_writes_the_hint_that_saves_the_next_a_listing() -> None:
    table, _ = create()
    put(table)
    assert table.access.storage.read(layout.hint_path("snapshot", "EARLIEST")) == b"1"


@pytest.mark.parametrize(("idle", "made"), [("1 ms", 1), ("1 d", 0)])
def test_a_commit_without_rows_lets_tags_by_watermark_go_on(idle: str, made: int) -> None:
    """``snapshot.watermark-idle-timeout``: a tag is made with a snapshot, and there is none else."""
    options = {"tag.automatic-creation": "watermark", "snapshot.watermark-idle-timeout": idle}
    catalog = new_catalog()
    table = catalog.create_table("d.t", pa.schema([("k", pa.int64())]), options=options)
    write_rows(table, pa.table({"k": [1]}))
    table.access.clock.sleep_ms(3)
    with table.write() as writer:
        assert len(writer.commit().snapshot_ids) == made
