"""``spark.read.format("paimon")`` and ``df.write.format("paimon")``.

Options: ``path``; ``columns`` (names separated by commas); ``where`` (SQL text); ``scan.*`` of the
table and their short names ``snapshot-id``, ``tag``, ``timestamp``; ``storage.*`` for the store;
for writes ``overwrite-mode`` (``table`` or ``partitions``), ``commit-user``, ``commit-identifier``.

Filters of a query are pushed down with ``push-filters=true`` only.  Spark (4.1 to 4.3) keeps what
the last pushed filter left as *the* plan of a loaded source: another query over the same DataFrame, or
a second branch of the same query, would silently miss rows.  With the option, load anew for every
filter; ``where`` is the safe way to prune.

A data source cannot ask for a distribution: any task may see any bucket.  So the tasks of a write
interleave their sequence numbers, compact nothing, and one commit does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from table_core.errors import ArgumentError, OptionError, UnsupportedFeatureError
from table_core.predicate.expression import And
from table_core.predicate.sql import parse_where
from table_core.spark.failures import carried
from table_core.spark.filters import condition_of
from table_core.spark.reading import read_splits, result_fields
from table_core.spark.schema_bridge import spark_schema
from table_core.spark.session import SQL_DEFAULTS
from table_core.spark.tasks import groups_of
from table_core.spark.writing import prepared, table_names
from table_core.table.catalog import open_table
from table_core.table.committer import parts_of
from table_core.table.data_files import FileFactory
from table_core.table.inline_compaction import InlineCompaction
from table_core.table.results import CommitAs
from table_core.table.uncommitted import discard
from table_core.table.writer import Numbering, WriteResult, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from table_core.ondisk.data_file import DataFile
    from table_core.predicate.expression import Condition
    from table_core.scan.split import Split
    from table_core.table.access import Bucket
    from table_core.table.scan import Scan
    from table_core.table.table import Table
    from table_core.table.writer import BucketChange

__all__ = ["PaimonSource", "register"]

_ALIASES: Final[Mapping[str, str]] = {
    "snapshot-id": "scan.snapshot-id",
    "tag": "scan.tag-name",
    "timestamp": "scan.timestamp-millis",
}
_OURS: Final = frozenset(
    {
        *("path", "columns", "where", "push-filters"),
        *("overwrite-mode", "commit-user", "commit-identifier"),
    }
)
_STORAGE: Final = "storage."
_TASKS_MAX: Final = 1 << 16
_SLOTS: Final = 16
"""Partitions to plan for: the planner does not know how many cores there are."""


def register(spark: SparkSession, name: str = "paimon") -> None:
    """Make ``name`` a format of ``spark``."""
    key = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(key, SQL_DEFAULTS[key])
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
            scan = _Options.of(self.options).scan(None)
            return spark_schema(result_fields(scan.reader))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the columns of ``schema``."""
        options = _Options.of(self.options)
        kind = _PushingReader if options.push_filters else _Reader
        return kind(options, tuple(schema.fieldNames()))

    def writer(self, schema: StructType, overwrite: bool) -> _Writer:
        """Appends, or replaces the table or the partitions that occur."""
        return _Writer(_Options.of(self.options), schema, overwrite=overwrite)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of one load or save, told apart."""

    path: str
    columns: tuple[str, ...] | None
    where: Condition | None
    push_filters: bool
    table: Mapping[str, str]
    storage: Mapping[str, str]
    overwrite_mode: str
    commit: CommitAs

    @classmethod
    def of(cls, given: Mapping[str, str]) -> _Options:
        with carried():
            options = {key.lower(): value for key, value in given.items()}
            if "path" not in options:
                raise ArgumentError("give the table's folder: .load(path)", argument="path")
            table = {}
            for key, value in options.items():
                if key in _OURS or key.startswith(_STORAGE):
                    continue
                canonical = _ALIASES.get(key, key)
                if canonical in table:
                    raise OptionError(
                        f"{canonical} is given twice, once by its short name", option=canonical
                    )
                table[canonical] = value
            columns = [name.strip() for name in options.get("columns", "").split(",")]
            identifier = options.get("commit-identifier")
            return cls(
                path=options["path"],
                columns=tuple(columns) if any(columns) else None,
                where=parse_where(options["where"]) if options.get("where") else None,
                push_filters=options.get("push-filters", "false").lower() == "true",
                table=table,
                storage={
                    key[len(_STORAGE) :]: value
                    for key, value in given.items()
                    if key.lower().startswith(_STORAGE)
                },
                overwrite_mode=options.get("overwrite-mode", "table"),
                commit=CommitAs(
                    user=options.get("commit-user"),
                    identifier=None if identifier is None else int(identifier),
                ),
            )

    def open(self) -> Table:
        return open_table(self.path, options=self.table, storage_options=self.storage)

    def scan(self, where: Condition | None, columns: Sequence[str] | None = None) -> Scan:
        conditions = [part for part in (self.where, where) if part is not None]
        return self.open().read(
            columns=columns or self.columns, where=And(tuple(conditions)) if conditions else None
        )


class _Splits(InputPartition):
    """The work of one task."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(tuple(splits))


