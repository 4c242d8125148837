"""A value inside of a nested one is written without loss, or refused with its row, as one by itself is."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import DataError
from table_core.table.write.coerce import cast_column

AT, DAY = dt.datetime(2026, 1, 2, 3, 4), dt.datetime(2026, 1, 2)
MOMENTS = pa.list_(pa.timestamp("us"))
NUMBERS = pa.map_(pa.string(), pa.float64())
ROW = pa.struct([("a", pa.float64()), ("b", pa.list_(pa.float64()))])
CASES = [
    ("ARRAY<DATE>", MOMENTS, [[DAY], None, [DAY, DAY]], [AT]),
    ("ARRAY<DATE NOT NULL>", MOMENTS, [[DAY], None, []], [DAY, AT]),
    ("ARRAY<FLOAT>", pa.list_(pa.float64(), 2), [[1.0, None], None], [1.0, 1e300]),
    ("MAP<STRING, DECIMAL(5, 2)>", NUMBERS, [[("a", 0.5)], None, []], [("a", 0.5), ("b", 0.126)]),
    ("MAP<DECIMAL(5, 2), INT>", pa.map_(pa.float64(), pa.int32()), [[(0.5, 1)]], [(0.126, 1)]),
    (
        "ROW<a FLOAT, b ARRAY<DECIMAL(5, 2)>>",
        ROW,
        [None, {"a": 1, "b": [0.5]}],
        {"a": 1, "b": [0.126]},
    ),
    ("ARRAY<ARRAY<FLOAT>>", pa.list_(pa.list_(pa.float64())), [[[1.0], None], []], [[], [1e300]]),
]


@pytest.mark.parametrize(("type_", "have", "fits", "lost"), CASES)
def test_what_fits_is_kept_and_what_does_not_is_refused_by_its_row(
    type_: str, have: pa.DataType, fits: list[Any], lost: Any
) -> None:
    field = Field(0, "c", parse_type(type_))
    good = pa.array([*fits, *fits], have)
    assert cast_column(field, pa.chunked_array([good, good.slice(1)])).null_count == (
        good.null_count + good.slice(1).null_count
    )
    bad = pa.array([*fits, lost, *fits], have)
    column = pa.chunked_array([good.slice(1), bad])
    with pytest.raises(DataError) as raised:
        cast_column(field, column)
    assert raised.value.facts["row"] == len(good) - 1 + len(fits)
