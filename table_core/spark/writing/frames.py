"""Writes DataFrames: tasks make files, the driver commits what the counted attempts hand over."""

from __future__ import annotations

import logging
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import NullType, StructField, StructType

from table_core.datatypes.arrow import arrow_schema
from table_core.errors import AlreadyExistsError, ArgumentError, DataError, TableError
from table_core.options import keys_identity, keys_write
from table_core.spark.session.create import of_query, parallelism
from table_core.spark.session.doing import of_verb
from table_core.spark.session.failures import translated
from table_core.spark.session.own_columns import refuse_own_columns
from table_core.spark.session.schema_bridge import fields_of, holds, spark_type
from table_core.spark.session.tasks import RESULT_TYPE, map_batches, packed, unpacked
from table_core.spark.writing.compaction import compact, compact_due
from table_core.spark.writing.few_rows import few_rows
from table_core.spark.writing.in_tasks import prepared, prepared_by_share
from table_core.spark.writing.native import native_write
from table_core.spark.writing.native_fit import reason_against
from table_core.spark.writing.one_task import is_one_small_task
from table_core.spark.writing.shuffle import assigners, by_bucket
from table_core.table.api.table import Table
from table_core.table.commit_io.committer import parts_of
from table_core.table.commit_io.prepared import WriteResult
from table_core.table.commit_io.uncommitted import discard
from table_core.table.dml.overwrite import begin_write, overwrite_selection
from table_core.table.metadata.results import Commit, CommitAs
from table_core.table.write.coerce import cast_column, coerce
from table_core.table.write.widening import widened
from table_core.table.write.writer import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from table_core.datatypes.kinds import Field
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "compacted_along",
    "distributed",
    "table_names",
    "table_spelling",
    "typed",
    "write",
    "write_frame",
    "written",
]

_log = logging.getLogger(__name__)
_ASSIGNERS: Final = (
    keys_identity.DYNAMIC_BUCKET_ASSIGNER_PARALLELISM.key,
    keys_identity.DYNAMIC_BUCKET_INITIAL_BUCKETS.key,
)
_MODES: Final[Mapping[str, str | None]] = {
    "append": None,
    "overwrite": "table",
    "overwrite-partitions": "partitions",
    "error": None,
    "ignore": None,
}


