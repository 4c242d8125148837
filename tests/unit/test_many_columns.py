"""Work for each column of a table does not look at all others."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_core.schema import members
from tests.tables import new_catalog, write_rows


def test_columns_are_found_by_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only members of ROWs are looked for."""
    schema = pa.schema(
        [("a", pa.int64()), ("s", pa.struct([("b", pa.int64())])), ("c", pa.int64())]
    )
    table = new_catalog().create_table("d.t", schema)
    write_rows(table, pa.table({"a": [1], "s": [{"b": 2}], "c": [3]}, schema=schema))
    looked: list[str] = []
    real = members._path
    monkeypatch.setattr(
        members, "_path", lambda fields, name: looked.append(name) or real(fields, name)
    )
    assert table.read().to_arrow().num_rows == 1
    assert table.read(columns=["c", "a"]).to_arrow().to_pylist() == [{"c": 3, "a": 1}]
    assert looked == []
    assert table.read(columns=["s.b", "a"]).to_arrow().to_pylist() == [{"s.b": 2, "a": 1}]
    assert {*looked} == {"s.b", "b"}
