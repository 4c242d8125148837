"""NULL inside of nested values: refused where a part takes none, and taken where the whole is NULL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import DataError
from tests.tables import new_catalog, write_rows

ROW = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.int32()))])
INTS = pa.list_(pa.int32())
ROWS = pa.list_(pa.struct([("a", pa.int32())]))
STRICT_INTS = pa.list_(pa.field("element", pa.int32(), nullable=False))
MAP = pa.map_(pa.string(), pa.int32())


def with_missing_members() -> pa.StructArray:
    """The second row is NULL, and so are its members, as Spark and DuckDB hand them over."""
    members = [pa.array([1, None, 3], pa.int32()), pa.array([[1], None, []], INTS)]
    return pa.StructArray.from_arrays(
        members, fields=list(ROW), mask=pa.array([False, True, False])
    )


def written(type_: str, column: pa.Array) -> list[Any]:
    table = new_catalog().create_table("d.t", (Field(0, "c", parse_type(type_)),))
    write_rows(table, pa.table({"c": column}))
    values: list[Any] = table.read().to_arrow()["c"].to_pylist()
    return values


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_row_that_is_null_has_no_members_to_ask(first: int) -> None:
    column = with_missing_members().slice(first)
    found = written("ROW<a INT NOT NULL, b ARRAY<INT NOT NULL> NOT NULL>", column)
    assert found == column.to_pylist()


def test_rows_that_are_all_null_but_in_lists() -> None:
    column = pa.array([[None], None, []], ROWS)
    assert written("ARRAY<ROW<a INT NOT NULL>>", column) == [[None], None, []]


@pytest.mark.parametrize(
    ("type_", "column"),
    [
        ("ARRAY<INT NOT NULL>", pa.array([[1], None, [2, None]], INTS)),
        ("ARRAY<INT NOT NULL>", pa.array([[1], None, [2, None]], STRICT_INTS)),
        ("ARRAY<BIGINT NOT NULL>", pa.array([[1], None, [2, None]], INTS)),
        ("ARRAY<INT NOT NULL>", pa.array([[None], [1], None, [2, None]], INTS)[1:]),
        ("MAP<STRING, INT NOT NULL>", pa.array([[("x", 1)], None, [("y", None)]], MAP)),
        ("ROW<a INT NOT NULL, b ARRAY<INT>>", pa.array([{"a": 1}, None, {"b": []}], ROW)),
        ("ARRAY<ROW<a INT NOT NULL>>", pa.array([[], [None], [{"a": 1}, {"a": None}]], ROWS)),
        ("ARRAY<ROW<a INT> NOT NULL>", pa.array([[], [{"a": None}], [None]], ROWS)),
    ],
)
def test_a_null_where_a_part_takes_none_is_refused(type_: str, column: pa.Array) -> None:
    with pytest.raises(DataError, match="does not fit") as refused:
        written(type_, column)
    assert (refused.value.facts["column"], refused.value.facts["row"]) == ("c", 2)
