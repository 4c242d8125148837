"""Every reason why a delta does not fit on a head; all of them, not the first.

Source: ``org.apache.paimon.operation.commit.ConflictDetection``; format 10.3 and T61.
Two rules are stricter than Paimon's: bucket counts are compared across the whole partition, and an
index file is replaced only by a writer that saw it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from table_core.commit.request import DELETION_VECTORS, HASH
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.snapshot import CommitKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.commit.effects import Touched
    from table_core.commit.live import IndexFile
    from table_core.ondisk.data_file import DataFile, ManifestEntry

__all__ = [
    "Bounds",
    "Conflict",
    "ConflictKind",
    "buckets",
    "check",
    "combine_index",
    "index_changes",
    "since_safe",
]

Bounds: TypeAlias = Callable[["DataFile"], tuple[Any, Any]]
"""Smallest and largest key of a file, as values that ``<`` puts in Paimon's order."""


class ConflictKind(StrEnum):
    """Which rule is broken."""

    BUCKET_COUNT = "bucket-count"
    ADDED_TWICE = "added-twice"
    DELETED_MEANWHILE = "deleted-meanwhile"
    KEYS_OVERLAP = "keys-overlap"
    INDEX_REPLACED = "index-replaced"
    UNSAFE_SINCE = "unsafe-since"
    KEYS_MOVED = "keys-moved"
    MERGED_OTHERWISE = "merged-otherwise"
    NUMBERED = "numbered"
    ROWS_CHANGED = "rows-changed"


@dataclass(frozen=True, slots=True)
class Conflict:
    """One broken rule, where, and for which files."""

    kind: ConflictKind
    what: str
    partition: bytes | None = None
    bucket: int | None = None
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = "" if self.bucket is None else f" (bucket {self.bucket})"
        return f"{self.kind}{place}: {self.what}"


def check(
    base: Iterable[ManifestEntry],
    delta: Sequence[ManifestEntry],
    *,
    kind: CommitKind,
    bounds: Bounds | None,
) -> list[Conflict]:
    """All conflicts of ``delta`` with the live files ``base`` of the partitions it touches.

    ``bounds`` is None for append tables, whose files have no key order.
    """
    live = {e.identity: e for e in base}
    conflicts = [] if kind is CommitKind.OVERWRITE else buckets(live.values(), delta)
    conflicts += _added_twice(delta)
    merged, more = _merge(live, delta)
    conflicts += more
    if bounds is not None:
        touched = {(e.partition, e.bucket) for e in delta}
        conflicts += _overlaps((e for e in merged if (e.partition, e.bucket) in touched), bounds)
    return conflicts


def buckets(base: Iterable[ManifestEntry], delta: Iterable[ManifestEntry]) -> list[Conflict]:
    """Partitions whose files would count their buckets differently."""
    adds = [e for e in delta if e.kind is EntryKind.ADD and e.total_buckets > 0]
    totals: dict[bytes, set[int]] = defaultdict(set)
    for entry in adds:
        totals[entry.partition].add(entry.total_buckets)
    for entry in base:
        if entry.total_buckets > 0 and entry.partition in totals:
            totals[entry.partition].add(entry.total_buckets)
    return [
        Conflict(
            ConflictKind.BUCKET_COUNT,
            f"total buckets of partition {partition.hex()} would be {sorted(counts)}; "
            "only an overwrite may change them",
            partition,
            files=tuple(e.file.file_name for e in adds if e.partition == partition),
        )
        for partition, counts in totals.items()
        if len(counts) > 1
    ]


def _added_twice(delta: Iterable[ManifestEntry]) -> Iterator[Conflict]:
    """Files that the delta itself adds while they are there already."""
    present: set[object] = set()
    for entry in delta:
        if entry.kind is EntryKind.DELETE:
            present.discard(entry.identity)
        elif entry.identity in present:
            yield _of(ConflictKind.ADDED_TWICE, entry, "is added twice by this commit")
        else:
            present.add(entry.identity)


def _merge(
    live: dict[tuple[object, ...], ManifestEntry], delta: Iterable[ManifestEntry]
) -> tuple[list[ManifestEntry], list[Conflict]]:
    """``live`` with ``delta`` applied, and what does not apply."""
    after = dict(live)
    ours: set[object] = set()
    conflicts: list[Conflict] = []
    for entry in delta:
        identity = entry.identity
        if entry.kind is EntryKind.DELETE:
            if after.pop(identity, None) is None:
                what = "is to be deleted, but another commit has deleted it"
                conflicts.append(_of(ConflictKind.DELETED_MEANWHILE, entry, what))
            ours.discard(identity)
        else:
            if identity in after and identity not in ours:
                conflicts.append(_of(ConflictKind.ADDED_TWICE, entry, "is in the table already"))
            ours.add(identity)
            after[identity] = entry
    return list(after.values()), conflicts


