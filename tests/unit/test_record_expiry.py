"""Rows that a compaction leaves out because they are too old."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import OptionError
from table_core.merge.record_expiry import RecordExpiry
from tests.merge_rows import kv, plain, schema_of, with_options

NOW = 2_000_000_000_000
OPTIONS = {"record-level.expire-time": "10 s", "record-level.time-field": "at"}


def at(seconds: float) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=NOW // 1000 + seconds)


@pytest.mark.parametrize(
    ("type_", "stays", "goes"),
    [
        ("INT", 1_999_999_990, 1_999_999_989),
        ("BIGINT", 1_999_999_990, 1_999_999_989),
        ("BIGINT", 1_999_999_990_000, 1_999_999_989_999),
        ("TIMESTAMP(3)", at(-10), at(-10.001)),
        ("TIMESTAMP(6)", at(-10), at(-10.001)),
        ("TIMESTAMP(0)", at(-10), at(-11)),
    ],
)
def test_a_row_goes_once_its_time_has_passed(type_: str, stays: Any, goes: Any) -> None:
    schema = with_options(schema_of({"k": "INT NOT NULL", "at": type_}), OPTIONS)
    expiry = RecordExpiry.of(schema)
    assert expiry is not None
    rows = kv(schema, [("+I", 1, stays), ("+I", 2, goes), ("+I", 3, None)])
    assert [k for _, k, _ in plain(expiry.kept(rows, NOW))] == [1, 3]
    times = rows["at"]
    assert [expiry.holds_expired(times[i], NOW) for i in range(3)] == [False, True, False]


def test_nothing_is_asked_for_by_default() -> None:
    assert RecordExpiry.of(schema_of({"k": "INT NOT NULL"})) is None


@pytest.mark.parametrize("field", [None, "gone", "k"])
def test_a_wrong_time_field_is_refused(field: str | None) -> None:
    options = {"record-level.expire-time": "10 s"} | (
        {} if field is None else {"record-level.time-field": field}
    )
    with pytest.raises(OptionError, match=r"record-level\.time-field"):
        RecordExpiry.of(with_options(schema_of({"k": "STRING NOT NULL"}), options))


def test_nanoseconds_count_too() -> None:
    expiry = RecordExpiry("at", 10)
    column = pa.array([(NOW // 1000 - 10) * 10**9 - 1, (NOW // 1000 - 10) * 10**9], pa.int64())
    rows = pa.table({"at": column.view(pa.timestamp("ns"))})
    assert expiry.kept(rows, NOW).num_rows == 1
