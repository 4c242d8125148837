"""Goal: options of upkeep mean here what they mean to Apache Paimon.

Method: the same documents, values and options are given to both.  Mutants: a delay that is added; a period
or a zone too far; a letter of a date pattern read otherwise.
"""

from __future__ import annotations

import itertools
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge

import table_core as tc
from table_core.expire.partitions import partition_time
from table_core.ondisk import layout
from table_core.table.maintenance.auto_tags import make_due_tags
from tests.tables import write_rows

pytestmark = pytest.mark.interop

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False)])
HOUR_MS = 3_600_000
TAGS: list[dict[str, str]] = [
    {"creation-period": "daily"},
    {"creation-period": "daily", "period-formatter": "without_dashes"},
    {"creation-period": "daily", "creation-delay": "30 min", "num-retained-max": "3"},
    {"creation-period": "daily", "automatic-completion": "true"},
    {"creation-period": "hourly"},
    {"creation-period": "hourly", "period-formatter": "without_dashes"},
    {"creation-period": "hourly", "period-formatter": "without_dashes_and_spaces"},
    {"creation-period": "hourly", "creation-delay": "10 min", "default-time-retained": "2 d"},
    {"creation-period": "two-hours"},
    {"creation-period": "two-hours", "creation-delay": "90 min", "num-retained-max": "2"},
    {"creation-period-duration": "20 min"},
    {"creation-period-duration": "7 d", "automatic-completion": "true"},
]


@pytest.mark.parametrize("mode", ["process-time", "watermark"])
@pytest.mark.parametrize("number", range(len(TAGS)))
def test_the_same_snapshots_make_the_same_tags(
    number: int, mode: str, paimon: Judge, tmp_path: Path
) -> None:
    chance = random.Random(f"{mode} {number}")
    options = {f"tag.{name}": value for name, value in TAGS[number].items()}
    options |= {"tag.automatic-creation": mode, "write-only": "true"}
    options["snapshot.num-retained.min"] = "100"
    zone = chance.choice(["UTC", "Asia/Kolkata", "America/New_York", "+03:00"])
    options[f"sink.{'watermark' if mode == 'watermark' else 'process'}-time-zone"] = zone
    steps = [chance.choice([1, 7, 40, 61, 200, 1500]) * 60_000 for _ in range(14)]
    times = [1_780_000_000_000 + t for t in itertools.accumulate(steps)]
    made = {}
    for side in ("ours", "theirs"):
        catalog = tc.open_catalog((tmp_path / side).as_uri())
        catalog.create_database("default")
        table = catalog.create_table("default.t", SCHEMA, options=options)
        for key, at_ms in enumerate(times):
            write_rows(tc.open_table(table.uri), pa.table({"k": [key]}, schema=SCHEMA))
            path = layout.snapshot_path(key + 1)
            document = json.loads(table.access.storage.read(path))
            document |= {"timeMillis": at_ms} if mode == "process-time" else {"watermark": at_ms}
            if mode == "watermark" and key % 5 == 4:
                document["watermark"] = -(2**63)
            table.access.storage.write(path, json.dumps(document).encode())
            if key % 4 == 3:  # not each commit looks
                fresh = tc.open_table(table.uri)
                if side == "ours":
                    make_due_tags(fresh.access)
                else:
                    paimon.table(tmp_path / side, "default.t").keep("make_tags")
        tags = tc.open_table(table.uri).tags
        made[side] = {n: (t.snapshot.id, t.retained_ns) for n in tags for t in [tags.get(n)]}
    assert made["ours"] == made["theirs"]
    assert made["ours"]