@of_verb("write")
def write(
    df: DataFrame,
    table: Table,
    mode: str | Mapping[str, Any] = "append",
    commit: CommitAs | None = None,
    merge_schema: bool = False,
) -> Commit:
    """Write ``df`` into ``table`` with one commit, shuffled by bucket first, and compact.

    ``mode``: ``append``, ``overwrite`` (the table), ``overwrite-partitions`` (those that occur in
    ``df``), one partition as ``{"dt": "…"}``, ``error`` (refuse a table that has rows) or ``ignore``
    (leave it alone).  ``merge_schema``: columns that the table lacks are added first, those whose
    type is too narrow are widened.

    Raises:
        AlreadyExistsError: the table has rows, and ``mode`` is ``error``.
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
    commit = (commit or CommitAs()).with_request(
        "write", table.access.branch, overwrite=overwrite, **of_query(df)
    )
    if mode in ("error", "ignore"):
        landed = _landed(df, table, commit)
        if landed is not None:
            return landed
        if table.access.live_entries(table.latest_snapshot()):
            if mode == "ignore":
                return Commit()
            raise AlreadyExistsError(
                f"{table.name} has rows, and mode='error' writes into empty tables only",
                name=table.name,
            )
    if merge_schema:
        table = Table(widened(table.access, fields_of(typed(df.schema))))
    return write_frame(df, table, commit, overwrite)


@of_verb("write")
def write_frame(
    df: DataFrame,
    table: Table,
    commit: CommitAs,
    overwrite: str | Mapping[str, Any] | None,
    *,
    is_new: bool = False,
) -> Commit:
    """Like ``write``, with ``overwrite`` as ``Table.write`` takes it.

    ``is_new``: the caller has looked, and ``commit`` was not made before.
    """
    access = table.access
    refuse_unwritable(access, adds_only=True)
    overwrite_selection(access, overwrite, ())
    commit = commit.with_request("write", access.branch, overwrite=overwrite, **of_query(df))
    landed = None if is_new else _landed(df, table, commit)
    if landed is not None:
        return landed
    results = written(df, access, replaces=overwrite is not None)
    if overwrite is None:
        results.append(compacted_along(df.sparkSession, access, results))
    return table.commit(results, commit, overwrite)


def _landed(df: DataFrame, table: Table, commit: CommitAs) -> Commit | None:
    """What an earlier run of ``commit`` made, its rows as visible as those of any other."""
    if not commit.is_named:
        return None
    by_tasks = partial(compact, df.sparkSession, table, strategy="minor")
    return begin_write(table.access, commit, by_tasks).landed


def written(df: DataFrame, access: TableAccess, *, replaces: bool) -> list[WriteResult]:
    """Write ``df``, shuffled by bucket; what the commit needs."""
    refuse_own_columns((field.name for field in access.schema.fields), access.name)
    with translated():
        df = df.toDF(*table_names(df.schema, access))
        reason = reason_against(access, df.schema, df.sparkSession)
        if reason is None:
            return native_write(df, access)
        _log.info("%s: Python writes the rows, not Spark: %s", access.name, reason)
        few = few_rows(df, access.options)
        if few is not None:
            return [prepared(access, few.to_batches(), replaces=replaces)]
        shares = 1
        if not is_one_small_task(df, access.options):
            access, shares, slots = distributed(access, df.sparkSession)
            df = by_bucket(df, access.schema, slots)

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield packed(prepared_by_share(access, batches, shares, replaces=replaces))

        return unpacked(map_batches(df, run, RESULT_TYPE))


def distributed(access: TableAccess, session: SparkSession) -> tuple[TableAccess, int, int]:
    """The table as a task of a write sees it, how many tasks may share a bucket, and how many write."""
    slots = access.options.get(keys_write.SINK_PARALLELISM) or parallelism(session)
    schema, shares = access.schema, 1
    if schema.is_key_table and schema.bucket == -1:
        shares = assigners(schema, slots)
        access = access.with_options(dict.fromkeys(_ASSIGNERS, str(shares)))
    return access, shares, slots


def table_names(schema: StructType, access: TableAccess) -> list[str]:
    """The columns of ``schema`` in the table's spelling; refused if the rows can never fit.

    Spark does not tell ``ID`` from ``id``, a table does.

    Raises:
        DataError: a column that the table has not, or of a type that never fits.
    """
    names = table_spelling(schema.fieldNames(), access)
    renamed = [
        StructField(name, field.dataType) for name, field in zip(names, schema.fields, strict=True)
    ]
    known = typed(StructType(renamed))
    fields = fields_of(known)
    own = {field.name: field for field in access.schema.fields}
    for field, come in zip(fields, known.fields, strict=True):
        if field.name in own:
            _refuse_other_kind(own[field.name], come)
    coerce(access.schema, arrow_schema(fields).empty_table())
    return names


def _refuse_other_kind(field: Field, come: StructField) -> None:
    """Refuse a column whose type never fits that of ``field``, with the cast that makes it fit."""
    try:
        cast_column(field, arrow_schema(fields_of(StructType([come]))).empty_table()[come.name])
    except DataError as error:
        have = come.dataType.simpleString().upper()
        if not holds([field]):
            raise
        want = spark_type(field.type).simpleString().upper()
        raise DataError(
            f"column {field.name!r} of the rows is {have} in Spark, and of the table {want}: cast it in the query, "
            f"CAST(`{field.name}` AS {want})",
            column=field.name,
            row=None,
            value=None,
        ) from error


def table_spelling(names: Iterable[str], access: TableAccess) -> list[str]:
    """``names`` in the table's spelling, where they are those of its columns but for their case."""
    by_lower: dict[str, list[str]] = defaultdict(list)
    for field in access.schema.fields:
        by_lower[field.name.lower()].append(field.name)
    known = {field.name for field in access.schema.fields}
    return [
        name if name in known or len(by_lower[name.lower()]) != 1 else by_lower[name.lower()][0]
        for name in names
    ]


def typed(schema: StructType) -> StructType:
    """``schema`` without the columns that are NULL whatever their type is."""
    return StructType([f for f in schema.fields if not isinstance(f.dataType, NullType)])


def compacted_along(
    session: SparkSession, access: TableAccess, results: Sequence[WriteResult]
) -> WriteResult:
    """The compaction that goes along with a write of ``results``, by tasks of its own."""
    changes = [change for result in results for change in result.changes]
    try:
        return WriteResult(compactions=compact_due(session, access, changes))
    except TableError:
        discard(access, parts_of(results))
        raise
