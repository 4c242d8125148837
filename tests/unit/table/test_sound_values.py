"""Goal: what is written can be read: text that is no UTF-8 and decimals of too many digits are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import DataError
from tests.tables import new_catalog, write_rows


def texts(*values: bytes | None) -> pa.Array:
    """Text of any bytes, as other programs may hand it over."""
    found = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(found), found.buffers())


def decimals(*values: int) -> pa.Array:
    words = np.array([[value, 0] for value in values], np.int64)
    return pa.Array.from_buffers(pa.decimal128(5, 2), len(values), [None, pa.py_buffer(words)])


BAD = texts(b"a", None, b"b\xff", b"z")
LISTS = pa.ListArray.from_arrays(pa.array([0, 1, 3, 4, 4], pa.int32()), BAD)


@pytest.mark.parametrize(
    ("column", "row", "shown"),
    [
        (BAD, 2, "0x62FF"),
        (texts(b"a", b"b", b"c", b"c\xc3", b"d"), 3, "0x63C3"),
        (texts(b"\xed\xa0\x80"), 0, "0xEDA080"),
        (texts(b"a", b"\x80" * 50, b"z"), 1, f"0x{'80' * 40}"),
        (decimals(1, 100_000, 2), 1, "1000.00"),
        (LISTS, 1, "a value in it"),
        (pa.StructArray.from_arrays([BAD], ["s"]), 2, "a value in it"),
        (
            pa.MapArray.from_arrays(LISTS.offsets, pa.array([1, 2, 3, 4]), BAD),
            1,
            "a value in it",
        ),
    ],
)
@pytest.mark.parametrize("stats", ["full", "none"])
@pytest.mark.parametrize("kind", ["append", "key"])
def test_a_value_that_no_reader_takes_is_refused(
    column: pa.Array, row: int, shown: str, stats: str, kind: str
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("c", column.type)])
    options = {"metadata.stats-mode": stats, "bucket": "1", "bucket-key": "id"}
    how: Any = {"primary_key": ("id",)} if kind == "key" else {}
    table = new_catalog().create_table("d.t", schema, options=options, **how)
    rows = pa.table({"id": range(len(column)), "c": column}, schema=schema)
    with pytest.raises(DataError, match=rf"column 'c', row {row}: .* is no ") as raised:
        write_rows(table, rows)
    facts = raised.value.facts
    assert (facts["column"], facts["row"], facts["value"]) == ("c", row, shown)
    assert not table.snapshots()


def test_other_text_is_taken_also_in_slices() -> None:
    table: tc.Table = new_catalog().create_table("d.t", pa.schema([("c", pa.string())]))
    column = pa.chunked_array([BAD.slice(0, 2), texts(b"\xff", "é".encode(), b"").slice(1)])
    write_rows(table, pa.table({"c": column}))
    assert sorted(map(str, table.read().to_arrow()["c"].to_pylist())) == ["", "None", "a", "é"]
