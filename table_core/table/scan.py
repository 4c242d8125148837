"""A read that is decided and not yet done: what every reading call returns.

Planning happens once, when it is first needed; rows are read whenever they are asked for.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.errors import ArgumentError
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.predicate.bind import bind
from table_core.predicate.expression import Condition, Expression
from table_core.predicate.sql import parse_where
from table_core.scan.plan import ScanPlan, live_entries, plan_batch
from table_core.scan.prune import Pruner
from table_core.scan.split import deletion_refs
from table_core.table.split_reader import SplitReader
from table_core.table.time_travel import snapshot_to_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.scan.prune import Explain
    from table_core.scan.split import Split
    from table_core.schema.table_schema import TableSchema
    from table_core.table.access import TableAccess
    from table_core.table.times import PointInTime

__all__ = ["MemoryScan", "Scan", "batch_scan", "bound_where", "selected_fields"]

_THREADS: Final = min(4, os.cpu_count() or 1)
_BATCH_ROWS: Final = 1 << 17


class Scan:
    """Rows to read.  polars, DuckDB and pandas take it as it is, through the Arrow C stream."""

    def __init__(
        self, reader: SplitReader, plan: Callable[[], ScanPlan], *, limit: int | None = None
    ) -> None:
        self._reader = reader
        self._make_plan = plan
        self._limit = limit

    @cached_property
    def _plan(self) -> ScanPlan:
        return self._make_plan()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._reader.schema()

    @property
    def reader(self) -> SplitReader:
        """The part that reads splits; picklable, and small where the plan is large."""
        return self._reader

    def splits(self) -> list[Split]:
        """The units of reading, in order; picklable, see ``read_split``."""
        return list(self._plan.splits)

    def explain(self) -> Explain:
        """What planning looked at, and what each step ruled out."""
        return self._plan.explain

    def read_split(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of one of ``splits``, in this or any other process.  Knows no limit."""
        for table in self._reader.read(split):
            yield from table.to_batches(max_chunksize=_BATCH_ROWS)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; memory does not depend on how many there are."""
        left = self._limit
        for split in self._plan.splits:
            for batch in self.read_split(split):
                if left is None:
                    yield batch
                    continue
                if left <= 0:
                    return
                yield batch.slice(0, left)
                left -= min(left, batch.num_rows)

    def to_arrow(self) -> pa.Table:
        """All rows as one table."""
        if self._limit is not None or len(self._plan.splits) < 2:
            return pa.Table.from_batches(self.to_batches(), schema=self.schema)
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = pool.map(lambda split: list(self._reader.read(split)), self._plan.splits)
            tables = [table for part in parts for table in part]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as an Arrow reader."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


def batch_scan(
    access: TableAccess,
    *,
    columns: Sequence[str] | None = None,
    where: str | Expression | None = None,
    limit: int | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
    watermark: int | None = None,
) -> Scan:
    """See ``Table.read``.

    Raises:
        NotFoundError: no such snapshot, tag or column.
        PredicateError: ``where`` does not parse or does not fit.
    """
    if limit is not None and limit < 0:
        raise ArgumentError(f"limit={limit} is negative", argument="limit", value=limit)
    found, named = snapshot_to_read(
        access, snapshot=snapshot, tag=tag, timestamp=timestamp, watermark=watermark
    )
    if named and found is not None:
        access = access.with_schema(access.metadata.schema(found.schema_id))
    bound = bound_where(access.schema, where)
    reader = SplitReader(access=access, fields=selected_fields(access.schema, columns), where=bound)
    plain_limit = limit if bound is None else None
    return Scan(reader, lambda: _plan(access, found, bound, plain_limit), limit=limit)


def _plan(
    access: TableAccess, snapshot: Snapshot | None, where: Bound | None, limit: int | None
) -> ScanPlan:
    pruner = Pruner(access.schema, access.options, where, schema_of=access.metadata.schema)
    if snapshot is None:
        return ScanPlan((), pruner.explain())
    entries = live_entries(
        pruner,
        access.metadata.data_manifests(snapshot),
        lambda meta: access.metadata.manifest(meta.file_name),
    )
    deletions = None
    if snapshot.index_manifest is not None:
        path = layout.manifest_path(snapshot.index_manifest)
        deletions = deletion_refs(decode_index_manifest(access.storage.read(path), path=path))
    return plan_batch(
        access.schema,
        access.options,
        entries,
        pruner,
        snapshot_id=snapshot.id,
        bounds=access.bounds,
        deletions=deletions,
        limit=limit,
    )


def selected_fields(schema: TableSchema, columns: Sequence[str] | None) -> tuple[Field, ...]:
    """The fields called ``columns``, all by default."""
    return schema.fields if columns is None else schema.select(columns)


def bound_where(schema: TableSchema, where: str | Expression | None) -> Bound | None:
    """``where`` with the names and types of ``schema``."""
    if where is None:
        return None
    if isinstance(where, str):
        return bind(parse_where(where), schema.fields)
    if not isinstance(where, Condition):
        raise ArgumentError(
            f"where={where!r}: give SQL text or a condition such as col('x') > 1",
            argument="where",
            value=str(where),
        )
    return bind(where, schema.fields)


class MemoryScan(Scan):
    """A scan over rows that are in memory: system tables and differences."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._rows.schema

    def splits(self) -> list[Split]:
        """None: nothing is left to read."""
        return []

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch."""
        yield from self._rows.to_batches()

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self._rows
