"""Wall clocks and moments around a change of the hour: both sides, in both directions."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from table_core.datatypes.wall_clock import WallClock

HOUR = 3_600_000


def clock(zone: str) -> WallClock:
    def offset_ms(at_ms: int) -> int:
        at = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(zone))
        return int((at.utcoffset() or at - at).total_seconds() * 1000)

    return WallClock(offset_ms)


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"])
@pytest.mark.parametrize("day", ["2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01"])
def test_each_moment_of_a_day_comes_back_from_its_clock(zone: str, day: str) -> None:
    walls = clock(zone)
    for quarter in range(-8, 4 * 32):
        at = ms(f"{day}T00:00") + quarter * HOUR // 4
        moments = walls.moments(walls.shown(at))
        assert at in moments
        assert walls.moment(walls.shown(at)) == min(moments)
        assert walls.last_moment(walls.shown(at), at) == at


def test_an_hour_that_is_there_twice_has_two_moments() -> None:
    berlin = clock("Europe/Berlin")
    assert berlin.moments(ms("2026-10-25T02:30")) == (
        ms("2026-10-25T00:30"),
        ms("2026-10-25T01:30"),
    )
    assert berlin.last_moment(ms("2026-10-25T02:30"), ms("2026-10-25T00:40")) == ms(
        "2026-10-25T00:30"
    )


def test_an_hour_that_is_missing_is_taken_as_java_takes_it() -> None:
    berlin = clock("Europe/Berlin")
    assert berlin.moments(ms("2026-03-29T02:30")) == ()
    assert berlin.moment(ms("2026-03-29T02:30")) == ms("2026-03-29T01:30")
