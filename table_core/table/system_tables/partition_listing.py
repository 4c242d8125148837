"""System tables whose rows each belong to a partition: a condition on it spares the others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.predicate.bound import on_columns
from table_core.predicate.to_arrow import mask
from table_core.scan.by_partition import PartitionTest, manifests_of
from table_core.table.read.scan import MemoryScan
from table_core.table.system_tables.state import pinned_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.predicate.bound import Bound
    from table_core.table.metadata.access import TableAccess

__all__ = ["PartitionListing"]

_COLUMN: Final = "partition"
_FILES_AT_ONCE: Final = 20_000
"""Entries of manifests take a kilobyte and more, each."""
_NOTHING: Final = PartitionTest(lambda _: False, lambda _: False)


class PartitionListing(MemoryScan):
    """Rows that are made when they are asked for, of all partitions or of some."""

    def __init__(
        self,
        access: TableAccess,
        made: Callable[[TableAccess, Callable[[bytes], bool] | None], pa.Table],
        text: Callable[[TableAccess, bytes], str],
        keep: PartitionTest | None = None,
        *,
        lists_files: bool = False,
    ) -> None:
        """``text``: what the column ``partition`` calls a serialized one.  ``lists_files``: a row is a file, in any order."""
        self._access, self._made, self._text, self._keep = access, made, text, keep
        self._state, self._lists_files = None, lists_files

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._made(self._access, _NOTHING).schema

    @cached_property
    def _rows(self) -> pa.Table:
        return pa.concat_tables(self._tables())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; of files not all are in memory at once."""
        for table in self._tables():
            yield from table.to_batches()

    def _tables(self) -> Iterator[pa.Table]:
        """The rows: of files some partitions at a time, all of one state."""
        access, fields = self._access, self._access.schema.partition_fields
        if self._keep is not None or not self._lists_files or not fields:
            yield self._made(access, self._keep)
            return
        pinned, head = pinned_state(access)
        live = access.metadata.live_files(head)
        if len(live) <= _FILES_AT_ONCE:
            yield self._made(pinned, None)
            return
        counts = np.bincount(live.partition, minlength=len(live.partitions))
        number = np.cumsum(counts) // _FILES_AT_ONCE
        for at in np.unique(number[counts > 0]).tolist():
            some = np.flatnonzero((number == at) & (counts > 0)).tolist()
            rows = frozenset(live.partitions[place] for place in some)
            keep = PartitionTest(rows.__contains__, manifests_of(fields, rows))
            yield self._made(pinned, keep)

    def of(self, where: Bound) -> PartitionListing:
        """The rows of the partitions that ``where`` allows for; which of them it wants is not looked at."""
        access, part = self._access, on_columns(where, frozenset({_COLUMN}))
        if part is None or not access.schema.partition_keys:
            return self
        rows = access.metadata.live_files(access.head()).partition_rows()
        texts = pa.table(
            {_COLUMN: pa.array([self._text(access, row) for row in rows], pa.string())}
        )
        meets = mask(part, texts).fill_null(False).to_pylist()
        wanted = frozenset(row for row, meant in zip(rows, meets, strict=True) if meant)
        keep = PartitionTest(
            wanted.__contains__, manifests_of(access.schema.partition_fields, wanted)
        )
        return PartitionListing(access, self._made, self._text, keep if wanted else _NOTHING)
