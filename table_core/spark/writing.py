"""Writes DataFrames: tasks make files, the driver commits what the counted attempts hand over."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from table_core.datatypes.arrow import arrow_schema
from table_core.errors import ArgumentError, ErrorKind, TableError
from table_core.ondisk import layout
from table_core.spark.compaction import compact_due
from table_core.spark.failures import carried, translated
from table_core.spark.schema_bridge import fields_of
from table_core.spark.session import parallelism
from table_core.spark.shuffle import by_bucket
from table_core.spark.tasks import RESULT_TYPE, packed, unpacked
from table_core.table.coerce import coerce
from table_core.table.committer import find_commit
from table_core.table.overwriting import overwrite_selection
from table_core.table.results import CommitAs
from table_core.table.writer import Numbering, TableWriter, WriteResult, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from table_core.table.access import TableAccess
    from table_core.table.results import Commit
    from table_core.table.table import Table

__all__ = ["aligned", "commit_or_discard", "discard", "prepared", "write"]

_MODES: Final[Mapping[str, str | None]] = {
    "append": None,
    "overwrite": "table",
    "overwrite-partitions": "partitions",
}


def write(
    df: DataFrame,
    table: Table,
    mode: str | Mapping[str, Any] = "append",
    commit: CommitAs | None = None,
) -> Commit:
    """Write ``df`` into ``table`` with one commit, shuffled by bucket first.

    ``mode``: ``append``, ``overwrite`` (the table), ``overwrite-partitions`` (those that occur in
    ``df``), or one partition as ``{"dt": "…"}``.

    Raises:
        DataError: a column is unknown or a value does not fit; nothing is visible.
        JobFailedError: Spark gave up; nothing is visible.
        TableError: as for ``TableWriter.commit``.
    """
    if isinstance(mode, str) and mode not in _MODES:
        raise ArgumentError(
            f"mode={mode!r}: use one of {', '.join(_MODES)}, or a partition",
            argument="mode",
            value=mode,
        )
    overwrite = _MODES[mode] if isinstance(mode, str) else mode
    commit = commit or CommitAs()
    access = table.access
    refuse_unwritable(access)
    overwrite_selection(access, overwrite, ())
    found = find_commit(access, commit)
    if found is not None:
        return found
    with translated():
        df = aligned(df, access)
        session = df.sparkSession
        rows = by_bucket(df, access.schema, parallelism(session))
        results = unpacked(
            rows.mapInArrow(_write_rows(access, replaces=overwrite is not None), RESULT_TYPE)
        )
    if overwrite is None:
        results.append(_compacted(session, access, results))
    return commit_or_discard(table, results, commit, overwrite)


def aligned(df: DataFrame, access: TableAccess) -> DataFrame:
    """``df`` with the table's spelling of column names; refused if the rows can never fit.

    Spark does not tell ``ID`` from ``id``, a table does.
    """
    by_lower: dict[str, list[str]] = defaultdict(list)
    for field in access.schema.fields:
        by_lower[field.name.lower()].append(field.name)
    known = {field.name for field in access.schema.fields}
    names = [
        name if name in known or len(by_lower[name.lower()]) != 1 else by_lower[name.lower()][0]
        for name in df.columns
    ]
    renamed = df if names == df.columns else df.toDF(*names)
    filled = [f for f in renamed.schema.fields if f.dataType.typeName() != "void"]
    columns = arrow_schema(fields_of(type(renamed.schema)(filled)))
    coerce(access.schema, columns.empty_table())
    return renamed


def prepared(
    access: TableAccess,
    batches: Iterable[pa.RecordBatch],
    numbering: Numbering | None = None,
    *,
    replaces: bool = False,
) -> WriteResult:
    """Write ``batches`` inside a task; whatever fails takes the files of this attempt away."""
    writer = TableWriter(access, _never, compact=False, replaces=replaces, numbering=numbering)
    try:
        for batch in batches:
            writer.write(batch)
        return writer.prepare()
    except BaseException:
        writer.abort()
        raise


def commit_or_discard(
    table: Table,
    results: Sequence[WriteResult],
    commit: CommitAs,
    overwrite: str | Mapping[str, Any] | None,
) -> Commit:
    """Commit; take the files away only where it is certain that nothing landed."""
    try:
        done = table.commit(results, commit, overwrite)
    except TableError as error:
        if error.kind is ErrorKind.CONFLICT:
            discard(table.access, results)
        raise
    if done.replayed:
        discard(table.access, results)  # another attempt of the same commit was first
    return done


def discard(access: TableAccess, results: Iterable[WriteResult]) -> None:
    """Delete the files of ``results``, none of which may be committed."""
    paths = []
    for result in results:
        for change in result.changes:
            folder = layout.bucket_path(access.schema, change.partition, change.bucket)
            paths += [f"{folder}/{file.file_name}" for file in (*change.added, *change.changelog)]
        for done in result.compactions:
            folder = layout.bucket_path(access.schema, done.partition, done.bucket)
            before = {file.file_name for file in done.before}
            made = [file for file in (*done.after, *done.changelog) if file.file_name not in before]
            paths += [f"{folder}/{file.file_name}" for file in made]
    access.storage.delete(paths)


def _compacted(session: Any, access: TableAccess, results: Sequence[WriteResult]) -> WriteResult:
    """The compaction that goes along with this write, by tasks of its own."""
    changes = [change for result in results for change in result.changes]
    try:
        return WriteResult(compactions=compact_due(session, access, changes))
    except TableError:
        discard(access, results)
        raise


def _write_rows(
    access: TableAccess, *, replaces: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            yield packed(prepared(access, batches, replaces=replaces))

    return run


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("tasks do not commit")
