"""Computed columns give what Paimon's functions of the same names give."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_core.cdc.model.computed import computed_columns
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError, TableError

AT = dt.datetime(2024, 2, 9, 15, 4, 5, 678901)
MIDNIGHT = dt.datetime(1969, 12, 31, 0, 0, 0)


def computed(text: str, type_: str, *values: Any) -> list[Any]:
    """What the column gives for each of ``values`` of a column ``v``, and null for null."""
    (column,) = computed_columns([f"c={text}"])
    field = Field(0, "v", parse_type(type_))
    rows = pa.table({"v": pa.array([*values, None], arrow_type(field.type))})
    wanted = column.field([field]).type
    found = column.values(rows, wanted, 0)
    assert found.type == arrow_type(wanted)
    *given, null = found.to_pylist()
    assert null is None
    return given


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("yyyy-MM-dd HH:mm:ss", ["2024-02-09 15:04:05", "1969-12-31 00:00:00"]),
        ("yyyyMMdd", ["20240209", "19691231"]),
        ("yy/M/d", ["24/2/9", "69/12/31"]),
        ("H:m:s", ["15:4:5", "0:0:0"]),
        ("hh a", ["03 PM", "12 AM"]),
        ("SSS", ["678", "000"]),
        ("ss.SSSSSS", ["05.678901", "00.000000"]),
        ("DDD", ["040", "365"]),
        ("EEE d MMM uuuu", ["Fri 9 Feb 2024", "Wed 31 Dec 1969"]),
        ("'EEEE, MMMM'", ["Friday, February", "Wednesday, December"]),
        ("'Q'Q", ["Q1", "Q4"]),
        ("'it''s' yyyy", ["it's 2024", "it's 1969"]),
        ("yyyy%HH''", ["2024%15'", "1969%00'"]),
        ("'yyyy''T''HH'", ["2024T15", "1969T00"]),
        ("yyyy[-MM] [HH", ["2024-02 15", "1969-12 00"]),
    ],
)
def test_patterns_of_dates(pattern: str, wanted: list[str]) -> None:
    assert computed(f"date_format(v, {pattern})", "TIMESTAMP(6)", AT, MIDNIGHT) == wanted


@pytest.mark.parametrize(
    ("text", "type_", "given", "wanted"),
    [
        ("year(v)", "DATE", dt.date(1969, 12, 31), 1969),
        ("hour(v)", "DATE", dt.date(2024, 1, 1), 0),
        ("month(v)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", dt.datetime(2024, 3, 1, tzinfo=dt.UTC), 3),
        ("day(v)", "STRING", "2024-02-29 01:02:03.5", 29),
        ("minute(v)", "BIGINT", 90, 1),
        ("second(v, 3)", "BIGINT", 1_500, 1),
        ("second(v, 6)", "BIGINT", -1, 59),
        ("date_format(v, yyyy, 9)", "BIGINT", 1_700_000_000_000_000_000, "2023"),
        ("substring(v, 1)", "STRING", "ünïq", "nïq"),
        ("substring(v, 1, 3)", "STRING", "ünïq", "nï"),
        ("substring(v, 0, 2)", "INT", 1234, "12"),
        ("truncate(v, 10)", "INT", -1, -10),
        ("truncate(v, 10)", "BIGINT", 2**63 - 1, 2**63 - 8),
        ("truncate(v, 50)", "DECIMAL(10, 2)", Decimal("-10.65"), Decimal("-11.00")),
        ("truncate(v, 50)", "DECIMAL(10, 2)", Decimal("10.65"), Decimal("10.50")),
        ("truncate(v, 3)", "VARCHAR(10)", "abcdef", "abc"),
        ("upper(v)", "STRING", "straße", "STRASSE"),
        ("lower(v)", "STRING", "ÄB", "äb"),
        ("trim(v)", "STRING", " \t a b \n\u00a0", "a b \n\u00a0"),
    ],
)  # fmt: skip
def test_functions(text: str, type_: str, given: Any, wanted: Any) -> None:
    assert computed(text, type_, given) == [wanted]


def test_constants_need_no_column() -> None:
    rows = pa.table({"v": [1, 2]})
    for text, wanted in (
        ("cast(12.5, DECIMAL(5, 2))", Decimal("12.50")),
        ("cast(2024-01-02, DATE)", dt.date(2024, 1, 2)),
        ("cast('a b')", "a b"),
        ("now()", dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.UTC)),
    ):
        (column,) = computed_columns([f"c={text}"])
        found = column.values(rows, column.field([]).type, 5000)
        assert found.to_pylist() == [wanted, wanted], text


def test_a_cast_of_a_column_is_refused_and_not_taken_for_its_name() -> None:
    rows = pa.table({"v": ["2026-01-05T10:00:00"]})
    (of_column,) = computed_columns(["c=cast(v, DATE)"])
    with pytest.raises(ArgumentError, match="'v' is a column: write date_format"):
        of_column.values(rows, of_column.field([]).type, 0)
    (quoted,) = computed_columns(["c=cast('v')"])
    assert quoted.values(rows, quoted.field([]).type, 0).to_pylist() == ["v"]


@pytest.mark.parametrize(
    "text",
    [
        "year", "c=year()", "c=year(v, 4)", "c=year(v, seconds)", "c=soundex(v)", "c=now(v)",
        "c=date_format(v)", "c=date_format(v, yyyy-ww)", "c=date_format(v, yyyy'x)", "c=date_format(v, yyyy])", "c=date_format(v, yyyy#)",
        "c=date_format(v, MMMMM)", "c=substring(v)", "c=substring(v, -1)", "c=substring(v, 3, 3)",
        "c=substring(v, a)", "c=truncate(v)", "c=truncate(v, x)", "c=upper(v, 1)",
        "c=cast()", "c=cast(1, NUMBER)",
    ],
)  # fmt: skip
def test_what_no_function_takes_is_refused_before_a_row_is_read(text: str) -> None:
    with pytest.raises(TableError):
        computed_columns([text])[0].field([Field(0, "v", parse_type("STRING"))])


def test_truncate_of_a_double_is_refused() -> None:
    with pytest.raises(ArgumentError, match="whole numbers, decimals and text"):
        computed("truncate(v, 10)", "DOUBLE", 1.5)
