"""Partitions past their time (format 11.4), and the date patterns of Java."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from table_core.datatypes.date_parser import lenient_time, parser_of
from table_core.errors import UnsupportedFeatureError
from table_core.expire.partitions import (
    Partition,
    PartitionExpiry,
    partition_time,
    plan_partitions,
)
from table_core.options.table import TableOptions

DAY_MS = 86_400_000


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc]  # parts are year, month, day, ...


@pytest.mark.parametrize(
    ("texts", "pattern", "formatter", "time"),
    [
        ({"dt": "2024-01-31"}, None, None, at(2024, 1, 31)),
        ({"dt": "20240131"}, None, "yyyyMMdd", at(2024, 1, 31)),
        (
            {"dt": "20240131", "hr": "05"},
            "$dt $hr:00:00",
            "yyyyMMdd HH:mm:ss",
            at(2024, 1, 31, 5),
        ),
        ({"y": "2024", "m": "1", "d": "31"}, "$y-$m-$d", None, at(2024, 1, 31)),
        ({"hour": "07", "h": "x"}, "2024-01-01 $hour:00:00", None, at(2024, 1, 1, 7)),
        ({"h": "x", "hour": "07"}, "2024-01-01 $hour:00:00", None, None),  # xour
        ({"d": "19753"}, None, None, None),
        ({"dt": None}, None, None, None),
        ({"dt": "2024-01-31", "hr": None}, "$dt $hr:00:00", None, None),
        ({"dt": "$hr", "hr": "2024-01-01"}, "$dt", None, None),
    ],
)
def test_the_time_of_a_partition(
    texts: dict[str, str | None],
    pattern: str | None,
    formatter: str | None,
    time: datetime | None,
) -> None:
    assert partition_time(texts, pattern=pattern, formatter=formatter) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-1-5", at(2024, 1, 5)),
        ("2024-01-05 3:4:5", at(2024, 1, 5, 3, 4, 5)),
        ("2024-01-05 03:04:05.5", at(2024, 1, 5, 3, 4, 5, 500_000)),
        ("2024-13-32", at(2025, 2, 1)),
        ("2024-01-05 03:04", None),
        ("2024-01-05T03:04:05", None),
        ("99999999-01-01", datetime.max.replace(tzinfo=UTC)),
        ("", None),
    ],
)
def test_without_a_formatter_times_are_read_leniently(text: str, time: datetime | None) -> None:
    assert lenient_time(text) == time


@pytest.mark.parametrize(
    ("pattern", "text", "time"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSS", "2024-01-31 01:02:03.004", at(2024, 1, 31, 1, 2, 3, 4000)),
        ("yyyy/M/d", "2024/1/31", at(2024, 1, 31)),
        ("yyyy-MM-dd'T'HH", "2024-01-31T07", at(2024, 1, 31, 7)),
        ("yyyyMMddHHmmss", "20240131010203", at(2024, 1, 31, 1, 2, 3)),
        ("yyMMdd", "240131", at(2024, 1, 31)),
        ("yyyy-MM-dd[ HH:mm]", "2024-01-31", at(2024, 1, 31)),
        ("yyyy-MM-dd[ HH[:mm", "2024-01-31 05", at(2024, 1, 31, 5)),
        ("yyyy-MM-dd", "2023-02-31", at(2023, 2, 28)),
        ("yyyy-MM-dd", "2023-02-32", None),
        ("yyyy-MM-dd", "2023-00-01", None),
        ("yyyy-MM-dd", "2023-1-01", None),
        ("yyyy-MM", "2023-01", None),
        ("yyyy-MM-dd mm", "2023-01-01 05", None),
        ("yyyy-MM-dd''", "2023-01-01'", at(2023, 1, 1)),
        ("yyyy.MM.dd", "2023x01x01", None),
        ("yyyy-MM-dd", "9999-12-31", at(9999, 12, 31)),
        ("yyyy-MM-dd", "\uff12023-01-01", None),
        ("y-M-d", "24-001-5", at(24, 1, 5)),
        ("y-M-d", "99999-01-01", None),
        ("y-M-d", "0-01-01", None),
        ("yyyyMMddHH", "2024013124", at(2024, 2, 1)),
        ("yyyyMMdd HH:mm", "20240131 24:00", at(2024, 2, 1)),
        ("yyyyMMdd HH:mm", "20240131 24:01", None),
        ("yyyyM", "20241", None),
        ("yyyyMd", "202411", None),
        ("yMMdd", "20240131", at(2024, 1, 31)),
        ("yyyyDDD", "2024366", at(2024, 12, 31)),
        ("yyyyDDD", "2023366", None),
        ("yyyy-D", "2024-31", at(2024, 1, 31)),
    ],
)
def test_java_patterns(pattern: str, text: str, time: datetime | None) -> None:
    assert parser_of(pattern)(text) == time


@pytest.mark.parametrize(
    "pattern", ["EEE", "yyyy-MMM-dd", "a", "yyyyy", "yyyy-MM-dd]", "yyyy {", "yyyy '"]
)
def test_other_letters_are_refused_by_name(pattern: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="is not supported"):
        parser_of(pattern)


def partition(text: str | None, updated_ms: int | None = None) -> Partition:
    return Partition(row=(text or "").encode(), texts={"dt": text}, updated_ms=updated_ms)


NOW_MS = int(at(2024, 1, 10).timestamp() * 1000)


def test_older_than_the_limit_expires_and_exactly_as_old_does_not() -> None:
    plan = plan_partitions(
        [partition("2024-01-08"), partition("2024-01-07"), partition("2024-01-06")],
        PartitionExpiry(expiration_ms=3 * DAY_MS),
        now_local_ms=NOW_MS,
    )
    assert [p.texts["dt"] for p in plan.expired] == ["2024-01-06"]


def test_values_that_are_no_time_are_reported_and_stay() -> None:
    plan = plan_partitions(
        [partition("soon"), partition(None), partition("2020-01-01")],
        PartitionExpiry(expiration_ms=DAY_MS),
        now_local_ms=NOW_MS,
    )
    assert len(plan.expired) == 1
    assert [p.texts["dt"] for p in plan.undated] == ["soon", None]


def test_a_run_drops_the_first_by_value_text_and_in_batches() -> None:
    texts = ["2020-01-03", "2020-01-01", "2020-01-04", "2020-01-02"]
    plan = plan_partitions(
        map(partition, texts),
        PartitionExpiry(expiration_ms=DAY_MS, partitions_max=3, batch_max=2),
        now_local_ms=NOW_MS,
    )
    batches = [[p.texts["dt"] for p in batch] for batch in plan.batches()]
    assert batches == [["2020-01-01", "2020-01-02"], ["2020-01-03"]]
    assert plan.left == 1


def test_by_update_the_newest_file_counts() -> None:
    plan = plan_partitions(
        [partition("a", NOW_MS - 2 * DAY_MS), partition("b", NOW_MS), partition("c", None)],
        PartitionExpiry(expiration_ms=DAY_MS, by_update=True),
        now_local_ms=NOW_MS,
    )
    assert [p.texts["dt"] for p in plan.expired] == ["a"]
    assert [p.texts["dt"] for p in plan.undated] == ["c"]


def test_options_decide() -> None:
    assert PartitionExpiry.of(TableOptions.parse({})) is None
    options = {"partition.expiration-time": "7 d", "partition.expiration-strategy": "update-time"}
    expiry = PartitionExpiry.of(TableOptions.parse(options))
    assert expiry is not None
    assert (expiry.expiration_ms, expiry.by_update) == (7 * DAY_MS, True)
    options["partition.expiration-strategy"] = "custom"
    with pytest.raises(UnsupportedFeatureError):
        PartitionExpiry.of(TableOptions.parse(options))
