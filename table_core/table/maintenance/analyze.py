"""Counts rows and columns for query planners, and commits what it found (format 3, ANALYZE)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from table_core.bucketing.hash import row_hash
from table_core.commit.request import CommitPart
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import ArgumentError
from table_core.ondisk import layout
from table_core.ondisk.partition_text import value_text
from table_core.ondisk.snapshot import CommitKind
from table_core.ondisk.stats import StatsBuilder, decode_stats, parse_mode
from table_core.ondisk.table_statistics import ColumnStatistics, TableStatistics
from table_core.scan.time_travel import SnapshotRef
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.metadata.describing import committed
from table_core.table.metadata.sharing import alone
from table_core.table.metadata.unsupported import refuse_commits
from table_core.table.read.scan import state_scan
from table_core.table.read.state_plan import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.binary_row import Value
    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.split import Split
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument
    from table_core.table.metadata.sharing import Share
    from table_core.table.read.scan import RowReader

__all__ = ["analyze"]

_SKETCH_HASHES: Final = 4_096
_HASHES: Final = 2**32
_LENGTHS: Final = frozenset({Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY})
_BYTES: Final = {
    Root.BOOLEAN: 1,
    Root.TINYINT: 1,
    Root.SMALLINT: 2,
    Root.INT: 4,
    Root.DATE: 4,
    Root.TIME: 4,
    Root.FLOAT: 4,
    Root.BIGINT: 8,
    Root.DOUBLE: 8,
    Root.TIMESTAMP: 8,
    Root.TIMESTAMP_LTZ: 8,
}
_BOUNDED: Final = frozenset(_BYTES) | {Root.DECIMAL}


def analyze(
    access: TableAccess,
    columns: Sequence[str] | None,
    commit: CommitAs,
    *,
    dry_run: bool = False,
    share: Share = alone,
) -> ResultDocument:
    """See ``Table.analyze``; rows are read by ``share``.

    Raises:
        ArgumentError: no such column.
        UnsupportedFeatureError: the table asks for what this release does not do with a commit.
    """
    refuse_commits(access)
    started_ms = access.clock.now_ms()
    head = access.head()
    access = access.in_newest_schema()
    commit = commit.with_request("analyze", access.branch, columns=columns)
    done = find_commit(access, commit)
    statistics = None
    if done is None and head is not None:
        statistics = _statistics(access, head, _chosen(access, columns), share)
        done = None if dry_run else _commit(access, statistics, commit)
    details = {
        "rows": statistics.merged_record_count if statistics else None,
        "columns": {n: c.to_document() for n, c in statistics.columns.items()}
        if statistics
        else {},
    }
    result = committed(access, "analyze", done, head, details, started_ms=started_ms)
    return result.having(dry_run=dry_run)


def _chosen(access: TableAccess, columns: Sequence[str] | None) -> list[Field]:
    fields = {f.name: f for f in access.schema.fields}
    unknown = [name for name in columns or () if name not in fields]
    if unknown:
        raise ArgumentError(
            f"{access.name} has no columns {unknown}; there are {', '.join(fields)}",
            argument="columns",
            value=unknown,
        )
    return list(fields.values()) if columns is None else [fields[name] for name in columns]


def _statistics(
    access: TableAccess, head: Snapshot, fields: list[Field], share: Share
) -> TableStatistics:
    names = [f.name for f in fields] or [access.schema.fields[0].name]
    # Not by its number: that would be a look at the past, under the types of then.
    refuse_unreadable(access)
    scan = state_scan(access, SnapshotRef(snapshot=head, explicit=False), names, None, None)
    gathered = _Gathered.of(fields)
    work = partial(_gathered, scan.reader, fields)
    for part in share(work, scan.splits(), lambda split: int(split.size)):
        gathered.join(part)
    known = decode_stats(gathered.bounds.finish()[0], _bounded(fields)) if gathered.rows else {}
    nothing = (None, None, None)
    return TableStatistics(
        snapshot_id=head.id,
        schema_id=access.schema.id,
        merged_record_count=gathered.rows,
        merged_record_size=sum(e.file.file_size for e in access.live_entries(head)),
        columns={c.of.name: c.finish(known.get(c.of.name, nothing)) for c in gathered.columns},
    )


def _bounded(fields: Sequence[Field]) -> list[Field]:
    return [f for f in fields if isinstance(f.type, Atomic) and f.type.root in _BOUNDED]


@dataclass(slots=True)
class _Gathered:
    """What is known of some rows."""

    columns: list[_Column]
    bounds: StatsBuilder
    rows: int = 0

    @classmethod
    def of(cls, fields: Sequence[Field]) -> _Gathered:
        bounded = _bounded(fields)
        modes = [parse_mode("full")] * len(bounded)
        return cls([_Column(f) for f in fields], StatsBuilder(bounded, modes, dense=False))

    def add(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        self.bounds.add(rows)
        for column in self.columns:
            for chunk in rows.column(column.of.name).chunks:
                column.add(chunk)

    def join(self, other: _Gathered) -> None:
        self.rows += other.rows
        self.bounds.join(other.bounds)
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.join(theirs)


def _gathered(reader: RowReader, fields: Sequence[Field], splits: Sequence[Split]) -> _Gathered:
    gathered = _Gathered.of(fields)
    for split in splits:
        for rows in reader.read(split):
            gathered.add(rows)
    return gathered


def _commit(access: TableAccess, statistics: TableStatistics, commit: CommitAs) -> Commit:
    name = f"stat-{access.ids.uuid()}-0"
    access.storage.write(layout.statistics_path(name), statistics.to_json())
    part = CommitPart(kind=CommitKind.ANALYZE, statistics=name)
    return commit_parts(access, commit, append=part)


@dataclass(slots=True)
class _Column:
    """What is known of one column so far.

    Distinct values are estimated from the smallest of their hashes: exact up to a few thousand,
    within a few percent above.
    """

    of: Field
    nulls: int = 0
    values: int = 0
    bytes: int = 0
    longest: int = 0
    hashes: np.ndarray[tuple[int], np.dtype[np.uint32]] = field(
        default_factory=lambda: np.empty(0, np.uint32)
    )

    @property
    def root(self) -> Root | None:
        return self.of.type.root if isinstance(self.of.type, Atomic) else None

    def add(self, column: pa.Array) -> None:
        self.nulls += column.null_count
        self.values += len(column) - column.null_count
        if self.root in _LENGTHS and column.null_count < len(column):
            lengths = pc.binary_length(column)
            self.bytes += pc.sum(lengths).as_py()
            self.longest = max(self.longest, pc.max(lengths).as_py())
        if self._counts_distinct():
            self._take(row_hash([pc.drop_null(column)], [self.of.type]).view(np.uint32))

    def join(self, other: _Column) -> None:
        self.nulls += other.nulls
        self.values += other.values
        self.bytes += other.bytes
        self.longest = max(self.longest, other.longest)
        self._take(other.hashes)

    def _take(self, hashes: np.ndarray[Any, np.dtype[np.uint32]]) -> None:
        self.hashes = np.unique(np.concatenate((self.hashes, hashes)))[:_SKETCH_HASHES]

    def finish(self, bounds: tuple[Value, Value, int | None]) -> ColumnStatistics:
        low, high = (self._text(value) for value in bounds[:2])
        root = self.root
        average = longest = _BYTES.get(root) if root is not None else None
        if root is Root.DECIMAL:
            average = longest = 8 if getattr(self.of.type, "precision", 0) <= 18 else 16
        if root in _LENGTHS:
            average, longest = -(-self.bytes // max(self.values, 1)), self.longest
        return ColumnStatistics(
            field_id=self.of.id,
            distinct_count=self._distinct() if self._counts_distinct() else None,
            min=low,
            max=high,
            null_count=self.nulls,
            average_bytes=average,
            max_bytes=longest,
        )

    def _counts_distinct(self) -> bool:
        return self.root in _LENGTHS or self.root in _BYTES or self.root is Root.DECIMAL

    def _distinct(self) -> int:
        if len(self.hashes) < _SKETCH_HASHES:
            return len(self.hashes)
        share = (int(self.hashes[-1]) + 1) / _HASHES
        return min(round((_SKETCH_HASHES - 1) / share), self.values)

    def _text(self, value: Value) -> str | None:
        if value is None:
            return None
        # As Paimon's serializers write it: days and milliseconds stay numbers, timestamps do not.
        stamps = self.root in {Root.TIMESTAMP, Root.TIMESTAMP_LTZ}
        return value_text(self.of.type, value, legacy=not stamps)
