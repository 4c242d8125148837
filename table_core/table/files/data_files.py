"""Writes rows to data files, and says of each what a manifest needs to know.

Files roll at ``target-file-size``.  A key table's file holds ``_KEY_`` columns, sequence number,
kind and values (format 5.1); its rows come sorted, one a key, so that the first and the last row
bound it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.pieces import pieces_apart
from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import TableError
from table_core.ondisk import layout
from table_core.ondisk.binary_row import encode_rows
from table_core.ondisk.data_file import EMPTY_ROW, EMPTY_STATS, DataFile, FileSource
from table_core.ondisk.index_builder import IndexBuilder
from table_core.ondisk.stats import SYSTEM_MODE, StatsBuilder, modes_for, parse_mode
from table_core.options import keys_files
from table_core.schema.table_schema import KIND_FIELD, SEQUENCE_FIELD
from table_core.storage.columns.data_format import ALONE_BYTES, WriterSettings, format_name
from table_core.storage.formats import format_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.datatypes.kinds import Field
    from table_core.options.table import TableOptions
    from table_core.ports import Clock, Ids, Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.columns.data_format import FileWriter

__all__ = ["FileFactory", "RollingWriter"]

_log = logging.getLogger(__name__)
_SLICE_ROWS: Final = 1 << 17
_MB: Final = 1 << 20
_UPDATE_AFTER: Final = pa.scalar(2, pa.int8())
_RETRACTS: Final = pa.array([1, 3], pa.int8())


@dataclass(slots=True)
class FileFactory:
    """Names, creates and describes the files of one writer: one uuid, one counter (format 1.3).

    Several threads may use one.
    """

    storage: Storage
    schema: TableSchema
    clock: Clock
    ids: Ids
    _uuid: str = field(init=False)
    _numbers: Iterator[int] = field(init=False, default_factory=count)
    _begun: list[str] = field(init=False, default_factory=list)
    _unsynced: list[str] = field(init=False, default_factory=list)
    _encodings: dict[object, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._uuid = self.ids.uuid()

    def in_schema(self, schema: TableSchema) -> FileFactory:
        """For files of ``schema`` by the same writer: what one discards or syncs, the other does."""
        if schema is self.schema:
            return self
        other = copy(self)
        other.schema, other._encodings = schema, {}  # noqa: SLF001 - one's own
        return other

    @contextmanager
    def aside(self) -> Iterator[FileFactory]:
        """For files by the same writer that go at once where what they are written for does not come to its end."""
        other = copy(self)
        other._begun, other._unsynced = [], []  # noqa: SLF001 - one's own
        try:
            yield other
        except BaseException:
            other.discard()
            raise
        self._begun += other._begun  # noqa: SLF001 - one's own
        self._unsynced += other._unsynced  # noqa: SLF001 - one's own

    def name(self, *, level: int, changelog: bool, postponed: bool = False) -> str:
        """The next file name; its ending names the format.

        Postponed files name their writer: a compaction reads those of one writer in their order.
        """
        if postponed:
            own = self.schema.options.get(keys_files.DATA_FILE_PREFIX)
            return f"{own}-u-{self._uuid}-s-0-w-{self._uuid}-{next(self._numbers)}.avro"
        options = self.schema.options
        ending = format_name(options, level=level, changelog=changelog)
        if options.get(keys_files.FILE_SUFFIX_INCLUDE_COMPRESSION):
            ending = f"{options.get(keys_files.FILE_COMPRESSION)}.{ending}"
        prefix = keys_files.CHANGELOG_FILE_PREFIX if changelog else keys_files.DATA_FILE_PREFIX
        return f"{options.get(prefix)}{self._uuid}-{next(self._numbers)}.{ending}"

    def begin(self, path: str) -> None:
        """Note that a file is about to be there."""
        self._begun.append(path)

    def discard(self) -> None:
        """Delete every file that was begun, as far as the store lets us; no commit may name one."""
        try:
            self.storage.delete(self._begun)
        except TableError as error:
            _log.warning("%s: uncommitted files are left over: %s", self.storage.uri, error)
        self._begun.clear()

    def finished(self, path: str, *, sync: bool) -> None:
        """Note that a file is whole: ``sync`` it now, or with the others."""
        if sync:
            self.storage.sync([path])
        else:
            self._unsynced.append(path)

    def sync(self) -> None:
        """Make every finished file durable, so that a commit may name it."""
        self.storage.sync(self._unsynced)
        self._unsynced.clear()

    def settings(self, *, level: int, changelog: bool) -> WriterSettings:
        """Compression and encoding of a file at ``level``; files of one writer are encoded alike."""
        own = WriterSettings.of(self.schema.options, level=level, changelog=changelog)
        return replace(own, encodings=self._encodings)

    def now_local_ms(self) -> int:
        """The local wall clock, encoded as if UTC (format T12)."""
        now_ms = self.clock.now_ms()
        return now_ms + self.clock.local_offset_ms(now_ms)

    def target_size(self) -> int:
        """Bytes at which a file rolls."""
        size = self.schema.options.get(keys_files.TARGET_FILE_SIZE)
        return size or (128 if self.schema.is_key_table else 256) * _MB

    def target_rows(self, source: FileSource) -> int:
        """Rows at which a file rolls: a limit for files that no compaction wrote (format 5.2)."""
        most = self.schema.options.get(keys_files.TARGET_FILE_ROW_NUM)
        return most if source is FileSource.APPEND and most > 0 else 2**62

    def rolling(
        self,
        partition: bytes,
        bucket: int,
        *,
        level: int = 0,
        source: FileSource = FileSource.APPEND,
        changelog: bool = False,
        first_sequence: int = 0,
        sync: bool = True,
    ) -> RollingWriter:
        """A writer of files for one bucket.  ``first_sequence`` numbers the rows of append files.

        Without ``sync`` the files are durable after ``FileFactory.sync``.
        Files of the postpone bucket are what they are whatever the options say (format 6.4).
        """
        return RollingWriter(
            factory=self,
            folder=layout.bucket_path(self.schema, partition, bucket),
            level=level,
            source=source,
            changelog=changelog,
            next_sequence=first_sequence,
            sync=sync,
            postponed=bucket == layout.POSTPONE_BUCKET,
        )


@dataclass(slots=True, kw_only=True)
class RollingWriter:
    """Writes one or more files in order; ``close`` gives their descriptions.

    With ``sync`` each file is durable before the next begins.  What goes wrong within the ``with``
    statement gives up the file at hand.
    """

    factory: FileFactory
    folder: str
    level: int
    source: FileSource
    changelog: bool
    next_sequence: int
    sync: bool = True
    postponed: bool = False
    _open: _OpenFile | None = field(init=False, default=None)
    _done: list[DataFile] = field(init=False, default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abort()

    def write(self, rows: pa.Table) -> None:
        """Write ``rows`` (KV rows for a key table); rolls as files fill up."""
        for part in pieces_apart(rows, ALONE_BYTES):
            if self._open is not None and not self._open.writer.suits(part):
                self._finish()
            self._write(part)

    def _write(self, rows: pa.Table) -> None:
        start, most = 0, self.factory.target_rows(self.source)
        while start < rows.num_rows:
            if self._open is None:
                self._open = _OpenFile.start(self)
            count = min(_SLICE_ROWS, most - self._open.rows)
            self._open.write(rows.slice(start, count))
            start += count
            full = self._open.writer.size_estimate() >= self.factory.target_size()
            if full or self._open.rows >= most:
                self._finish()

    def close(self) -> list[DataFile]:
        """Finish the last file; the descriptions of all, in order."""
        self._finish()
        return self._done

    def abort(self) -> None:
        """Give up the file at hand; the factory knows those that are done."""
        if self._open is not None:
            self._open.writer.abort()
            self._open = None

    def _finish(self) -> None:
        if self._open is None:
            return
        done = self._open.finish()
        self._open = None
        self.factory.finished(f"{self.folder}/{done.file_name}", sync=self.sync)
        self._done.append(done)


@dataclass(slots=True)
class _OpenFile:
    """The file being written, and what is known of its rows so far."""

    roll: RollingWriter
    name: str
    writer: FileWriter
    key_stats: StatsBuilder | None
    value_stats: StatsBuilder
    indexes: IndexBuilder | None = None
    rows: int = 0
    deletes: int = 0
    updates: int = 0
    min_sequence: int = 2**63 - 1
    max_sequence: int = -1
    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW

    @classmethod
    def start(cls, roll: RollingWriter) -> _OpenFile:
        factory, schema = roll.factory, roll.factory.schema
        options = schema.options
        name = factory.name(level=roll.level, changelog=roll.changelog, postponed=roll.postponed)
        path = f"{roll.folder}/{name}"
        factory.begin(path)
        writer = format_for(name.rpartition(".")[2]).open_writer(
            factory.storage,
            path,
            stored_fields(schema),
            factory.settings(level=roll.level, changelog=roll.changelog),
        )
        names = [f.name for f in schema.fields]
        modes = modes_for(options, names, default=_stats_mode(options, roll))
        if roll.postponed:
            modes = (parse_mode("none"),) * len(names)
        keys = schema.trimmed_key_fields
        key_stats = StatsBuilder(keys, [SYSTEM_MODE] * len(keys), dense=False) if keys else None
        dense = options.get(keys_files.METADATA_STATS_DENSE_STORE)
        value_stats = StatsBuilder(schema.fields, modes, dense=dense)
        own = not roll.changelog and not roll.postponed
        indexes = IndexBuilder.of(options.raw, schema.fields) if own else None
        return cls(roll, name, writer, key_stats, value_stats, indexes)

    def write(self, rows: pa.Table) -> None:
        schema = self.roll.factory.schema
        self.writer.write(stored_rows(schema, rows))
        self.value_stats.add(rows)
        if self.indexes is not None:
            self.indexes.add(rows)
        if self.key_stats is not None:
            self.key_stats.add(rows)
            self._note_keys(schema, rows)
        self.rows += rows.num_rows

    def _note_keys(self, schema: TableSchema, rows: pa.Table) -> None:
        keys = schema.trimmed_key_fields
        types = [f.type for f in keys]
        if self.rows == 0:
            self.min_key = encode_rows([rows[f.name].slice(0, 1) for f in keys], types)[0]
        self.max_key = encode_rows([rows[f.name].slice(rows.num_rows - 1) for f in keys], types)[0]
        low_high = pc.min_max(rows[SEQUENCE_COLUMN])
        self.min_sequence = min(self.min_sequence, low_high["min"].as_py())
        self.max_sequence = max(self.max_sequence, low_high["max"].as_py())
        retracts = pc.sum(pc.is_in(rows[KIND_COLUMN], value_set=_RETRACTS))
        self.deletes += retracts.as_py()
        if self.roll.changelog:
            self.updates += pc.sum(pc.equal(rows[KIND_COLUMN], _UPDATE_AFTER)).as_py() or 0

    def finish(self) -> DataFile:
        roll = self.roll
        size = self.writer.close()
        value_stats, columns = self.value_stats.finish()
        key_stats = EMPTY_STATS if self.key_stats is None else self.key_stats.finish()[0]
        low, high = self.min_sequence, self.max_sequence
        if self.key_stats is None:
            low, high = roll.next_sequence, roll.next_sequence + self.rows - 1
            roll.next_sequence += self.rows
        embedded, extra_files = self._indexed()
        return DataFile(
            file_name=self.name,
            extra_files=extra_files,
            embedded_index=embedded,
            file_size=size,
            row_count=self.rows,
            min_key=self.min_key,
            max_key=self.max_key,
            key_stats=key_stats,
            value_stats=value_stats,
            min_sequence_number=low,
            max_sequence_number=high,
            schema_id=roll.factory.schema.id,
            level=roll.level,
            creation_time_ms=roll.factory.now_local_ms(),
            delete_row_count=self.deletes,
            file_source=roll.source,
            value_stats_cols=columns,
            update_row_count=self.updates if roll.changelog and self.key_stats else None,
        )

    def _indexed(self) -> tuple[bytes | None, tuple[str, ...]]:
        """The container of indexes if it is small, or the name of its file."""
        if self.indexes is None:
            return None, ()
        factory, container = self.roll.factory, self.indexes.container()
        limit = factory.schema.options.get(keys_files.FILE_INDEX_IN_MANIFEST_THRESHOLD)
        if len(container) <= limit:
            return container, ()
        name = f"{self.name}.index"
        factory.begin(f"{self.roll.folder}/{name}")
        factory.storage.write(f"{self.roll.folder}/{name}", container)
        return None, (name,)


def _stats_mode(options: TableOptions, roll: RollingWriter) -> str | None:
    """The mode of this level or of changelog files, where they have one."""
    if roll.changelog:
        return options.get(keys_files.CHANGELOG_FILE_STATS_MODE)
    return options.get(keys_files.METADATA_STATS_MODE_PER_LEVEL).get(roll.level)


def stored_fields(schema: TableSchema) -> tuple[Field, ...]:
    """The physical columns of a data file (format 5.1)."""
    if not schema.is_key_table:
        return schema.fields
    thin = schema.options.get(keys_files.DATA_FILE_THIN_MODE)
    keys = () if thin else schema.stored_key_fields
    return (*keys, SEQUENCE_FIELD, KIND_FIELD, *schema.fields)


def stored_rows(schema: TableSchema, rows: pa.Table) -> pa.Table:
    """``rows`` with the columns of ``stored_fields``; keys are the same arrays twice."""
    if not schema.is_key_table:
        return rows.select([f.name for f in schema.fields])
    stored = stored_fields(schema)
    prefix = len(stored) - len(schema.fields) - 2
    names = [*schema.trimmed_primary_keys[:prefix], SEQUENCE_COLUMN, KIND_COLUMN]
    columns: Iterable[Any] = [rows[n] for n in (*names, *(f.name for f in schema.fields))]
    return pa.Table.from_arrays(list(columns), names=[f.name for f in stored])
