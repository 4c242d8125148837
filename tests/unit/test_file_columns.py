"""Columns of manifest entries fold as the entries do.

Mutants: a deletion that takes out every addition of its file; partitions of manifests mixed up.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.ondisk.avro import open_container
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.file_columns import UNKNOWN, FileColumns, live_columns
from table_core.ondisk.manifest import (
    decode_file_columns,
    decode_highest,
    encode_manifest,
    fold_entries,
    highest_of,
)
from table_core.ondisk.manifest_columns import columns_at_once
from table_core.ondisk.manifest_heads import find_heads

STEPS = st.lists(
    st.tuples(st.sampled_from([b"x", b"y", b"z"]), st.integers(0, 3), st.booleans()), max_size=25
)


def history(steps: list[tuple[bytes, int, bool]]) -> list[ManifestEntry]:
    """Entries that a table could have: a file goes only while it is there, and may come back."""
    live: dict[tuple[bytes, int], ManifestEntry] = {}
    entries = []
    for number, (partition, name, has_time) in enumerate(steps):
        old = live.pop((partition, name), None)
        if old is not None:
            entries.append(old.deleted())
            continue
        file = DataFile(
            file_name=f"f{name}",
            file_size=number,
            row_count=number + 1,
            min_sequence_number=0,
            max_sequence_number=0,
            schema_id=0,
            level=number % 3,
            creation_time_ms=number if has_time else None,
            delete_row_count=number % 2 or None,
        )
        live[partition, name] = ManifestEntry(EntryKind.ADD, partition, name % 2, 2, file)
        entries.append(live[partition, name])
    return entries


@given(STEPS, st.integers(1, 5))
def test_columns_fold_as_entries_do(steps: list[tuple[bytes, int, bool]], size: int) -> None:
    entries = history(steps)
    parts = [entries[at : at + size] for at in range(0, len(entries), size)]
    decoded = [decode_file_columns(encode_manifest(part), path="m") for part in parts]
    found = live_columns(decoded)
    want = list(fold_entries(entries).live.values())
    rows = zip(
        (found.partitions[i] for i in found.partition.tolist()),
        found.bucket.tolist(),
        found.level.tolist(),
        found.size.tolist(),
        found.rows.tolist(),
        found.delete_rows.tolist(),
        found.created_ms.tolist(),
        strict=True,
    )
    assert sorted(rows) == sorted(
        (
            e.partition,
            e.bucket,
            e.file.level,
            e.file.file_size,
            e.file.row_count,
            e.file.delete_row_count or 0,
            UNKNOWN if e.file.creation_time_ms is None else e.file.creation_time_ms,
        )
        for e in want
    )
    only_x = found.of_partitions(lambda row: row == b"x")
    assert len(only_x) == sum(e.partition == b"x" for e in want)
    assert len(FileColumns.of(want)) == len(want)


NAMES = ["identity", "kind", "bucket", "level", "size", "rows", "delete_rows", "created_ms"]


def many(seed: int, count: int) -> list[ManifestEntry]:
    """Entries as writers make them, and numbers of every length."""
    pick = random.Random(seed)
    longs = [0, 1, 63, 64, 8191, 8192, 2**31, 2**40, 2**62]
    return [
        ManifestEntry(
            pick.choice(list(EntryKind)),
            bytes(pick.randrange(256) for _ in range(pick.choice([4, 12, 80]))),
            pick.choice([-2, -1, 0, 5, 1000]),
            pick.choice([-1, 1, 200]),
            DataFile(
                file_name=f"data-{pick.choice(['ä', 'x' * 70, ''])}{number}-0.parquet",
                file_size=pick.choice(longs),
                row_count=pick.choice(longs),
                min_key=bytes(pick.choice([0, 8, 300])),
                max_key=b"data-" * pick.choice([0, 0, 1, 2]),
                min_sequence_number=-1,
                max_sequence_number=pick.choice(longs),
                schema_id=pick.choice([0, 3, 200]),
                level=pick.choice([0, 1, 5]),
                creation_time_ms=pick.choice([None, 0, -5, 1_800_000_000_000]),
                delete_row_count=pick.choice([None, 0, 7]),
                value_stats_cols=pick.choice([None, (), ("a", "b")]),
                write_cols=pick.choice([None, ("c",)]),
                first_row_id=pick.choice([None, 5]),
            ),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_columns_read_at_once_are_those_of_the_entries(seed: int) -> None:
    entries = many(seed, 300)
    body = encode_manifest(entries)
    container = open_container(body, path="m")
    heads = find_heads(container)
    assert heads is not None
    at_once = columns_at_once(container, heads)
    assert at_once is not None, "or nothing is tested"
    for found in (at_once, decode_file_columns(body, path="m")):
        want = FileColumns.of(entries)
        assert found.partitions == want.partitions
        assert found.partition.tolist() == want.partition.tolist()
        for name in NAMES:
            assert getattr(found, name).tolist() == getattr(want, name).tolist(), name


@pytest.mark.parametrize(
    "unusual",
    [{"extra_files": ("a.index",)}, {"embedded_index": b"x"}, {"external_path": "s3://b/f"}],
)
def test_an_unusual_entry_is_decoded(unusual: dict[str, object]) -> None:
    entries = many(9, 100)
    entries[50] = replace(entries[50], file=replace(entries[50].file, **unusual))
    body = encode_manifest(entries)
    container = open_container(body, path="m")
    heads = find_heads(container)
    assert heads is not None
    assert columns_at_once(container, heads) is None
    found, want = decode_file_columns(body, path="m"), FileColumns.of(entries)
    assert found.identity.tolist() == want.identity.tolist()


@pytest.mark.parametrize("count", [3, 300])
@pytest.mark.parametrize("seed", range(3))
def test_the_largest_numbers_are_those_of_all_entries(seed: int, count: int) -> None:
    chance = random.Random(seed)
    entries = [replace(e, partition=chance.choice([b"x", b"y"])) for e in many(seed, count)]
    found = decode_highest(encode_manifest(entries), path="m")
    assert found == highest_of(entries)
    for row, buckets in found.items():
        for bucket, highest in buckets.items():
            own = [e for e in entries if (e.partition, e.bucket) == (row, bucket)]
            assert highest.sequence == max(e.file.max_sequence_number for e in own)
            assert highest.created_ms == max(0, *(e.file.creation_time_ms or 0 for e in own), 0)
            assert highest.totals == {e.total_buckets for e in own}
