"""How much a writer holds in memory, and what waits on the local disk beyond that."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from table_core.options import keys_files, keys_write
from table_core.storage.spill import Spill

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.options.table import TableOptions
    from table_core.storage.spill import SpilledRows
    from table_core.table.metadata.access import Bucket
    from table_core.table.write.bucket_writer import BucketWriter

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

    buffer_bytes: int
    spills: bool
    threads: int
    """How many buckets are written at once: each needs memory for a row group."""

    @property
    def merge_bytes(self) -> int:
        """What a bucket may hold of its runs while they are merged: there are no rows in the buffer then."""
        return self.buffer_bytes // (2 * self.threads)

    @classmethod
    def of(cls, options: TableOptions) -> Self:
        """The smaller of ``write-buffer-size`` and ``write.memory-limit``."""
        granted = options.get(keys_write.WRITE_BUFFER_SIZE)
        limit = options.get(keys_files.WRITE_MEMORY_LIMIT)
        granted = granted if limit is None else min(granted, limit)
        return cls(
            max(granted // 3, 1),
            options.get(keys_write.WRITE_BUFFER_SPILLABLE),
            min(max(granted // _BYTES_A_THREAD, 1), _THREADS_MAX),
        )

    def pieces(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """``tables`` in pieces that are small beside the buffer."""
        most = max(self.buffer_bytes // _PIECES, _PIECE_BYTES_MIN)
        for table in tables:
            count = -(-table.nbytes // most) if table.nbytes > self.buffer_bytes else 1
            rows = max(-(-table.num_rows // count), 1)
            for start in range(0, max(table.num_rows, 1), rows):
                yield table.slice(start, rows)


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

    def runs(self, bucket: Bucket, memory: int = 0) -> list[Iterator[pa.RecordBatch]]:
        """The runs of ``bucket``, oldest first; their batches take about ``memory`` bytes together."""
        runs = self._runs[bucket]
        return [run.batches(memory // len(runs)) for run in runs]

    def join(self, writer: BucketWriter) -> None:
        """Make one run of those of a bucket that has too many to be merged at once."""
        most = max(self.options.get(keys_write.SORT_SPILL_THRESHOLD) or _RUNS_MAX, 2)
        for bucket in [b for b, runs in self._runs.items() if len(runs) >= most]:
            tables = writer.merged(bucket, self.runs(bucket), whole=False)
            self._runs[bucket] = [self._spill.put_all(tables)]

    def close(self) -> None:
        """Free the disk."""
        self._spill.close()
