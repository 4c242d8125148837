"""``spark.read.format("paimon")`` and ``df.write.format("paimon")``.

Options: ``path``; ``columns`` (names separated by commas); ``where`` (SQL text); ``scan.*`` of the
table and their short names ``snapshot-id``, ``tag``, ``timestamp``; ``storage.*`` for the store;
``nanoseconds`` (``refuse`` or ``truncate``); for writes ``overwrite-mode`` (``table`` or ``partitions``),
``commit-user``, ``commit-identifier``, ``auto-create`` (with options of the new table, such as
``primary-key``) and ``write.merge-schema``; ``read.changelog`` for ``_ROW_KIND``, and for streams
``read.stream.*``.

Filters of a query are pushed down with ``push-filters=true`` only.  Spark (4.1 to 4.3) keeps what
the last pushed filter left as *the* plan of a loaded source: another query over the same DataFrame, or
a second branch of the same query, would silently miss rows.  With the option, load anew for every
filter; ``where`` is the safe way to prune.  ``spark.sql.python.filterPushdown.enabled`` must be true, which
``open_session`` sets in a session of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StringType, StructField, StructType

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError
from table_core.spark.reading.filters import condition_of
from table_core.spark.reading.frames import batches_for_spark, groups_for, read_splits, shown_fields
from table_core.spark.session.failures import carried
from table_core.spark.session.schema_bridge import fields_of, spark_schema
from table_core.spark.session.tasks import groups_of, slots_unseen
from table_core.spark.session.workers_python import require_workers_python
from table_core.spark.streams.choose_reader import stream_reader
from table_core.spark.streams.sink import StreamWriter
from table_core.spark.streams.source_options import SourceOptions
from table_core.spark.writing.frames import table_names, typed
from table_core.spark.writing.source_writing import (
    Written,
    compacted,
    replaces_partitions_only,
    results_of,
    take_back,
    write_rows,
)
from table_core.table.dml.overwrite import overwrite_selection
from table_core.table.read.scan import MemoryScan
from table_core.table.read.split_reader import SplitReader
from table_core.table.write.writer import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter

    from table_core.predicate.expression import Condition
    from table_core.scan.split import Split

__all__ = ["PaimonSource", "register"]


def register(spark: SparkSession, name: str = "paimon") -> None:
    """Make ``name`` a format of ``spark``; no setting of the session changes.

    Raises:
        ArgumentError: the workers of a local session run a Python without this package.
    """
    require_workers_python(spark)
    source = type(PaimonSource.__name__, (PaimonSource,), {"format_name": name})
    spark.dataSource.register(source)


class PaimonSource(DataSource):
    """One table, opened by its path."""

    format_name: ClassVar[str] = "paimon"

    @classmethod
    def name(cls) -> str:
        """What ``format`` calls it."""
        return cls.format_name

    def schema(self) -> StructType:
        """The columns, of the snapshot that the options name."""
        with carried():
            options = SourceOptions.of(self.options)
            columns = spark_schema(shown_fields(options.described(), options.nanoseconds))
            if options.changelog and ROW_KIND_COLUMN not in columns.fieldNames():
                return StructType([StructField(ROW_KIND_COLUMN, StringType()), *columns])
            return columns

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the columns of ``schema``."""
        options = SourceOptions.of(self.options)
        self._refuse_other_types(schema)
        kind = _PushingReader if options.push_filters else _Reader
        return kind(options, tuple(schema.fieldNames()))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Reads changes as they come."""
        self._refuse_other_types(schema)
        return stream_reader(SourceOptions.of(self.options), tuple(schema.fieldNames()))

    def _refuse_other_types(self, asked: StructType) -> None:
        """Refuse a schema of the user's with other types than the table has: rows come as they are.

        Raises:
            TaskFailedError: names the column and both types.
        """
        with carried():
            types = {field.name: field.dataType for field in self.schema()}
            types.setdefault(ROW_KIND_COLUMN, StringType())
            for field in asked:
                own = types.get(field.name)
                if own is not None and own.simpleString() != field.dataType.simpleString():
                    raise ArgumentError(
                        f"column {field.name!r} is {own.simpleString()}, and the schema asks for "
                        f"{field.dataType.simpleString()}; ask for the table's type, and cast in the "
                        "query",
                        argument="schema",
                        value=field.name,
                    )

    def writer(self, schema: StructType, overwrite: bool) -> _Writer:
        """Appends, or replaces the table or the partitions that occur."""
        return _Writer(SourceOptions.of(self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        """Commits each micro-batch once; replaces the table where a query gives all rows anew."""
        return StreamWriter(SourceOptions.of(self.options), schema, overwrite=overwrite)


class _Splits(InputPartition):
    """The work of one task."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(tuple(splits))


