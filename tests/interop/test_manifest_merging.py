"""Manifests are merged when Paimon merges them: the same commits, the same number of manifests."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from judge import Judge

import table_core as tc

pytestmark = pytest.mark.interop

COMMITS = 14
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
SETTINGS = {
    "none": {},
    "minor": {"manifest.merge-min-count": "4"},
    "minor and full": {
        "manifest.merge-min-count": "3",
        "manifest.full-compaction-threshold-size": "1 b",
    },
    "full": {
        "manifest.merge-min-count": "100",
        "manifest.full-compaction-threshold-size": "8 kb",
    },
    "without statistics": {"manifest.delete-file-drop-stats": "true"},
}


def shape(table: tc.Table) -> list[tuple[int, int, int, int]]:
    """For each snapshot: manifests of base and delta, entries added and deleted in all of them."""
    metadata, found = table.access.metadata, []
    for snapshot in table.snapshots():
        base = metadata.manifest_list(snapshot.base_manifest_list)
        delta = metadata.manifest_list(snapshot.delta_manifest_list)
        both = [*base, *delta]
        found.append(
            (
                len(base),
                len(delta),
                sum(m.num_added_files for m in both),
                sum(m.num_deleted_files for m in both),
            )
        )
    return found


@pytest.mark.parametrize("name", SETTINGS)
def test_the_same_commits_leave_the_same_manifests(
    paimon: Judge, tmp_path: Path, name: str
) -> None:
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **SETTINGS[name]}
    catalog = tc.open_catalog(str(tmp_path))
    catalog.create_database("d")
    for table in ("ours", "theirs"):
        catalog.create_table(f"d.{table}", SCHEMA, primary_key=("k",), options=options)
    ours = catalog.table("d.ours")
    rounds = [[["+I", n % 5, n], ["+I", 100 + n, n]] for n in range(COMMITS)]
    theirs = paimon.table(tmp_path, "d.theirs")
    theirs.rounds(rounds)
    for rows in rounds:
        with ours.write() as writer:
            columns = {"k": [row[1] for row in rows], "v": [row[2] for row in rows]}
            writer.write(pa.table(columns, schema=SCHEMA))
            writer.commit()
    assert shape(ours) == shape(catalog.table("d.theirs"))
    assert paimon.table(tmp_path, "d.ours").read() == theirs.read()


def test_a_full_compaction_leaves_few_manifests_that_paimon_goes_on_with(
    paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(str(tmp_path))
    catalog.create_database("d")
    options = {"bucket": "2", "write-only": "true"}
    catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
    ours, theirs = catalog.table("d.t"), paimon.table(tmp_path, "d.t")
    theirs.rounds([[["+I", n, n], ["+I", n + 1, n]] for n in range(5)])
    ours.compact(strategy="full")
    *before, compacted = shape(ours)
    assert [base for base, *_ in before] == [0, 1, 2, 3, 4]
    base, _, added, deleted = compacted
    assert base == 1, "those of the five commits, merged"
    assert added - deleted == len(ours.read().splits()), "one file a bucket is left"
    rows = [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 4]]
    assert sorted(row[1:] for row in theirs.read()) == rows
    theirs.rounds([[["-D", 5, 4], ["+U", 0, 9]]])
    assert sorted(row[1:] for row in theirs.read()) == [[0, 9], *rows[1:5]]
    assert catalog.table("d.t").read().to_arrow().sort_by("k")["v"].to_pylist() == [9, 1, 2, 3, 4]
