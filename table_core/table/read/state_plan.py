"""The plan of one state of a table: which of its live files are read, in which splits."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import NotFoundError, SchemaError, UnsupportedFeatureError
from table_core.lsm.triggers import number_of_levels
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.options import keys_files, keys_scan, keys_write
from table_core.scan.follow import Levels
from table_core.scan.plan import ScanPlan, live_entries, plan_batch
from table_core.scan.prune import Pruner
from table_core.scan.split import deletion_refs, hides_level0
from table_core.scan.time_travel import at_or_before
from table_core.storage.collector import collector_still
from table_core.table.metadata.refs.branches import branch_access
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.unsupported import refuse_reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.datatypes.kinds import DataType
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.scan.split import DeletionRef
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "StatePlan",
    "StatePlanner",
    "deletions_of",
    "fallback_of",
    "index_entries",
    "plan_with_fallback",
    "refuse_unreadable",
]

_MANY_FILES: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePlanner:
    """Plans reads of states of one branch."""

    access: TableAccess
    where: Bound | None = None
    limit: int | None = None
    """Rows that are wanted; only where no condition is evaluated on rows."""
    levels: Levels = Levels.ALL
    created_after_ms: int | None = None
    delta_only: bool = False
    """Only the files that the snapshot itself added."""
    keeps_partition: Callable[[bytes], bool] | None = None
    streams: bool = False
    """Whether a stream begins with this state, or a writer goes on from it: then level 0 counts, which
    batch reads may not see."""

    def plan(self, snapshot: Snapshot | None) -> ScanPlan:
        """The splits of ``snapshot``, none where it is None."""
        pruner = self.pruner()
        if snapshot is None:
            return ScanPlan((), pruner.explain())
        manifests = self.manifests(snapshot)
        is_large = sum(meta.num_added_files for meta in manifests) > _MANY_FILES
        with collector_still() if is_large else nullcontext():
            entries = live_entries(pruner, manifests, self.access.metadata.manifests)
            deletions = deletions_of(self.access, snapshot)
            return self.plan_of(entries, pruner, deletions, snapshot_id=snapshot.id)

    def plan_of(
        self,
        live: Iterable[ManifestEntry],
        pruner: Pruner,
        deletions: Mapping[str, DeletionRef] | None,
        *,
        snapshot_id: int,
    ) -> ScanPlan:
        """The splits of whole buckets; ``live`` are their files, oldest first."""
        return plan_batch(
            self.access.schema,
            self.access.options,
            [e for e in live if self._wants(e)],
            pruner,
            snapshot_id=snapshot_id,
            bounds=self.access.bounds,
            deletions=deletions,
            limit=self.limit,
        )

    def manifests(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """The manifests whose folded entries are the files of ``snapshot``, oldest first."""
        metadata = self.access.metadata
        return (
            metadata.delta_manifests(snapshot)
            if self.delta_only
            else metadata.data_manifests(snapshot)
        )

    def pruner(self) -> Pruner:
        """What rules files out; it counts for one plan."""
        access = self.access
        return Pruner(
            access.schema,
            access.options,
            self.where,
            schema_of=access.metadata.schema,
            keeps_partition=self.keeps_partition,
            streams=self.streams,
            index_of=self._index_of
            if access.options.get(keys_files.FILE_INDEX_READ_ENABLED)
            else None,
        )

    def _index_of(self, entry: ManifestEntry) -> bytes | None:
        """The container of the file's indexes; one that cannot be read is as good as none."""
        if entry.file.embedded_index is not None:
            return entry.file.embedded_index
        schema = self.access.schema
        for path in layout.extra_file_paths(schema, entry.partition, entry.bucket, entry.file):
            if path.endswith(".index") and entry.file.external_path is None:
                try:
                    return self.access.storage.read(path)
                except NotFoundError:
                    return None
        return None

    def _wants(self, entry: ManifestEntry) -> bool:
        file = entry.file
        if self.levels is Levels.ABOVE_ZERO and file.level == 0:
            return False
        if self.levels is Levels.TOP and file.level < number_of_levels(self.access.options) - 1:
            return False
        if self.created_after_ms is None or file.creation_time_ms is None:
            return True
        return self.access.wall_clock.moment(file.creation_time_ms) >= self.created_after_ms


