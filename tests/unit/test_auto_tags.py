"""Which tags a table makes by itself, and when.

Vectors: what Apache Paimon 2.0.0 names (``TagPeriodHandler``), and its rule that a tag is named after the
period that is over.  Mutants: the tag named after the running period; the delay added instead of
subtracted; completion that jumps.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from table_core.errors import OptionError
from table_core.expire.auto_tags import AutoTags, TagPeriod, batch_tag_name, is_batch_tag
from table_core.ondisk.snapshot import Snapshot
from table_core.options.table import TableOptions

HOUR_MS = 3_600_000
SNAPSHOT = Snapshot.from_json(
    b'{"version":3,"id":1,"schemaId":0,"baseManifestList":"a","deltaManifestList":"b",'
    b'"commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":0,'
    b'"totalRecordCount":0,"deltaRecordCount":0}',
    path="s",
)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def options(**given: str) -> TableOptions:
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in given.items()}
    return TableOptions.parse({"tag.automatic-creation": "process-time"} | named)


def auto(**given: str) -> AutoTags:
    found = AutoTags.of(options(**given))
    assert found is not None
    return found


def made(tags: AutoTags, *times: str, newest: str | None = None) -> list[tuple[str, int]]:
    snapshots = [replace(SNAPSHOT, id=i, time_millis=at(t)) for i, t in enumerate(times, 1)]
    return [(name, s.id) for name, s in tags.due(snapshots, newest, lambda ms: ms)]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "2026-11-21"),
        ({"tag__period_formatter": "without_dashes"}, "20261121"),
        ({"tag__creation_period": "hourly"}, "2026-11-21 05"),
        (
            {"tag__creation_period": "hourly", "tag__period_formatter": "without_dashes"},
            "20261121 05",
        ),
        (
            {
                "tag__creation_period": "hourly",
                "tag__period_formatter": "without_dashes_and_spaces",
            },
            "2026112105",
        ),
        (
            {"tag__creation_period": "two-hours", "tag__period_formatter": "without_dashes"},
            "2026-11-21 05",
        ),
        ({"tag__creation_period_duration": "20 min"}, "202611210540"),
    ],
)
def test_names_follow_period_and_formatter(given: dict[str, str], name: str) -> None:
    period = TagPeriod.of(options(**given))
    assert period.name(at("2026-11-21T05:40")) == name
    begin = period.begin(name)
    assert begin is not None
    assert period.name(begin) == name


DAY: dict[str, str] = {}
DAY_WITHOUT_DASHES = {"tag__period_formatter": "without_dashes"}
HOUR = {"tag__creation_period": "hourly"}
HOUR_OF_DIGITS = {**HOUR, "tag__period_formatter": "without_dashes_and_spaces"}
MINUTES = {"tag__creation_period_duration": "1 d"}


@pytest.mark.parametrize(
    ("given", "name", "begin"),
    [
        (DAY, "2024-02-29", "2024-02-29T00:00"),
        (DAY, "2024-01-31 ", "2024-01-31T00:00"),
        (DAY, "2024-01-31 25 x", "2024-01-31T00:00"),
        (DAY, "0001-01-01", "0001-01-01T00:00"),
        *((DAY, name, None) for name in (
            "", "mine", "2026-11", "x2026-11-21", "2026-11-21x", "20261121", " 2024-01-31", "2023-02-29",
            "2024-13-01", "2024-00-10", "2024-01-00", "1-01-01", "12024-01-01", "02024-01-01", "-2024-01-01",
            "\u0662\u0660\u0662\u0664-\u0660\u0661-\u0660\u0661",
        )),
        (DAY_WITHOUT_DASHES, "20240131", "2024-01-31T00:00"),
        (DAY_WITHOUT_DASHES, "20240131 99", "2024-01-31T00:00"),
        *((DAY_WITHOUT_DASHES, name, None) for name in (
            "20240230", "20241301", "10101", "120101", "202401311", "2024-01-31",
        )),
        (HOUR, "2024-01-31 05", "2024-01-31T05:00"),
        *((HOUR, name, None) for name in ("2024-01-31", "2024-01-31 24", "2024-01-31 5", "20240131 05")),
        (HOUR_OF_DIGITS, "2024013105", "2024-01-31T05:00"),
        *((HOUR_OF_DIGITS, name, None) for name in ("20240131", "20251231", "2024013124", "20240131 05")),
        (MINUTES, "202401310559", "2024-01-31T05:59"),
        *((MINUTES, name, None) for name in (
            "2024013105", "202401310560", "202401312400", "20240131", "202401310559 x",
        )),
    ],
)  # fmt: skip
def test_automatic_is_what_paimon_takes_for_a_tag_of_a_period(
    given: dict[str, str], name: str, begin: str | None
) -> None:
    """Vectors: ``isAutoTag`` of Apache Paimon 2.0.0."""
    assert TagPeriod.of(options(**given)).begin(name) == (None if begin is None else at(begin))


@pytest.mark.parametrize(
    ("name", "is_made"),
    [
        ("batch-write-2026-11-21", True),
        ("batch-write-2026-11-31", False),
        ("batch-write-12026-11-21", False),
        ("batch-write-2026-11-21 x", False),
        ("batch-write-mine", False),
    ],
)
def test_a_batch_write_makes_tags_of_days(name: str, is_made: bool) -> None:
    assert is_batch_tag(name) is is_made


def test_the_first_snapshot_of_a_day_makes_the_tag_of_the_day_before() -> None:
    times = ("2026-11-20T09:00", "2026-11-20T23:59", "2026-11-21T00:00", "2026-11-21T10:00")
    assert made(auto(), *times) == [("2026-11-19", 1), ("2026-11-20", 3)]


def test_a_week_is_a_period_of_seven_days() -> None:
    weekly = auto(tag__creation_period_duration="7 d")
    times = [f"2026-11-{day:02}T01:00" for day in range(1, 29)]
    names = [name for name, _ in made(weekly, *times)]
    begins = [weekly.period.begin(name) or 0 for name in names]
    assert [b - a for a, b in pairwise(begins)] == [7 * 24 * HOUR_MS] * 4


def test_a_delay_waits_for_late_rows() -> None:
    late = auto(tag__creation_delay="2 h")
    times = ("2026-11-21T00:30", "2026-11-21T01:59", "2026-11-21T02:00")
    assert made(late, *times, newest="2026-11-19") == [("2026-11-20", 3)]


def test_days_without_a_snapshot_have_no_tag_unless_completion_makes_them() -> None:
    times = ("2026-11-23T01:00", "2026-11-23T02:00", "2026-11-23T03:00", "2026-11-23T04:00")
    assert made(auto(), *times, newest="2026-11-19") == [("2026-11-22", 1)]
    completing = auto(tag__automatic_completion="true")
    assert made(completing, *times, newest="2026-11-19") == [
        ("2026-11-20", 1),
        ("2026-11-21", 2),
        ("2026-11-22", 3),
    ]


def test_watermarks_decide_where_they_are_asked_for() -> None:
    tags = AutoTags.of(TableOptions.parse({"tag.automatic-creation": "watermark"}))
    assert tags is not None
    snapshots = [
        replace(SNAPSHOT, id=i, time_millis=0, watermark=mark)
        for i, mark in enumerate((None, -(2**63), at("2026-11-21T00:10")), 1)
    ]
    found = [(n, s.id) for n, s in tags.due(snapshots, None, lambda ms: ms)]
    assert found == [("2026-11-20", 3)]


def test_only_automatic_tags_are_too_many() -> None:
    tags = auto(tag__num_retained_max="2")
    there = {"mine": 1, "2026-11-18": 2, "2026-11-20": 9, "2026-11-19": 5}
    assert tags.surplus(there) == ["2026-11-18"]
    assert auto().surplus(there) == []


def test_a_delay_as_long_as_a_period_is_refused() -> None:
    with pytest.raises(OptionError, match="shorter than the period"):
        auto(tag__creation_delay="1 d")


@pytest.mark.parametrize("mode", ["none", "batch"])
def test_other_modes_make_no_tags_by_period(mode: str) -> None:
    assert AutoTags.of(TableOptions.parse({"tag.automatic-creation": mode})) is None
    assert batch_tag_name(at("2026-11-21T10:00")) == "batch-write-2026-11-21"


def test_a_local_zone_moves_the_day() -> None:
    snapshots = [replace(SNAPSHOT, time_millis=at("2026-11-20T22:30"))]
    found = auto().due(snapshots, None, lambda ms: ms + 2 * HOUR_MS)
    assert [name for name, _ in found] == ["2026-11-20"]
