"""DELETE and UPDATE by tasks: each gets splits, finds the rows in them, and writes what becomes of them.

What a statement does to rows is decided by ``table.dml``; no row leaves the task that read it.
In a key table the new versions go to the bucket that the old ones are in, or wait for one as every row of
such a table does (``bucket = -2``); of a table without key each task writes its files anew, or says which
rows are to be marked.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from table_core.spark.session.create import of_query, parallelism, started
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import translated
from table_core.spark.session.tasks import groups_of, packed, results_of
from table_core.spark.writing.frames import compacted_along
from table_core.spark.writing.in_tasks import prepared
from table_core.table.commit_io.committer import begin, commit_parts
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.dml.overwrite import Reads, commit_results
from table_core.table.dml.postponed_rows import in_buckets, spreads_first
from table_core.table.dml.row_changes import RowChanges, change_part
from table_core.table.dml.statements import deletion, described, updating
from table_core.table.metadata.results import CommitAs
from table_core.table.read.committed_rows import committed_rows, refuse_fallback_rows
from table_core.table.read.state_plan import StatePlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.expression import Expression
    from table_core.scan.split import Split
    from table_core.table.api.table import Table
    from table_core.table.dml.statements import Statement
    from table_core.table.metadata.access import Bucket
    from table_core.table.metadata.results import Commit, ResultDocument

__all__ = ["delete", "update"]


@of_verb("delete")
def delete(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    where: str | Expression,
    commit: CommitAs | None = None,
) -> ResultDocument:
    """``Table.delete`` by tasks; no session is needed where nothing can match.

    Raises:
        TableError: as for ``Table.delete``; nothing is visible.
        JobFailedError: Spark gave up; nothing is visible.
    """
    return _run(spark, deletion(table.access, where), commit or CommitAs())


@of_verb("update")
def update(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    values: Mapping[str, str],
    where: str | Expression,
    commit: CommitAs | None = None,
) -> ResultDocument:
    """``Table.update`` by tasks; no session is needed where nothing can match.

    Raises:
        TableError: as for ``Table.update``; nothing is visible.
        JobFailedError: Spark gave up; nothing is visible.
    """
    return _run(spark, updating(table.access, values, where), commit or CommitAs())


def _run(
    spark: SparkSession | Callable[[], SparkSession], statement: Statement, commit: CommitAs
) -> ResultDocument:
    access, commit = statement.access, statement.with_request(commit, **of_query(spark))
    started_ms, begun = access.clock.now_ms(), begin(access, commit)
    done, head, rows = begun.landed, begun.head, 0
    if done is None:
        refuse_fallback_rows(access, head, statement.where)
    if done is None and head is not None:
        by_tasks = _write_versions if access.schema.is_key_table else _rewrite
        with translated():
            done, rows = by_tasks(spark, statement, head, commit)
    return described(statement, head, done, rows, started_ms)


def _write_versions(
    spark: SparkSession | Callable[[], SparkSession],
    statement: Statement,
    head: Snapshot,
    commit: CommitAs,
) -> tuple[Commit | None, int]:
    access = statement.access
    head = in_buckets(access, head) or head
    scan = committed_rows(access, head, statement.where)
    reader, splits = scan.reader, scan.splits()
    if not splits:
        return None, 0

    def run(group: Any) -> Iterator[pa.RecordBatch]:
        for bucket, mine in group:
            counted = [0]

            def versions(mine: Sequence[Split] = mine, counted: list[int] = counted) -> Any:
                for split in mine:
                    for rows in reader.read(split):
                        counted[0] += rows.num_rows
                        yield statement.versions(rows)

            known = None if spreads_first(access) else bucket
            result = prepared(access.for_whole_rows(), versions(), bucket=known)
            yield packed((result, counted[0]))

    session = started(spark)
    groups = groups_of(_whole_buckets(splits), _size, parallelism(session))
    outcomes = results_of(session, groups, run, _files)
    results, rows = [result for result, _ in outcomes], sum(count for _, count in outcomes)
    if not rows:
        return None, 0
    results.append(compacted_along(session, access, results))
    done = commit_results(access, tuple(results), commit, None, Reads.of(statement.operation, head))
    return done, rows


def _rewrite(
    spark: SparkSession | Callable[[], SparkSession],
    statement: Statement,
    head: Snapshot,
    commit: CommitAs,
) -> tuple[Commit | None, int]:
    access = statement.access
    splits = StatePlanner(access=access, where=statement.bound).plan(head).splits
    if not splits:
        return None, 0

    def run(group: Any) -> Iterator[pa.RecordBatch]:
        change = RowChanges(access.for_whole_rows(), head)
        with undone_by(change.abort):
            statement.apply(change, [split for _, mine in group for split in mine])
        yield packed(change.prepared())

    session = started(spark)
    items = _whole_buckets(splits) if access.schema.bucket > 0 else _each_alone(splits)
    groups = groups_of(items, _size, parallelism(session))
    changes = results_of(session, groups, run, _files)
    part = change_part(access, head, changes)
    if part is None:
        return None, 0
    rows = sum(change.gone for change in changes)
    part = replace(part, changed=statement.changed(rows))
    return commit_parts(access, commit, append=part, operation=statement.operation), rows


def _whole_buckets(splits: Sequence[Split]) -> list[tuple[Bucket | None, list[Split]]]:
    """``splits`` by bucket; those of a fallback branch find theirs by their rows."""
    by_bucket: dict[Bucket | None, list[Split]] = defaultdict(list)
    for split in splits:
        by_bucket[None if split.branch else (split.partition, split.bucket)].append(split)
    return list(by_bucket.items())


def _each_alone(splits: Sequence[Split]) -> list[tuple[Bucket | None, list[Split]]]:
    return [((split.partition, split.bucket), [split]) for split in splits]


def _files(group: Sequence[tuple[Bucket | None, list[Split]]]) -> int:
    return sum(len(split.files) for _, mine in group for split in mine)


def _size(item: tuple[Bucket | None, list[Split]]) -> int:
    return sum(split.size for split in item[1])
