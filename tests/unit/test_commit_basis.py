"""What a commit read: each way in which it may be different by the time it commits, alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from table_core.commit.basis import AsOf, Basis, Hashed, Merged, Numbered
from table_core.commit.effects import Head, Touched
from table_core.commit.live import LiveFiles
from table_core.commit.numbering import GAP, shifted, shifts, stale
from table_core.commit.overwrite import Selection
from table_core.commit.request import DELETION_VECTORS, HASH, CommitPart
from table_core.commit.stale import stale_homes, stale_index, stale_merges
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.snapshot import CommitKind, Snapshot

HEAD = AsOf(4, "list-4")


def file(
    name: str, *, level: int = 0, keys: tuple[int, int] = (0, 9), numbers: tuple[int, int] = (0, 0)
) -> DataFile:
    return DataFile(
        file_name=name,
        file_size=1,
        row_count=1,
        min_key=bytes([keys[0]]),
        max_key=bytes([keys[1]]),
        min_sequence_number=numbers[0],
        max_sequence_number=numbers[1],
        schema_id=0,
        level=level,
    )


def entry(*args: Any, bucket: int = 0, **how: Any) -> ManifestEntry:
    return ManifestEntry(EntryKind.ADD, b"p", bucket, 1, file(*args, **how))


def bounds(one: DataFile) -> tuple[int, int]:
    return one.min_key[0], one.max_key[0]


@dataclass(frozen=True)
class Index:
    file_name: str
    bucket: int = 0
    index_type: str = HASH
    partition: bytes = b"p"
    ranges: None = None


def snapshot(id: int, kind: CommitKind = CommitKind.APPEND) -> Snapshot:
    return Snapshot(
        id=id,
        schema_id=0,
        base_manifest_list="",
        delta_manifest_list=f"list-{id}",
        commit_user="u",
        commit_identifier=0,
        commit_kind=kind,
        time_millis=0,
        total_record_count=0,
        delta_record_count=0,
    )


# ----------------------------------------------------------------------------------- compactions
MERGED = Merged(
    partition=b"p",
    bucket=0,
    level=3,
    files=(file("a", keys=(2, 5), numbers=(20, 29)), file("b", level=3, keys=(4, 8))),
    above=frozenset({"x"}),
    writes_vectors=True,
    vectors="v",
)
BELOW = [entry("a", keys=(2, 5), numbers=(20, 29)), entry("b", level=3, keys=(4, 8))]
ABOVE = [entry("x", level=5, keys=(0, 3)), entry("far", level=5, keys=(9, 9))]
VECTORS = Index("v", index_type=DELETION_VECTORS)


def found(*more: ManifestEntry, index: tuple[Index, ...] = (VECTORS,), **how: Any) -> list[str]:
    live = LiveFiles(entries=(*BELOW, *how.pop("above", ABOVE), *more), index=index)
    return [c.what for c in stale_merges(live, [replace(MERGED, **how)], bounds)]


def test_a_compaction_of_what_is_still_there_fits() -> None:
    assert found() == []


@pytest.mark.parametrize("level", [0, 1, 3])
def test_newer_rows_may_come_beside_it(level: int) -> None:
    assert found(entry("new", level=level, numbers=(30, 31))) == []


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("first", [10, 29])
def test_rows_as_old_as_its_own_may_not_be_left_behind(level: int, first: int) -> None:
    (what,) = found(entry("late", level=level, numbers=(first, 99)))
    assert "late" in what


def test_old_rows_of_other_keys_and_buckets_may_be_left_behind() -> None:
    other = entry("late", bucket=1, numbers=(10, 11))
    assert found(other, entry("apart", keys=(9, 9), numbers=(1, 1))) == []


def test_what_it_looked_into_must_be_there() -> None:
    assert found(above=[]) == ["x, which was looked into, is gone"]


def test_what_it_did_not_look_into_must_not_be_there() -> None:
    (what,) = found(entry("y", level=4, keys=(8, 8)))
    assert what.startswith("y came to a higher level")


def test_what_is_above_does_not_matter_where_nothing_was_looked_up() -> None:
    live = LiveFiles(entries=(*BELOW, entry("y", level=4)), index=(VECTORS,))
    assert not list(stale_merges(live, [replace(MERGED, above=None)], bounds))


@pytest.mark.parametrize("now", [(), (replace(VECTORS, file_name="w"),)])
def test_the_vectors_it_read_must_be_those(now: tuple[Index, ...]) -> None:
    assert len(found(index=now)) == 1
    assert found(index=now, writes_vectors=False) == []


# --------------------------------------------------------------------------------------- numbers
def part(*entries: ManifestEntry, as_of: AsOf = HEAD, **how: Any) -> CommitPart:
    numbered = tuple({Numbered(e.partition, e.bucket, as_of): None for e in entries})
    kind = how.pop("kind", CommitKind.APPEND)
    return CommitPart(kind=kind, entries=entries, basis=Basis(numbered=numbered), **how)


def needed(live: list[ManifestEntry], given: CommitPart, times: int = 0) -> dict[Any, int]:
    return shifts(live, given, given.basis.numbered, times=times)


def test_numbers_on_the_head_that_was_seen_are_not_looked_at() -> None:
    head = Head(snapshot(4), "")
    assert stale(part(entry("new")), head) == ()
    assert stale(part(entry("new"), as_of=AsOf(4, "another 4")), head) != ()
    assert stale(part(entry("new")), None) != ()
    assert stale(part(entry("new"), as_of=AsOf(0, "")), None) == ()


def test_an_overwrite_needs_no_numbers_of_others() -> None:
    over = part(entry("new"), as_of=AsOf(1, ""), overwrite=Selection.table())
    assert stale(over, Head(snapshot(4), "")) == ()


@pytest.mark.parametrize(("newest", "moves"), [(9, False), (10, True), (30, True)])
def test_rows_move_if_they_are_not_newer_than_all_others(newest: int, moves: bool) -> None:
    new = part(entry("new", numbers=(12, 19)), entry("too", numbers=(10, 11)))
    by = needed([entry("old", numbers=(0, newest))], new)
    assert by == ({(b"p", 0): newest + GAP - 10} if moves else {})


def test_each_time_they_move_further() -> None:
    new, old = part(entry("new", numbers=(10, 19))), [entry("old", numbers=(0, 10))]
    assert [needed(old, new, times)[b"p", 0] for times in range(3)] == [GAP, 2 * GAP, 4 * GAP]


def test_other_buckets_do_not_count() -> None:
    old = [entry("old", bucket=1, numbers=(0, 99))]
    assert needed(old, part(entry("new", numbers=(10, 19)))) == {}


def test_only_new_rows_of_a_compaction_count() -> None:
    made = part(entry("up", level=5, numbers=(0, 9)), kind=CommitKind.COMPACT)
    assert needed([entry("old", numbers=(0, 9))], made) == {}
    made = part(entry("new", numbers=(5, 9)), kind=CommitKind.COMPACT)
    assert needed([entry("old", numbers=(0, 9))], made) != {}


def test_rows_without_a_key_are_numbered_by_their_file() -> None:
    moved = shifted(part(entry("new", numbers=(1, 2)), entry("gone", bucket=1)), {(b"p", 0): 10})
    numbers = [(e.file.min_sequence_number, e.file.max_sequence_number) for e in moved.entries]
    assert numbers == [(11, 12), (0, 0)]


# ------------------------------------------------------------------------------------------ keys
READ = Hashed(partition=b"p", as_of=HEAD, files={0: "i0", 1: "i1"})


def touched(kind: CommitKind, partition: bytes = b"p") -> Touched:
    return Touched(
        snapshot=snapshot(5, kind), partitions=frozenset({partition}), fixed_buckets=False
    )


@pytest.mark.parametrize(
    "now",
    [
        [Index("i0"), Index("other", 1)],
        [Index("i0")],
        [Index("i0"), Index("i1", 1), Index("i2", 2)],
    ],
)
def test_who_adds_keys_needs_the_whole_index_as_it_was(now: list[Index]) -> None:
    adds = CommitPart(kind=CommitKind.APPEND, index_added=(Index("new"),))
    assert len(list(stale_index(adds, READ, now, []))) == 1
    assert not list(stale_index(CommitPart(kind=CommitKind.APPEND), READ, now, []))


def test_another_partition_does_not_count() -> None:
    adds = CommitPart(kind=CommitKind.APPEND, index_added=(Index("new"),))
    now = [Index("i0"), Index("i1", 1), Index("far", partition=b"q")]
    assert not list(stale_index(adds, READ, now, [touched(CommitKind.OVERWRITE, b"q")]))


@pytest.mark.parametrize(
    ("kind", "conflicts"),
    [(CommitKind.APPEND, 0), (CommitKind.COMPACT, 0), (CommitKind.OVERWRITE, 1)],
)
def test_known_keys_stay_but_for_an_overwrite(kind: CommitKind, conflicts: int) -> None:
    known = CommitPart(kind=CommitKind.APPEND)
    assert len(list(stale_index(known, READ, [], [touched(kind)]))) == conflicts


@pytest.mark.parametrize(
    ("kind", "conflicts"),
    [
        (CommitKind.APPEND, 1),
        (CommitKind.COMPACT, 0),
        (CommitKind.OVERWRITE, 1),
        (CommitKind.ANALYZE, 0),
    ],
)
def test_rows_move_keys_between_partitions(kind: CommitKind, conflicts: int) -> None:
    assert len(list(stale_homes([touched(kind)]))) == conflicts
