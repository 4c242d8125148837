"""A read that is decided and not yet done: what every reading call returns.

Planning happens once, when it is first needed; rows are read whenever they are asked for.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from table_core.errors import ArgumentError, PredicateError
from table_core.options.argument_kinds import require_whole
from table_core.predicate.bind import bind
from table_core.predicate.expression import Condition, Expression
from table_core.scan.prune import Explain
from table_core.schema.column_names import column_names
from table_core.schema.members import selected
from table_core.table.files.row_form import RowForm
from table_core.table.read.split_reader import CORES, PartReader, SplitReader
from table_core.table.read.state_plan import (
    StatePlan,
    StatePlanner,
    fallback_of,
    plan_with_fallback,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.predicate.bound import Bound
    from table_core.scan.plan import ScanPlan
    from table_core.scan.split import Split
    from table_core.scan.time_travel import SnapshotRef
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "MemoryScan",
    "RowReader",
    "Scan",
    "bound_where",
    "refuse_negative",
    "selected_fields",
    "state_scan",
]

_BATCH_ROWS: Final = 1 << 17
_ROWS_SHOWN: Final = 10
"""In a notebook."""


class RowReader(Protocol):
    """What reads the splits of a scan.  Picklable."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the result, but for ``_ROW_KIND``."""
        ...

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        """The columns that a condition may name."""
        ...

    def schema(self) -> pa.Schema:
        """The schema of every table."""
        ...

    def read(self, split: Split) -> Iterator[pa.Table]:
        """The rows of ``split``."""
        ...


@dataclass(frozen=True, slots=True)
class _Readers:
    """A reader for each branch that splits come from."""

    own: RowReader
    others: Mapping[str, RowReader]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.own.fields

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        return self.own.condition_fields

    def schema(self) -> pa.Schema:
        return self.own.schema()

    def read(self, split: Split) -> Iterator[pa.Table]:
        if split.branch is None:
            return self.own.read(split)
        schema = self.schema()
        return (table.cast(schema) for table in self.others[split.branch].read(split))

    def parts(self, split: Split) -> list[PartReader]:
        """The rows of ``split``, in order, as parts that may be read beside one another."""
        if split.branch is None and isinstance(self.own, SplitReader):
            return self.own.parts(split)
        return [lambda _: self.read(split)]

    def at_once(self, splits: Sequence[Split]) -> int:
        """How many parts of ``splits`` to read beside one another."""
        return self.own.at_once(splits) if isinstance(self.own, SplitReader) else CORES


