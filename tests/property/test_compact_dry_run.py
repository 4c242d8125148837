"""A dry run of compaction names how many buckets change, and which bytes go: the run does the same.

What comes instead depends on the rows, so files and bytes after it are those before.  Oracle: the run.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
KINDS: dict[str, dict[str, str]] = {
    "key": {"bucket": "2"},
    "lookup": {"bucket": "1", "changelog-producer": "lookup"},
    "vectors": {"bucket": "2", "deletion-vectors.enabled": "true"},
    "append": {"bucket": "-1", "compaction.min.file-num": "3"},
    "append in buckets": {"bucket": "2", "bucket-key": "k"},
}
SAME = (
    "action",
    "snapshot_before",
    "files_before",
    "bytes_before",
    "files_deleted",
    "bytes_deleted",
)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    writes=st.lists(st.sets(st.integers(0, 40), min_size=1), min_size=1, max_size=6),
    first=st.sampled_from([None, "full", "minor"]),
    strategy=st.sampled_from(["full", "minor"]),
)
def test_a_dry_run_says_what_the_run_then_does(
    kind: str, writes: list[set[int]], first: str | None, strategy: str
) -> None:
    catalog = new_catalog()
    key = () if kind.startswith("append") else ("k",)
    options = KINDS[kind] | {"write-only": "true", "num-sorted-run.compaction-trigger": "3"}
    table = catalog.create_table("d.t", SCHEMA, primary_key=key, options=options)
    for number, keys in enumerate(writes):
        put(table, keys)
        if number == 1 and first is not None:
            table.compact(first)
    before = paths(table)
    said = table.compact(strategy, dry_run=True)
    assert paths(table) == before
    done = table.compact(strategy)
    assert [getattr(said, name) for name in SAME] == [getattr(done, name) for name in SAME]
    assert said.details["buckets"] == done.details["buckets"]
    unknown = (None, None) if said.files_deleted else (said.files_before, 0)
    assert (said.files_after, said.rows_written) == unknown


def put(table: Any, keys: set[int]) -> None:
    write_rows(table, pa.table({"k": sorted(keys), "v": sorted(keys)}, schema=SCHEMA))


def paths(table: Any) -> set[str]:
    return {info.path for info in table.access.storage.walk("")}
