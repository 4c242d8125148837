"""``spark.readStream.format("paimon")``: changes as they come.

The position is ``scan.stream_offset``, in Spark's checkpoint, and tells its snapshot from another one of that
number: a table that was rolled back, fast-forwarded or recreated is an error.  A consumer, if one is named, follows it
in the table when a micro-batch is done.  Changes of one bucket are read by one task, oldest first, so
that a sink which keeps the order of a task keeps the order of each key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, DataError, NotFoundError
from table_core.options.keys_scan import SCAN_PARALLELISM
from table_core.scan.stream_offset import NO_LIMIT, StreamOffset
from table_core.spark.reading.frames import read_splits, shown_fields
from table_core.spark.session.failures import carried
from table_core.spark.session.tasks import keeps_order, slots_unseen, tasks_of
from table_core.table.files.row_form import RowForm
from table_core.table.read.scan import bound_where
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.stream_plan import StreamPlanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from table_core.datatypes.kinds import Field
    from table_core.predicate.bound import Bound
    from table_core.scan.split import Split
    from table_core.scan.stream_offset import ReadLimit
    from table_core.spark.streams.source_options import SourceOptions
    from table_core.table.metadata.access import TableAccess

__all__ = ["ChangeReader", "StreamReader"]

_ADDS: Final = frozenset({"+I", "+U"})


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads splits of a stream.  Picklable."""

    reader: SplitReader
    """Of changes."""
    with_kind: bool
    """Whether rows begin with ``_ROW_KIND``; if not, none may take another back."""

    @classmethod
    def of(
        cls,
        access: TableAccess,
        fields: tuple[Field, ...],
        where: Bound | None = None,
        *,
        with_kind: bool = True,
    ) -> ChangeReader:
        """Reads ``fields`` of the rows where ``where`` holds."""
        reader = SplitReader(access=access, fields=fields, where=where, form=RowForm.CHANGES)
        return cls(reader, with_kind)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, but for ``_ROW_KIND``."""
        return self.reader.fields

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        """The columns that a condition may name."""
        return self.reader.condition_fields

    def schema(self) -> pa.Schema:
        """The columns of every table."""
        schema = self.reader.schema()
        return schema if self.with_kind else schema.remove(0)

    def read(self, split: Split) -> Iterator[pa.Table]:
        """The rows of ``split``.

        Raises:
            DataError: a row takes another back and kinds are not shown.
        """
        for rows in self.reader.read(split):
            if self.with_kind:
                yield rows
                continue
            retracts = set(rows[ROW_KIND_COLUMN].unique().to_pylist()) - _ADDS
            if retracts:
                raise DataError(
                    f"snapshot {split.snapshot_id} has rows that take others back "
                    f"({', '.join(sorted(retracts))}); set read.changelog=true to see the kind of "
                    f"each row as {ROW_KIND_COLUMN}",
                    column=ROW_KIND_COLUMN,
                    row=None,
                    value=min(retracts),
                )
            yield rows.drop_columns([ROW_KIND_COLUMN])


class _Work(InputPartition):
    """The work of one task."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(tuple(splits))


class StreamReader(DataSourceStreamReader):
    """One stream: the process that plans keeps it, tasks get a copy."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        with carried():
            access = options.open().access
            where = bound_where(access.schema, options.where)
            with_kind = ROW_KIND_COLUMN in columns
            fields = access.schema.select(name for name in columns if name != ROW_KIND_COLUMN)
            if with_kind and columns[0] != ROW_KIND_COLUMN:
                raise ArgumentError(
                    f"{ROW_KIND_COLUMN} is the first column of changes",
                    argument="schema",
                    value=list(columns),
                )
            self._planner = StreamPlanner.of(access, where=where)
            self._reader = ChangeReader.of(access, fields, where, with_kind=with_kind)
            self._nanoseconds = options.nanoseconds
            self._limit: ReadLimit = options.limit
            self._begin: StreamOffset | None = None
            self._initial: StreamOffset | None = None
            """What Spark was told to be the beginning, if it asked."""
            self._at: StreamOffset | None = None
            """Where Spark stands, as far as it told."""
            self._looked_at: StreamOffset | None = None
            """From where the last step was looked for."""

    def initialOffset(self) -> dict[str, object]:  # noqa: N802
        """Where a stream without a checkpoint begins."""
        with carried():
            self._initial = self._begun()
            self._hold(self._initial)
            self._at = self._at or self._initial
            return self._initial.to_document()

    def latestOffset(self) -> dict[str, object]:  # noqa: N802
        """Everything that is there now."""
        with carried():
            self._at = self._reached(self._at or self._unknown())
            return self._at.to_document()

    def _reached(
        self, at: StreamOffset, limit: ReadLimit = NO_LIMIT, until: StreamOffset | None = None
    ) -> StreamOffset:
        """How far it goes from ``at``; keeps the beginning if it is the first step.

        Spark stores where a step ends.  If it repeats the first one after a restart, it asks once more
        where the stream begins, and by then that may be elsewhere.
        """
        end, self._looked_at = self._planner.reached(at, limit, until), at
        return end if end == at or at != self._begin else replace(end, began=at)

    def _begun(self) -> StreamOffset:
        """The beginning, found once: a later one could leave out what a first batch was to read."""
        if self._begin is None:
            self._begin = self._planner.begun()
        return self._begin

    def _unknown(self) -> StreamOffset:
        """A place from which to look for the end: Spark asks for it before it says where it stands."""
        try:
            return self._begun()
        except NotFoundError:  # a new stream hears of it when it begins, another has begun before
            return self._planner.newest()

    def partitions(
        self, start: Mapping[str, object], end: Mapping[str, object]
    ) -> Sequence[InputPartition]:
        """The work between two positions; Spark asks for none to say where it stands."""
        with carried():
            begin, to = StreamOffset.from_document(start), StreamOffset.from_document(end)
            if begin == self._initial and to.began is not None:
                begin = to.began
            if self._at is None or self._at.order < to.order:
                self._at = to
            known = self._looked_at is not None and begin.is_stored_as(self._looked_at)
            work = self._planner.between(begin, to, looked_at=known)
            self._planner.refuse_new_schema(work, self._reader.fields)
            access = self._planner.access
            ordered, asked = keeps_order(access.schema), access.options.get(SCAN_PARALLELISM)
            tasks = tasks_of(work, slots_unseen(work), ordered=ordered, asked=asked)
            return [_Work(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        with carried():
            fields = shown_fields(self._reader, self._nanoseconds)
            yield from read_splits(self._reader, fields)(partition.value)

    def commit(self, end: Mapping[str, object]) -> None:
        """Let expiry take what Spark is done with."""
        with carried():
            self._hold(StreamOffset.from_document(end))

    def _hold(self, at: StreamOffset) -> None:
        self._planner.hold(at.snapshot, at.read, at.birth)
