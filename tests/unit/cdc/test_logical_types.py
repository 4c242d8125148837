"""Each logical type is one row: what it makes of numbers, text and bytes, and its bound."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_core.cdc.model.encoding import Encoding, convert
from table_core.cdc.model.logical_type import LogicalType
from table_core.datatypes.text import parse_type

DAY, TIME = dt.date(1970, 1, 2), dt.time(0, 0, 1)
NOON = dt.datetime(1970, 1, 2, 12)
CASES: dict[LogicalType, list[tuple[Any, str, Any]]] = {
    LogicalType.PLAIN: [("12", "INT", 12), (True, "INT", 1), (1.5, "DOUBLE", 1.5)],
    LogicalType.RAW: [
        (b"\x01", "BYTES", b"\x01"),
        (Decimal("1.5"), "DECIMAL(3, 1)", Decimal("1.5")),
    ],
    LogicalType.DAYS: [(1, "DATE", DAY), ("1970-01-02", "DATE", DAY)],
    LogicalType.MILLIS: [(129_600_000, "TIMESTAMP(3)", NOON)],
    LogicalType.MICROS: [(129_600_000_000, "TIMESTAMP(6)", NOON)],
    LogicalType.NANOS: [(129_600_000_000_000, "TIMESTAMP(6)", NOON)],
    LogicalType.MOMENT: [(129_600_000, "TIMESTAMP(6)", NOON)],
    LogicalType.TIME: [(1_000_000, "TIME(0)", TIME), ("00:00:01Z", "TIME(0)", TIME)],
    LogicalType.TIME_MILLIS: [(1000, "TIME(0)", TIME), (-1500, "STRING", "-00:00:01.5")],
    LogicalType.TIME_MICROS: [(1_000_000, "TIME(0)", TIME), (1_000_000, "STRING", "00:00:01")],
    LogicalType.TIME_NANOS: [(1_000_000_000, "TIME(0)", TIME), ("1:2Z", "STRING", "1:2")],
    LogicalType.BASE64: [("AQI=", "BYTES", b"\x01\x02")],
    LogicalType.HEX: [("0102", "BYTES", b"\x01\x02")],
    LogicalType.LATIN1: [("\xe4", "BYTES", b"\xe4")],
    LogicalType.BITS: [("AQI=", "BYTES", b"\x02\x01")],
    LogicalType.BIT_NUMBER: [("258", "BYTES", b"\x01\x02")],
    LogicalType.SET: [("a,b", "ARRAY<STRING>", ["a", "b"]), ("a,b", "STRING", "a,b")],
    LogicalType.UUID: [(bytes(16), "STRING", str(uuid.UUID(int=0))), ("x", "STRING", "x")],
    LogicalType.ADDRESS: [(bytes([127, 0, 0, 1]), "STRING", "127.0.0.1")],
    LogicalType.ZONED: [("1970-01-02 12:00:00+00", "TIMESTAMP(6)", NOON)],
    LogicalType.ISO: [("1970-01-02Z", "DATE", DAY)],
    LogicalType.DECIMAL: [("1.5", "DECIMAL(3, 1)", Decimal("1.5"))],
    LogicalType.UNSCALED: [
        ("BOI=", "DECIMAL(5, 2)", Decimal("12.50")),
        ("BOI=", "STRING", "12.50"),
        (12, "DECIMAL(5, 2)", Decimal("12.00")),
    ],
    LogicalType.UNSIGNED: [
        (-1, "DECIMAL(20, 0)", Decimal(2**64 - 1)),
        (Decimal(-1), "DECIMAL(20, 0)", Decimal(2**64 - 1)),
    ],
}


def test_each_has_a_row() -> None:
    assert CASES.keys() == set(LogicalType)
    assert all(logical_type.meaning for logical_type in LogicalType)


@pytest.mark.parametrize(
    ("logical_type", "value", "type_", "meant"),
    [(kind, *case) for kind, cases in CASES.items() for case in cases],
)
def test_values_become_what_they_mean(
    logical_type: LogicalType, value: Any, type_: str, meant: Any
) -> None:
    column = convert(pa.array([value, None]), Encoding(logical_type, 2), parse_type(type_))
    assert column.to_pylist() == [meant, None]


@pytest.mark.parametrize("logical_type", LogicalType)
def test_numbers_are_refused_by_those_that_have_none(logical_type: LogicalType) -> None:
    meaning = logical_type.meaning
    if meaning.of_numbers is None and meaning.of_others is None:
        with pytest.raises(ValueError, match="expected text, not int64"):
            logical_type.meant(pa.array([1]), 0)


def test_the_bounds_are_the_year_10000_and_839_hours() -> None:
    year, day = 253_402_300_800_000, 86_400_000
    assert {t.name: t.meaning.beyond for t in LogicalType if t.meaning.beyond is not None} == {
        "MILLIS": year,
        "MICROS": year * 1000,
        "TIME_MILLIS": day,
        "TIME_MICROS": 839 * 3_600_000_000,
    }
