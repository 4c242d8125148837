"""Old values as new types: the numbers that Paimon's Java gives (format 2.4), and both of its faults."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.cast import cast_array
from table_core.datatypes.cast_text import java_float_text
from table_core.datatypes.domain import domain_array, domain_values
from table_core.datatypes.temporal_text import (
    date_text,
    parse_date,
    parse_timestamp,
    time_text,
    timestamp_text,
)
from table_core.datatypes.text import parse_type, type_from_json
from table_core.errors import DataError

NAN, INF = float("nan"), float("inf")


def cast(values, source: str, target: str, **more):
    old, new = parse_type(source), parse_type(target)
    found = cast_array(domain_array(values, old), old, new, **more)
    assert found.type == arrow_type(new)
    return domain_values(found, new)


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        ("INT", "SMALLINT", [70000, -1, None], [4464, -1, None]),
        ("BIGINT", "TINYINT", [2**40 + 5, 200], [5, -56]),
        ("DOUBLE", "INT", [1.9, -1.9, NAN, INF, -1e20, None], [1, -1, 0, 2**31 - 1, -(2**31), None]),
        ("DOUBLE", "BIGINT", [1e30, -INF, 2.5], [2**63 - 1, -(2**63), 2]),
        ("DOUBLE", "TINYINT", [300.7, 1e20], [44, -1]),
        ("BIGINT", "DOUBLE", [2**53 + 1], [float(2**53)]),
        ("DOUBLE", "FLOAT", [1e300, 0.1], [INF, 0.10000000149011612]),
        ("DECIMAL(3,2)", "DECIMAL(3,1)", [Decimal("1.25"), Decimal("-1.25"), None], [Decimal("1.3"), Decimal("-1.3"), None]),
        ("DECIMAL(5,2)", "DECIMAL(3,2)", [Decimal("123.45"), Decimal("9.99")], [None, Decimal("9.99")]),
        ("DECIMAL(5,2)", "DECIMAL(4,1)", [Decimal("999.95"), Decimal("999.94")], [None, Decimal("999.9")]),
        ("DECIMAL(38,0)", "DECIMAL(38,10)", [Decimal(10**37), Decimal(5)], [None, Decimal(5)]),
        ("INT", "DECIMAL(4,2)", [99, 100, None], [Decimal(99), None, None]),
        ("BIGINT", "DECIMAL(38,18)", [2**63 - 1], [Decimal(2**63 - 1)]),
        ("DOUBLE", "DECIMAL(4,1)", [0.25, -0.25, 1e10, 1e-300], [Decimal("0.3"), Decimal("-0.3"), None, Decimal(0)]),
        ("DECIMAL(5,2)", "INT", [Decimal("1.99"), Decimal("-1.99")], [1, -1]),
        ("DECIMAL(38,0)", "BIGINT", [Decimal(2**64 + 7)], [7]),
        ("DECIMAL(5,2)", "DOUBLE", [Decimal("0.10")], [0.1]),
        ("BOOLEAN", "INT", [True, False, None], [1, 0, None]),
        ("BOOLEAN", "DECIMAL(3,1)", [True], [Decimal(1)]),
        ("INT", "BOOLEAN", [0, 7, None], [False, True, None]),
        ("BOOLEAN", "STRING", [True, None], ["true", None]),
        ("INT", "STRING", [-5, None], ["-5", None]),
        ("INT", "CHAR(3)", [5, 12345], ["5  ", "123"]),
        ("DOUBLE", "STRING", [1.0, 1e10, NAN, -INF, 0.001, 1.5e-7], ["1.0", "1.0E10", "NaN", "-Infinity", "0.001", "1.5E-7"]),
        ("FLOAT", "STRING", [0.1, 1e7], ["0.1", "1.0E7"]),
        ("DECIMAL(10,5)", "STRING", [Decimal("0.00001")], ["0.00001"]),
        ("DATE", "STRING", [0, -1], ["1970-01-01", "1969-12-31"]),
        ("TIME(3)", "STRING", [3_661_005], ["01:01:01.005"]),
        ("TIMESTAMP(3)", "STRING", [1_500_000_000, -1_000_000], ["1970-01-01 00:00:01.500", "1969-12-31 23:59:59.999"]),
        ("TIMESTAMP(0)", "STRING", [1_000_000_000], ["1970-01-01 00:00:01"]),
        ("BYTES", "STRING", [b"ab", None], ["ab", None]),
        ("STRING", "VARCHAR(2)", ["añb", "a"], ["añ", "a"]),
        ("STRING", "CHAR(3)", ["a", "abcd"], ["a  ", "abc"]),
        ("STRING", "BOOLEAN", ["TRUE", "n"], [True, False]),
        ("STRING", "INT", [" 12 ", "-7"], [12, -7]),
        ("STRING", "DOUBLE", ["1e3", "NaN"], [1000.0, None]),
        ("STRING", "DECIMAL(4,1)", ["1.25", "99999"], [Decimal("1.3"), None]),
        ("STRING", "DATE", ["2024-02-29"], [19782]),
        ("STRING", "TIMESTAMP(3)", ["1970-01-01 00:00:00.0019"], [1_000_000]),
        ("STRING", "BINARY(3)", ["a"], [b"a\0\0"]),
        ("BYTES", "VARBINARY(2)", [b"abc", b"", None], [b"ab", b"", None]),
        ("BYTES", "BINARY(2)", [b"a", None, b"abc"], [b"a\0", None, b"ab"]),
        ("DATE", "TIMESTAMP(6)", [-1, None], [-86_400_000_000_000, None]),
        ("TIMESTAMP(6)", "DATE", [-1_000, None], [-1, None]),
        ("TIMESTAMP(6)", "TIME(3)", [-1_000_000], [86_399_999]),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", [1_999_000, -1_000], [1_000_000, -1_000_000]),
        ("TIMESTAMP(6)", "TIMESTAMP(4)", [1_199_000], [1_100_000]),
        ("TIMESTAMP(3)", "TIMESTAMP(9)", [5_000_000], [5_000_000]),
        ("TIMESTAMP(3)", "BIGINT", [1_999_000_000, -1_000_000], [1, -1]),
        ("INT", "TIMESTAMP(3)", [5], [5_000_000_000]),
        ("TIME(0)", "TIMESTAMP(3)", [1000], [1_000_000_000]),
    ],
)  # fmt: skip
def test_values_become_what_java_makes_of_them(source, target, values, expected) -> None:
    found = cast(values, source, target)
    expected = [
        NAN if e is None and v == "NaN" else e for e, v in zip(expected, values, strict=True)
    ]
    assert [repr(v) if isinstance(v, float) else v for v in found] == [
        repr(v) if isinstance(v, float) else v for v in expected
    ]


@pytest.mark.parametrize(
    ("target", "text"),
    [("INT", "x"), ("INT", "99999999999"), ("DATE", "2023-02-29"), ("BOOLEAN", "2")],
)
def test_text_that_does_not_parse_is_an_error_with_its_row(target, text) -> None:
    with pytest.raises(DataError) as caught:
        cast(["1" if target != "DATE" else "2024-01-01", text], "STRING", target)
    assert (caught.value.facts["value"], caught.value.facts["row"]) == (text, 1)


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [("INT", "TINYINT", 300), ("DOUBLE", "INT", 1e20), ("DECIMAL(5,2)", "DECIMAL(3,2)", Decimal("123.45"))],
)  # fmt: skip
def test_a_strict_cast_refuses_what_does_not_fit(source, target, value) -> None:
    with pytest.raises(DataError):
        cast([value], source, target, strict=True)
    assert cast([value], source, target)


def test_nested_values_become_text() -> None:
    source = type_from_json(
        {"type": "MAP", "key": "STRING", "value": {"type": "ARRAY", "element": "DATE"}}
    )
    array = pa.array([[("a", [dt.date(1970, 1, 2), None])], None, []], arrow_type(source))
    found = cast_array(array, source, parse_type("STRING"))
    assert found.to_pylist() == ["{a -> [1970-01-02, null]}", None, "{}"]
    row = type_from_json(
        {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "DOUBLE"}, {"id": 1, "name": "y", "type": "STRING"}]}
    )  # fmt: skip
    rows = pa.array([{"x": 1.0, "y": "q"}, {"x": None, "y": None}], arrow_type(row))
    assert cast_array(rows, row, parse_type("STRING")).to_pylist() == ["{1.0, q}", "{null, null}"]


def test_slices_are_cast_as_slices() -> None:
    array = pa.array([1, 2, 300, None, 5], pa.int32()).slice(2)
    found = cast_array(array, parse_type("INT"), parse_type("TINYINT"))
    assert found.to_pylist() == [44, None, 5]
    decimals = pa.array([Decimal(n) for n in range(5)], pa.decimal128(20, 0)).slice(3)
    found = cast_array(decimals, parse_type("DECIMAL(20,0)"), parse_type("INT"))
    assert found.to_pylist() == [3, 4]
    found = cast_array(decimals, parse_type("DECIMAL(20,0)"), parse_type("DECIMAL(1,0)"))
    assert found.to_pylist() == [3, 4]


def test_dates_and_timestamps_in_text_go_both_ways() -> None:
    for days in (-719162, -1, 0, 19782, 2932896, 5_000_000, -800_000):
        assert parse_date(date_text(days)) == days
    assert (
        date_text(dt.date(2024, 2, 29).toordinal() - dt.date(1970, 1, 1).toordinal())
        == "2024-02-29"
    )
    for nanos in (-1, 0, 123_456_789, 10**18 + 1):
        assert parse_timestamp(timestamp_text(nanos, 9)) == nanos
    assert parse_timestamp("2024-01-01T00:00:00-01:30") == parse_timestamp("2024-01-01 01:30")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0"), (-0.0, "-0.0"), (123456.0, "123456.0"), (12345678.9, "1.23456789E7"), (5e-324, "4.9E-324"), (100.0, "100.0")],
)  # fmt: skip
def test_doubles_are_written_as_java_writes_them(value, text) -> None:
    assert java_float_text(value) == text


def test_the_least_float_is_written_as_java_writes_it() -> None:
    assert java_float_text(float(np.float32(1e-45)), single=True) == "1.4E-45"


@pytest.mark.parametrize(
    ("millis", "precision", "text"),
    [(0, 0, "00:00:00"), (0, 3, "00:00:00.0"), (120, 3, "00:00:00.12"), (103, 2, "00:00:00.10")],
)
def test_times_end_without_zeros(millis: int, precision: int, text: str) -> None:
    assert time_text(millis, precision) == text
