"""Partitions and files around a change of the hour: ages are lengths of time, not of wall clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

MINUTE = 60_000
SCHEMA = pa.schema([pa.field("p", pa.string()), ("v", pa.int64())])


@dataclass
class Wall:
    """A clock in a zone that a test sets."""

    zone: str
    at_ms: int

    def now_ms(self) -> int:
        return self.at_ms

    def local_offset_ms(self, at_ms: int) -> int:
        at = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(self.zone))
        offset = at.utcoffset()
        return 0 if offset is None else int(offset.total_seconds() * 1000)

    def sleep_ms(self, duration_ms: int) -> None:
        self.at_ms += duration_ms


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def on(clock: Wall) -> tc.Table:
    table = new_catalog().create_table("d.t", SCHEMA, partition_by=["p"])
    return tc.Table(replace(table.access, clock=clock))


def put(table: tc.Table, partition: str) -> None:
    write_rows(table, pa.table({"p": [partition], "v": [1]}, schema=SCHEMA))


@pytest.mark.parametrize("start", ["2026-03-29T00:50Z", "2026-10-25T00:10Z", "2026-10-25T01:10Z"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_a_partition_is_idle_after_its_time_and_not_before(zone: str, start: str) -> None:
    clock = Wall(zone, ms(start.replace("Z", "+00:00")))
    table = on(clock)
    put(table, "a")
    state = table.partition({"p": "a"})
    assert state is not None
    assert state.updated_ms == clock.at_ms
    clock.at_ms += 40 * MINUTE
    assert table.mark_done(idle_time="1 h").details["marked"] == []  # type: ignore[attr-defined]
    clock.at_ms += 35 * MINUTE
    assert len(table.mark_done(idle_time="1 h").details["marked"]) == 1  # type: ignore[attr-defined]


def test_rows_of_the_repeated_hour_after_a_mark_are_marked_again() -> None:
    clock = Wall("Europe/Berlin", ms("2026-10-25T00:05+00:00"))
    table = on(clock)
    put(table, "a")
    clock.at_ms += 62 * MINUTE
    assert len(table.mark_done(idle_time="1 h").details["marked"]) == 1  # type: ignore[attr-defined]
    clock.at_ms += 10 * MINUTE
    put(table, "a")
    clock.at_ms += 61 * MINUTE
    assert len(table.mark_done(idle_time="1 h").details["marked"]) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_dates_are_kept_as_paimon_keeps_them_and_it_is_said(legacy: str) -> None:
    table = new_catalog().create_table(
        "d.t",
        pa.schema([("dt", pa.date32()), ("v", pa.int64())]),
        partition_by=["dt"],
        options={"partition.legacy-name": legacy, "partition.expiration-time": "90 d"},
    )
    day = datetime(2020, 1, 1, tzinfo=UTC).date()
    write_rows(table, pa.table({"dt": [day], "v": [1]}, schema=table.arrow_schema))
    details = table.expire_partitions().details  # type: ignore[attr-defined]
    assert details["partitions"] == []
    assert details["undated"] == [{"dt": "2020-01-01"}]
    assert "update-time" in details["advice"]
    assert table.count() == 1
