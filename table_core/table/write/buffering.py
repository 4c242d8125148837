"""How much a writer holds in memory, and what waits on the local disk beyond that."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from table_core.datatypes.pieces import pieces, wide_bytes
from table_core.options import keys_files, keys_write
from table_core.storage.columns.data_format import format_name
from table_core.storage.spill import Spill
from table_core.table.files.merging import (
    COPIES_AS_ORC,
    COPIES_WRITTEN,
    fitting_bytes,
    refuse_wide_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.options.table import TableOptions
    from table_core.storage.spill import SpilledRows
    from table_core.table.metadata.access import Bucket

__all__ = ["BufferLimits", "SpilledRuns", "joined"]

_COMPRESSION: Final = "none"
"""Where no option says another: nobody else reads these rows, and packing them takes as long as all the rest."""
_RUNS_MAX: Final = 64
_PIECES: Final = 8
_THREADS_MAX: Final = min(4, os.cpu_count() or 1)
_BYTES_A_THREAD: Final = 64 << 20
_PIECE_BYTES_MIN: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BufferLimits:
    """Of the memory that options grant, a third holds rows; sorting and gathering takes the rest."""

    granted: int
    option: str
    """What grants it."""
    spills: bool
    threads: int
    """How many buckets are written at once: each needs memory for a row group."""
    copies: int = COPIES_WRITTEN
    """How often a row is in memory at the same time."""

    @property
    def buffer_bytes(self) -> int:
        """What the rows of all buckets may take that wait."""
        return max(self.granted // 3, 1)

    @property
    def merge_bytes(self) -> int:
        """What a bucket may hold of its runs while they are merged: there are no rows in the buffer then."""
        return self.buffer_bytes // (2 * self.threads)

    def threads_for(self, widest: int) -> int:
        """How many buckets are written at once, if there is a row of ``widest`` bytes."""
        fitting = fitting_bytes(self.granted, self.copies)
        return max(1, min(self.threads, fitting // max(widest, 1)))

    @classmethod
    def of(cls, options: TableOptions) -> Self:
        """The smaller of ``write-buffer-size`` and ``write.memory-limit``."""
        granted, option = (
            options.get(keys_write.WRITE_BUFFER_SIZE),
            keys_write.WRITE_BUFFER_SIZE.key,
        )
        limit = options.get(keys_files.WRITE_MEMORY_LIMIT)
        if limit is not None and limit < granted:
            granted, option = limit, keys_files.WRITE_MEMORY_LIMIT.key
        formats = {
            format_name(options, level=0, changelog=changelog) for changelog in (False, True)
        }
        return cls(
            granted,
            option,
            options.get(keys_write.WRITE_BUFFER_SPILLABLE),
            min(max(granted // _BYTES_A_THREAD, 1), _THREADS_MAX),
            COPIES_AS_ORC if "orc" in formats else COPIES_WRITTEN,
        )

    def pieces(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """``tables`` in pieces that are small beside the buffer.

        Raises:
            OptionError: the options grant too little for one row.
        """
        fitting = fitting_bytes(self.granted, self.copies)
        alone = min(fitting // self.threads, self.buffer_bytes)
        """A row of fewer bytes bounds nothing."""
        most = max(min(self.buffer_bytes // _PIECES, alone), _PIECE_BYTES_MIN)
        for table in tables:
            is_small = table.nbytes <= min(self.buffer_bytes, most * table.num_rows)
            whole = is_small and not wide_bytes(table, alone)
            for piece in (table,) if whole else pieces(table, most):
                if piece.num_rows == 1:
                    refuse_wide_row(piece.nbytes, self.granted, self.option, self.copies)
                yield piece


def joined(buffer: list[pa.Table]) -> pa.Table:
    """The tables of ``buffer``, which is emptied, as one of a chunk a column.

    Each of several gathers would join the chunks for itself.
    """
    schema = buffer[0].schema
    parts = [table.columns for table in buffer]
    buffer.clear()
    columns = []
    for column in schema:
        chunks = [chunk for columns_of in parts for chunk in columns_of.pop(0).chunks]
        columns.append(
            pa.concat_arrays(chunks)
            if len(chunks) > 1
            else pa.chunked_array(chunks, type=column.type)
        )
        del chunks
    return pa.Table.from_arrays(columns, schema=schema)


@dataclass(slots=True)
class SpilledRuns:
    """Sorted runs of buckets on the local disk."""

    options: TableOptions
    _spill: Spill = field(init=False)
    _runs: dict[Bucket, list[SpilledRows]] = field(init=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._spill = Spill(
            compression=self.options.get(keys_write.SPILL_COMPRESSION)
            if self.options.is_set(keys_write.SPILL_COMPRESSION)
            else _COMPRESSION,
            zstd_level=self.options.get(keys_write.SPILL_COMPRESSION_ZSTD_LEVEL),
        )

    @property
    def is_full(self) -> bool:
        """Whether ``write-buffer-spill.max-disk-size`` is reached."""
        most = self.options.get(keys_write.WRITE_BUFFER_SPILL_MAX_DISK_SIZE)
        return most is not None and self._spill.size >= most

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets that have runs."""
        return list(self._runs)

    def put(self, bucket: Bucket, rows: pa.Table) -> None:
        """Add the newest run of ``bucket``.  Several threads may, each for another bucket."""
        run = self._spill.put(rows)
        with self._lock:
            self._runs.setdefault(bucket, []).append(run)

    def runs(self, bucket: Bucket) -> list[SpilledRows]:
        """The runs of ``bucket``, oldest first."""
        return self._runs[bucket]

    def at_once(self, bucket: Bucket, memory: int) -> int:
        """How many runs of ``bucket`` to merge at once, with ``memory`` bytes for their batches."""
        most = self.options.get(keys_write.SORT_SPILL_THRESHOLD) or _RUNS_MAX
        widest = max(run.batch_bytes for run in self._runs[bucket])
        return max(2, min(most, memory // max(widest, 1)))

    def close(self) -> None:
        """Free the disk."""
        self._spill.close()
