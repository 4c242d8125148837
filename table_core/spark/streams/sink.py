"""``df.writeStream.format("paimon")``, and a micro-batch from inside ``foreachBatch``.

Every micro-batch is one commit, named by the stream and the number of the batch: a query that starts
again finds what it committed, also if the answer of that commit was lost.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, OptionError, TableError
from table_core.spark.session.create import context_of, query_of
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import carried
from table_core.spark.session.schema_bridge import fields_of
from table_core.spark.streams.batch_commit import BatchCommit, name_of_checkpoint
from table_core.spark.streams.landed_batches import LandedBatches
from table_core.spark.verbs.merge_into import merged
from table_core.spark.writing.frames import table_names, typed, write_frame
from table_core.spark.writing.source_writing import (
    Written,
    compacted,
    results_of,
    take_back,
    write_rows,
)
from table_core.table.commit_io.committer import find_commit, parts_of
from table_core.table.commit_io.uncommitted import discard
from table_core.table.dml.overwrite import overwrite_selection
from table_core.table.metadata.results import Commit
from table_core.table.write.writer import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from table_core.spark.streams.source_options import SourceOptions
    from table_core.table.api.table import Table
    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.dml.merge_into import MergeClause
    from table_core.table.metadata.results import ResultDocument

__all__ = ["StreamWriter", "merge_batch", "write_batch"]

_RUN: Final = "spark.jobGroup.id"
"""The local property with the id of one run of a query: it repeats no batch that it has done."""
_Batch: TypeAlias = "tuple[str | None, str | None, int]"
"""Query, run and number of a micro-batch."""
_WRITTEN: Final[dict[tuple[str, str, str], tuple[_Batch, int]]] = {}
"""The last batch that this process wrote: (table, branch, name) to the batch and the hash of its frame."""
_QUERY: Final = "sql.streaming.queryId"
"""The local property in which Spark keeps the id of a query: that of its checkpoint."""


@of_verb("write")
def write_batch(
    df: DataFrame,
    table: Table,
    batch_id: int,
    name: str,
    mode: str | Mapping[str, Any] | None = None,
) -> Commit:
    """Write one micro-batch from inside ``foreachBatch``, once however often Spark repeats it.

    ``name`` names the stream among those that write to ``table``, and is the commit's user;
    ``mode`` is ``overwrite`` of ``Table.write``.  A batch without rows makes a snapshot too.

    Raises:
        ArgumentError: the table has seen a later batch of ``name``, or another query's: the
            checkpoint was deleted or taken back.  Or this batch was written under ``name`` already:
            several frames of one batch need a name each.
        PositionDivergedError: the table was rolled back, and the query does not bring again what is gone.
        TableError: as for ``table_core.spark.write``.
    """
    with _landing(df, table, batch_id, name, replaces=mode == "table") as batch:
        done = write_frame(df, table, batch.commit, mode)
        batch.note(table.access, done)
    return done


@of_verb("merge-into")
def merge_batch(
    df: DataFrame,
    table: Table,
    batch_id: int,
    name: str,
    on: Sequence[str] | Mapping[str, str],
    when: Sequence[MergeClause],
) -> ResultDocument:
    """Merge one micro-batch into ``table`` from inside ``foreachBatch``, once however often Spark repeats it.

    ``name`` names the stream as for ``write_batch``; ``on`` and ``when`` are those of ``merge_into``.

    Raises:
        ArgumentError: as for ``write_batch``.
        PositionDivergedError: as for ``write_batch``.
        TableError: as for ``table_core.spark.merge_into``.
    """
    with _landing(df, table, batch_id, name) as batch:
        said, done = merged(df.sparkSession, table, df, on, when, batch.commit)
        batch.note(table.access, done or Commit())
    return said


@contextmanager
def _landing(
    df: DataFrame, table: Table, batch_id: int, name: str, *, replaces: bool = False
) -> Iterator[BatchCommit]:
    """The commit of a micro-batch, refused where the table knows more of the stream than its query.

    When it is done, another frame of the same batch under the same name is refused.
    """
    context = context_of(df.sparkSession)
    query_id = query_of(df.sparkSession)
    run = None if context is None else context.getLocalProperty(_RUN)
    stream = (table.access.storage.uri, table.access.branch, name)
    this, frame = (query_id, run, batch_id), df.semanticHash()
    before, earlier = _WRITTEN.get(stream, (None, frame))
    if before == this and earlier != frame:
        raise ArgumentError(
            f"{table.name}: batch {batch_id} was written under the name {name!r} already. A second "
            "frame would be mistaken for the first one; give each frame of a batch its own name",
            argument="name",
            value=name,
        )
    yield BatchCommit.of(
        table.access,
        name=name,
        user=name,
        query_id=query_id,
        batch=batch_id,
        replaces=replaces,
    )
    _WRITTEN[stream] = (this, frame)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes files in tasks; each micro-batch is committed in one process beside the driver."""

    def __init__(self, options: SourceOptions, schema: StructType, *, overwrite: bool) -> None:
        with carried():
            if options.commit.identifier is not None:
                raise OptionError(
                    "commit-identifier: a stream numbers its commits by its micro-batches; name "
                    "it with commit-user",
                    option="commit-identifier",
                    value=options.commit.identifier,
                )
            self._overwrite = options.replaced(overwrite)
            self._replaces = overwrite
            self._user = options.commit.user
            self._checkpoint = options.checkpoint
            self._table = options.open(fields_of(typed(schema)))
            refuse_unwritable(self._table.access, adds_only=True)
            overwrite_selection(self._table.access, self._overwrite, ())
            self._names = table_names(schema, self._table.access)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        with carried():
            context = TaskContext.get()
            query_id = None if context is None else context.getLocalProperty(_QUERY)
            access = self._table.access
            written = write_rows(access, self._names, iterator, replaces=self._replaces)
            return Written(written, query_id, ROW_KIND_COLUMN in self._names)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Make the micro-batch visible, unless it is; one without rows makes no snapshot."""
        with carried():
            results = results_of(self._table.access, messages, replaces=self._replaces)
            # Without messages there was no task: Spark knew that there is nothing.
            if not messages or not (self._replaces or any(result.changes for result in results)):
                self._passed(messages, batchId)
                return
            try:
                batch = self._batch(messages, batchId)
                landed = find_commit(self._table.access, batch.commit)
            except TableError:
                self._discard(results)
                raise
            if landed is not None:
                self._discard(results)
            else:
                if not self._replaces:
                    results.append(compacted(self._table.access, results))
                landed = self._table.commit(results, batch.commit, self._overwrite)
            batch.note(self._table.access, landed)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        """Take away what tasks wrote, if that is certain to be in no snapshot."""
        with carried():
            take_back(self._table.access, messages)

    def _passed(self, messages: Sequence[WriterCommitMessage | None], number: int) -> None:
        query_id = _query_of(messages)
        name = self._name(query_id)
        if name is not None:
            LandedBatches.passed(self._table.access, name, query_id, number)

    def _name(self, query_id: str | None) -> str | None:
        """What the stream is called in the table; None where Spark does not say and nobody else did."""
        if self._user or not self._checkpoint:
            return self._user or query_id
        return name_of_checkpoint(self._checkpoint)

    def _batch(self, messages: Sequence[WriterCommitMessage | None], number: int) -> BatchCommit:
        query_id = _query_of(messages)
        user = self._user or query_id
        if user is None:
            raise ArgumentError(
                "Spark does not say which query this is; set commit-user to a name of the stream",
                argument="commit-user",
            )
        return BatchCommit.of(
            self._table.access,
            name=self._name(query_id) or user,
            user=user,
            query_id=query_id,
            batch=number,
            replaces=self._replaces,
        )

    def _discard(self, results: Sequence[WriteResult]) -> None:
        discard(self._table.access, parts_of(results))


def _query_of(messages: Sequence[WriterCommitMessage | None]) -> str | None:
    ids = (message.query_id for message in messages if isinstance(message, Written))
    return next((id for id in ids if id), None)