class _Reader(DataSourceReader):
    """Plans in the planner's process, reads in tasks; both see the same pickled object."""

    def __init__(self, options: _Options, columns: tuple[str, ...]) -> None:
        with carried():
            self._options = options
            self._columns = columns
            self._scan_where(None)

    def _scan_where(self, where: Condition | None) -> None:
        self._where = where
        self._split_reader = self._options.scan(where, self._columns).reader

    def partitions(self) -> list[InputPartition]:
        """A partition for every few splits."""
        with carried():
            splits = self._options.scan(self._where, self._columns).splits()
            return [_Splits(g) for g in groups_of(splits, lambda split: split.size, _SLOTS)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        with carried():
            if partition is not None:  # None stands for a table without any split
                yield from read_splits(self._split_reader)(partition.value)


class _PushingReader(_Reader):
    """A reader for DataFrames that are filtered once."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Prune by ``filters``; Spark applies them all again."""
        with carried():
            fields = self._split_reader.condition_fields
            self._scan_where(condition_of(filters, fields))
        return filters


@dataclass(slots=True)
class _Written(WriterCommitMessage):
    """What one task hands to the commit."""

    result: WriteResult


class _Writer(DataSourceArrowWriter):
    """Writes files in tasks and commits in one process beside the driver."""

    def __init__(self, options: _Options, schema: StructType, *, overwrite: bool) -> None:
        with carried():
            if options.overwrite_mode not in {"table", "partitions"}:
                raise OptionError(
                    f"overwrite-mode={options.overwrite_mode!r}: use 'table' or 'partitions'",
                    option="overwrite-mode",
                    value=options.overwrite_mode,
                )
            self._overwrite = options.overwrite_mode if overwrite else None
            self._commit = options.commit
            self._table = options.open()
            refuse_unwritable(self._table.access, adds_only=True)
            self._names = table_names(schema, self._table.access)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task, numbered so that no other task uses the same numbers."""
        with carried():
            context = TaskContext.get()
            task = 0 if context is None else context.partitionId()
            if task >= _TASKS_MAX:
                raise UnsupportedFeatureError(
                    f"a write of more than {_TASKS_MAX} tasks; repartition before writing",
                    feature="write tasks",
                )
            keyed = self._table.access.schema.is_key_table
            numbering = Numbering(offset=task, step=_TASKS_MAX) if keyed else None
            rows = (batch.rename_columns(self._names) for batch in iterator)
            return _Written(prepared(self._table.access, rows, numbering))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make all of it visible, with the compaction that goes along."""
        with carried():
            access = self._table.access
            results = [m.result for m in messages if isinstance(m, _Written)]
            if not access.schema.is_key_table and access.schema.bucket > 0:
                results = _renumbered(results)
            if self._overwrite is None:
                factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
                changes = [change for result in results for change in result.changes]
                done = InlineCompaction(access, factory).run(changes)
                results.append(WriteResult(compactions=done))
            self._table.commit(results, self._commit, self._overwrite)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Take away what tasks wrote, unless a commit was tried: then it may have landed.

        Spark calls this when a task failed, whose message is then None, and when ``commit`` did.
        """
        written = [m.result for m in messages if isinstance(m, _Written)]
        if len(written) < len(messages):
            with carried():
                discard(self._table.access, parts_of(written))


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
