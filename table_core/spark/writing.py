"""Writes DataFrames: tasks make files, the driver commits what the counted attempts hand over."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark.sql.types import NullType, StructField, StructType

from table_core.datatypes.arrow import arrow_schema
from table_core.errors import ArgumentError, TableError
from table_core.spark.compaction import compact_due
from table_core.spark.failures import carried, translated
from table_core.spark.schema_bridge import fields_of
from table_core.spark.session import parallelism
from table_core.spark.shuffle import by_bucket
from table_core.spark.tasks import RESULT_TYPE, packed, unpacked
from table_core.table.coerce import coerce
from table_core.table.committer import find_commit, parts_of
from table_core.table.overwriting import overwrite_selection
from table_core.table.results import CommitAs
from table_core.table.uncommitted import discard
from table_core.table.writer import Numbering, TableWriter, WriteResult, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from table_core.table.access import TableAccess
    from table_core.table.results import Commit
    from table_core.table.table import Table

__all__ = ["prepared", "table_names", "write", "write_frame"]

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
    """Write ``df`` into ``table`` with one commit, shuffled by bucket first, and compact.

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
    return write_frame(
        df, table, commit or CommitAs(), _MODES[mode] if isinstance(mode, str) else mode
    )


def write_frame(
    df: DataFrame, table: Table, commit: CommitAs, overwrite: str | Mapping[str, Any] | None
) -> Commit:
    """Like ``write``, with ``overwrite`` as ``Table.write`` takes it."""
    access = table.access
    refuse_unwritable(access, adds_only=True)
    overwrite_selection(access, overwrite, ())
    found = find_commit(access, commit)
    if found is not None:
        return found
    with translated():
        df = df.toDF(*table_names(df.schema, access))
        session = df.sparkSession
        rows = by_bucket(df, access.schema, parallelism(session))
        results = unpacked(
            rows.mapInArrow(_write_rows(access, replaces=overwrite is not None), RESULT_TYPE)
        )
    if overwrite is None:
        results.append(_compacted(session, access, results))
    return table.commit(results, commit, overwrite)


def table_names(schema: StructType, access: TableAccess) -> list[str]:
    """The columns of ``schema`` in the table's spelling; refused if the rows can never fit.

    Spark does not tell ``ID`` from ``id``, a table does.

    Raises:
        DataError: a column that the table has not, or of a type that never fits.
    """
    by_lower: dict[str, list[str]] = defaultdict(list)
    for field in access.schema.fields:
        by_lower[field.name.lower()].append(field.name)
    known = {field.name for field in access.schema.fields}
    names = [
        name if name in known or len(by_lower[name.lower()]) != 1 else by_lower[name.lower()][0]
        for name in schema.fieldNames()
    ]
    typed = [
        StructField(name, field.dataType)
        for name, field in zip(names, schema.fields, strict=True)
        if not isinstance(field.dataType, NullType)
    ]
    coerce(access.schema, arrow_schema(fields_of(StructType(typed))).empty_table())
    return names


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


def _compacted(session: Any, access: TableAccess, results: Sequence[WriteResult]) -> WriteResult:
    """The compaction that goes along with this write, by tasks of its own."""
    changes = [change for result in results for change in result.changes]
    try:
        return WriteResult(compactions=compact_due(session, access, changes))
    except TableError:
        discard(access, parts_of(results))
        raise


def _write_rows(
    access: TableAccess, *, replaces: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            yield packed(prepared(access, batches, replaces=replaces))

    return run


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("tasks do not commit")
