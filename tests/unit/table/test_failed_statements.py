"""A statement that fails midway leaves no files of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.row_by_row import row_by_row
from tests.tables import new_catalog, write_rows

STATEMENTS: dict[str, Callable[[tc.Table], object]] = {
    "update": lambda table: table.update({"n": "CAST(t AS INT)"}, where="true"),
    "merge": lambda table: table.merge_into(
        pa.table({"t": ["1", "x"]}),
        ["t"],
        [tc.MatchedUpsert(values={"n": "CAST(target.t AS INT)"})],
    ),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_files_that_were_written_go(
    tmp_path: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row_by_row(monkeypatch)
    schema = pa.schema([("t", pa.string()), ("n", pa.int32())])
    table = new_catalog(str(tmp_path)).create_table("d.t", schema)
    for text in ("1", "x"):
        write_rows(table, pa.table({"t": [text], "n": [0]}, schema=schema))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(errors.TableError, match="x"):
        STATEMENTS[statement](table)
    assert sorted(tmp_path.rglob("*")) == before
