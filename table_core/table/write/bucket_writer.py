"""The rows of one bucket, from arrival order to files: numbered, sorted, merged, written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.commit.basis import AsOf, Basis, Numbered
from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import OptionError
from table_core.merge.clustering import Clustering
from table_core.merge.engines.deduplicate import Deduplicate
from table_core.merge.engines.engine import engine_for, merges_in_parts
from table_core.merge.engines.sort_only import SortOnly
from table_core.merge.sort import runs_of
from table_core.ondisk import layout
from table_core.options import keys_scan, keys_write
from table_core.table.files.merging import merge_in_passes
from table_core.table.metadata.partition_spec import partition_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.merge.engines.engine import MergeEngine
    from table_core.ondisk.data_file import DataFile, ManifestEntry
    from table_core.storage.spill import SpilledRows
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["BucketWriter", "Numbering"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbering:
    """Which sequence numbers a writer gives out: of ``step`` writers at once, each ``step``-th.

    Writers that share a bucket and do not know of each other never give out the same number.
    """

    offset: int = 0
    step: int = 1


@dataclass(slots=True, kw_only=True)
class BucketWriter:
    """Writes for every bucket of a table; several threads may, each for another bucket.

    ``changes``: rows are also written, as they came, to changelog files (producer ``input``).
    """

    access: TableAccess
    factory: FileFactory
    numbering: Numbering
    replaces: bool = False
    """What is there goes."""
    changes: bool = False
    _next: dict[Bucket, int] = field(init=False, default_factory=dict)
    _as_of: dict[Bucket, AsOf] = field(init=False, default_factory=dict)
    _created: dict[Bucket, int] = field(init=False, default_factory=dict)
    """When the newest file of postponed rows was created: what tells their order."""
    _engine: MergeEngine | None = field(init=False, default=None)
    _clustering: Clustering | None = field(init=False, default=None)
    """How the rows of a table without key and buckets are to lie (``clustering.columns``)."""

    def __post_init__(self) -> None:
        schema = self.access.schema
        columns = self.access.options.get(keys_write.CLUSTERING_COLUMNS)
        if schema.is_key_table:
            self._engine = engine_for(schema)
        elif columns and schema.bucket < 0:
            self._clustering = Clustering.of(schema, columns)

    @classmethod
    def of(
        cls,
        access: TableAccess,
        factory: FileFactory,
        numbering: Numbering | None,
        *,
        replaces: bool,
    ) -> BucketWriter:
        """For a write that appends, or ``replaces`` what is there."""
        producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
        return cls(
            access=access,
            factory=factory,
            numbering=numbering or Numbering(),
            replaces=replaces,
            changes=producer == "input" and not replaces,
        )

    @property
    def sorts(self) -> bool:
        """Whether runs are in an order, so that many can be merged to one."""
        return self._engine is not None or self._clustering is not None

    def number_on(self, buckets: Iterable[Bucket]) -> None:
        """Find where the numbering of each bucket goes on: after the largest number that was in it.

        To fold all files, so that those that went do not count, would take longer with each commit.
        """
        schema = self.access.schema
        unknown = {bucket for bucket in buckets if bucket not in self._next}
        offset = self.numbering.offset
        self._next.update(dict.fromkeys(unknown, offset))
        if not unknown or (not schema.is_key_table and schema.bucket < 0):
            return
        partitions = {partition for partition, _ in unknown}
        head = self.access.probable_head()
        self._as_of.update(dict.fromkeys(unknown, AsOf.of(head)))
        known = self.access.highest_of_partitions(head, partitions)
        for bucket, highest in known.items():
            if bucket in unknown:
                self._next[bucket] = highest.sequence + 1 + offset
                self._created[bucket] = highest.created_ms + 1
        totals = frozenset[int]().union(*(highest.totals for highest in known.values()))
        if not self.replaces and self._has_other_count(totals):
            for entries in self.access.files_of_partitions(head, partitions).values():
                self._refuse_other_count(entries)

    def basis(self) -> Basis:
        """What the numbers go on from, and the creation times of postponed rows."""
        return Basis(numbered=tuple(Numbered(*b, as_of) for b, as_of in self._as_of.items()))

    def _has_other_count(self, totals: Iterable[int]) -> bool:
        wanted = self.access.schema.bucket
        return wanted > 0 and any(total > 0 and total != wanted for total in totals)

    def _refuse_other_count(self, entries: Sequence[ManifestEntry]) -> None:
        """A row has one bucket: of as many as its partition has, not of as many as new ones get."""
        wanted = self.access.schema.bucket
        other = next((e.total_buckets for e in entries if e.total_buckets > 0), wanted)
        if other == wanted:
            return
        partition = partition_row(self.access, entries[0].partition)
        raise OptionError(
            f"{self.access.name} has bucket = {wanted}, but its partition {partition} has {other} "
            "buckets: call rescale(), or overwrite the partition",
            option="bucket",
            value=str(wanted),
        )

    # ------------------------------------------------------------------------------ rows to runs
    def run(
        self, rows: pa.Table, bucket: Bucket, indices: pa.Array | None, *, whole: bool
    ) -> tuple[pa.Table, list[DataFile]]:
        """The rows of ``bucket`` at ``indices`` as one run, and their changelog files.

        A run of a key table is sorted.  Its versions are merged, unless it is not the ``whole`` of
        what is written and merging a part of it first could tell.
        """
        if bucket[1] == layout.POSTPONE_BUCKET:  # as they came: unsorted, unmerged, unnumbered
            mine = rows if indices is None else rows.take(indices)
            unknown = pa.repeat(pa.scalar(-1, pa.int64()), mine.num_rows)
            return mine.add_column(0, SEQUENCE_COLUMN, unknown), []
        if self._engine is None:
            mine = rows if indices is None else rows.take(indices)
            return self._clustered(mine, bucket, whole=whole), []
        return self._keyed(self._engine, rows, bucket, indices, whole=whole)

    def _clustered(self, rows: pa.Table, bucket: Bucket, *, whole: bool) -> pa.Table:
        """Rows of a table without key as they are to lie; with what orders them, if more follow."""
        if self._clustering is None:
            return rows
        first = self._next.get(bucket, 0)
        self._next[bucket] = first + rows.num_rows
        placed, order = self._clustering.placed(rows, first), self._clustering.order
        ordered = SortOnly(order).merge_runs(placed, runs_of(placed, order))
        return self._clustering.plain(ordered) if whole else ordered

    def _keyed(
        self,
        engine: MergeEngine,
        rows: pa.Table,
        bucket: Bucket,
        indices: pa.Array | None,
        *,
        whole: bool,
    ) -> tuple[pa.Table, list[DataFile]]:
        """Number, sort and merge with one gather of every column."""
        order = engine.order
        names = dict.fromkeys([*order.key, *order.sequence_fields, KIND_COLUMN])
        ordering = rows.select(list(names))
        if indices is not None:
            ordering = ordering.take(indices)
        numbers = self._numbers(bucket, ordering.num_rows)
        ordering = ordering.append_column(SEQUENCE_COLUMN, pa.array(numbers))
        runs = runs_of(ordering, order)
        merges = whole or merges_in_parts(engine, ordering)
        newest = merges and isinstance(engine, Deduplicate) and not engine.ignore_delete
        if newest and not self.changes:
            at = runs.rows_at(runs.ends)
        else:
            at = np.arange(len(numbers)) if runs.order is None else runs.order
        chosen = pa.array(at) if indices is None else indices.take(pa.array(at))
        ordered = rows.take(chosen).add_column(0, SEQUENCE_COLUMN, pa.array(numbers[at]))
        changelog: list[DataFile] = []
        if self.changes:
            with self.factory.rolling(*bucket, changelog=True, sync=False) as writer:
                writer.write(ordered)
                changelog = writer.close()
        elif newest:
            return ordered, []
        return (engine.merge(ordered) if merges else ordered), changelog

    def _numbers(self, bucket: Bucket, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        step, first = self.numbering.step, self._next[bucket]
        self._next[bucket] = first + count * step
        return np.arange(first, first + count * step, step, dtype=np.int64)

    # ----------------------------------------------------------------------------- runs to files
    def store(self, bucket: Bucket, tables: Iterable[pa.Table]) -> list[DataFile]:
        """Write files of ``tables``, which are in the order of the bucket."""
        ordered = not self.access.schema.is_key_table and self.access.schema.bucket > 0
        first = self._next.get(bucket, 0) if not self.sorts else 0
        with self.factory.rolling(*bucket, first_sequence=first, sync=False) as writer:
            for table in tables:
                writer.write(table)
            files = writer.close()
        if bucket[1] == layout.POSTPONE_BUCKET:
            files = [self._in_order(bucket, file) for file in files]
        if ordered:
            self._next[bucket] = first + sum(file.row_count for file in files)
        return files

    def _in_order(self, bucket: Bucket, file: DataFile) -> DataFile:
        """A file of postponed rows, created after all that is there, whatever the clocks say."""
        created = max(file.creation_time_ms or 0, self._created.get(bucket, 0))
        self._created[bucket] = created
        return replace(file, creation_time_ms=created)

    def merged(
        self, bucket: Bucket, runs: Sequence[SpilledRows], at_once: int, memory: int
    ) -> Iterator[pa.Table]:
        """All runs of ``bucket``, oldest first, as one; ``at_once`` are merged at a time.

        Their batches take about ``memory`` bytes together.
        """
        batches = [run.batches(memory // max(min(len(runs), at_once), 1)) for run in runs]
        if self._clustering is not None:
            order = SortOnly(self._clustering.order)
            ordered = merge_in_passes(batches, order, at_once=at_once, memory=memory)
            return map(self._clustering.plain, ordered)
        if self._engine is None or bucket[1] == layout.POSTPONE_BUCKET:
            return (pa.Table.from_batches([batch]) for run in batches for batch in run)
        return merge_in_passes(batches, self._engine, at_once=at_once, memory=memory)
