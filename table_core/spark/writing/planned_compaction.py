"""Compaction of a table so large that tasks choose the buckets: the driver sees what became of them, and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from table_core.scan.split import by_bucket
from table_core.spark.reading.planned import dealt_to_tasks
from table_core.spark.session.create import parallelism, started
from table_core.spark.session.failures import translated
from table_core.spark.session.tasks import RESULT_TYPE, over_rows, packed, unpacked
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.compact.compact import Choice, compact_bucket
from table_core.table.compact.compaction import pack_files, packs_of
from table_core.table.compact.sort_compaction import sort_bucket
from table_core.table.files.data_files import FileFactory
from table_core.table.read.distributed_plan import distributed
from table_core.table.read.state_plan import StatePlan, StatePlanner
from table_core.table.write.append_vectors import AppendVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from table_core.merge.clustering import Clustering
    from table_core.ondisk.data_file import DataFile
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.commit_io.prepared import CompactChange
    from table_core.table.compact.compact import Selection
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.read.distributed_plan import DistributedPlan, ManifestPiece

__all__ = ["PlannedCompaction"]

_Item: TypeAlias = "tuple[Bucket, tuple[DataFile, ...], int]"
"""Files that are compacted together, and of how many buckets theirs is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCompaction:
    """A compaction whose buckets nobody has chosen yet."""

    selection: Selection
    clustering: Clustering | None
    plan: DistributedPlan
    pieces: list[ManifestPiece]
    size: int

    @classmethod
    def of(
        cls,
        spark: SparkSession | Callable[[], SparkSession],
        selection: Selection,
        head: Snapshot | None,
        clustering: Clustering | None,
    ) -> PlannedCompaction | None:
        """The compaction of ``selection`` by tasks; None where the driver chooses.

        It does where a table without keys has deletion vectors: an index file holds those of many files, and
        one hand writes it anew.
        """
        access = selection.access
        if head is None or (head.index_manifest and not access.schema.is_key_table):
            return None
        planner = StatePlanner(
            access=access, keeps_partition=selection.keep_partition, streams=True
        )
        shared = distributed(
            StatePlan(planner, head), lambda: parallelism(started(spark)), selection.keep_manifest
        )
        if shared is None:
            return None
        plan, pieces, size = shared
        return cls(selection=selection, clustering=clustering, plan=plan, pieces=pieces, size=size)

    @property
    def choice(self) -> Choice:
        """What was chosen, but for the buckets."""
        return Choice(head=self.plan.snapshot, full=self.selection.full, buckets={}, totals={})

    def run(self, spark: SparkSession | Callable[[], SparkSession]) -> list[CompactChange]:
        """Compact, and tell what each task that counts did."""
        plan, chosen = self.plan, _Chosen(self.selection, self.clustering)

        def work(group: list[_Item]) -> Iterator[pa.RecordBatch]:
            access = chosen.selection.access
            factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
            with undone_by(factory.discard):
                changes = [change for item in group for change in chosen.compacted(factory, item)]
            yield packed(changes)

        with translated():
            planned = dealt_to_tasks(
                started(spark),
                plan,
                self.pieces,
                self.size,
                lambda rows: chosen.items(plan, rows),
                lambda item: sum(file.file_size for file in item[1]),
            )
            return [c for done in unpacked(over_rows(planned, work, RESULT_TYPE)) for c in done]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What tasks need: which buckets are due, and what is done with them."""

    selection: Selection
    clustering: Clustering | None

    def items(self, plan: DistributedPlan, rows: Iterable[tuple[int, bytes]]) -> list[_Item]:
        """What there is to do in a share."""
        live, deletions = plan.live(rows)
        masked = frozenset(deletions or ())
        items: list[_Item] = []
        for bucket, entries in by_bucket(live).items():
            files = tuple(entry.file for entry in entries)
            if self.selection.is_due(bucket, files, masked):
                total = entries[0].total_buckets
                items += [(bucket, pack, total) for pack in self._packs(bucket, files)]
        return items

    def compacted(self, factory: FileFactory, item: _Item) -> list[CompactChange]:
        """What became of ``item``."""
        bucket, files, total = item
        access = self.selection.access
        if self.clustering is not None:
            changes = [sort_bucket(access, factory, bucket, files, self.clustering)]
        elif access.schema.is_key_table:
            changes = compact_bucket(access, factory, bucket, files, full=self.selection.full)
        else:
            changes = [pack_files(access, factory, bucket, files, _no_vectors(access))]
        return [replace(change, total_buckets=total) for change in changes]

    def _packs(self, bucket: Bucket, files: tuple[DataFile, ...]) -> list[tuple[DataFile, ...]]:
        """What of ``bucket`` is compacted together."""
        access = self.selection.access
        if self.clustering is not None or access.schema.is_key_table:
            return [files]
        return packs_of(access, bucket, files, _no_vectors(access), full=self.selection.full)


def _no_vectors(access: TableAccess) -> AppendVectors:
    return AppendVectors(access, None)
