"""MERGE INTO on Spark: it joins and computes, tasks write what the clauses say.

    target rows, with their places ─┐
                                    ├─ join ─ first clause that holds ─ shuffle by bucket ─ files
    source: DataFrame, SQL, table ──┘

Conditions and values are Spark SQL over ``source.x`` and ``target.x``.  Each row crosses to Python once,
and only rows that change.  In a key table they are new versions; of a table without key the files
of rows that go are then written anew, or the rows marked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.spark.reading.frames import as_spark_takes, frame_of, frame_of_arrow, read
from table_core.spark.session.create import of_query, parallelism, started
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import carried, translated
from table_core.spark.session.own_columns import own_column, refuse_own_columns
from table_core.spark.session.plan_size import rows_as_planned
from table_core.spark.session.schema_bridge import arrow_for_spark, spark_schema
from table_core.spark.session.tasks import (
    RESULT_TYPE,
    distribute,
    groups_of,
    map_batches,
    packed,
    results_of,
    unpacked,
)
from table_core.spark.verbs.key_merge import CLAUSE_COLUMN, by_key, needs_old, new_rows, versions_of
from table_core.spark.verbs.pairs import TWICE_COLUMN, MergePairs
from table_core.spark.writing.frames import (
    compacted_along,
    distributed,
    table_spelling,
)
from table_core.spark.writing.in_tasks import prepared_by_share
from table_core.spark.writing.shuffle import by_bucket
from table_core.table.api.table import Table
from table_core.table.commit_io.committer import begin, commit_parts
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.dml import merge_into as clauses
from table_core.table.dml.key_changes import wanted_rows
from table_core.table.dml.overwrite import Reads, commit_results
from table_core.table.dml.postponed_rows import in_buckets
from table_core.table.dml.row_changes import (
    PreparedChange,
    RowChanges,
    change_part,
    entries_of,
    marks_rows,
    take_back,
)
from table_core.table.files.file_reader import POSITION_COLUMN
from table_core.table.metadata.results import CommitAs
from table_core.table.read.committed_rows import committed_rows, refuse_fallback_rows
from table_core.table.read.state_plan import StatePlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.dml.merge_into import MergeClause
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, ResultDocument

__all__ = ["merge_into", "merged"]

_FILE: Final = own_column("file")


@of_verb("merge-into")
def merge_into(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    source: DataFrame | Table | str,
    on: Sequence[str] | Mapping[str, str],
    when: Sequence[MergeClause],
    commit: CommitAs | None = None,
) -> ResultDocument:
    """``Table.merge_into`` by Spark; ``source`` is a DataFrame, a table, or SQL.

    Raises:
        DataError: several source rows match one target row, or a value does not fit.
        ArgumentError: no clause, ``on`` names an unknown column, or Spark refuses an expression.
        JobFailedError: Spark gave up; nothing is visible.
    """
    return merged(spark, table, source, on, when, commit or CommitAs())[0]


def merged(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    source: DataFrame | Table | str,
    on: Sequence[str] | Mapping[str, str],
    when: Sequence[MergeClause],
    commit: CommitAs,
) -> tuple[ResultDocument, Commit | None]:
    """What ``merge_into`` says, and its commit; None where there was nothing to change."""
    access, when = table.access.in_newest_schema(), tuple(when)
    started_ms = access.clock.now_ms()
    clauses.refuse_clauses(access, when)
    condition = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    on = dict(zip(table_spelling(condition, access), condition.values(), strict=True))
    columns = clauses.columns_of(access, on)
    commit = clauses.with_request(commit, access, source, on, when, **of_query(source))
    begun, counts = begin(access, commit), Counter[str]()
    done, head = begun.landed, begun.head
    if done is None:
        refuse_fallback_rows(access, head)
        session = started(spark)
        with translated():
            frame = _frame(session, source)
            refuse_own_columns((field.name for field in access.schema.fields), access.name)
            refuse_own_columns(frame.columns, "the source")
            pairs = MergePairs(access, frame, columns, when)
            by_kind = _write_versions if access.schema.is_key_table else _rewrite
            done = by_kind(session, pairs, head, commit, counts)
    return clauses.described(access, head, done, counts, started_ms), done


def _frame(session: SparkSession, source: DataFrame | Table | pa.Table | str) -> DataFrame:
    if isinstance(source, str):
        return session.sql(source)
    if isinstance(source, pa.Table):
        return frame_of_arrow(session, source)
    return read(session, source) if isinstance(source, Table) else source


def _write_versions(
    session: SparkSession,
    pairs: MergePairs,
    head: Snapshot | None,
    commit: CommitAs,
    counts: Counter[str],
) -> Commit | None:
    access = pairs.access
    head = in_buckets(access, head)
    if head is None:
        target = session.createDataFrame([], spark_schema(access.schema.fields))
    else:
        target = frame_of(session, committed_rows(access, head))
    moves = pairs.moves
    by_old = moves or needs_old(access)
    rows = pairs.rows(target, with_old=by_old)
    if by_old:
        rows = by_key(rows, target, access, moves=moves)
    shared, shares, slots = distributed(access.for_whole_rows(), session)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decided: Counter[int] = Counter()
        write = versions_of(access) if by_old else partial(_newest, access)
        result = prepared_by_share(shared, write(batches, decided), shares)
        yield packed((result, decided))

    outcomes = unpacked(map_batches(by_bucket(rows, access.schema, slots), run, RESULT_TYPE))
    _count(counts, pairs.when, [decided for _, decided in outcomes])
    results = [result for result, _ in outcomes]
    results.append(compacted_along(session, access, results))
    reads = Reads.of(clauses.MERGE, head, lambda: clauses.changed_rows(counts))
    return commit_results(access, tuple(results), commit, None, reads)


def _newest(
    access: TableAccess, batches: Iterable[pa.RecordBatch], decided: Counter[int]
) -> Iterator[pa.Table]:
    """The rows as they come, but that a new key has one, however often the source has it."""
    names, twice = [field.name for field in access.schema.fields], []
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        _count_batch(decided, rows)
        again = pc.and_(rows[TWICE_COLUMN], pc.equal(rows[ROW_KIND_COLUMN], "+I"))
        twice.append(rows.filter(again).select(names))
        yield rows.filter(pc.invert(again)).drop_columns([CLAUSE_COLUMN, TWICE_COLUMN])
    if any(rows.num_rows for rows in twice):
        yield from new_rows(access, pa.concat_tables(twice))


def _rewrite(
    session: SparkSession,
    pairs: MergePairs,
    head: Snapshot | None,
    commit: CommitAs,
    counts: Counter[str],
) -> Commit | None:
    access = pairs.access
    splits = StatePlanner(access=access).plan(head).splits
    entries = {key: entry for split in splits for key, entry in entries_of(split).items()}
    files = {key: number for number, key in enumerate(entries)}
    columns = spark_schema(access.schema.fields)
    places = [
        spark.StructField(_FILE, spark.IntegerType()),
        spark.StructField(POSITION_COLUMN, spark.LongType()),
    ]
    shape = spark.StructType([*columns.fields, *places])
    groups = groups_of(splits, lambda split: split.size, parallelism(session))
    placed = partial(_placed, access, head, files)
    target = distribute(session, groups, placed, shape, rows_as_planned(splits, shape))
    rows = pairs.rows(target, (_FILE, POSITION_COLUMN))
    _, _, slots = distributed(access, session)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            change = RowChanges(access.for_whole_rows(), head)
            decided: Counter[int] = Counter()
            gone: dict[int, list[Any]] = defaultdict(list)
            with undone_by(change.abort):
                for batch in batches:
                    _take(access, pa.Table.from_batches([batch]), change, decided, gone)
            positions = {number: np.concatenate(parts) for number, parts in gone.items()}
            yield packed((change.prepared(keeps=False).added, positions, decided))

    outcomes = unpacked(map_batches(by_bucket(rows, access.schema, slots), run, RESULT_TYPE))
    _count(counts, pairs.when, [decided for *_, decided in outcomes])
    came = PreparedChange(
        positions={}, entries={}, added=tuple(e for added, *_ in outcomes for e in added)
    )
    changes = _changes(entries, [positions for _, positions, _ in outcomes])
    if changes and not marks_rows(access):
        with undone_by(lambda: take_back(access, [came])):
            changes = _kept(session, access, head, changes)
    part = change_part(access, head, [came, *changes])
    if part is None:
        return None
    part = replace(part, changed=clauses.changed_rows(counts))
    return commit_parts(access, commit, append=part, operation=clauses.MERGE)


def _placed(
    access: TableAccess, head: Snapshot | None, files: Mapping[Any, int], splits: Any
) -> Iterator[pa.RecordBatch]:
    """The rows of ``splits``, each with the number of its file and its position in it."""
    schema = arrow_for_spark(access.schema.fields)
    for bucket, file_name, batch in RowChanges(access, head).rows(None, splits):
        rows = as_spark_takes(batch.drop_columns([POSITION_COLUMN]), schema)
        number = pa.scalar(files[(*bucket, file_name)], pa.int32())
        rows = rows.append_column(_FILE, pa.repeat(number, rows.num_rows))
        rows = rows.append_column(POSITION_COLUMN, batch[POSITION_COLUMN])
        yield from rows.to_batches(max_chunksize=1 << 16)


def _take(
    access: TableAccess,
    rows: pa.Table,
    change: RowChanges,
    decided: Counter[int],
    gone: dict[int, list[Any]],
) -> None:
    """Put in what comes, note what goes."""
    _count_batch(decided, rows)
    old = rows.filter(pc.is_valid(rows[_FILE]))
    numbers, positions = old[_FILE].to_numpy(), old[POSITION_COLUMN].to_numpy()
    for number in np.unique(numbers).tolist():
        gone[number].append(positions[numbers == number])
    names = [field.name for field in access.schema.fields]
    for kind, inserted in (("+U", False), ("+I", True)):
        new = rows.filter(pc.equal(rows[ROW_KIND_COLUMN], kind)).select(names)
        if new.num_rows:
            change.put_in(wanted_rows(access, new, inserted=inserted))


def _changes(
    entries: Mapping[Any, ManifestEntry], gone: Sequence[Mapping[int, Any]]
) -> list[PreparedChange]:
    """Which rows of which files go, all tasks together; a change for each file."""
    keys = list(entries)
    together: dict[int, list[Any]] = defaultdict(list)
    for positions in gone:
        for number, row_numbers in positions.items():
            together[number].append(row_numbers)
    return [
        PreparedChange(
            positions={keys[number]: np.unique(np.concatenate(parts))},
            entries={keys[number]: entries[keys[number]]},
        )
        for number, parts in sorted(together.items())
    ]


def _kept(
    session: SparkSession,
    access: TableAccess,
    head: Snapshot | None,
    changes: Sequence[PreparedChange],
) -> list[PreparedChange]:
    """``changes`` with the rows that stay written anew, by tasks."""

    def size(change: PreparedChange) -> int:
        return sum(entry.file.file_size for entry in change.entries.values())

    def run(group: Any) -> Iterator[pa.RecordBatch]:
        together = PreparedChange(
            positions={k: v for change in group for k, v in change.positions.items()},
            entries={k: v for change in group for k, v in change.entries.items()},
        )
        yield packed(RowChanges(access, head).rewritten(together))

    groups = groups_of(changes, size, parallelism(session))
    return results_of(
        session, groups, run, lambda group: sum(len(change.entries) for change in group)
    )


def _count_batch(decided: Counter[int], rows: pa.Table) -> None:
    for pair in rows[CLAUSE_COLUMN].value_counts():
        decided[pair["values"].as_py()] += pair["counts"].as_py()


def _count(
    counts: Counter[str], when: Sequence[MergeClause], decided: Sequence[Counter[int]]
) -> None:
    for by_clause in decided:
        for number, rows in by_clause.items():
            counts[type(when[number]).__name__] += rows
