"""Takes rows, makes files, asks for a commit.

Rows are buffered across buckets.  When ``write-buffer-size`` is reached every bucket's share goes to
the local disk as a sorted run, and in the end the runs of a bucket are merged to level-0 files; what
fits into the buffer is sorted, merged and written at once.  Several buckets at a time.  An append
table without partitions, buckets and ``clustering.columns`` needs no buffer: its rows go straight
into a file.  Nothing is visible before ``commit``; whatever fails before that takes the files of this
writer away.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import pyarrow as pa

from table_core.commit.basis import Basis, Opened
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.merge.engines.versions import Versions
from table_core.ondisk.data_file import EMPTY_ROW, DataFile
from table_core.options import keys_commit
from table_core.table.commit_io.prepared import BucketChange, WriteResult
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.files.data_files import FileFactory
from table_core.table.metadata.unsupported import refuse_commits
from table_core.table.write.bucket_writer import BucketWriter, Numbering
from table_core.table.write.buffering import BufferLimits, SpilledRuns, joined
from table_core.table.write.choose_assigner import assigner_for
from table_core.table.write.coerce import batches_of, coerce
from table_core.table.write.local_merge import LocalMerge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.table.commit_io.prepared import CompactChange
    from table_core.table.files.data_files import RollingWriter
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.metadata.results import Commit

__all__ = ["Compaction", "Numbering", "TableWriter", "refuse_unwritable"]

_Stored: TypeAlias = "tuple[Bucket, list[DataFile], list[DataFile]]"
"""A bucket with new data and changelog files."""


def refuse_unwritable(access: TableAccess, *, adds_only: bool = False) -> None:
    """Refuse tables that this release reads and does not write, by naming the feature.

    ``adds_only``: files that are there stay as they are, so rows keep their ids.
    """
    refuse_commits(access)
    if not adds_only and access.options.get(keys_commit.ROW_TRACKING_ENABLED):
        feature = keys_commit.ROW_TRACKING_ENABLED.key
        raise UnsupportedFeatureError(
            f"table {access.name} uses {feature}: this release only adds rows to it",
            feature=feature,
        )


_log = logging.getLogger(__name__)


class Compaction(Protocol):
    """What compacts along with a write."""

    def run(self, changes: Sequence[BucketChange]) -> tuple[CompactChange, ...]:
        """Compact what ``changes`` bring together with what is there."""
        ...


class TableWriter:
    """Writes rows and commits them once.  Use it as a context manager.

    ``commit`` is what ``Table.write`` binds: it turns a ``WriteResult`` into a commit.
    ``compaction`` is what compacts along; None: nothing does.
    ``landed`` finds this very commit; None: the caller has looked for it, and for the table.
    ``replaces``: it takes out what is there (overwrite).  ``bucket``: where all rows belong.
    """

    def __init__(
        self,
        access: TableAccess,
        commit: Callable[[WriteResult], Commit],
        *,
        compaction: Callable[[FileFactory], Compaction] | None = None,
        replaces: bool = False,
        landed: Callable[[], Commit | None] | None = lambda: None,
        numbering: Numbering | None = None,
        bucket: Bucket | None = None,
    ) -> None:
        refuse_unwritable(access, adds_only=True)
        self._landed = None if landed is None else landed()
        self._access = access
        self._commit = commit
        self._factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
        self._assigner = assigner_for(access, replaces=replaces, bucket=bucket)
        self._buffer: list[pa.Table] = []
        self._buffered_bytes = 0
        self._rows = self._widest = 0
        self._files: dict[Bucket, tuple[list[DataFile], list[DataFile]]] = {}
        self._buckets = BucketWriter.of(access, self._factory, numbering, replaces=replaces)
        self._limits = BufferLimits.of(access.options)
        self._local = LocalMerge.of(access.schema)
        self._versions = Versions(access.schema) if access.schema.is_key_table else None
        self._spilled: SpilledRuns | None = None
        self._direct: RollingWriter | None = None
        self._compaction = compaction and compaction(self._factory)
        self._looked = landed is None
        self._done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._done:
            return
        if kind is None and self._rows:
            _log.warning(
                "%s: the writer was left without commit(): its %d rows are dropped; call writer.commit() at "
                "the end of the with statement, or writer.abort() if that is meant",
                self._access.name,
                self._rows,
            )
        self.abort()

    def write(self, data: Any) -> None:
        """Add rows: a table, batch, reader, or anything with ``__arrow_c_stream__``.

        An optional ``_ROW_KIND`` column says ``+I``, ``-U``, ``+U`` or ``-D``.  After an error the
        writer takes nothing more: what came before it shall not be committed without the rest.

        Raises:
            DataError: a value does not fit without loss; names column, row and value.  Or a row takes
                back what the merge engine cannot take back.
        """
        self._refuse_done()
        if self._landed is not None:
            return  # this very commit has landed: a retry writes nothing
        schema = self._access.schema
        with undone_by(self.abort):
            for piece in self._limits.pieces(batches_of(data)):
                rows = coerce(schema, piece, first_row=self._rows)
                if self._versions is not None:
                    self._versions.refuse_retracts(rows)
                self._rows += piece.num_rows
                if piece.num_rows == 1:  # as wide ones come
                    self._widest = max(self._widest, piece.nbytes)
                self._take(rows if self._local is None else self._local.take(rows))

    def end_run(self) -> None:
        """Put what was written so far into separate files: later rows are not merged with it."""
        if self._spilled is None:
            self._flush()
        else:
            self._spill()
        if self._spilled is not None:
            self._store_spilled(self._spilled)

    def prepare(self) -> WriteResult:
        """Write what is buffered and compact; the result can be committed by another process."""
        self._refuse_done()
        with undone_by(self.abort):
            result = self._prepared()
        self._done = True
        return result

    def _prepared(self) -> WriteResult:
        if self._local is not None:
            self._take(self._local.rest())
        if self._direct is not None:
            self._files[EMPTY_ROW, 0] = (self._direct.close(), [])
        self.end_run()
        changes = tuple(
            self._change(bucket, added, changelog)
            for bucket, (added, changelog) in self._files.items()
        )
        compactions = self._compaction.run(changes) if self._compaction else ()
        self._factory.sync()
        opened = Basis(opened=frozenset({Opened.of(self._access.schema)}))
        basis = Basis.joined((self._assigner.basis(), self._buckets.basis(), opened))
        return WriteResult(changes=changes, compactions=compactions, basis=basis)

    def commit(self) -> Commit:
        """Make the rows visible.  Where that fails for certain, no file is left behind.

        Raises:
            CommitConflictError: ``expect`` does not hold, or files this write replaces are gone.
            GaveUpError: too many lost races; nothing is visible.
            OutcomeUnknownError: nobody can say; read the table before doing anything else.
        """
        if self._landed is not None:
            self._refuse_done()
            self._done = True
            return self._landed
        return self._commit(self.prepare())

    def abort(self) -> None:
        """Drop the rows, and delete the files that were written for them."""
        self._done = True
        if self._direct is not None:
            self._direct.abort()
        if self._spilled is not None:
            self._spilled.close()
        self._factory.discard()

    def _refuse_done(self) -> None:
        if self._done:
            raise ArgumentError("this writer has committed or given up; open a new one")

    # --------------------------------------------------------------------------------- parts
    def _take(self, rows: pa.Table | None) -> None:
        if rows is None:
            return
        schema = self._access.schema
        if not (self._looked or schema.is_key_table or schema.bucket > 0):  # nothing else looks
            self._access.require_there()
        self._looked = True
        if self._writes_directly():
            self._write_directly(rows)
            return
        held = self._buffered_bytes + rows.nbytes
        if rows.num_rows == 1 and self._buffer and held > self._limits.buffer_bytes:
            self._empty_buffer()  # a wide row makes no buffer much larger than it may be
        self._buffer.append(rows)
        self._buffered_bytes += rows.nbytes
        if self._buffered_bytes >= self._limits.buffer_bytes:
            self._empty_buffer()

    def _empty_buffer(self) -> None:
        if self._limits.spills:
            self._spill()
        else:
            self._flush()

    def _change(
        self, bucket: Bucket, added: list[DataFile], changelog: list[DataFile]
    ) -> BucketChange:
        index_added, index_deleted = self._assigner.index_changes(bucket, self._factory)
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
        return not self._buckets.sorts and not schema.partition_keys and schema.bucket < 0

    def _write_directly(self, rows: pa.Table) -> None:
        if self._direct is None:
            self._direct = self._factory.rolling(EMPTY_ROW, 0, sync=False)
        self._direct.write(rows)

    def _flush(self) -> None:
        """Turn the buffer into files, a bucket at a time, a few buckets at once."""

        def store(rows: pa.Table, bucket: Bucket, indices: pa.Array | None) -> _Stored:
            run, changelog = self._buckets.run(rows, bucket, indices, whole=True)
            return bucket, self._buckets.store(bucket, [run]), changelog

        self._each_share(store)

    def _spill(self) -> None:
        """Put the buffer to the disk, as one sorted run a bucket."""
        spilled = self._spilled = self._spilled or SpilledRuns(self._access.options)

        def put(rows: pa.Table, bucket: Bucket, indices: pa.Array | None) -> _Stored:
            run, changelog = self._buckets.run(rows, bucket, indices, whole=False)
            spilled.put(bucket, run)
            return bucket, [], changelog

        self._each_share(put)
        if spilled.is_full:
            self._store_spilled(spilled)

    def _each_share(self, write: Callable[[pa.Table, Bucket, pa.Array | None], _Stored]) -> None:
        if not self._buffer:
            return
        rows = joined(self._buffer)
        self._buffered_bytes = 0
        if not rows.num_rows:
            return
        rows, shares = self._assigner.deal(rows)
        self._buckets.number_on(bucket for bucket, _ in shares)
        self._at_once(lambda share: write(rows, *share), shares)

    def _store_spilled(self, spilled: SpilledRuns) -> None:
        """Turn what is on the disk into files."""

        def store(bucket: Bucket) -> _Stored:
            memory, runs = self._limits.merge_bytes, spilled.runs(bucket)
            rows = self._buckets.merged(bucket, runs, spilled.at_once(bucket, memory), memory)
            return bucket, self._buckets.store(bucket, rows), []

        self._at_once(store, spilled.buckets)
        spilled.close()
        self._spilled = None

    def _at_once(self, job: Callable[[Any], _Stored], inputs: Sequence[Any]) -> None:
        """Do ``job`` for ``inputs``; what a thread has freed, the system gets back."""

        def tidied(one: Any) -> _Stored:
            done = job(one)
            if self._spilled is not None:
                pa.default_memory_pool().release_unused()
            return done

        with ThreadPoolExecutor(self._limits.threads_for(self._widest)) as pool:
            for bucket, added, changelog in pool.map(tidied, inputs):
                old = self._files.setdefault(bucket, ([], []))
                old[0].extend(added)
                old[1].extend(changelog)
        if self._spilled is not None:
            pa.default_memory_pool().release_unused()
