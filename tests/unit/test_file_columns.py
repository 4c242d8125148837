"""Columns of manifest entries fold as the entries do.

Mutants: a deletion that takes out every addition of its file; partitions of manifests mixed up.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.file_columns import UNKNOWN, FileColumns, live_columns
from table_core.ondisk.manifest import decode_file_columns, encode_manifest, fold_entries

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
