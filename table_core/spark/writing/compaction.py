"""Compaction by tasks: each gets buckets, reads and writes their files, and hands over what it did."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.spark.session.create import parallelism as slots_of
from table_core.spark.session.create import started
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import translated
from table_core.spark.session.tasks import groups_of, packed, results_of
from table_core.spark.writing.planned_compaction import PlannedCompaction
from table_core.table.api import database_maintenance as upkeep
from table_core.table.commit_io.committer import begin
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.compact.compact import (
    Selection,
    choose,
    clustering_of,
    commit_compaction,
    compact_bucket,
    with_request,
)
from table_core.table.compact.compact import compact as compact_here
from table_core.table.compact.compaction import pack_files, packs_of, with_index, without_rows
from table_core.table.compact.inline_compaction import InlineCompaction
from table_core.table.compact.sort_compaction import sort_bucket
from table_core.table.files.data_files import FileFactory
from table_core.table.metadata.results import CommitAs
from table_core.table.write.append_vectors import AppendVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from table_core.merge.clustering import Clustering
    from table_core.ondisk.data_file import DataFile
    from table_core.predicate.expression import Expression
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.commit_io.prepared import BucketChange, CompactChange
    from table_core.table.compact.compact import Choice
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = ["compact", "compact_database", "compact_due"]


@of_verb("compact")
def compact(  # noqa: PLR0913 - as the verb on a table
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    strategy: str = "full",
    partitions: Sequence[Mapping[str, object]] | None = None,
    where: str | Expression | None = None,
    order_by: Sequence[str] | None = None,
    dry_run: bool = False,
    commit: CommitAs | None = None,
    rows: frozenset[bytes] | None = None,
) -> ResultDocument:
    """``Table.compact`` with a task for every few buckets; no session is needed if none is due.

    ``rows``: serialized partitions, those alone.

    Raises:
        TableError: as for ``Table.compact``; nothing is visible.
        JobFailedError: Spark gave up; nothing is visible.
    """
    access, commit = table.access, commit or CommitAs()
    # The first needs no task, the second spreads rows with one writer.
    if dry_run or access.schema.bucket == POSTPONE_BUCKET:
        return compact_here(
            access,
            strategy=strategy,
            partitions=partitions,
            where=where,
            order_by=order_by,
            dry_run=dry_run,
            commit=commit,
            rows=rows,
        )
    started_ms = access.clock.now_ms()
    clustering = clustering_of(access, order_by, strategy)
    selection = Selection.of(
        access,
        strategy=strategy,
        partitions=partitions,
        where=where,
        rows=rows,
        everything=clustering is not None,
    )
    commit = with_request(commit, access, strategy, partitions, where, order_by)
    begun = begin(access, commit)
    planned = PlannedCompaction.of(spark, selection, begun.head, clustering)
    choice = choose(selection, begun.head) if planned is None else planned.choice
    changes: Sequence[CompactChange] = ()
    if begun.landed is None and planned is not None:
        changes = planned.run(spark)
    elif begun.landed is None and choice.buckets:
        changes = _chosen(spark, access, choice, clustering)
    return commit_compaction(access, choice, changes, commit, begun.landed, started_ms=started_ms)


def _chosen(
    spark: SparkSession | Callable[[], SparkSession],
    access: TableAccess,
    choice: Choice,
    clustering: Clustering | None,
) -> Sequence[CompactChange]:
    """What becomes of the buckets of ``choice``, by tasks."""
    if clustering is not None:
        work = partial(_sorted, access, clustering)
        return _by_tasks(spark, access, list(choice.buckets.items()), work)
    if access.schema.is_key_table:
        return _compacted_by_tasks(spark, access, choice.buckets, full=choice.full)
    return _packed_by_tasks(spark, access, choice)


def compact_due(
    spark: SparkSession, access: TableAccess, changes: Sequence[BucketChange]
) -> tuple[CompactChange, ...]:
    """The compaction that goes along with a write of ``changes``; tasks only where rows are read."""
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
    inline = InlineCompaction(access, factory)
    totals = {(c.partition, c.bucket): c.total_buckets for c in changes}

    def compact_all() -> tuple[CompactChange, ...]:
        buckets, full = inline.due(changes)
        return tuple(
            replace(
                done, total_buckets=totals.get((done.partition, done.bucket), done.total_buckets)
            )
            for done in _compacted_by_tasks(spark, access, buckets, full=full)
        )

    return inline.begun_again(compact_all)


def compact_database(  # noqa: PLR0913 - as the verb on a catalog
    spark: SparkSession | Callable[[], SparkSession],
    catalog: Catalog,
    database: str,
    including: str = ".*",
    excluding: str = "",
    strategy: str = "minor",
    idle_time: str | None = None,
    parallelism: int = 1,
    dry_run: bool = False,
    commit: CommitAs | None = None,
) -> ResultDocument:
    """``Catalog.compact_database`` by tasks, ``parallelism`` tables at a time."""
    return upkeep.compact_database(
        catalog,
        upkeep.Choice(
            database=database,
            including=including,
            excluding=excluding,
            parallelism=parallelism,
        ),
        strategy=strategy,
        idle_time=idle_time,
        dry_run=dry_run,
        commit=commit or CommitAs(),
        compact=lambda table, **args: compact(spark, table, **args),
    )


def _sorted(
    access: TableAccess,
    clustering: Clustering,
    factory: FileFactory,
    bucket: Bucket,
    files: Sequence[DataFile],
) -> list[CompactChange]:
    """What a task does with one bucket whose rows are to lie in order."""
    return [sort_bucket(access, factory, bucket, files, clustering)]


def _compacted_by_tasks(
    spark: SparkSession | Callable[[], SparkSession],
    access: TableAccess,
    buckets: Mapping[Bucket, Sequence[DataFile]],
    *,
    full: bool,
) -> tuple[CompactChange, ...]:
    """Key tables: the driver decides by the entries, tasks read and write rows."""
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
    done, rest = without_rows(access, factory, buckets, full=full)
    work = partial(compact_bucket, access, full=full)
    return (*done, *_by_tasks(spark, access, list(rest.items()), work))


def _packed_by_tasks(
    spark: SparkSession | Callable[[], SparkSession], access: TableAccess, choice: Choice
) -> list[CompactChange]:
    """Append tables: what tasks share is packs of files, of one bucket too; its index is ours."""
    head = choice.head
    vectors = AppendVectors(access, head)
    packs = [
        (bucket, pack)
        for bucket, files in choice.buckets.items()
        for pack in packs_of(access, bucket, files, vectors, full=choice.full)
    ]

    def work(
        factory: FileFactory, bucket: Bucket, files: Sequence[DataFile]
    ) -> list[CompactChange]:
        return [pack_files(access, factory, bucket, files, AppendVectors(access, head))]

    done = _by_tasks(spark, access, packs, work)
    for bucket, pack in packs:
        for file in pack:
            vectors.forget(bucket, file.file_name)
    return with_index(done, vectors)


def _by_tasks(
    spark: SparkSession | Callable[[], SparkSession],
    access: TableAccess,
    items: Sequence[tuple[Bucket, Sequence[DataFile]]],
    work: Callable[[FileFactory, Bucket, Sequence[DataFile]], list[CompactChange]],
) -> tuple[CompactChange, ...]:
    """``work`` on each of ``items``: files of one bucket."""
    if not items:
        return ()

    def weight(item: tuple[Bucket, Sequence[DataFile]]) -> int:
        return sum(file.file_size for file in item[1])

    def run(group: Any) -> Iterator[pa.RecordBatch]:
        factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
        with undone_by(factory.discard):
            changes = [change for item in group for change in work(factory, *item)]
        yield packed(changes)

    with translated():
        session = started(spark)
        groups = groups_of(items, weight, slots_of(session))
        results = results_of(
            session, groups, run, lambda group: sum(len(files) for _, files in group)
        )
    return tuple(change for result in results for change in result)
