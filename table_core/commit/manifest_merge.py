"""Which manifests of the head a commit rewrites into fewer, larger ones.

Source: ``org.apache.paimon.operation.ManifestFileMerger``; format 4.7.  Merging is optional for
correctness; what is not: an ADD stays before its DELETE (format T19), so groups are neighbours in
order. Beyond Paimon, a compaction on its own that replaces most files merges what small manifests
there are: they are no more than it has to write anyway, and every reader opens fewer.

Target 8, at least 3 to merge: sizes 5 4 9 2 3 1 become groups 5+4 (rewritten: it reached 8), 9 (as it is:
alone it is large enough) and 2+3+1 (rewritten: 3 are due).  With 2 and 3 only, both would stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from table_core.ondisk.data_file import EntryKind
from table_core.options import keys_commit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.options.table import TableOptions

__all__ = ["FullMerge", "Group", "MergeSizes", "MinorMerge", "plan", "rewrite_full"]

MayHold: TypeAlias = "Callable[[ManifestMeta], bool]"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSizes:
    """Thresholds (options ``manifest.*``)."""

    target_bytes: int = 8 << 20
    full_bytes: int = 16 << 20
    count_min: int = 30

    @classmethod
    def of(cls, options: TableOptions) -> MergeSizes:
        """The thresholds that ``options`` of a table set."""
        return cls(
            target_bytes=options.get(keys_commit.MANIFEST_TARGET_FILE_SIZE),
            full_bytes=options.get(keys_commit.MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE),
            count_min=options.get(keys_commit.MANIFEST_MERGE_MIN_COUNT),
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours in the list.

    ``rewrite``: fold their entries into new manifests (format 4.6, unresolved DELETEs kept), rolled
    at the target size.  Otherwise the one manifest that there is stays as it is.
    """

    metas: tuple[ManifestMeta, ...]
    rewrite: bool


@dataclass(frozen=True, slots=True)
class MinorMerge:
    """The new base list is these groups, in order."""

    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class FullMerge:
    """Every DELETE and every ADD that it cancels goes.

    Read the DELETE identities of ``with_deletes``, then call ``keep`` to learn which of ``metas`` stay
    unread, and ``rewrite_full`` for the others.
    """

    metas: tuple[ManifestMeta, ...]
    target_bytes: int

    @property
    def with_deletes(self) -> tuple[ManifestMeta, ...]:
        """Manifests that hold DELETE entries."""
        return tuple(m for m in self.metas if m.num_deleted_files)

    def keep(self, may_hold: MayHold) -> tuple[tuple[ManifestMeta, ...], tuple[ManifestMeta, ...]]:
        """(kept unread, to be read).  ``may_hold``: by its partition bounds, a deleted file could be in it.

        At most one to be read means: not worth it, keep all.  A large manifest of January is kept unread
        while all deletes are of February: it holds nothing that they cancel.
        """
        kept = tuple(
            m for m in self.metas if not must_change(m, self.target_bytes) and not may_hold(m)
        )
        names = {m.file_name for m in kept}
        return kept, tuple(m for m in self.metas if m.file_name not in names)


def must_change(meta: ManifestMeta, target_bytes: int) -> bool:
    """Whether a full merge has to rewrite ``meta``."""
    return meta.num_deleted_files > 0 or meta.file_size < target_bytes


def plan(
    metas: Sequence[ManifestMeta], sizes: MergeSizes, *, deletes: int = 0
) -> FullMerge | MinorMerge:
    """What to do with base and delta manifests of the head, given in list order.

    ``deletes``: how many files the commit deletes, if it is a compaction on its own.
    """
    changing = sum(m.file_size for m in metas if must_change(m, sizes.target_bytes))
    if changing >= sizes.full_bytes and len(metas) > 1:
        return FullMerge(tuple(metas), sizes.target_bytes)
    return MinorMerge(tuple(_groups(metas, sizes, deletes)))


def _groups(metas: Sequence[ManifestMeta], sizes: MergeSizes, deletes: int) -> Iterator[Group]:
    waiting: list[ManifestMeta] = []
    size = 0
    for meta in metas:
        waiting.append(meta)
        size += meta.file_size
        if size >= sizes.target_bytes:
            yield Group(tuple(waiting), rewrite=len(waiting) > 1)
            waiting, size = [], 0
    live = sum(m.num_added_files - m.num_deleted_files for m in waiting)
    due = len(waiting) >= sizes.count_min or 2 * deletes >= max(live, 1)
    if due and len(waiting) > 1:
        yield Group(tuple(waiting), rewrite=True)
    else:
        yield from (Group((meta,), rewrite=False) for meta in waiting)


def rewrite_full(
    meta: ManifestMeta,
    entries: Iterable[ManifestEntry],
    *,
    deleted: Collection[tuple[object, ...]],
    target_bytes: int,
) -> list[ManifestEntry] | None:
    """What a full merge keeps of one manifest; None: leave the file as it is.

    ``deleted``: identities of all DELETE entries of the list.
    """
    changes = must_change(meta, target_bytes)
    left = []
    for entry in entries:
        if entry.kind is EntryKind.DELETE or entry.identity in deleted:
            changes = True
        else:
            left.append(entry)
    return left if changes else None