class _Rows(InputPartition):
    """Rows that the planner has: of system tables that show metadata."""

    def __init__(self, rows: pa.Table) -> None:
        super().__init__(rows)


class _Reader(DataSourceReader):
    """Plans in the planner's process, reads in tasks; both see the same pickled object."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        with carried():
            self._options = options
            self._columns = columns
            self._scan_where(None)

    def _scan_where(self, where: Condition | None) -> None:
        self._where = where
        scan = self._options.scan(where, self._columns)
        self._fields = shown_fields(scan, self._options.nanoseconds)
        self._split_reader = None if isinstance(scan, MemoryScan) else scan.reader

    def partitions(self) -> list[InputPartition]:
        """A partition for every few splits."""
        with carried():
            scan = self._options.scan(self._where, self._columns)
            if isinstance(scan, MemoryScan):
                return [_Rows(scan.to_arrow())]
            splits, own = scan.splits(), scan.own_reader
            slots = slots_unseen(splits)
            if isinstance(own, SplitReader):
                return [_Splits(group) for group in groups_for(own, splits, slots, coalesced=False)]
            return [_Splits(g) for g in groups_of(splits, lambda split: split.size, slots)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        with carried():
            if partition is None:  # stands for a table without any split
                return
            if self._split_reader is None:
                yield from batches_for_spark(partition.value, self._fields)
            else:
                yield from read_splits(self._split_reader, self._fields)(partition.value)


class _PushingReader(_Reader):
    """A reader for DataFrames that are filtered once."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Prune by ``filters``; Spark applies them all again."""
        with carried():
            if self._split_reader is not None:  # else there is nothing to prune
                fields = self._split_reader.condition_fields
                self._scan_where(condition_of(filters, fields))
        return filters


class _Writer(DataSourceArrowWriter):
    """Writes files in tasks and commits in one process beside the driver."""

    def __init__(self, options: SourceOptions, schema: StructType, *, overwrite: bool) -> None:
        with carried():
            self._overwrite = options.replaced(overwrite)
            self._replaces = overwrite
            self._session_decides = overwrite and options.overwrite_mode is None
            self._commit = options.commit
            self._table = options.open(fields_of(typed(schema)))
            refuse_unwritable(self._table.access, adds_only=True)
            overwrite_selection(self._table.access, self._overwrite, ())
            self._names = table_names(schema, self._table.access)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        with carried():
            access = self._table.access
            partitions = self._session_decides and bool(access.schema.partition_keys)
            partitions = partitions and replaces_partitions_only()
            if partitions:
                overwrite_selection(access, "partitions", ())
            written = write_rows(access, self._names, iterator, replaces=self._replaces)
            ordered = ROW_KIND_COLUMN in self._names
            return Written(written, ordered=ordered, partitions_only=partitions)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make all of it visible, with the compaction that goes along."""
        with carried():
            results = results_of(self._table.access, messages, replaces=self._replaces)
            if not self._replaces:
                results.append(compacted(self._table.access, results))
            told = [message for message in messages if isinstance(message, Written)]
            by_partition = any(message.partitions_only for message in told)
            overwrite = "partitions" if by_partition else self._overwrite
            self._table.commit(results, self._commit, overwrite)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Take away what tasks wrote, if that is certain to be in no snapshot."""
        with carried():
            take_back(self._table.access, messages)
