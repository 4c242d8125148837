"""Carries out a compaction: reads the picked runs of one bucket, merges, writes, says what changed.

What to pick and what becomes of it is ``lsm``'s decision; which changes a producer delivers is
``changelog``'s.  Memory is runs times batch: rows stream by key window.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.changelog.diff import net_changes
from table_core.datatypes.row_kind import KIND_COLUMN
from table_core.lsm.rewrite import Upgrade
from table_core.merge.engine import engine_for
from table_core.merge.kway import merge_runs
from table_core.ondisk.data_file import FileSource
from table_core.options import keys_scan
from table_core.table.file_reader import FileReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.lsm.rewrite import Rewrite, Step
    from table_core.lsm.sorted_run import SortedRun
    from table_core.merge.engine import MergeEngine
    from table_core.merge.runs import Runs
    from table_core.merge.sort import KeyOrder
    from table_core.ondisk.data_file import DataFile
    from table_core.table.access import TableAccess
    from table_core.table.data_files import FileFactory, RollingWriter

__all__ = ["BucketCompactor", "CompactChange"]

_TOP: Final = "_FROM_TOP"
_ADDS: Final = pa.array([0, 2], pa.int8())


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactChange:
    """What a compaction of one bucket takes out and brings in."""

    partition: bytes
    bucket: int
    total_buckets: int
    before: tuple[DataFile, ...] = ()
    after: tuple[DataFile, ...] = ()
    changelog: tuple[DataFile, ...] = ()


@dataclass(slots=True, kw_only=True)
class BucketCompactor:
    """Compacts one bucket of a key table."""

    access: TableAccess
    factory: FileFactory
    partition: bytes
    bucket: int
    total_buckets: int
    max_level: int
    _changelog: RollingWriter | None = field(init=False, default=None)

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
                    self._deliver_upgrade(step)
                    before.append(step.file)
                    after.append(step.file.upgraded(step.level))
                else:
                    before.extend(step.files)
                    after.extend(self._rewrite(step))
        return CompactChange(
            partition=self.partition,
            bucket=self.bucket,
            total_buckets=self.total_buckets,
            before=tuple(before),
            after=tuple(after),
            changelog=tuple(self._changelog.close()) if self._changelog else (),
        )

    def _delivers(self, output_level: int) -> bool:
        producer = self.access.options.get(keys_scan.CHANGELOG_PRODUCER)
        return producer == "full-compaction" and output_level == self.max_level

    def _deliver_upgrade(self, step: Upgrade) -> None:
        """A file that rises to the top unread still delivers its rows: nothing was there before."""
        if self._changelog is None or step.file.level == self.max_level:
            return
        for batch in self._reader().read(step.file):
            self._changelog.write(self._net(None, pa.Table.from_batches([batch])))

    def _rewrite(self, step: Rewrite) -> list[DataFile]:
        schema = self.access.schema
        out = self.factory.rolling(
            self.partition, self.bucket, level=step.level, source=FileSource.COMPACT
        )
        engine: MergeEngine = engine_for(schema)
        if self._changelog is not None:
            engine = _Delivering(engine, self._deliver)
        with out:
            for section in step.sections:
                for merged in merge_runs([self._rows(run) for run in section], engine):
                    kept = merged
                    if step.drop_deletes:
                        kept = merged.filter(pc.is_in(merged[KIND_COLUMN], value_set=_ADDS))
                    out.write(kept)
            return out.close()

    def _rows(self, run: SortedRun) -> Iterator[pa.RecordBatch]:
        """The rows of ``run``; with a mark on those of the top level if changes are delivered."""
        reader = self._reader()
        for file in run.files:
            for batch in reader.read(file):
                if self._changelog is None:
                    yield batch
                else:
                    mark = pa.repeat(pa.scalar(file.level == self.max_level), batch.num_rows)
                    yield batch.append_column(_TOP, mark)

    def _deliver(self, window: pa.Table, runs: Runs, merged: pa.Table) -> None:
        """Write what changed for the keys that anything below the top level speaks of."""
        assert self._changelog is not None
        count = window.num_rows
        rows = np.arange(count) if runs.order is None else runs.order
        top = window[_TOP].to_numpy(zero_copy_only=False)[rows]
        lower = np.concatenate([[0], np.cumsum(~top)])
        touched = lower[runs.ends + 1] > lower[runs.starts]
        old = rows[top & np.repeat(touched, runs.lengths)]
        before = window.drop_columns([_TOP]).take(pa.array(old))
        self._changelog.write(self._net(before, merged.filter(pa.array(touched))))

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

    def _reader(self) -> FileReader:
        return FileReader(
            access=self.access,
            partition=self.partition,
            bucket=self.bucket,
            fields=self.access.schema.fields,
            system=True,
        )


@dataclass(frozen=True, slots=True)
class _Delivering:
    """An engine whose rows carry the mark of the top level, and which shows what it merged."""

    engine: MergeEngine
    deliver: Callable[[pa.Table, Runs, pa.Table], None]

    @property
    def order(self) -> KeyOrder:
        return self.engine.order

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        return self.engine.required_columns(projected)

    def merge(self, rows: pa.Table) -> pa.Table:
        return self.engine.merge(rows)

    def fold(self, rows: pa.Table, runs: Runs) -> pa.Table:
        merged = self.engine.fold(rows.drop_columns([_TOP]), runs)
        self.deliver(rows, runs, merged)
        return merged
