"""Rows of tasks that see any bucket, as ``format("paimon")`` gets them: written, then committed as one.

A data source cannot ask for a distribution.  So the tasks interleave their sequence numbers and
compact nothing; whoever commits numbers what tasks could not, deals out dynamic buckets where several
tasks did, and compacts along.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from table_core.errors import UnsupportedFeatureError
from table_core.scan.split import Split
from table_core.spark.writing.in_tasks import prepared
from table_core.table.commit_io.committer import parts_of
from table_core.table.commit_io.prepared import WriteResult
from table_core.table.commit_io.uncommitted import discard
from table_core.table.compact.inline_compaction import InlineCompaction
from table_core.table.files.data_files import FileFactory
from table_core.table.files.row_form import RowForm
from table_core.table.read.split_reader import SplitReader
from table_core.table.write.choose_assigner import crosses_partitions
from table_core.table.write.writer import Numbering

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from table_core.ondisk.data_file import DataFile
    from table_core.table.commit_io.prepared import BucketChange
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = [
    "Written",
    "compacted",
    "replaces_partitions_only",
    "results_of",
    "take_back",
    "write_rows",
]

_TASKS_MAX: Final = 1 << 16
_OVERWRITE_MODE: Final = "spark.sql.sources.partitionOverwriteMode"


@dataclass(slots=True)
class Written(WriterCommitMessage):
    """What one task hands to the commit."""

    result: WriteResult
    query_id: str | None = None
    """The streaming query that the task belongs to."""
    ordered: bool = False
    """Whether rows say their kind, so that those of a later task come after those of an earlier one."""
    partitions_only: bool = False
    """Whether the session says that an overwrite replaces the partitions that occur."""


def replaces_partitions_only() -> bool:
    """Whether the session of this task sets ``partitionOverwriteMode=dynamic``.

    Spark tells tasks its session's settings, and the process that plans and commits none.
    """
    context = TaskContext.get()
    mode = None if context is None else context.getLocalProperty(_OVERWRITE_MODE)
    return mode is not None and mode.lower() == "dynamic"


def write_rows(
    access: TableAccess,
    names: Sequence[str],
    batches: Iterator[pa.RecordBatch],
    *,
    replaces: bool,
) -> WriteResult:
    """Write the rows of this task, numbered so that no other task uses the same numbers.

    ``names`` are the columns of ``batches`` in the table's spelling; ``replaces``: what is there goes.
    """
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    if task >= _TASKS_MAX:
        raise UnsupportedFeatureError(
            f"a write of more than {_TASKS_MAX} tasks; repartition before writing",
            feature="write tasks",
        )
    keyed = access.schema.is_key_table
    numbering = Numbering(offset=task, step=_TASKS_MAX) if keyed else None
    rows = (batch.rename_columns(list(names)) for batch in batches)
    return prepared(access, rows, numbering, replaces=replaces)


def results_of(
    access: TableAccess, messages: Sequence[WriterCommitMessage | None], *, replaces: bool
) -> list[WriteResult]:
    """What the tasks wrote, ready for one commit.

    Raises:
        UnsupportedFeatureError: several tasks moved keys between partitions; their files are gone.
    """
    written = [message for message in messages if isinstance(message, Written)]
    results, schema = [message.result for message in written], access.schema
    ordered = any(message.ordered for message in written) and _share_a_bucket(results)
    several = schema.bucket == -1 and sum(bool(result.changes) for result in results) > 1
    if schema.is_key_table and (several or ordered):
        try:
            return [_dealt_anew(access, results, replaces=replaces)]
        finally:
            discard(access, parts_of(results))
    if not schema.is_key_table and schema.bucket > 0:
        return _renumbered(results)
    return results


def _share_a_bucket(results: Sequence[WriteResult]) -> bool:
    """Whether two tasks wrote to one bucket."""
    seen: set[Bucket] = set()
    for result in results:
        own = {(change.partition, change.bucket) for change in result.changes}
        if own & seen:
            return True
        seen |= own
    return False


def compacted(access: TableAccess, results: Sequence[WriteResult]) -> WriteResult:
    """The compaction that goes along with a write of ``results``."""
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
    changes = [change for result in results for change in result.changes]
    return WriteResult(compactions=InlineCompaction(access, factory).run(changes))


def take_back(access: TableAccess, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Delete what tasks wrote, unless a commit was tried: then it may have landed.

    Spark aborts when a task failed, whose message is then None, and when the commit did.
    """
    written = [message.result for message in messages if isinstance(message, Written)]
    if len(written) < len(messages):
        discard(access, parts_of(written))


def _dealt_anew(
    access: TableAccess, results: Sequence[WriteResult], *, replaces: bool
) -> WriteResult:
    """The rows of all tasks written again by one, task after task.

    Each may have put the same key elsewhere, or numbered a delete before the insert that it takes back.
    """
    if crosses_partitions(access.schema):
        raise UnsupportedFeatureError(
            f"keys of {access.name} may move between partitions, which one task at a time sees: "
            "write with coalesce(1), with table_core.spark.write, or in a stream with write_batch "
            "inside foreachBatch",
            feature="keys that move between partitions in several tasks of a data source",
        )
    reader = SplitReader(access=access, fields=access.schema.fields, form=RowForm.CHANGES)
    splits = (
        Split(
            partition=change.partition,
            bucket=change.bucket,
            total_buckets=change.total_buckets,
            files=change.changelog or change.added,
            raw_convertible=False,
            snapshot_id=0,
        )
        for result in results
        for change in result.changes
    )
    written = (rows for split in splits for rows in reader.read(split))
    return prepared(access.for_whole_rows(), written, replaces=replaces)


def _renumbered(results: Sequence[WriteResult]) -> list[WriteResult]:
    """Results of tasks that numbered the rows of a bucket alike, numbered one after the other.

    Files of append tables do not hold the numbers, only their descriptions do.
    """
    following: dict[Bucket, int] = {}

    def file_of(change: BucketChange, file: DataFile) -> DataFile:
        bucket = change.partition, change.bucket
        first = following.get(bucket, file.min_sequence_number)
        following[bucket] = first + file.row_count
        return replace(
            file, min_sequence_number=first, max_sequence_number=first + file.row_count - 1
        )

    return [
        replace(
            result,
            changes=tuple(
                replace(change, added=tuple(file_of(change, file) for file in change.added))
                for change in result.changes
            ),
        )
        for result in results
    ]
