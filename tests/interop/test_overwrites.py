"""Goal: after our overwrite Apache Paimon reads the new rows and nothing else, and writes on.

Method: tables with history are overwritten, once by rows that fit in one file a bucket, once by
several files that overlap; both sides read, Paimon writes on top, both read again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judge import Judge, agree, agree_rows, judged
from shapes import SHAPES, Model, Shape, batch

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

NAME = "default.t"
NAMES = ("dedup", "dedup-partitioned", "first", "lookup", "vectors", "lookup-aggregation")
CHOSEN = [shape for shape in SHAPES if shape.name in NAMES]


def inserts(seed: int) -> Any:
    return batch(Shape("plain", {}, ("id",), deletes=False), seed)


@pytest.mark.parametrize("shape", CHOSEN, ids=lambda s: s.name)
@pytest.mark.parametrize("buffer", ["64 mb", "1 kb"], ids=["one-file", "overlapping-files"])
def test_an_overwrite_leaves_only_its_rows(
    shape: Shape, buffer: str, paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    table, theirs = shape.create(catalog, NAME), paimon.table(tmp_path, NAME)
    for seed in range(3):
        write_rows(table, batch(shape, seed))
    model = Model(shape)
    small = tc.open_table(table.uri, options={"write-buffer-size": buffer})
    with small.write(overwrite="table") as writer:
        for seed in (7, 8):
            writer.write(inserts(seed))
            model.take(inserts(seed))
        writer.commit()
    agree_rows(model.state(), theirs.read())
    agree(catalog.table(NAME).read().to_arrow(), model.state())
    theirs.write(judged(batch(shape, 9)))
    model.take(batch(shape, 9))
    agree_rows(model.state(), theirs.read())
    agree(catalog.table(NAME).read().to_arrow(), model.state())
