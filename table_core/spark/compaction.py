"""Compaction by tasks: each gets buckets, reads and writes their files, and hands over what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.spark.failures import translated
from table_core.spark.session import parallelism
from table_core.spark.tasks import RESULT_TYPE, distribute, groups_of, packed, unpacked
from table_core.table.committer import find_commit
from table_core.table.compact import choose, commit_compaction, compact_bucket
from table_core.table.data_files import FileFactory
from table_core.table.inline_compaction import InlineCompaction
from table_core.table.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from table_core.ondisk.data_file import DataFile
    from table_core.predicate.expression import Expression
    from table_core.table.access import Bucket, TableAccess
    from table_core.table.compactor import CompactChange
    from table_core.table.results import ResultDocument
    from table_core.table.table import Table
    from table_core.table.writer import BucketChange

__all__ = ["compact", "compact_due"]


def compact(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    strategy: str = "full",
    partitions: Sequence[Mapping[str, object]] | None = None,
    where: str | Expression | None = None,
    order_by: Sequence[str] | None = None,
    dry_run: bool = False,
    commit: CommitAs | None = None,
) -> ResultDocument:
    """``Table.compact`` with a task for every few buckets; no session is needed if none is due.

    Raises:
        TableError: as for ``Table.compact``; nothing is visible.
        JobFailedError: Spark gave up; nothing is visible.
    """
    access, commit = table.access, commit or CommitAs()
    # The first is refused, the second needs no task, the third spreads rows with one writer.
    if order_by or dry_run or access.schema.bucket == POSTPONE_BUCKET:
        return table.compact(strategy, partitions, where, order_by, dry_run, commit)
    started_ms = access.clock.now_ms()
    choice = choose(access, strategy=strategy, partitions=partitions, where=where)
    changes: tuple[CompactChange, ...] = ()
    if choice.buckets and find_commit(access, commit) is None:
        session = spark() if callable(spark) else spark
        changes = _by_tasks(session, access, choice.buckets, full=choice.full)
    return commit_compaction(access, choice, changes, commit, started_ms=started_ms, dry_run=False)


def compact_due(
    spark: SparkSession, access: TableAccess, changes: Sequence[BucketChange]
) -> tuple[CompactChange, ...]:
    """The compaction that goes along with a write of ``changes``."""
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
    buckets, full = InlineCompaction(access, factory).due(changes)
    return _by_tasks(spark, access, buckets, full=full)


def _by_tasks(
    spark: SparkSession,
    access: TableAccess,
    buckets: Mapping[Bucket, Sequence[DataFile]],
    *,
    full: bool,
) -> tuple[CompactChange, ...]:
    if not buckets:
        return ()

    def weight(item: tuple[Bucket, Sequence[DataFile]]) -> int:
        return sum(file.file_size for file in item[1])

    def run(group: Any) -> Iterator[pa.RecordBatch]:
        factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
        yield packed(
            [
                change
                for bucket, files in group
                for change in compact_bucket(access, factory, bucket, files, full=full)
            ]
        )

    with translated():
        groups = groups_of(list(buckets.items()), weight, parallelism(spark))
        results = unpacked(distribute(spark, groups, run, RESULT_TYPE))
    return tuple(change for result in results for change in result)
