"""Files of some partitions: found by manifests whose ranges cover them, and no other is read."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk.data_file import EMPTY_STATS
from table_core.scan.by_partition import manifests_of
from table_core.table.metadata.partition_spec import manifest_matcher, partition_matcher
from tests.tables import write_rows

SCHEMA = pa.schema(
    [
        ("day", pa.date32()),
        ("shop", pa.string()),
        ("n", pa.int32()),
        pa.field("id", pa.int64(), nullable=False),
    ]
)
DAYS = [None, *range(0, 20_000, 4_000)]
SHOPS = [None, "", "a", "Ä", "zz" * 9]
NUMBERS = [None, -5, 0, 7]


def written(folder: Path, seed: int) -> Any:
    """A table whose snapshots each touch a few partitions; every commit leaves a manifest of its own."""
    pick = random.Random(seed)
    catalog = tc.open_catalog(folder.as_uri())
    catalog.create_database("d")
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        partition_by=("day", "shop", "n"),
        options={"bucket": "-1", "manifest.merge-min-count": "1000"},
    )
    for id in range(12):
        rows = [
            (pick.choice(DAYS), pick.choice(SHOPS), pick.choice(NUMBERS), id)
            for _ in range(pick.randint(1, 4))
        ]
        columns = [pa.array([row[n] for row in rows], f.type) for n, f in enumerate(SCHEMA)]
        write_rows(table, pa.table(columns, schema=SCHEMA))
    if seed % 2:
        table.drop_partitions([{"shop": "a"}])
    return table


def names(files: Any) -> list[str]:
    return sorted(e.file.file_name for entries in files.values() for e in entries)


@pytest.mark.parametrize("seed", range(6))
def test_the_files_of_partitions_are_those_of_a_whole_read(tmp_path: Path, seed: int) -> None:
    access = written(tmp_path, seed).access
    head = access.head()
    every = access.files_by_bucket(head)
    partitions = sorted({partition for partition, _ in every})
    pick = random.Random(seed)
    for count in (0, 1, 2, len(partitions)):
        wanted = pick.sample(partitions, min(count, len(partitions)))
        expected = {b: e for b, e in every.items() if b[0] in wanted}
        for _ in range(2):  # decoded in part, and then as remembered
            assert names(access.files_of_partitions(head, wanted)) == names(expected)
    for spec in ({"day": "1970-01-01"}, {"shop": "a", "n": 7}, {"n": None}, {"shop": "Ä"}):
        matches, may = partition_matcher(access, [spec]), manifest_matcher(access, [spec])
        for meta in access.metadata.data_manifests(head):
            held = any(matches(e.partition) for e in access.metadata.entries([meta]))
            assert may(meta) or not held, spec


def test_manifests_of_other_partitions_are_not_read(tmp_path: Path) -> None:
    table = written(tmp_path, 0)
    access, head = table.access, table.access.head()
    metas = access.metadata.data_manifests(head)
    entries = next(iter(access.metadata.manifests(metas[:1])))
    may = manifests_of(access.schema.partition_fields, [entries[0].partition])
    kept = [may(meta) for meta in metas]
    assert kept[0]
    assert sum(kept) < len(metas) // 2


def test_a_manifest_whose_ranges_nobody_knows_is_read(tmp_path: Path) -> None:
    access = written(tmp_path, 0).access
    (meta, *_) = access.metadata.data_manifests(access.head())
    partition = next(access.metadata.entries([meta])).partition
    may = manifests_of(access.schema.partition_fields, [partition])
    assert may(replace(meta, partition_stats=EMPTY_STATS))
    unknown = replace(meta.partition_stats, null_counts=None)
    assert may(replace(meta, partition_stats=unknown))


@pytest.mark.parametrize("given", [{"partitions": [{"shop": "a"}]}, {"where": "shop = 'a'"}])
def test_a_compaction_of_partitions_takes_the_same_files(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    table = written(tmp_path, 2)
    for id in range(2):
        write_rows(
            table, pa.table({"day": [None], "shop": ["a"], "n": [7], "id": [id]}, schema=SCHEMA)
        )
    access = table.access
    fits = partition_matcher(access, [{"shop": "a"}])
    due = {
        b: e for b, e in access.files_by_bucket(access.head()).items() if fits(b[0]) and len(e) > 1
    }
    assert due
    done = table.compact(**given)
    assert done.files_deleted == len(names(due))