class Scan:
    """Rows to read. polars, DuckDB and pandas read it directly, through the Arrow C stream."""

    def __init__(
        self,
        reader: RowReader,
        plan: Callable[[], ScanPlan],
        *,
        limit: int | None = None,
        branches: Mapping[str, RowReader] | None = None,
        state: StatePlan | None = None,
    ) -> None:
        """``branches`` read the splits of other branches (``Split.branch``).

        ``state``: the state whose plan ``plan`` gives, if it is one and nothing else.
        """
        self._reader = _Readers(reader, branches or {})
        self._make_plan = plan
        self._limit = limit
        self._state = state

    @cached_property
    def _plan(self) -> ScanPlan:
        return self._make_plan()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._reader.schema()

    @property
    def reader(self) -> RowReader:
        """The part that reads splits; picklable, and small where the plan is large."""
        return self._reader

    @property
    def own_reader(self) -> RowReader:
        """The reader of the splits of the branch itself, without those of a fallback branch."""
        return self._reader.own

    def as_inserts(self) -> Scan:
        """The rows of this state, each with ``_ROW_KIND`` ``+I``."""
        return self.read_by(lambda reader: replace(reader, form=RowForm.INSERTS))

    def read_by(self, made_of: Callable[[SplitReader], RowReader]) -> Scan:
        """The same splits, read by what is made of their reader; of a fallback branch's as well."""
        own, others = self._reader.own, self._reader.others
        branches = {name: made_of(_of_splits(reader)) for name, reader in others.items()}
        return self.shown_by(made_of(_of_splits(own)), limit=self._limit, branches=branches)

    def shown_by(
        self,
        reader: RowReader,
        *,
        limit: int | None = None,
        branches: Mapping[str, RowReader] | None = None,
    ) -> Scan:
        """The same splits, read by another; arguments as those of a scan."""
        return Scan(reader, lambda: self._plan, limit=limit, branches=branches, state=self._state)

    @property
    def state(self) -> StatePlan | None:
        """The one state that is planned, which tasks may share in; None for other plans."""
        return self._state

    def splits(self) -> list[Split]:
        """The units of reading, in order. They can be pickled; see ``read_split``."""
        return list(self._plan.splits)

    def explain(self) -> Explain:
        """What planning read, and what each step ruled out."""
        return self._plan.explain

    def read_split(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of one of ``splits``, in this or any other process. Ignores ``limit``."""
        for table in self._reader.read(split):
            yield from table.to_batches(max_chunksize=_BATCH_ROWS)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch. Memory does not depend on the number of rows."""
        left = self._limit
        for split in self._plan.splits:
            for batch in self.read_split(split):
                if left is None:
                    yield batch
                    continue
                if left <= 0:
                    return
                yield batch.slice(0, left)
                left -= min(left, batch.num_rows)

    def to_arrow(self) -> pa.Table:
        """All rows as one table."""
        if self._limit is not None:
            return _whole(self.schema, map(_as_table, self.to_batches()))
        splits = self._plan.splits
        parts = [part for split in splits for part in self._reader.parts(split)]
        return _whole(self.schema, _read_parts(parts, self._reader.at_once(splits)))

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as an Arrow reader."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def _repr_html_(self) -> str:
        """What a notebook shows: the columns, and the first rows of the first split.

        No other split is read, so that a look at a scan costs little, however large the table is.
        """
        from table_core.table.metadata.as_html import COLUMNS_MAX, rows_html

        splits = self._plan.splits
        most = _ROWS_SHOWN if self._limit is None else min(_ROWS_SHOWN, self._limit)
        batches = self.read_split(splits[0]) if splits else iter(())
        first = next((batch for batch in batches if batch.num_rows), None)
        names = self.schema.names
        shown = (
            [] if first is None else first.select(names[:COLUMNS_MAX]).slice(0, most).to_pylist()
        )
        title = f"First {len(shown)} rows of the first of {len(splits)} splits"
        return rows_html(title, names, [[*row.values()] for row in shown])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _whole(schema: pa.Schema, tables: Iterable[pa.Table]) -> pa.Table:
    """``tables`` as one; without columns Arrow forgets how many rows there are."""
    if len(schema):
        parts = list(tables)
        return pa.concat_tables(parts) if parts else schema.empty_table()
    rows = sum(table.num_rows for table in tables)
    return pa.table({"": pa.nulls(rows)}).select([])


def _read_parts(parts: Sequence[PartReader], at_once: int) -> list[pa.Table]:
    """What ``parts`` give, in order, read by this thread and others beside it."""
    tables: list[list[pa.Table]] = [[] for _ in parts]
    parallel, left = len(parts) >= 2 * CORES, iter(range(len(parts)))

    def work() -> None:
        try:
            for number in left:
                tables[number] = list(parts[number](parallel))
        finally:
            for _ in left:  # after an error nobody begins another part
                pass

    others = min(at_once, len(parts)) - 1
    with ThreadPoolExecutor(max(others, 1)) as pool:
        busy = [pool.submit(work) for _ in range(others)]
        work()
        for other in busy:
            other.result()
    return list(chain.from_iterable(tables))


def _of_splits(reader: RowReader) -> SplitReader:
    assert isinstance(reader, SplitReader), "states are read by split readers"
    return reader


def state_scan(
    access: TableAccess,
    state: SnapshotRef,
    columns: Sequence[str] | None,
    where: str | Expression | None,
    limit: int | None,
    *,
    keeps_partition: Callable[[bytes], bool] | None = None,
) -> Scan:
    """The rows of ``state`` under the schema of ``access``, and what its fallback branch adds.

    ``keeps_partition``: of which partitions, where there is no such branch.
    """
    if state.snapshot is None:
        access.require_there()
    bound = bound_where(access.schema, where)
    fields = selected_fields(access.schema, columns)
    reader = SplitReader(access=access, fields=fields, where=bound, ignores_damage=True)
    planner = StatePlanner(
        access=access,
        where=bound,
        limit=limit if bound is None else None,
        created_after_ms=state.created_after_ms,
        delta_only=state.delta_only,
        streams=state.committed,
        keeps_partition=keeps_partition,
    )
    fallback = fallback_of(access)
    if fallback is None:
        plan = StatePlan(planner, state.snapshot)
        return Scan(reader, plan, limit=limit, state=plan)
    theirs = bound_where(fallback.schema, where)
    rest = StatePlanner(access=fallback, where=theirs, limit=planner.limit, streams=planner.streams)
    same = selected(fallback.schema, (field.name for field in fields))
    return Scan(
        reader,
        lambda: plan_with_fallback(planner, state.snapshot, rest, explicit=state.explicit),
        limit=limit,
        branches={
            fallback.branch: SplitReader(
                access=fallback, fields=same, where=theirs, ignores_damage=True
            )
        },
    )


def refuse_negative(limit: int | None) -> None:
    """Refuse a number of rows below 0, and what is no number of rows."""
    require_whole("limit", limit)
    if limit is not None and limit < 0:
        raise ArgumentError(f"limit={limit} is negative", argument="limit", value=limit)


def selected_fields(schema: TableSchema, columns: Sequence[str] | None) -> tuple[Field, ...]:
    """The columns, and members of ROWs, called ``columns``; all columns by default."""
    return schema.fields if columns is None else selected(schema, column_names("columns", columns))


def bound_where(schema: TableSchema, where: str | Expression | None) -> Bound | None:
    """``where`` with the names and types of ``schema``."""
    if where is None:
        return None
    if isinstance(where, str):
        from table_core.predicate.sql import parse_where  # brings an SQL parser along

        condition = parse_where(where)
        try:
            return bind(condition, schema.fields)
        except PredicateError as error:
            raise PredicateError(f"{error}, in {where!r}", where=where) from error
    if not isinstance(where, Condition):
        raise ArgumentError(
            f"where={where!r}: give SQL text or a condition such as col('x') > 1",
            argument="where",
            value=str(where),
        )
    return bind(where, schema.fields)


class MemoryScan(Scan):
    """A scan over rows that are in memory: system tables that show metadata."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._state = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._rows.schema

    def splits(self) -> list[Split]:
        """None: nothing is left to read."""
        return []

    def explain(self) -> Explain:
        """Nothing was planned."""
        return Explain()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch."""
        yield from self._rows.to_batches()

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self._rows
