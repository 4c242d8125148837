"""Sequence numbers in the order of commits, whatever the head was when rows were written.

A writer numbers its rows on from the newest number of their bucket.  While it writes, another commit
may give out the same numbers.  Then the one that comes second numbers its rows anew.  Postponed rows
have no numbers; for them the creation time of their file says the order.  A commit on the
head that its writer saw asks for nothing.

The newest number of a bucket is 9.  Writers A and B both number their rows 10 to 12.  A commits.  B meets
12 as the newest, and its first is 10: its rows grow by 12 + ``GAP`` - 10, to 12 + ``GAP`` and on, which is
after all of A's.  Left as they were, a key of both would have two versions of one number, and readers
could disagree about the newer one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.commit.basis import AsOf
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.snapshot import CommitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.commit.basis import Numbered
    from table_core.commit.effects import Head
    from table_core.commit.request import CommitPart
    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["GAP", "as_of", "created_last", "moved", "shifted", "shifts", "stale"]

GAP: Final = 1 << 20
"""Numbers left out when rows are numbered anew, so that the next who comes first seldom reaches them.
Doubled with each time: who loses many races wins in the end."""
_DOUBLINGS_MAX: Final = 20


def stale(part: CommitPart, head: Head | None) -> tuple[Numbered, ...]:
    """The buckets of ``part`` whose numbers were taken from another state than ``head``.

    An overwrite leaves nothing beside its own rows, so its numbers need not go on from anything.
    """
    if part.overwrite is not None:
        return ()
    now = AsOf.of(head.snapshot if head else None)
    return tuple(numbered for numbered in part.basis.numbered if numbered.as_of != now)


def shifts(
    live: Iterable[ManifestEntry],
    part: CommitPart,
    buckets: Iterable[Numbered],
    *,
    times: int,
) -> dict[tuple[bytes, int], int]:
    """By how much the numbers of each of ``buckets`` must grow; without those where they may stay.

    New rows of a compaction are on level 0; higher up it puts rows that were there.
    ``times``: how often the rows were numbered anew before.
    """
    first: dict[tuple[bytes, int], int] = {}
    for entry in part.entries:
        bucket = (entry.partition, entry.bucket)
        fresh = part.kind is not CommitKind.COMPACT or entry.file.level == 0
        if entry.kind is EntryKind.ADD and fresh:
            low = entry.file.min_sequence_number
            first[bucket] = min(low, first.get(bucket, low))
    newest: dict[tuple[bytes, int], int] = {}
    for entry in live:
        bucket = (entry.partition, entry.bucket)
        high = entry.file.max_sequence_number
        newest[bucket] = max(high, newest.get(bucket, high))
    wanted = {(numbered.partition, numbered.bucket) for numbered in buckets if numbered.bucket >= 0}
    gap = GAP << min(times, _DOUBLINGS_MAX)
    return {
        bucket: newest[bucket] + gap - first[bucket]
        for bucket in sorted(wanted & set(first) & set(newest))
        if newest[bucket] >= first[bucket]
    }


def moved(entry: ManifestEntry, by: int) -> ManifestEntry:
    """A file of a table without key, whose rows are numbered by the file alone."""
    file = replace(
        entry.file,
        min_sequence_number=entry.file.min_sequence_number + by,
        max_sequence_number=entry.file.max_sequence_number + by,
    )
    return replace(entry, file=file)


def shifted(part: CommitPart, by: Mapping[tuple[bytes, int], int]) -> CommitPart:
    """``part`` of a table without key, numbered anew; no file is written for it."""
    return replace(
        part,
        entries=tuple(
            moved(e, by[e.partition, e.bucket])
            if e.kind is EntryKind.ADD and (e.partition, e.bucket) in by
            else e
            for e in part.entries
        ),
    )


def created_last(
    live: Iterable[ManifestEntry], part: CommitPart, buckets: Iterable[Numbered]
) -> CommitPart:
    """``part`` with files of postponed rows created after those that are ``live``; no file is written for it.

    Such rows have no numbers: a compaction takes them in the order in which their files were created.
    """
    wanted = {(numbered.partition, numbered.bucket) for numbered in buckets if numbered.bucket < 0}
    newest = _created(live, max)
    first = _created((e for e in part.entries if e.kind is EntryKind.ADD), min)
    by = {
        bucket: newest[bucket] + 1 - first[bucket]
        for bucket in wanted & set(first) & set(newest)
        if newest[bucket] >= first[bucket]
    }

    def later(entry: ManifestEntry) -> ManifestEntry:
        more = by.get((entry.partition, entry.bucket))
        if more is None or entry.kind is EntryKind.DELETE:
            return entry
        file = replace(entry.file, creation_time_ms=(entry.file.creation_time_ms or 0) + more)
        return replace(entry, file=file)

    return replace(part, entries=tuple(map(later, part.entries))) if by else part


def _created(
    entries: Iterable[ManifestEntry], choose: Callable[[int, int], int]
) -> dict[tuple[bytes, int], int]:
    times: dict[tuple[bytes, int], int] = {}
    for entry in entries:
        bucket, created = (entry.partition, entry.bucket), entry.file.creation_time_ms or 0
        times[bucket] = choose(created, times.get(bucket, created))
    return times


def as_of(part: CommitPart, head: Head | None) -> CommitPart:
    """``part``, whose numbers are known to go on from ``head``."""
    now = AsOf.of(head.snapshot if head else None)
    numbered = tuple(replace(read, as_of=now) for read in part.basis.numbered)
    return replace(part, basis=replace(part.basis, numbered=numbered))
