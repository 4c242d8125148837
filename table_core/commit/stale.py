"""Every way in which what a commit read is no longer so.

A compaction of a bucket replaces the files ``before`` by files of ``level``.  Its result is right on a
head if and only if (docs/adr/0009):

1. every file of ``before`` is live (``conflicts.check``);
2. of the files that it leaves alone, none at or below ``level`` that could share a key with ``before``
   has a row as old as the newest that was merged;
3. if it looked values up or dropped deletes: above ``level``, where its keys could be, lie exactly the
   files that it saw, with the rows deleted from them that it saw.

Without 2: a key of a partial update has a=1 in file x (number 1), a=2 in y (2) and b=3 in z (3).  Who merges
x and z and leaves y behind gets (1, 3) with the number of z, so the 1 wins over the newer 2.
Without 3: a lookup table sums.  A 5 of level 0 met the 10 of level 5, so 15 goes to level 4, where it stands
for all below it.  If the 10 became 12 meanwhile, the 2 is lost.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

from table_core.commit.conflicts import Conflict, ConflictKind
from table_core.commit.request import DELETION_VECTORS, HASH
from table_core.ondisk.snapshot import CommitKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.commit.basis import Hashed, Merged
    from table_core.commit.conflicts import Bounds
    from table_core.commit.effects import Touched
    from table_core.commit.live import IndexFile, LiveFiles
    from table_core.commit.request import CommitPart
    from table_core.ondisk.data_file import DataFile

    Ranges: TypeAlias = Sequence[tuple[Any, Any]]

__all__ = ["stale_homes", "stale_idle", "stale_index", "stale_merges", "stale_rows"]


def stale_merges(live: LiveFiles, merged: Sequence[Merged], bounds: Bounds) -> Iterator[Conflict]:
    """Where the result of a compaction is not what its bucket needs."""
    files: dict[tuple[bytes, int], list[DataFile]] = defaultdict(list)
    for entry in live.entries if merged else ():
        files[entry.partition, entry.bucket].append(entry.file)
    for compaction in merged:
        names = {file.file_name for file in compaction.files}
        others = [
            f for f in files[compaction.partition, compaction.bucket] if f.file_name not in names
        ]
        ranges = [bounds(file) for file in compaction.files]
        yield from _left_behind(compaction, others, ranges, bounds)
        yield from _above(compaction, others, ranges, bounds)
        if compaction.writes_vectors:
            yield from _masks(compaction, live.index)


def _left_behind(
    merged: Merged, others: Iterable[DataFile], ranges: Ranges, bounds: Bounds
) -> Iterator[Conflict]:
    """Files that are not newer than what was merged, and were not merged with it."""
    newest = merged.newest
    for file in others:
        as_old = file.level <= merged.level and file.min_sequence_number <= newest
        if as_old and _meets(file, ranges, bounds):
            what = (
                f"{file.file_name} (level {file.level}) has rows from sequence number "
                f"{file.min_sequence_number} on; rows up to {newest} were merged without it"
            )
            yield _merge(merged, what, (file.file_name,))


def _above(
    merged: Merged, others: Iterable[DataFile], ranges: Ranges, bounds: Bounds
) -> Iterator[Conflict]:
    """Files above that came or went since old values were looked up in them."""
    if merged.above is None:
        return
    above = {
        file.file_name
        for file in others
        if file.level > merged.level and _meets(file, ranges, bounds)
    }
    for name in sorted(merged.above - above):
        yield _merge(merged, f"{name}, which was looked into, is gone", (name,))
    for name in sorted(above - merged.above):
        yield _merge(merged, f"{name} came to a higher level and was not looked into", (name,))


def _masks(merged: Merged, index: Iterable[IndexFile]) -> Iterator[Conflict]:
    bucket = (merged.partition, merged.bucket)
    now = next(
        (
            i.file_name
            for i in index
            if i.index_type == DELETION_VECTORS and (i.partition, i.bucket) == bucket
        ),
        None,
    )
    if now != merged.vectors:
        what = f"deletion vectors were read from {merged.vectors} and are in {now} meanwhile"
        yield _merge(merged, what, tuple(name for name in (merged.vectors, now) if name))


def _meets(file: DataFile, ranges: Ranges, bounds: Bounds) -> bool:
    """Whether ``file`` could hold a key of one of ``ranges``."""
    low, high = bounds(file)
    return any(not (largest < low or high < smallest) for smallest, largest in ranges)


def stale_index(
    part: CommitPart, read: Hashed, index: Iterable[IndexFile], since: Sequence[Touched]
) -> Iterator[Conflict]:
    """Keys of a partition that another commit may have put elsewhere.

    A writer that adds keys needs the index that it read, of all buckets: another one may have given the
    same key another bucket.  One that adds none needs that keys stayed where they were: indexes grow,
    but for an overwrite.
    """
    adds = any(i.index_type == HASH and i.partition == read.partition for i in part.index_added)
    now = {
        i.bucket: i.file_name
        for i in index
        if i.index_type == HASH and i.partition == read.partition
    }
    if adds and now != dict(read.files):
        changed = sorted(b for b in {*now, *read.files} if now.get(b) != dict(read.files).get(b))
        yield Conflict(
            ConflictKind.KEYS_MOVED,
            f"another commit gave keys of buckets {changed} their place; a table with dynamic buckets "
            "has one writer at a time for new keys",
            read.partition,
        )
    if adds:
        return
    for touched in since:
        overwrote = touched.snapshot.commit_kind is CommitKind.OVERWRITE
        if overwrote and read.partition in touched.partitions:
            yield Conflict(
                ConflictKind.KEYS_MOVED,
                f"snapshot {touched.snapshot.id} of {touched.snapshot.commit_user} overwrote the "
                "partition and its index of keys",
                read.partition,
            )


def stale_homes(since: Iterable[Touched]) -> Iterator[Conflict]:
    """Commits that may have put keys into other partitions since they were looked up."""
    for touched in since:
        if touched.snapshot.commit_kind in {CommitKind.APPEND, CommitKind.OVERWRITE}:
            yield Conflict(
                ConflictKind.KEYS_MOVED,
                f"snapshot {touched.snapshot.id} of {touched.snapshot.commit_user} came after the keys "
                "were looked up: a table whose key does not hold its partition has one writer at a time",
            )


def stale_rows(part: CommitPart, since: Iterable[Touched], bounds: Bounds) -> Iterator[Conflict]:
    """Commits that may have brought, or taken out, other versions of the keys that are written.

    A compaction changes no row, whatever files it moves.  Postponed files are in no order, so that nobody
    knows what keys they hold, nor which bucket these belong to: any other change of their partition may be
    one of their keys.
    """
    ranges: dict[tuple[bytes, int], list[tuple[Any, Any]]] = defaultdict(list)
    waiting = {entry.partition for entry in part.entries if entry.bucket < 0}
    written = {entry.partition for entry in part.entries}
    for entry in part.entries:
        ranges[entry.partition, entry.bucket].append(bounds(entry.file))
    for touched in since:
        if touched.snapshot.commit_kind not in {CommitKind.APPEND, CommitKind.OVERWRITE}:
            continue
        for entry in touched.entries:
            unknown = entry.partition in (written if entry.bucket < 0 else waiting)
            mine = ranges.get((entry.partition, entry.bucket), ())
            if unknown or _meets(entry.file, mine, bounds):
                yield Conflict(
                    ConflictKind.ROWS_CHANGED,
                    f"snapshot {touched.snapshot.id} of {touched.snapshot.commit_user} may have changed rows "
                    "that the statement had read before",
                    entry.partition,
                    entry.bucket,
                    (entry.file.file_name,),
                )


def stale_idle(part: CommitPart, since: Iterable[Touched]) -> Iterator[Conflict]:
    """Commits to partitions that are taken out because nobody wrote to them."""
    for touched in since:
        if touched.snapshot.commit_kind not in {CommitKind.APPEND, CommitKind.OVERWRITE}:
            continue
        for partition in sorted(touched.partitions):
            if part.overwrite is not None and part.overwrite.selects(partition):
                yield Conflict(
                    ConflictKind.ROWS_CHANGED,
                    f"snapshot {touched.snapshot.id} of {touched.snapshot.commit_user} wrote to a partition "
                    "that was idle",
                    partition,
                )


def _merge(merged: Merged, what: str, files: tuple[str, ...]) -> Conflict:
    return Conflict(ConflictKind.MERGED_OTHERWISE, what, merged.partition, merged.bucket, files)
