"""Takes rows, makes files, asks for a commit.

Rows are buffered across buckets up to ``write-buffer-size``, then every bucket's share is sorted,
merged and written as level-0 files, several buckets at a time.  An append table without partitions
and buckets needs no buffer: its rows go straight into a file.  Nothing is visible before
``commit``; whatever fails before that takes the files of this writer away.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.merge.engine import counted, engine_for
from table_core.merge.sort import key_order
from table_core.ondisk import layout
from table_core.ondisk.data_file import EMPTY_ROW, DataFile
from table_core.options import keys_merge, keys_scan, keys_write
from table_core.table.assigner import assigner_for
from table_core.table.coerce import batches_of, coerce
from table_core.table.data_files import FileFactory
from table_core.table.inline_compaction import InlineCompaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.table.access import Bucket, TableAccess
    from table_core.table.compactor import CompactChange
    from table_core.table.data_files import RollingWriter
    from table_core.table.results import Commit

__all__ = ["BucketChange", "Numbering", "TableWriter", "WriteResult", "refuse_unwritable"]

_THREADS: Final = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChange:
    """New files of one bucket."""

    partition: bytes
    bucket: int
    total_buckets: int
    added: tuple[DataFile, ...]
    changelog: tuple[DataFile, ...] = ()
    index_added: tuple[IndexEntry, ...] = ()
    index_deleted: tuple[IndexEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What a writer, maybe one of many in other processes, hands to the commit.  Picklable."""

    changes: tuple[BucketChange, ...] = ()
    compactions: tuple[CompactChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbering:
    """Which sequence numbers a writer gives out: of ``step`` writers at once, each ``step``-th.

    Writers that share a bucket and do not know of each other never give out the same number.
    """

    offset: int = 0
    step: int = 1


def refuse_unwritable(access: TableAccess) -> None:
    """Refuse tables that this release reads and does not write, by naming the feature."""
    schema, options = access.schema, access.options
    features = {
        "deletion-vectors.enabled without a primary key": not schema.is_key_table
        and options.get(keys_write.DELETION_VECTORS_ENABLED),
        "row-tracking.enabled": options.raw.get("row-tracking.enabled") == "true",
        "data-evolution.enabled": options.raw.get("data-evolution.enabled") == "true",
        "cross-partition upsert (bucket=-1, a key without partition columns)": schema.is_key_table
        and schema.bucket == -1
        and not set(schema.partition_keys).issubset(schema.primary_keys),
    }
    for feature, used in features.items():
        if used:
            raise UnsupportedFeatureError(
                f"table {access.name} uses {feature}, which this release does not write",
                feature=feature,
            )


class TableWriter:
    """Writes rows and commits them once.  Use it as a context manager.

    ``commit`` is what ``Table.write`` binds: it turns a ``WriteResult`` into a commit.
    ``replaces``: it takes out what is there (overwrite).
    """

    def __init__(
        self,
        access: TableAccess,
        commit: Callable[[WriteResult], Commit],
        *,
        compact: bool = True,
        replaces: bool = False,
        landed: Callable[[], Commit | None] = lambda: None,
        numbering: Numbering | None = None,
    ) -> None:
        refuse_unwritable(access)
        self._found = landed()
        self._access = access
        self._commit = commit
        self._factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
        self._assigner = assigner_for(access, replaces=replaces)
        self._buffer: list[pa.Table] = []
        self._buffered_bytes = 0
        self._rows = 0
        self._files: dict[Bucket, tuple[list[DataFile], list[DataFile]]] = {}
        self._writes_changelog = (
            not replaces and access.options.get(keys_scan.CHANGELOG_PRODUCER) == "input"
        )
        self._direct: RollingWriter | None = None
        inline = InlineCompaction(access, self._factory, replaces=replaces)
        self._compaction = inline if compact else None
        self._next_sequence: dict[Bucket, int] = {}
        self._numbering = numbering or Numbering()
        self._done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._done:
            self.abort()

    def write(self, data: Any) -> None:
        """Take rows: a table, batch, reader, or anything with ``__arrow_c_stream__``.

        An optional ``_ROW_KIND`` column says ``+I``, ``-U``, ``+U`` or ``-D``.  After an error the
        writer takes nothing more: what came before it shall not be committed without the rest.

        Raises:
            DataError: a value does not fit without loss; names column, row and value.
        """
        self._refuse_done()
        if self._found is not None:
            return  # this very commit has landed: a retry writes nothing
        schema = self._access.schema
        try:
            for given in batches_of(data):
                self._take(counted(schema, coerce(schema, given, first_row=self._rows)))
                self._rows += given.num_rows
        except BaseException:
            self.abort()
            raise

    def prepare(self) -> WriteResult:
        """Write what is buffered and compact; the result can be committed by another process."""
        self._refuse_done()
        try:
            result = self._prepared()
        except BaseException:
            self.abort()
            raise
        self._done = True
        return result

    def _prepared(self) -> WriteResult:
        if self._direct is not None:
            self._files[EMPTY_ROW, 0] = (self._direct.close(), [])
        self._flush()
        changes = tuple(
            self._change(bucket, added, changelog)
            for bucket, (added, changelog) in self._files.items()
        )
        compactions = self._compaction.run(changes) if self._compaction else ()
        return WriteResult(changes=changes, compactions=compactions)

    def commit(self) -> Commit:
        """Make the rows visible.  Where that fails for certain, no file is left behind.

        Raises:
            CommitConflictError: ``expect`` does not hold, or files this write replaces are gone.
            GaveUpError: too many lost races; nothing is visible.
            OutcomeUnknownError: nobody can say; read the table before doing anything else.
        """
        if self._found is not None:
            self._refuse_done()
            self._done = True
            return self._found
        return self._commit(self.prepare())

    def abort(self) -> None:
        """Forget the rows and take away the files that were written for them."""
        self._done = True
        if self._direct is not None:
            self._direct.abort()
        self._factory.discard()

    def _refuse_done(self) -> None:
        if self._done:
            raise ArgumentError("this writer has committed or given up; open a new one")

    # --------------------------------------------------------------------------------- parts
    def _take(self, rows: pa.Table) -> None:
        if self._writes_directly():
            self._write_directly(rows)
            return
        self._buffer.append(rows)
        self._buffered_bytes += rows.nbytes
        if self._buffered_bytes >= self._access.options.get(keys_write.WRITE_BUFFER_SIZE):
            self._flush()

    def _change(
        self, bucket: Bucket, added: list[DataFile], changelog: list[DataFile]
    ) -> BucketChange:
        index_added, index_deleted = self._assigner.index_changes(bucket)
        return BucketChange(
            partition=bucket[0],
            bucket=bucket[1],
            total_buckets=self._access.schema.bucket,
            added=tuple(added),
            changelog=tuple(changelog),
            index_added=index_added,
            index_deleted=index_deleted,
        )

    def _writes_directly(self) -> bool:
        schema = self._access.schema
        return not schema.is_key_table and not schema.partition_keys and schema.bucket < 0

    def _write_directly(self, rows: pa.Table) -> None:
        if self._direct is None:
            self._direct = self._factory.rolling(EMPTY_ROW, 0)
        self._direct.write(rows)

    def _flush(self) -> None:
        """Turn the buffer into files, a bucket at a time, a few buckets at once."""
        if not self._buffer:
            return
        rows = pa.concat_tables(self._buffer)
        self._buffer, self._buffered_bytes = [], 0
        if not rows.num_rows:
            return
        shares = list(self._assigner.shares(rows))
        self._prepare_sequences([bucket for bucket, _ in shares])
        with ThreadPoolExecutor(_THREADS) as pool:
            jobs = [pool.submit(self._write_share, rows, *share) for share in shares]
            for job in jobs:
                (added, changelog), bucket = job.result()
                old = self._files.setdefault(bucket, ([], []))
                old[0].extend(added)
                old[1].extend(changelog)

    def _prepare_sequences(self, buckets: list[Bucket]) -> None:
        """Where the numbering of each bucket goes on: after the largest number in it."""
        schema = self._access.schema
        unknown = {b for b in buckets if b not in self._next_sequence}
        offset = self._numbering.offset
        self._next_sequence.update(dict.fromkeys(unknown, offset))
        if not unknown or (not schema.is_key_table and schema.bucket < 0):
            return
        head = self._access.metadata.head()
        live = self._access.files_by_bucket(
            head, keep=lambda entry: (entry.partition, entry.bucket) in unknown
        )
        for bucket, entries in live.items():
            newest = max(e.file.max_sequence_number for e in entries)
            self._next_sequence[bucket] = newest + 1 + offset

    def _write_share(
        self, rows: pa.Table, bucket: Bucket, indices: pa.Array | None
    ) -> tuple[tuple[list[DataFile], list[DataFile]], Bucket]:
        if bucket[1] == layout.POSTPONE_BUCKET:
            return (self._write_postponed(rows, bucket, indices), []), bucket
        if self._access.schema.is_key_table:
            return self._write_keys(rows, bucket, indices), bucket
        mine = rows if indices is None else rows.take(indices)
        first = self._next_sequence[bucket]
        if self._access.schema.bucket > 0:
            self._next_sequence[bucket] += mine.num_rows
        with self._factory.rolling(*bucket, first_sequence=first) as writer:
            writer.write(mine)
            return (writer.close(), []), bucket

    def _write_postponed(
        self, rows: pa.Table, bucket: Bucket, indices: pa.Array | None
    ) -> list[DataFile]:
        """Rows as they came: unsorted, unmerged, without number."""
        mine = rows if indices is None else rows.take(indices)
        unknown = pa.repeat(pa.scalar(-1, pa.int64()), mine.num_rows)
        with self._factory.rolling(*bucket) as writer:
            writer.write(mine.add_column(0, SEQUENCE_COLUMN, unknown))
            return writer.close()

    def _write_keys(
        self, rows: pa.Table, bucket: Bucket, indices: pa.Array | None
    ) -> tuple[list[DataFile], list[DataFile]]:
        """Number, sort, merge and write one bucket's rows: one gather of every column."""
        schema, options = self._access.schema, self._access.options
        count = rows.num_rows if indices is None else len(indices)
        step = self._numbering.step
        first = self._next_sequence[bucket]
        self._next_sequence[bucket] = first + count * step
        sequence = pa.array(np.arange(first, first + count * step, step, dtype=np.int64))
        user_order = options.get(keys_merge.SEQUENCE_FIELD)
        ordering = rows.select(
            list(dict.fromkeys([*schema.trimmed_primary_keys, *user_order, KIND_COLUMN]))
        )
        if indices is not None:
            ordering = ordering.take(indices)
        ordering = ordering.append_column(SEQUENCE_COLUMN, sequence)
        positions = key_order(
            ordering,
            schema.trimmed_primary_keys,
            user_order,
            descending=options.get(keys_merge.SEQUENCE_FIELD_SORT_ORDER) == "descending",
        )
        order = pa.array(positions)
        chosen = order if indices is None else indices.take(order)
        ordered = rows.take(chosen).add_column(0, SEQUENCE_COLUMN, sequence.take(order))
        changelog: list[DataFile] = []
        if self._writes_changelog:
            with self._factory.rolling(*bucket, changelog=True) as writer:
                writer.write(ordered)
                changelog = writer.close()
        with self._factory.rolling(*bucket) as writer:
            writer.write(engine_for(schema).merge(ordered))
            return writer.close(), changelog
