"""A condition keeps what fails from rows: what AND or OR has settled is not computed, whatever lies in one file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import DataError
from table_core.table.api.table import Table
from tests.tables import new_catalog, write_rows

ROWS = pa.table(
    {
        "k": pa.array([0, 1, 2, 3], pa.int64()),
        "v": pa.array([10, None, 6, 3], pa.int64()),
        "s": ["x", "5", "7", None],
    },
    schema=pa.schema(
        [pa.field("k", pa.int64(), nullable=False), ("v", pa.int64()), ("s", pa.string())]
    ),
)
KINDS: dict[str, dict[str, Any]] = {
    "append": {"options": {}},
    "key": {"primary_key": ("k",), "options": {"bucket": "1"}},
    "bitmap": {"options": {"file-index.bitmap.columns": "s,k"}},
    "partitions": {"partition_by": ("k",), "options": {}},
}
GUARDED = {
    "k <> 0 AND v / k = 3": [2],
    "NOT (k = 0) AND v % k = 0": [2, 3],
    "k = 0 OR v / k = 3": [0, 2],
    "v IS NOT NULL AND s <> 'x' AND 10 / k = 5": [2],
    "s <> 'x' AND CAST(s AS INT) = 5": [1],
    "s = 'x' OR CAST(s AS INT) > 5": [0, 2],
    "NOT (s = 'x' OR CAST(s AS INT) > 5)": [1],
    "k IN (2, 3) AND (v / k = 3 OR v / k = 1)": [2, 3],
}


def made(kind: str) -> Table:
    table = new_catalog().create_table("d.t", ROWS.schema, **KINDS[kind])
    write_rows(table, ROWS)
    return table


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", GUARDED)
def test_a_guarded_condition_never_fails(where: str, kind: str) -> None:
    table = made(kind)
    assert sorted(table.read(where=where).to_arrow()["k"].to_pylist()) == GUARDED[where]
    assert table.delete(where).details["rows"] == len(GUARDED[where])
    left = sorted({0, 1, 2, 3} - set(GUARDED[where]))
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == left


def test_what_no_guard_keeps_away_is_an_error() -> None:
    for where in ("v / k = 3", "v / k = 3 AND k <> 0", "k <> 1 AND v / k = 3"):
        with pytest.raises(DataError, match="division by zero"):
            made("append").read(where=where).to_arrow()


def test_null_by_zero_is_null() -> None:
    table = made("append")
    assert table.read(where="v / (k - 1) > 0 OR k = 1").to_arrow()["k"].to_pylist() == [1, 2, 3]
    table.update({"v": "v % (k - 1)"}, "k = 1")
    assert table.read(where="k = 1").to_arrow()["v"].to_pylist() == [None]


def test_the_condition_of_a_clause_is_guarded() -> None:
    table = made("key")
    rows = pa.table({"k": [0, 2], "v": [1, 1]}, schema=ROWS.schema.remove(2))
    clause = tc.MatchedUpsert(
        values={"v": "source.v"}, condition="target.k <> 0 AND 4 / target.k = 2"
    )
    table.merge_into(source=rows, on=["k"], when=[clause])
    assert table.read(where="v = 1").to_arrow()["k"].to_pylist() == [2]
