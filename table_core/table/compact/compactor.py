"""Carries out a compaction: reads the picked runs of one bucket, merges, writes, says what changed.

What to pick and what becomes of it is ``lsm``'s decision; which changes a producer delivers is
``changelog``'s.  Memory is runs times batch: rows stream by key window.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.changelog.diff import net_changes
from table_core.commit.basis import Merged
from table_core.datatypes.row_kind import KIND_COLUMN, LEVEL_COLUMN
from table_core.lsm.rewrite import Rewrite, Upgrade
from table_core.lsm.triggers import needs_lookup
from table_core.merge.engines.engine import engine_for
from table_core.merge.engines.lookup import LookupMerge, LowestLevel
from table_core.merge.record_expiry import RecordExpiry
from table_core.ondisk.data_file import FileSource
from table_core.options import keys_scan
from table_core.table.commit_io.prepared import CompactChange
from table_core.table.compact.old_values import OldValues
from table_core.table.files.file_reader import FileReader
from table_core.table.files.merging import MergeLimits, rows_for_merge

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from table_core.lsm.levels import Levels
    from table_core.lsm.rewrite import Step
    from table_core.merge.engines.engine import MergeEngine
    from table_core.merge.runs import Runs
    from table_core.merge.sort import KeyOrder
    from table_core.ondisk.data_file import DataFile
    from table_core.table.compact.bucket_vectors import BucketVectors
    from table_core.table.files.data_files import FileFactory, RollingWriter
    from table_core.table.metadata.access import TableAccess

__all__ = ["BucketCompactor"]

_ADDS: Final = pa.array([0, 2], pa.int8())


@dataclass(slots=True, kw_only=True)
class BucketCompactor:
    """Compacts one bucket of a key table."""

    access: TableAccess
    factory: FileFactory
    partition: bytes
    bucket: int
    total_buckets: int
    levels: Levels
    vectors: BucketVectors | None = None
    """The deletion vectors of the bucket, if the table has any."""
    _changelog: RollingWriter | None = field(init=False, default=None)
    _expiry: RecordExpiry | None = field(init=False)
    _now_ms: int = field(init=False)

    def __post_init__(self) -> None:
        self._expiry = RecordExpiry.of(self.access.schema)
        self._now_ms = self.access.clock.now_ms()

    def run(self, steps: Sequence[Step], output_level: int) -> CompactChange:
        """Do ``steps``.  Nothing is visible until the result is committed."""
        if self._delivers(output_level):
            self._changelog = self.factory.rolling(
                self.partition, self.bucket, level=output_level, changelog=True
            )
        before: list[DataFile] = []
        after: list[DataFile] = []
        with self._changelog or nullcontext():
            for step in steps:
                if isinstance(step, Upgrade):
                    self._upgrade(step)
                    before.append(step.file)
                    after.append(step.file.upgraded(step.level))
                else:
                    before.extend(step.files)
                    after.extend(self._rewrite(step, output_level))
        index_added, index_deleted = self.vectors.store(self.factory) if self.vectors else ((), ())
        return CompactChange(
            partition=self.partition,
            bucket=self.bucket,
            total_buckets=self.total_buckets,
            before=tuple(before),
            after=tuple(after),
            changelog=tuple(self._changelog.close()) if self._changelog else (),
            index_added=index_added,
            index_deleted=index_deleted,
            merged=self._merged(steps, output_level, before),
        )

    def reads(self, steps: Sequence[Step], output_level: int) -> bool:
        """Whether ``steps`` look at a row: a file that only rises changes its description alone."""
        return any(
            isinstance(step, Rewrite)
            or self._looks_into(step)
            or self._delivers_whole(step, output_level)
            for step in steps
        )

    def _merged(self, steps: Sequence[Step], level: int, before: Sequence[DataFile]) -> Merged:
        """What the result rests upon.  Deletes that are dropped need that nothing older is above."""
        drops = any(isinstance(step, Rewrite) and step.drop_deletes for step in steps)
        above = [file for file in self.levels.files if file.level > level]
        ranges = [self.access.bounds(file) for file in before] if above else []

        def meets(file: DataFile) -> bool:
            low, high = self.access.bounds(file)
            return any(not (largest < low or high < smallest) for smallest, largest in ranges)

        return Merged(
            partition=self.partition,
            bucket=self.bucket,
            level=level,
            files=tuple(before),
            above=frozenset(file.file_name for file in above if meets(file))
            if drops or self._looks_up
            else None,
            writes_vectors=self.vectors is not None,
            vectors=self.vectors.entry.file_name if self.vectors and self.vectors.entry else None,
        )

    @property
    def _limits(self) -> MergeLimits:
        return MergeLimits.of_compaction(self.access.options)

    # ------------------------------------------------------------------------------- changes
    @property
    def _producer(self) -> str:
        return self.access.options.get(keys_scan.CHANGELOG_PRODUCER)

    @property
    def _looks_up(self) -> bool:
        return self._producer != "full-compaction" and needs_lookup(self.access.options)

    @property
    def _settles(self) -> bool:
        """Whether a version above level 0 stands for older ones although nothing is looked up."""
        return self._producer == "full-compaction" and needs_lookup(self.access.options)

    def _delivers(self, output_level: int) -> bool:
        if self._producer == "full-compaction":
            return output_level == self.levels.max_level
        return self._producer == "lookup"

    def _upgrade(self, step: Upgrade) -> None:
        """A file that rises as it is still delivers its rows, and marks those it replaces."""
        if self._looks_into(step):
            rows = self._rows([step.file], runs=2)
            for _ in self._limits.merged([rows], self._engine(step.level), at_once=2):
                pass
        elif self._changelog is not None and self._delivers_whole(step, step.level):
            for batch in self._rows([step.file], marked=False):
                self._changelog.write(self._net(None, pa.Table.from_batches([batch])))

    def _looks_into(self, step: Upgrade) -> bool:
        """Whether older versions of the rows of a file that rises are looked up."""
        tells = self._producer == "lookup" or self.vectors is not None
        new = step.file.level == 0 and (tells or step.file.delete_row_count != 0)
        return self._looks_up and new

    def _delivers_whole(self, step: Upgrade, output_level: int) -> bool:
        """Whether all rows of a file that rises are changes."""
        rises = step.file.level != self.levels.max_level
        return not self._looks_up and self._delivers(output_level) and rises

    def _rewrite(self, step: Rewrite, output_level: int) -> list[DataFile]:
        out = self.factory.rolling(
            self.partition, self.bucket, level=step.level, source=FileSource.COMPACT
        )
        engine = self._engine(output_level)
        with out:
            for section in step.sections:
                at_once = self._limits.at_once(section, self.access.schema.fields)
                runs = [self._rows(run.files, runs=at_once) for run in section]
                for merged in self._limits.merged(runs, engine, at_once=at_once):
                    kept = merged
                    if step.drop_deletes:
                        kept = merged.filter(pc.is_in(merged[KIND_COLUMN], value_set=_ADDS))
                    out.write(kept)
            if self.vectors is not None:
                for file in step.files:
                    self.vectors.forget(file.file_name)
            return out.close()

    def _engine(self, output_level: int) -> MergeEngine:
        """What merges the rows of ``_rows``, and tells of changes."""
        engine = engine_for(self.access.schema)
        if self._looks_up:
            changed = None if self._changelog is None else self._changed
            return LookupMerge(engine, self._old_values(output_level).find, changed)
        if self._settles:
            engine = LowestLevel(engine)
        if self._changelog is not None:
            return _Delivering(engine, self._deliver)
        return engine

    def _old_values(self, output_level: int) -> OldValues:
        writes_vectors = self.vectors is not None
        return OldValues(
            reader=self._reader(positions=writes_vectors),
            runs=[run for run in self.levels.runs if run.level > output_level],
            mark=self.vectors.mark if self.vectors else None,
            kept=None if self._expiry is None else self._kept,
        )

    def _kept(self, rows: pa.Table) -> pa.Table:
        assert self._expiry is not None
        return self._expiry.kept(rows, self._now_ms)

    def _rows(
        self, files: Sequence[DataFile], *, marked: bool = True, runs: int = 1
    ) -> Generator[pa.RecordBatch]:
        """The rows of a run, as far as they have not expired; with their level if it matters.

        ``runs``: how many are read at once.
        """
        reader = replace(
            self._reader(),
            batch_bytes=self._limits.batch_bytes(runs),
            refuse_wide=self._limits.refuse_wide,
        )
        for file in files:
            level = pa.scalar(file.level, pa.int32())
            for batch in rows_for_merge(reader.read(file), file, reader.batch_bytes):
                rows = batch
                if self._expiry is not None:
                    table = self._expiry.kept(pa.Table.from_batches([batch]), self._now_ms)
                    rows = table.combine_chunks().to_batches()[0] if table.num_rows else None
                if rows is None:
                    continue
                if marked and (self._looks_up or self._settles or self._changelog is not None):
                    rows = rows.append_column(LEVEL_COLUMN, pa.repeat(level, rows.num_rows))
                yield rows

    def _deliver(self, window: pa.Table, runs: Runs, merged: pa.Table) -> None:
        """Write what changed for the keys that anything below the top level speaks of."""
        assert self._changelog is not None
        count = window.num_rows
        rows = np.arange(count) if runs.order is None else runs.order
        top = (window[LEVEL_COLUMN].to_numpy() == self.levels.max_level)[rows]
        lower = np.concatenate([[0], np.cumsum(~top)])
        touched = lower[runs.ends + 1] > lower[runs.starts]
        old = rows[top & np.repeat(touched, runs.lengths)]
        before = window.drop_columns([LEVEL_COLUMN]).take(pa.array(old))
        self._changelog.write(self._net(before, merged.filter(pa.array(touched))))

    def _changed(self, before: pa.Table | None, after: pa.Table) -> None:
        assert self._changelog is not None
        self._changelog.write(after if before is None else self._net(before, after))

    def _net(self, before: pa.Table | None, after: pa.Table) -> pa.Table:
        options = self.access.options
        ignore = keys_scan.CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS
        return net_changes(
            before,
            after,
            self.access.schema.trimmed_primary_keys,
            deduplicate=options.get(keys_scan.CHANGELOG_PRODUCER_ROW_DEDUPLICATE),
            ignore=options.get(ignore),
        )

    def _reader(self, *, positions: bool = False) -> FileReader:
        return FileReader(
            access=self.access,
            partition=self.partition,
            bucket=self.bucket,
            fields=self.access.schema.fields,
            system=True,
            deletions=self.vectors.of if self.vectors else None,
            positions=positions,
        )


@dataclass(frozen=True, slots=True)
class _Delivering:
    """An engine whose rows carry their level, and which shows what it merged."""

    engine: MergeEngine
    deliver: Callable[[pa.Table, Runs, pa.Table], None]

    @property
    def order(self) -> KeyOrder:
        return self.engine.order

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        return self.engine.required_columns(projected)

    def merge(self, rows: pa.Table) -> pa.Table:
        return self.engine.merge(rows)

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        settles = isinstance(self.engine, LowestLevel)
        merged = self.engine.merge_runs(
            rows if settles else rows.drop_columns([LEVEL_COLUMN]), runs
        )
        self.deliver(rows, runs, merged)
        return merged
