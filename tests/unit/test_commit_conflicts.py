"""Every rule of format 10.3, alone; and that all broken ones are reported at once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from table_core.commit.conflicts import (
    Conflict,
    ConflictKind,
    check,
    combine_index,
    index_changes,
    since_safe,
)
from table_core.commit.effects import Touched
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.snapshot import CommitKind, Snapshot

RANGES: dict[str, tuple[int, int]] = {}


def entry(
    name: str,
    *,
    level: int = 0,
    keys: tuple[int, int] = (0, 9),
    partition: bytes = b"p",
    bucket: int = 0,
    total: int = 1,
) -> ManifestEntry:
    RANGES[name] = keys
    file = DataFile(
        file_name=name,
        file_size=1,
        row_count=1,
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=level,
    )
    return ManifestEntry(EntryKind.ADD, partition, bucket, total, file)


def bounds(file: DataFile) -> tuple[int, int]:
    return RANGES[file.file_name]


def kinds(found: list[Conflict]) -> list[ConflictKind]:
    return [c.kind for c in found]


def compacting(base: list[ManifestEntry], delta: list[ManifestEntry]) -> list[ConflictKind]:
    return kinds(check(base, delta, kind=CommitKind.COMPACT, bounds=bounds))


def test_an_upgrade_of_a_live_file_fits() -> None:
    old = entry("f")
    assert compacting([old], [old.deleted(), entry("f", level=5)]) == []


def test_a_file_that_another_commit_deleted_conflicts() -> None:
    assert compacting([], [entry("f").deleted()]) == [ConflictKind.DELETED_MEANWHILE]


def test_the_level_belongs_to_the_identity() -> None:
    assert compacting([entry("f", level=5)], [entry("f").deleted()]) == [
        ConflictKind.DELETED_MEANWHILE
    ]


def test_a_file_that_is_there_already_conflicts() -> None:
    assert compacting([entry("f")], [entry("f")]) == [ConflictKind.ADDED_TWICE]


def test_a_file_added_twice_by_the_delta_conflicts_once() -> None:
    assert compacting([], [entry("f"), entry("f")]) == [ConflictKind.ADDED_TWICE]


@pytest.mark.parametrize(
    ("keys", "conflicts"), [((10, 19), []), ((9, 12), [ConflictKind.KEYS_OVERLAP])]
)
def test_one_level_is_one_sorted_run(keys: tuple[int, int], conflicts: list[ConflictKind]) -> None:
    assert compacting([entry("f", level=5)], [entry("g", level=5, keys=keys)]) == conflicts


def test_a_long_file_overlaps_beyond_its_neighbour() -> None:
    base = [entry("long", level=5, keys=(0, 100)), entry("b", keys=(3, 4))]
    assert compacting(base, [entry("c", level=5, keys=(50, 60))]) == [ConflictKind.KEYS_OVERLAP]


def test_files_of_level_0_may_overlap() -> None:
    assert compacting([entry("f")], [entry("g")]) == []


def test_append_tables_have_no_key_order() -> None:
    delta = [entry("g", level=5)]
    assert check([entry("f", level=5)], delta, kind=CommitKind.COMPACT, bounds=None) == []


def test_bucket_counts_are_compared_across_the_partition() -> None:
    base = [entry("f", bucket=0, total=1)]
    assert compacting(base, [entry("g", bucket=1, total=2)]) == [ConflictKind.BUCKET_COUNT]
    other = [entry("g", bucket=1, total=2, partition=b"q")]
    assert compacting(base, other) == []


def test_an_overwrite_may_change_the_bucket_count() -> None:
    old = entry("f", total=1)
    delta = [old.deleted(), entry("g", total=2)]
    assert check([old], delta, kind=CommitKind.OVERWRITE, bounds=bounds) == []


def test_all_conflicts_are_reported_at_once() -> None:
    base = [entry("f", level=5), entry("there")]
    delta = [
        entry("gone").deleted(),
        entry("there"),
        entry("g", level=5),
        entry("h", bucket=1, total=2),
    ]
    assert set(compacting(base, delta)) == {
        ConflictKind.BUCKET_COUNT,
        ConflictKind.ADDED_TWICE,
        ConflictKind.DELETED_MEANWHILE,
        ConflictKind.KEYS_OVERLAP,
    }


@dataclass(frozen=True)
class Masked:
    file_name: str


@dataclass(frozen=True)
class Index:
    file_name: str
    ranges: tuple[Masked, ...] | None = None
    index_type: str = "DELETION_VECTORS"
    partition: bytes = b"p"
    bucket: int = 0


def index(
    base: list[Index], added: list[Index], deleted: list[Index], *, by_file: bool
) -> list[ConflictKind]:
    live = [entry("f"), entry("g")]
    return kinds(index_changes(base, added, deleted, delta=[], live=live, by_file=by_file))


def test_an_index_file_is_replaced_only_by_who_saw_it() -> None:
    old, new = Index("old"), Index("new")
    assert index([old], [new], [old], by_file=False) == []
    assert index([old], [new], [], by_file=False) == [ConflictKind.INDEX_REPLACED]
    assert index([], [new], [old], by_file=False) == [ConflictKind.INDEX_REPLACED]
    assert index([old], [Index("new", bucket=1)], [], by_file=False) == []


def test_two_writers_of_one_commit_do_not_put_two_index_files_in_one_place() -> None:
    both = [Index("a", (Masked("f"),)), Index("b", (Masked("g"),))]
    assert index([], both, [], by_file=False) == [ConflictKind.INDEX_REPLACED]
    old = Index("old")
    assert index([old], both, [old, old], by_file=False) == [ConflictKind.INDEX_REPLACED]
    assert index([], [both[0], Index("b", bucket=1)], [], by_file=False) == []
    assert index([], both, [], by_file=True) == []
    same = [Index("a", (Masked("f"),)), Index("b", (Masked("f"),))]
    assert index([], same, [], by_file=True) == [ConflictKind.INDEX_REPLACED]


def test_two_deletes_on_one_data_file_conflict() -> None:
    theirs, ours = Index("a", (Masked("f"),)), Index("b", (Masked("f"),))
    assert index([theirs], [ours], [], by_file=True) == [ConflictKind.INDEX_REPLACED]
    assert index([theirs], [Index("b", (Masked("g"),))], [], by_file=True) == []
    assert index([theirs], [ours], [theirs], by_file=True) == []


@pytest.mark.parametrize("by_file", [False, True])
def test_masking_a_file_that_is_gone_conflicts(by_file: bool) -> None:
    found = index([], [Index("b", (Masked("missing"),))], [], by_file=by_file)
    assert found == [ConflictKind.INDEX_REPLACED]


def test_marks_that_were_left_over_are_carried_along() -> None:
    old, new = Index("a", (Masked("missing"),)), Index("b", (Masked("missing"), Masked("f")))
    assert index([old], [new], [old], by_file=False) == []


def test_a_file_goes_only_with_the_marks_of_its_rows() -> None:
    theirs = Index("a", (Masked("f"),))
    going, upgraded = entry("f").deleted(), entry("f", level=5)

    def taken(deleted: list[Index], *delta: ManifestEntry) -> list[ConflictKind]:
        return kinds(
            index_changes([theirs], [], deleted, delta=delta, live=[entry("f")], by_file=False)
        )

    assert taken([], going) == [ConflictKind.INDEX_REPLACED]
    assert taken([theirs], going) == []
    assert taken([], going, upgraded) == []


def test_an_index_state_keeps_what_nobody_spoke_of() -> None:
    a, b, c = Index("a"), Index("b", bucket=1), Index("c")
    assert combine_index([a, b], [c], [a]) == (b, c)


@pytest.mark.parametrize(
    ("theirs", "fixed", "ours", "safe"),
    [
        (CommitKind.COMPACT, False, CommitKind.APPEND, False),
        (CommitKind.OVERWRITE, False, CommitKind.COMPACT, False),
        (CommitKind.APPEND, True, CommitKind.OVERWRITE, False),
        (CommitKind.APPEND, False, CommitKind.OVERWRITE, True),
        (CommitKind.APPEND, True, CommitKind.COMPACT, True),
    ],
)
def test_strict_mode(theirs: CommitKind, fixed: bool, ours: CommitKind, safe: bool) -> None:
    snapshot = Snapshot(
        id=2,
        schema_id=0,
        base_manifest_list="",
        delta_manifest_list="",
        commit_user="other",
        commit_identifier=0,
        commit_kind=theirs,
        time_millis=0,
        total_record_count=0,
        delta_record_count=0,
    )
    touched = Touched(snapshot=snapshot, partitions=frozenset([b"p"]), fixed_buckets=fixed)
    assert (since_safe([touched], frozenset([b"p"]), kind=ours) == []) is safe
    assert since_safe([touched], frozenset([b"q"]), kind=ours) == []
