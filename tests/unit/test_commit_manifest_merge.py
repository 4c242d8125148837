"""Which manifests are rewritten, by size alone (format 4.7)."""

from __future__ import annotations

from dataclasses import replace

from table_core.commit.manifest_merge import (
    FullMerge,
    Group,
    MergeSizes,
    MinorMerge,
    plan,
    rewrite_full,
)
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.manifest_meta import ManifestMeta

SIZES = MergeSizes(target_bytes=10, full_bytes=100, count_min=3)


def meta(name: str, size: int, deleted: int = 0) -> ManifestMeta:
    return ManifestMeta(
        file_name=name, file_size=size, num_added_files=1, num_deleted_files=deleted, schema_id=0
    )


def groups(*sizes: int) -> list[tuple[int, bool]]:
    merged = plan([meta(str(i), s) for i, s in enumerate(sizes)], SIZES)
    assert isinstance(merged, MinorMerge)
    names = [m.file_name for g in merged.groups for m in g.metas]
    assert names == [str(i) for i in range(len(sizes))], "order and content are kept"
    return [(len(g.metas), g.rewrite) for g in merged.groups]


def test_small_ones_wait_until_they_are_many() -> None:
    assert groups(1, 1) == [(1, False), (1, False)]
    assert groups(1, 1, 1) == [(3, True)]


def test_small_ones_are_merged_where_half_of_their_files_go() -> None:
    small = [meta("a", 1), meta("b", 1)]
    assert plan(small, SIZES, deletes=1) == MinorMerge((Group(tuple(small), rewrite=True),))
    more = replace(small[0], num_added_files=2)
    assert plan([more, small[1]], SIZES, deletes=1) == plan([more, small[1]], SIZES)
    emptied = [replace(small[0], num_deleted_files=1), replace(small[1], num_deleted_files=1)]
    assert plan(emptied, SIZES) == MinorMerge(tuple(Group((m,), rewrite=False) for m in emptied))
    assert plan(small[:1], SIZES, deletes=9) == plan(small[:1], SIZES), "one is as few as can be"
    assert plan([meta("large", 10), *small], SIZES, deletes=2) == MinorMerge(
        (Group((meta("large", 10),), rewrite=False), Group(tuple(small), rewrite=True))
    )


def test_neighbours_that_reach_the_target_are_merged() -> None:
    assert groups(4, 6, 1) == [(2, True), (1, False)]


def test_one_of_full_size_stays() -> None:
    assert groups(10, 12, 1) == [(1, False), (1, False), (1, False)]


def test_full_merge_starts_at_its_threshold_and_counts_only_what_must_change() -> None:
    untouched = meta("big", 500)
    assert isinstance(plan([untouched, meta("d", 99, deleted=1)], SIZES), MinorMerge)
    full = plan([untouched, meta("d", 100, deleted=1)], SIZES)
    assert isinstance(full, FullMerge)
    assert [m.file_name for m in full.with_deletes] == ["d"]


def test_full_merge_leaves_full_ones_that_hold_nothing_deleted() -> None:
    full = plan([meta("a", 50), meta("b", 50), meta("d", 100, deleted=1)], SIZES)
    assert isinstance(full, FullMerge)
    kept, read = full.keep(lambda m: m.file_name == "b")
    assert ([m.file_name for m in kept], [m.file_name for m in read]) == (["a"], ["b", "d"])


def test_rewriting_drops_deletes_and_what_they_cancel() -> None:
    def add(name: str) -> ManifestEntry:
        file = DataFile(
            file_name=name,
            file_size=1,
            row_count=1,
            min_sequence_number=0,
            max_sequence_number=0,
            schema_id=0,
        )
        return ManifestEntry(EntryKind.ADD, b"", 0, 1, file)

    gone, stays = add("gone"), add("stays")
    deleted = {gone.identity}
    full = meta("m", 50)
    assert rewrite_full(full, [gone, stays], deleted=deleted, target_bytes=10) == [stays]
    assert rewrite_full(full, [stays], deleted=deleted, target_bytes=10) is None
    small = meta("m", 5, deleted=1)
    assert rewrite_full(small, [stays, gone.deleted()], deleted=deleted, target_bytes=10) == [stays]
