"""The plan of one state, made by many: everybody has all entries of some buckets, and nobody has all entries.

Two steps, with a shuffle between them.  First, each task reads some manifests, and deals what it lets through
out to shares, by a hash of partition and bucket.  Then each task has all entries of the buckets of one share,
oldest first: an ADD meets its DELETE there, a file its deletion vector, and splits are packed as one process
packs them.
"""

from __future__ import annotations

import math
import pickle
import zlib
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.ondisk.manifest import fold_entries
from table_core.options import keys_commit, keys_scan, keys_write
from table_core.scan.plan import kept_entries
from table_core.scan.split import deletion_refs
from table_core.table.read.state_plan import index_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.split import DeletionRef, Split
    from table_core.table.read.state_plan import StatePlan, StatePlanner

__all__ = ["Dealt", "DistributedPlan", "ManifestPiece", "distributed"]

Dealt: TypeAlias = tuple[int, int, bytes]
"""A share, the place of the entries in the order of the table, and the entries, pickled."""

_ENTRIES_A_PIECE: Final = 20_000
"""About 2 CPU s of reading: a manifest of the usual size is a piece of its own."""
_ENTRIES_A_SHARE: Final = 50_000
"""About 60 MB of Python in the task that plans them."""
_ENTRIES_WORTH_A_SHARE: Final = 1_000
_ENTRIES_AT_ONCE: Final = 4096
_SAMPLED: Final = 3
_INDEX_PLACE: Final = -1
_PLACES_A_MANIFEST: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class ManifestPiece:
    """What one task reads in the first step."""

    manifests: tuple[tuple[int, ManifestMeta], ...] = ()
    """Each with its place in the list."""
    reads_index: bool = False
    """Whether it is the index manifest instead, which says where deletion vectors lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedPlan:
    """How a plan is made in ``shares``.  Picklable, and small whatever the table has."""

    planner: StatePlanner
    snapshot: Snapshot
    shares: int
    newest_schema: int
    rows: int
    """About how many there are in all files."""

    def deal(self, piece: ManifestPiece) -> Iterator[Dealt]:
        """The first step: the entries of ``piece`` that may matter, dealt out."""
        if piece.reads_index:
            indexes: dict[int, list[IndexEntry]] = defaultdict(list)
            for entry in index_entries(self.planner.access, self.snapshot):
                indexes[self._share_of(entry)].append(entry)
            for share, own in indexes.items():
                yield share, _INDEX_PLACE, pickle.dumps(own)
            return
        pruner = self.planner.pruner()
        metas = [meta for _, meta in piece.manifests]
        read = self.planner.access.metadata.manifests
        kept = kept_entries(pruner, metas, read, newest_schema=self.newest_schema)
        for (place, _), entries in zip(piece.manifests, kept, strict=True):
            yield from self._dealt(place, entries)

    def splits(self, rows: Iterable[tuple[int, bytes]]) -> tuple[Split, ...]:
        """The second step: the splits of a share; ``rows`` are what it was dealt, by place."""
        live, deletions = self.live(rows)
        pruner, id = self.planner.pruner(), self.snapshot.id
        return self.planner.plan_of(live, pruner, deletions, snapshot_id=id).splits

    def live(
        self, rows: Iterable[tuple[int, bytes]]
    ) -> tuple[list[ManifestEntry], dict[str, DeletionRef] | None]:
        """The files of a share, oldest first, and where their deletion vectors lie."""
        deletions: dict[str, DeletionRef] | None = None

        def entries() -> Iterator[ManifestEntry]:
            nonlocal deletions
            for place, body in rows:
                if place == _INDEX_PLACE:
                    deletions = deletion_refs(pickle.loads(body))
                else:
                    yield from pickle.loads(body)

        return list(fold_entries(entries()).live.values()), deletions

    def _dealt(self, place: int, entries: Sequence[ManifestEntry]) -> Iterator[Dealt]:
        shares: dict[int, list[ManifestEntry]] = defaultdict(list)
        for entry in entries:
            shares[self._share_of(entry)].append(entry)
        for share, own in shares.items():
            rest = iter(own)
            number = place * _PLACES_A_MANIFEST
            while some := list(islice(rest, _ENTRIES_AT_ONCE)):
                yield share, number, pickle.dumps(some)
                number += 1

    def _share_of(self, entry: ManifestEntry | IndexEntry) -> int:
        """Always the same for a bucket: ``hash`` of Python differs from process to process."""
        return zlib.crc32(entry.partition, entry.bucket & 0xFFFFFFFF) % self.shares


def distributed(
    state: StatePlan,
    slots: Callable[[], int],
    keep_manifest: Callable[[ManifestMeta], bool] | None = None,
) -> tuple[DistributedPlan, list[ManifestPiece], int] | None:
    """How tasks plan ``state``: the plan, the pieces of its first step, and about how many bytes it reads.

    ``slots`` tells how many tasks run at once.  None: one process plans it, because it has fewer manifests than
    ``scan.distributed-planning.min-manifests``, or because its splits come in an order.
    """
    planner, snapshot = state.planner, state.snapshot
    options = planner.access.options
    if snapshot is None or options.get(keys_scan.SCAN_PLAN_SORT_PARTITION):
        return None
    pruner = planner.pruner()
    chosen = filter(keep_manifest, planner.manifests(snapshot))
    metas = list(filter(pruner.keep_manifest, chosen))
    full = math.ceil(
        sum(meta.file_size for meta in metas) / options.get(keys_commit.MANIFEST_TARGET_FILE_SIZE)
    )
    if not metas or full < options.get(keys_scan.SCAN_DISTRIBUTED_PLANNING_MIN_MANIFESTS):
        return None
    entries = sum(map(_entries, metas))
    most = max(1, min(slots(), entries // _ENTRIES_WORTH_A_SHARE))
    size, rows = _bytes_and_rows(planner, metas)
    plan = DistributedPlan(
        planner=planner,
        snapshot=snapshot,
        shares=max(most, math.ceil(entries / _ENTRIES_A_SHARE)),
        newest_schema=max(meta.schema_id for meta in metas),
        rows=rows,
    )
    pieces = list(_pieces(metas))
    if snapshot.index_manifest and options.get(keys_write.DELETION_VECTORS_ENABLED):
        pieces.append(ManifestPiece(reads_index=True))
    return plan, pieces, size


def _pieces(metas: Sequence[ManifestMeta]) -> Iterator[ManifestPiece]:
    held: list[tuple[int, ManifestMeta]] = []
    entries = 0
    for place, meta in enumerate(metas):
        if held and entries + _entries(meta) > _ENTRIES_A_PIECE:
            yield ManifestPiece(tuple(held))
            held, entries = [], 0
        held.append((place, meta))
        entries += _entries(meta)
    if held:
        yield ManifestPiece(tuple(held))


def _entries(meta: ManifestMeta) -> int:
    return meta.num_added_files + meta.num_deleted_files


def _bytes_and_rows(planner: StatePlanner, metas: Sequence[ManifestMeta]) -> tuple[int, int]:
    """About how many bytes of files, and rows in them, ``metas`` name, from a few of them."""
    step = max(1, len(metas) // _SAMPLED)
    sample = [planner.access.metadata.file_columns(meta) for meta in metas[::step][:_SAMPLED]]
    sampled = sum(map(len, sample))
    live = sum(meta.num_added_files - meta.num_deleted_files for meta in metas)
    if not sampled or live <= 0:
        return 0, 0
    size = sum(int(columns.size.sum()) for columns in sample)
    rows = sum(int(columns.rows.sum()) for columns in sample)
    return int(size / sampled * live), int(rows / sampled * live)
