"""Goal: after our DELETE and UPDATE Apache Paimon reads what SQL says should be there.

Method: tables of several shapes with history; each statement is applied to a list of rows as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judge import Judge, agree, agree_rows
from shapes import SHAPES, Model, Shape, batch

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

NAME = "default.t"
NAMES = (
    "append",
    "append-partitioned",
    "append-buckets",
    "dedup-partitioned",
    "partial",
    "vectors-lookup",
    "dynamic",
)
CHOSEN = [shape for shape in SHAPES if shape.name in NAMES]
QTY = 3  # cell of a judged row


@pytest.mark.parametrize("shape", CHOSEN, ids=lambda s: s.name)
def test_statements_leave_what_sql_says(shape: Shape, paimon: Judge, tmp_path: Path) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    table, theirs, model = shape.create(catalog, NAME), paimon.table(tmp_path, NAME), Model(shape)
    for seed in range(3):
        rows = batch(shape, seed)
        model.take(rows)
        write_rows(table, rows)
    want: list[list[Any]] = model.state()
    table.delete("qty < 0 AND region <> 'north'")
    want = [r for r in want if not (r[QTY] is not None and r[QTY] < 0 and r[2] != "north")]
    agree_rows(want, theirs.read())
    table.update({"qty": "qty * 2", "note": "'seen'"}, "qty > 50")
    want = [
        [*r[:QTY], r[QTY] * 2, *r[QTY + 1 : 9], "seen", r[10]]
        if r[QTY] is not None and r[QTY] > 50
        else r
        for r in want
    ]
    agree_rows(want, [["+I", *cells] for _, *cells in theirs.read()])  # Paimon shows +U as stored
    agree(catalog.table(NAME).read().to_arrow(), want)
    table.delete("qty < -1000")
    assert table.delete("true").details["rows"] == len(want)
    assert theirs.read() == []