PATTERNS = {
    "yyyyMMdd": ["20240131", "2024013", "20240231", "020240131", "20241301", "２０２４０１３１"],
    "yyyy-MM-dd": ["2024-01-31", "2024-1-31", "12024-01-31", "+12024-01-31", "-2024-01-31"],
    "uuuu-MM-dd": ["2024-02-30", "-024-01-31", "0000-01-31"],
    "y-M-d": ["2024-1-5", "24-1-5", "2024-01-05", "0-1-1", "-5-1-1"],
    "u/M/d": ["2024/1/5", "0/1/5"],
    "yyMMdd": ["240131", "990131", "2401"],
    "yyyyMMddHH": ["2024013107", "2024013124", "20240131"],
    "yyyyMMdd HH:mm": ["20240131 07:08", "20240131 7:08", "20240131 24:00"],
    "yyyy-MM-dd HH:mm:ss": ["2024-01-31 07:08:09", "2024-01-31 23:59:60"],
    "yyyy-MM-dd'T'HH:mm:ss.SSS": ["2024-01-31T07:08:09.123", "2024-01-31T07:08:09.12"],
    "yyyy-MM-dd HH:mm:ss.SSSSSSSSS": ["2024-01-31 07:08:09.123456789"],
    "yyyy-MM-dd[ HH[:mm]]": ["2024-01-31", "2024-01-31 05", "2024-01-31 05:06"],
    "yyyy-MM": ["2024-01"],
    "yyyyMM": ["202401"],
    "yyyy": ["2024"],
    "yyyyDDD": ["2024031", "2024366", "2023366", "202431"],
    "yyyy-D": ["2024-31", "2024-366"],
    "yyyyMMddHHmmssSSS": ["20240131070809123"],
    "yyyy-MM-dd''": ["2024-01-31'"],
    "dd.MM.yyyy": ["31.01.2024"],
    "yyyyM": ["20241", "202411"],
    "yyyyMd": ["202411", "20240131"],
    "yMMdd": ["20240131", "240131", "120240131"],
    "y-MM-d'T'H:m:s": ["2024-01-5T1:2:3", "2024-01-005T01:02:03"],
    "DDDyyyy": ["0312024"],
    "yyyy-MM-dd-yyyy": ["2024-01-31-2024", "2024-01-31-2025"],
    "HH yyyy-MM-dd": ["07 2024-01-31"],
    "yyyyMMdd[HH]": ["20240131", "2024013107"],
    "yyyy-MM-dd HHmm": ["2024-01-31 0708"],
}
DEFAULTS = [
    *("2024-01-31", "2024-1-3", "2024-13-01", "2024-02-31", "2024-00-10", "24-01-01"),
    *("2024-01-31 10:11:12", "2024-01-31 10:11:12.5", "2024-01-31 25:61:61", "2024-01-31 10"),
    *("02024-01-01", "-2024-01-01", "+2024-01-01", "2024-01-31T00:00:00", " 2024-01-31", ""),
    *("99999-01-01", "2024-01-31 ", "2024-1-1 1:1:1.123456789", "2024-01-31 10:11:12."),
]
SPLIT: list[tuple[str | None, str | None, dict[str, str]]] = [
    ("$dt $hr:00:00", "yyyyMMdd HH:mm:ss", {"dt": "20240131", "hr": "05"}),
    ("$y-$m-$d", None, {"y": "2024", "m": "1", "d": "31"}),
    ("$hour $h", None, {"h": "2024-01-31", "hour": "x"}),
    ("$h $hour:0:0", None, {"h": "2024-01-31", "hour": "7"}),
    ("$dt", None, {"dt": "$x", "x": "2024-01-31"}),
    ("$dt", None, {"x": "2024-01-31", "dt": "$x"}),
    ("2024-01-31", None, {"dt": "x"}),
    ("$x", None, {"dt": "2024-01-31"}),
    (None, None, {"dt": "2024-01-31", "hr": "x"}),
]


def test_partition_values_are_the_same_times(paimon: Judge, tmp_path: Path) -> None:
    cases = [(None, f, {"dt": text}) for f, texts in PATTERNS.items() for text in texts]
    cases += [(None, None, {"dt": text}) for text in DEFAULTS]
    cases += SPLIT
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("default")
    catalog.create_table("default.t", SCHEMA)
    asked = [
        {"pattern": p, "formatter": f, "keys": list(v), "values": list(v.values())}
        for p, f, v in cases
    ]
    told = paimon.table(tmp_path, "default.t").keep("partition_times", cases=asked)
    wrong = []
    for (pattern, formatter, texts), theirs in zip(cases, told, strict=True):
        found = partition_time(texts, pattern=pattern, formatter=formatter)
        if found != _time(theirs, lenient=formatter is None):
            wrong.append((pattern, formatter, texts, theirs, found))
    assert not wrong, "\n".join(map(str, wrong))


def _time(theirs: str, *, lenient: bool) -> datetime | None:
    """Nanoseconds are cut off.  Years that Python has not are none, or without a formatter its first or last moment."""
    if theirs.endswith("Exception"):
        return None
    if lenient and theirs.startswith(("-", "+")):
        return (datetime.min if theirs.startswith("-") else datetime.max).replace(tzinfo=UTC)
    head, _, fraction = theirs.partition(".")
    try:
        return datetime.fromisoformat(head + (f".{fraction[:6]}" if fraction else "")).replace(
            tzinfo=UTC
        )
    except ValueError:
        return None


def test_a_mark_is_the_same_document(paimon: Judge, tmp_path: Path) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("default")
    table = catalog.create_table("default.t", SCHEMA, partition_by=("k",))
    write_rows(table, pa.table({"k": [1]}, schema=SCHEMA))
    table.mark_done([{"k": 1}])
    mine: Any = json.loads(table.access.storage.read("k=1/_SUCCESS"))
    theirs = paimon.table(tmp_path, "default.t").keep("mark_done", name="k=1/")
    assert theirs["creationTime"] == mine["creationTime"] <= theirs["modificationTime"]
    assert mine.keys() == theirs.keys()
    assert table.mark_done([{"k": 1}]).details["marked"] == [
        {"path": "k=1/_SUCCESS", "again": True}
    ]
