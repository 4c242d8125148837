"""Compacting an append table applies its deletion vectors: rows stay gone, vectors go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.table.read.state_plan import deletions_of
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def filled(tmp_path: Path, **options: str) -> Any:
    catalog = new_catalog(tmp_path.as_uri())
    named = {"bucket": "-1", "deletion-vectors.enabled": "true", **options}
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=named)
    for first in (0, 100, 200):
        ids = list(range(first, first + 100))
        rows = pa.table({"id": ids, "p": ["ab"[n % 2] for n in ids]}, schema=SCHEMA)
        write_rows(table, rows)
    return table


def masked(table: Any) -> set[str]:
    return set(deletions_of(table.access, table.latest_snapshot()) or ())


def ids(table: Any) -> list[int]:
    return sorted(table.read().to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("order_by", [None, ["id"]])
@pytest.mark.parametrize("bitmap64", ["false", "true"])
def test_a_full_compaction_leaves_no_vector(
    tmp_path: Path, order_by: list[str] | None, bitmap64: str
) -> None:
    table = filled(tmp_path, **{"deletion-vectors.bitmap64": bitmap64})
    table.delete("id < 150 AND id >= 40")
    left = ids(table)
    assert left == [*range(40), *range(150, 300)]
    assert masked(table)
    done = table.compact(order_by=order_by)
    assert done.rows_written >= 2
    assert ids(table) == left
    assert masked(table) == set()
    assert sum(f.row_count for s in table.read().splits() for f in s.files) == len(left)


def test_buckets_are_freed_of_vectors_too(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"bucket": "2", "bucket-key": "id"})
    table.delete("id = 7 OR id = 8")
    table.compact()
    assert len(ids(table)) == 298
    assert masked(table) == set()


def test_a_minor_compaction_takes_files_that_are_mostly_deleted(tmp_path: Path) -> None:
    few = {"compaction.min.file-num": "50", "compaction.delete-ratio-threshold": "0.3"}
    table = filled(tmp_path, **few)
    table.delete("p = 'a' AND id < 100 AND id > 4")
    before = {f.file_name for s in table.read().splits() for f in s.files}
    table.compact("minor")
    after = {f.file_name for s in table.read().splits() for f in s.files}
    assert len(before - after) == 1
    assert masked(table) == set()
    assert len(ids(table)) == 300 - 47


def test_a_partition_whose_rows_are_all_gone_has_no_file(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.delete("p = 'a'")
    table.compact()
    assert {row["p"] for row in table.read().to_arrow().to_pylist()} == {"b"}
