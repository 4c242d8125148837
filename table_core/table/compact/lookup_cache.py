"""Data files that are looked into again and again, as batches on the local disk.

The first looks into a file read the file; then its rows come from here, where only batches are read
whose keys are asked for.  One cache serves the whole process.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.bucketing.hash import row_hash
from table_core.bucketing.key_filter import KeyFilter
from table_core.merge.ordinal import single_chunk
from table_core.ondisk.binary_row import sort_key, values_of
from table_core.options import keys_write
from table_core.storage.spill import Spill
from table_core.storage.stores.paths import is_local
from table_core.table.commit_io.uncommitted import undone_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.lsm.sorted_run import Key
    from table_core.ondisk.data_file import DataFile
    from table_core.options.table import TableOptions
    from table_core.storage.spill import SpilledRows
    from table_core.table.files.file_reader import FileReader

__all__ = ["CACHE", "CachedFile", "LookupCache"]

_ROWS_MIN: Final = 50_000
"""Smaller files are read as fast as they are looked into."""
_BATCH_ROWS: Final = 1 << 14
_NAMES_MAX: Final = 10_000
_LOOKS_LOCAL, _LOOKS_REMOTE = 3, 1
"""So often a file is read before it is cached: to read all of it costs as much as that."""


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class CachedFile:
    """The rows of one data file with their positions, in key order."""

    fields: Sequence[Field]
    """Of the key."""
    spill: Spill
    lows: list[Key]
    highs: list[Key]
    batches: list[SpilledRows]
    filter: KeyFilter | None
    used_ms: int

    @classmethod
    def of(cls, reader: FileReader, file: DataFile, now_ms: int) -> CachedFile:
        """Read ``file``, deleted rows too, and put it on the local disk."""
        options = reader.access.options
        fields = reader.access.schema.trimmed_key_fields
        codec = "none"  # reading it again costs more than the disk that it saves
        if options.is_set(keys_write.LOOKUP_CACHE_SPILL_COMPRESSION):
            codec = options.get(keys_write.LOOKUP_CACHE_SPILL_COMPRESSION)
        known = None
        if options.get(keys_write.LOOKUP_CACHE_BLOOM_FILTER_ENABLED):
            fpp = options.get(keys_write.LOOKUP_CACHE_BLOOM_FILTER_FPP)
            known = KeyFilter.empty(file.row_count, fpp)
        made = cls(
            fields=fields,
            spill=Spill(compression=codec),
            lows=[],
            highs=[],
            batches=[],
            filter=known,
            used_ms=now_ms,
        )
        weakref.finalize(made, made.spill.close)
        with undone_by(made.spill.close):
            for batch in reader.positioned().read(file):
                for start in range(0, batch.num_rows, _BATCH_ROWS):
                    made._add(pa.Table.from_batches([batch.slice(start, _BATCH_ROWS)]))
        return made

    @property
    def disk_bytes(self) -> int:
        """Bytes on the local disk."""
        return self.spill.size

    @property
    def memory_bytes(self) -> int:
        """Bytes held in memory all the time."""
        return 200 * len(self.batches) + (self.filter.nbytes if self.filter else 0)

    def candidates(self, keys: pa.Table) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Rows that may have one of ``keys``, with the keys that they may have.

        Shape: ``keys[n]`` in order, each once, to parts of the file with ``_POSITION``.
        """
        if self.filter is not None:
            keys = keys.filter(pa.array(self.filter.may_hold(self._hashes(keys))))
        if not keys.num_rows:
            return
        wanted = _Sorted(keys, self.fields)
        for low, high, batch in zip(self.lows, self.highs, self.batches, strict=True):
            start, stop = bisect_left(wanted, low), bisect_right(wanted, high)
            if start < stop:
                part = keys.slice(start, stop - start)
                for rows in batch.batches():
                    yield pa.Table.from_batches([rows]), part

    def _add(self, rows: pa.Table) -> None:
        ends = _Sorted(rows, self.fields)
        self.lows.append(ends[0])
        self.highs.append(ends[rows.num_rows - 1])
        self.batches.append(self.spill.put(rows))
        if self.filter is not None:
            self.filter.add(self._hashes(rows))

    def _hashes(self, rows: pa.Table) -> Any:
        columns = [single_chunk(rows[f.name]) for f in self.fields]
        return row_hash(columns, [f.type for f in self.fields])


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows in key order as a sequence of keys that compare."""

    rows: pa.Table
    fields: Sequence[Field]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __getitem__(self, row: int) -> Key:
        values = [values_of(self.rows[f.name].slice(row, 1), f.type)[0] for f in self.fields]
        return sort_key([f.type for f in self.fields], values)


@dataclass(slots=True, eq=False)
class LookupCache:
    """Cached files, the least recently used first.  Several threads may use it."""

    _files: OrderedDict[tuple[Any, ...], CachedFile] = field(default_factory=OrderedDict)
    _seen: OrderedDict[tuple[Any, ...], int] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, reader: FileReader, file: DataFile) -> CachedFile | None:
        """``file`` as ``reader`` reads it, or None where reading it is the better way."""
        options, now_ms = reader.access.options, reader.access.clock.now_ms()
        if file.row_count < _ROWS_MIN or not options.get(keys_write.LOOKUP_CACHE_MAX_MEMORY_SIZE):
            return None
        name = self._name(reader, file)
        with self._lock:
            self._forget(options, now_ms)
            known = self._files.get(name)
            if known is not None:
                known.used_ms = now_ms
                self._files.move_to_end(name)
                return known
            looks = self._seen[name] = self._seen.get(name, 0) + 1
            self._seen.move_to_end(name)
            while len(self._seen) > _NAMES_MAX:
                self._seen.popitem(last=False)
            local = is_local(reader.access.storage.uri)
            if looks <= (_LOOKS_LOCAL if local else _LOOKS_REMOTE):
                return None
        made = CachedFile.of(reader, file, now_ms)
        with self._lock:
            self._files.setdefault(name, made)
            self._forget(options, now_ms)
        return made

    @property
    def disk_bytes(self) -> int:
        """Bytes of all cached files on the local disk."""
        return sum(file.disk_bytes for file in self._files.values())

    def clear(self) -> None:
        """Free everything."""
        with self._lock:
            self._files.clear()
            self._seen.clear()

    def _forget(self, options: TableOptions, now_ms: int) -> None:
        """Drop what was not asked for in a while, and what is too much.

        Whoever reads a dropped file goes on: its disk is freed with the last who holds it.
        """
        retention = options.get(keys_write.LOOKUP_CACHE_FILE_RETENTION)
        most = options.get(keys_write.LOOKUP_CACHE_MAX_DISK_SIZE)
        memory = options.get(keys_write.LOOKUP_CACHE_MAX_MEMORY_SIZE)
        for name in [n for n, f in self._files.items() if now_ms - f.used_ms > retention]:
            del self._files[name]
        held = sum(file.memory_bytes for file in self._files.values())
        disk = self.disk_bytes
        while self._files and (held > memory or (most is not None and disk > most)):
            _, gone = self._files.popitem(last=False)
            held -= gone.memory_bytes
            disk -= gone.disk_bytes

    def _name(self, reader: FileReader, file: DataFile) -> tuple[Any, ...]:
        access = reader.access
        columns = tuple((f.id, f.name, f.type) for f in reader.fields)
        return access.storage.uri, reader.partition, reader.bucket, file.file_name, columns


CACHE: Final = LookupCache()
"""The cache of this process."""