@dataclass(frozen=True, slots=True)
class StatePlan:
    """A plan of one state that is not made yet."""

    planner: StatePlanner
    snapshot: Snapshot | None

    def __call__(self) -> ScanPlan:
        """Make it, here."""
        return self.planner.plan(self.snapshot)


def index_entries(access: TableAccess, snapshot: Snapshot) -> list[IndexEntry]:
    """Every index file of ``snapshot``."""
    if snapshot.index_manifest is None:
        return []
    path = layout.manifest_path(snapshot.index_manifest)
    return decode_index_manifest(access.metadata.named_file(path), path=path)


def deletions_of(access: TableAccess, snapshot: Snapshot) -> dict[str, DeletionRef] | None:
    """Where the deletion vector of each data file lies, None if the table has none.

    Paimon leaves out of account those of a table whose vectors are switched off
    (``deletion-vectors.modifiable``), and shows what they marked.
    """
    if not access.options.get(keys_write.DELETION_VECTORS_ENABLED):
        return None
    entries = index_entries(access, snapshot)
    return deletion_refs(entries) if entries else None


def fallback_of(access: TableAccess) -> TableAccess | None:
    """The branch that is read for partitions which this one lacks; None without any.

    Raises:
        NotFoundError: no such branch.
        SchemaError: its columns or partitions differ.
    """
    name = access.options.get(keys_scan.SCAN_FALLBACK_BRANCH)
    if name is None or name == access.branch:
        return None
    fallback = branch_access(access, name)
    ours, theirs = access.schema, fallback.schema
    differ = [
        f.name
        for f in ours.fields
        if f.name not in theirs.by_name
        or replace(theirs.field(f.name).type, nullable=True) != replace(f.type, nullable=True)
    ]
    if differ or len(ours.fields) != len(theirs.fields):
        raise SchemaError(
            f"the fallback branch {name!r} of {access.name} has other columns: {differ}",
            problems=[f"column {column!r} differs" for column in differ],
        )
    if ours.partition_keys != theirs.partition_keys:
        raise SchemaError(
            f"the fallback branch {name!r} of {access.name} is partitioned by "
            f"{theirs.partition_keys}, not by {ours.partition_keys}",
            problems=["partition keys differ"],
        )
    return fallback


def plan_with_fallback(
    planner: StatePlanner,
    snapshot: Snapshot | None,
    fallback: StatePlanner,
    *,
    explicit: bool,
) -> ScanPlan:
    """``snapshot``, and of the fallback branch the partitions that ``snapshot`` lacks.

    It lacks those too of which it only has files that batch reads do not see.  The fallback's state
    is its newest; with an ``explicit`` snapshot its newest of that time.
    """
    main = planner.plan(snapshot)
    hidden = not planner.streams and hides_level0(planner.access.schema, planner.access.options)
    have = frozenset(
        entry.partition
        for entry in planner.access.live_entries(snapshot)
        if entry.bucket >= 0 and not (hidden and entry.file.level == 0)
    )
    timeline = TableTimeline(fallback.access)
    if explicit and snapshot is not None:
        state = at_or_before(timeline, snapshot.time_millis)
    else:
        state = timeline.head()
    rest = replace(fallback, keeps_partition=lambda partition: partition not in have).plan(state)
    branch = fallback.access.branch
    splits = (*main.splits, *(replace(split, branch=branch) for split in rest.splits))
    return ScanPlan(splits, main.explain)


def refuse_unreadable(access: TableAccess) -> None:
    """Refuse tables whose rows this release would get wrong.

    Raises:
        UnsupportedFeatureError: names the feature.
    """
    blobs = [f.name for f in access.schema.fields if _is_blob(f.type)]
    if blobs:
        raise UnsupportedFeatureError(
            f"{access.name} has BLOB columns {blobs}, whose files this release does not read",
            feature="blob",
        )
    refuse_reads(access)


def _is_blob(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root is Root.BLOB
