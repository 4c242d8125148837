"""Goal: ``rowkind.field`` means to us what it means to the jar, whoever writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from judge import Judge, judged

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

COLUMNS = [("k", "INT NOT NULL"), ("op", "STRING"), ("v", "STRING")]
BATCHES = (
    [(1, "+I", "a"), (2, "+I", "b"), (3, "+I", "c")],
    [(1, "-U", "a"), (1, "+U", "a2"), (2, "-D", "b"), (4, "-D", "x")],
    [(2, "+I", "b3"), (3, "+U", "c3"), (4, "+I", "d3"), (1, "-D", "a2")],
)


@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_kinds_come_from_the_column(producer: str, paimon: Judge, tmp_path: Path) -> None:
    theirs = paimon.table(tmp_path, "default.t")
    options = {"rowkind.field": "op", "changelog-producer": producer, "bucket": "1"}
    theirs.create(
        COLUMNS,
        primary_key=["k"],
        **{key.replace(".", "__").replace("-", "_"): text for key, text in options.items()},
    )
    catalog = tc.open_catalog(tmp_path.as_uri())
    for own, rows in zip((True, False, True), BATCHES, strict=True):
        if not own:
            theirs.write([["+I", *row] for row in rows])
            continue
        write_rows(
            catalog.table("default.t"),
            pa.Table.from_pylist(
                [dict(zip(["k", "op", "v"], row, strict=True)) for row in rows],
                catalog.table("default.t").arrow_schema,
            ),
        )
    table = catalog.table("default.t")
    state = sorted(row[1:] for row in judged(table.read().to_arrow()))
    assert state == sorted(row[1:] for row in theirs.read())  # whose kinds are those stored
    newest = table.latest_snapshot().id
    ours = Counter(map(str, judged(table.changes(after=0, to=newest).to_arrow())))
    assert ours == Counter(map(str, theirs.changes(0, newest)))
    assert [row[0] for row in state] == [2, 3, 4]
