"""Goal: rows deleted from an append table stay deleted when either side compacts it.

Method: rows by us, deletes by us, compactions by either; both read what a set says.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from judge import Judge

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
BUCKETS = ({"bucket": "-1"}, {"bucket": "2", "bucket-key": "id"})


@pytest.mark.parametrize("buckets", BUCKETS, ids=["unaware", "fixed"])
def test_deleted_rows_stay_deleted_whoever_compacts(
    buckets: dict[str, str], paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d")
    options = {"deletion-vectors.enabled": "true", "compaction.min.file-num": "2", **buckets}
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=options)
    theirs, left = paimon.table(tmp_path, "d.t"), set[int]()
    for turn in range(5):
        ids = list(range(turn * 100, turn * 100 + 60))
        write_rows(table, pa.table({"id": ids, "p": ["ab"[n % 2] for n in ids]}, schema=SCHEMA))
        low = turn * 40
        table.delete(f"id >= {low} AND id < {low + 25}")
        left = {n for n in (*left, *ids) if not low <= n < low + 25}
        match turn:
            case 1:
                table.compact("minor")
            case 2:
                theirs.compact()
            case 4:
                table.compact()
        table = catalog.table("d.t")
        assert set(table.read().to_arrow()["id"].to_pylist()) == left
        assert {row[1] for row in theirs.read()} == left