def _overlaps(entries: Iterable[ManifestEntry], bounds: Bounds) -> Iterator[Conflict]:
    """Neighbours of one level >= 1 whose keys overlap: the level would be no sorted run."""
    levels: dict[tuple[bytes, int, int], list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        if entry.file.level >= 1:
            levels[entry.partition, entry.bucket, entry.file.level].append(entry)
    for (partition, bucket, level), files in levels.items():
        ordered = sorted(((*bounds(e.file), e.file.file_name) for e in files), key=lambda t: t[0])
        reach, reach_name = ordered[0][1], ordered[0][2]
        for smallest, largest, name in ordered[1:]:
            if not reach < smallest:
                yield Conflict(
                    ConflictKind.KEYS_OVERLAP,
                    f"{reach_name} and {name} share keys on level {level}",
                    partition,
                    bucket,
                    (reach_name, name),
                )
            if reach < largest:
                reach, reach_name = largest, name


def index_changes(
    base: Sequence[IndexFile],
    added: Sequence[IndexFile],
    deleted: Sequence[IndexFile],
    *,
    delta: Sequence[ManifestEntry],
    live: Iterable[ManifestEntry],
    by_file: bool,
) -> list[Conflict]:
    """Index files that another commit, or another writer of this one, changed since the writer read them.

    A data file may not go while rows of it are masked that its writer took along, and none may be
    masked that is gone.  ``live``: files of the partitions that change.

    ``by_file``: the table is bucket-unaware, so deletion vectors belong to data files, each of
    which may be masked by one index file only.
    """
    names = {i.file_name for i in base}
    gone = {i.file_name for i in deleted}
    conflicts = [
        _index(i, "is to be replaced, but another commit has replaced it")
        for i in deleted
        if i.file_name not in names
    ]
    kept = [i for i in base if i.file_name not in gone]
    slots = {_slot(i, by_file): i for i in kept}
    masked = {
        r.file_name: i for i in kept if i.index_type == DELETION_VECTORS for r in i.ranges or ()
    }
    before = {r.file_name for i in deleted for r in i.ranges or ()}
    brought = {e.file.file_name for e in delta if e.kind is EntryKind.ADD}
    present = {e.file.file_name for e in live} | brought
    for change in delta:
        name = change.file.file_name
        if change.kind is EntryKind.DELETE and name in masked and name not in brought:
            what = f"masks rows of {name}, which is to be deleted by a writer that never saw it"
            conflicts.append(_index(masked[name], what))
    for entry in added:
        slot = _slot(entry, by_file)
        other = slots.setdefault(slot, entry)
        if other is not entry:
            conflicts.append(
                _index(entry, f"would replace {other.file_name}, which its writer never saw")
            )
        if entry.index_type != DELETION_VECTORS:
            continue
        for name in (r.file_name for r in entry.ranges or ()):
            if by_file and name in masked:
                what = f"masks rows of {name}, and so does {masked[name].file_name} meanwhile"
                conflicts.append(_index(entry, what))
            if name not in present and (by_file or name not in before):
                conflicts.append(_index(entry, f"masks rows of {name}, which is gone"))
            if by_file:
                masked[name] = entry
    return conflicts


def combine_index(
    base: Sequence[IndexFile], added: Sequence[IndexFile], deleted: Sequence[IndexFile]
) -> tuple[IndexFile, ...]:
    """The complete state after a change (format 4.8, T13): deletes first, then adds."""
    gone = {i.file_name for i in deleted} | {i.file_name for i in added}
    return (*(i for i in base if i.file_name not in gone), *added)


def since_safe(
    touched: Iterable[Touched], partitions: frozenset[bytes], *, kind: CommitKind
) -> list[Conflict]:
    """Commits of others after the last safe snapshot that strict mode does not accept."""
    risky = {CommitKind.COMPACT, CommitKind.OVERWRITE}
    return [
        Conflict(
            ConflictKind.UNSAFE_SINCE,
            f"snapshot {t.snapshot.id} ({t.snapshot.commit_kind}) of {t.snapshot.commit_user} came "
            "after the last safe snapshot and touches the same partitions",
        )
        for t in touched
        if t.partitions & partitions
        and (
            t.snapshot.commit_kind in risky
            or (
                kind is CommitKind.OVERWRITE
                and t.snapshot.commit_kind is CommitKind.APPEND
                and t.fixed_buckets
            )
        )
    ]


def _slot(entry: IndexFile, by_file: bool) -> tuple[object, ...]:
    """What at most one index file may occupy (format 4.8)."""
    bucketed = entry.index_type == HASH or (entry.index_type == DELETION_VECTORS and not by_file)
    if bucketed:
        return entry.index_type, entry.partition, entry.bucket
    return entry.index_type, entry.file_name


def _of(kind: ConflictKind, entry: ManifestEntry, what: str) -> Conflict:
    name = entry.file.file_name
    return Conflict(
        kind, f"{name} (level {entry.file.level}) {what}", entry.partition, entry.bucket, (name,)
    )


def _index(entry: IndexFile, what: str) -> Conflict:
    return Conflict(
        ConflictKind.INDEX_REPLACED,
        f"index file {entry.file_name} {what}",
        entry.partition,
        entry.bucket,
        (entry.file_name,),
    )
