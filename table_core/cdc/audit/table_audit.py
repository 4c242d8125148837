"""A table beside its source tables, both as they were at one place of the source's log.

The server and we count rows and sum their checksums by parts of the table; parts that differ are divided
until they have few rows, and those are read on both sides.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.audit.dialect import texts_of
from table_core.cdc.audit.spans import HashSpan, KeySpan, rows_in
from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from table_core.cdc.apply.server import ServerConnection
    from table_core.cdc.audit.canonical import Canonical
    from table_core.cdc.audit.dialect import Dialect
    from table_core.cdc.audit.spans import Span
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.table.api.table import Table

__all__ = ["Part", "TableAudit", "canonical_columns"]

_SLOT_ROWS: Final = 500
_SLOTS_MAX: Final = 1 << 16
_PART_ROWS: Final = 20_000
_PART_SLOTS: Final = 50
_BATCH_ROWS: Final = 1 << 16
_FAR: Final = 1 << 62
_WHOLE: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})


@dataclass(frozen=True, slots=True)
class Part:
    """Slots of a span that differ, and how many rows they have at most."""

    span: Span
    slots: Sequence[int]
    rows: int


@dataclass(frozen=True, slots=True)
class _Sums:
    counts: NDArray[np.int64]
    totals: NDArray[np.uint64]

    @classmethod
    def none(cls, slots: int) -> _Sums:
        return cls(np.zeros(slots, np.int64), np.zeros(slots, np.uint64))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAudit:
    """What is compared; nothing of it changes."""

    connection: ServerConnection
    """Reads the snapshot of the server."""
    sources: Sequence[CatalogTable]
    table: Table
    snapshot: int | None
    """Of the table, at the same place; None before it has one."""
    dialect: Dialect
    columns: Mapping[str, Canonical]
    """Those that are compared by checksum."""
    key: tuple[str, ...]

    # ---------------------------------------------------------------------------- narrowing
    def parts(self) -> Iterator[Part]:
        """Those that differ."""
        spans = [self._whole()]
        while spans:
            span = spans.pop()
            with ThreadPoolExecutor(1) as beside:
                of_server = beside.submit(self._sums_there, span)
                here = self._sums_here(span)
                there = of_server.result()
            differs = (here.counts != there.counts) | (here.totals != there.totals)
            rows = np.maximum(here.counts, there.counts)
            slots: list[int] = []
            for slot in np.flatnonzero(differs).tolist():
                if isinstance(span, KeySpan) and span.width > 1 and rows[slot] > _PART_ROWS:
                    spans.append(span.within(slot, _width(span.width, int(rows[slot]))))
                else:
                    slots.append(slot)
            yield from _parts(span, slots, rows)

    def _whole(self) -> Span:
        about = [info.rows_about for info in self.sources]
        rows = None if None in about else sum(n for n in about if n is not None)
        if self._is_numbered:
            bounds = [self.connection.bounds(info, self.key[0]) for info in self.sources]
            numbers = [int(n) for pair in bounds for n in pair if n is not None] or [0]
            low, high = min(numbers), max(numbers)
            if high - low < _FAR:
                width = high - low + 1
                return KeySpan(self.key[0], low, high, _width(width, rows or width))
        slots = 1 << min((rows or 1 << 20) // _SLOT_ROWS, _SLOTS_MAX - 1).bit_length()
        names = self.key or tuple(self.columns)
        return HashSpan({name: self.columns[name] for name in names}, slots)

    @property
    def _is_numbered(self) -> bool:
        """Whether the key is one whole number."""
        if len(self.key) != 1:
            return False
        type_ = next(f.type for f in self.table.definition.fields if f.name == self.key[0])
        return isinstance(type_, Atomic) and type_.root in _WHOLE

    def _sums_there(self, span: Span) -> _Sums:
        quoted, sums = self.connection.quoted, _Sums.none(span.slots)
        text = self.dialect.text({quoted(name): one for name, one in self.columns.items()})
        hashed = self.dialect.hashed.replace("{}", text)
        slots = range(span.slots)
        where = "" if span.condition(slots) is None else span.where(slots, self.dialect, quoted)
        for info in self.sources:
            sql = (
                f"SELECT {span.slot(self.dialect, quoted)}, COUNT(*), SUM({hashed}) "
                f"FROM {self.connection.relation(info)}{f' WHERE {where}' if where else ''} GROUP BY 1"
            )
            for slot, count, total in self.connection.rows(sql):
                sums.counts[int(slot)] += int(count)
                sums.totals[int(slot)] += np.uint64(int(total) % (1 << 64))
        return sums

    def _sums_here(self, span: Span) -> _Sums:
        sums = _Sums.none(span.slots)
        names = list(dict.fromkeys([*self.columns, *span.columns]))
        for batch in self._batches(names, span, range(span.slots)):
            slots = span.slots_of(self.dialect, batch)
            hashes = self.dialect.hashes(texts_of(batch, self.columns))
            sums.counts[:] += np.bincount(slots, minlength=span.slots)
            np.add.at(sums.totals, slots, hashes)
        return sums

    def _batches(
        self, names: Sequence[str] | None, span: Span, slots: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        if self.snapshot is None:
            return
        fields = [f for f in self.table.arrow_schema if names is None or f.name in names]
        at_once = self.table.access.metadata.schema(self.table.snapshot(self.snapshot).schema_id)
        there = {field.name for field in at_once.fields}
        columns, where = [f.name for f in fields if f.name in there], span.condition(slots)
        scan = self.table.read(columns=columns, where=where, snapshot=self.snapshot)
        for batch in scan.to_batches():
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                yield _under(batch.slice(start, _BATCH_ROWS), fields)

    # --------------------------------------------------------------------------------- rows
    def rows_there(self, part: Part) -> Iterator[tuple[CatalogTable, list[tuple[Any, ...]]]]:
        """The rows of the source tables that are in a part."""
        where = part.span.where(part.slots, self.dialect, self.connection.quoted)
        for info in self.sources:
            rows = self.connection.chunk(info, None, None, where=where)
            yield info, [row[: len(info.columns)] for row in rows]

    def rows_here(self, part: Part) -> list[pa.RecordBatch]:
        """The rows of the table that are in a part, with all columns."""
        return [
            rows_in(part.span, part.slots, self.dialect, batch)
            for batch in self._batches(None, part.span, part.slots)
        ]


def canonical_columns(
    dialect: Dialect, table: Table, sources: Sequence[CatalogTable]
) -> tuple[dict[str, Canonical], list[str]]:
    """The columns of a table and of all of its sources that have a canonical text, and those that have none."""
    columns: dict[str, Canonical] = {}
    without: list[str] = []
    for field in table.definition.fields:
        types = [info.types.get(field.name) for info in sources]
        if None in types:
            continue
        texts = {dialect.canonical(str(type_), field.type) for type_ in types}
        first = texts.pop()
        if first is None or texts:
            without.append(field.name)
        else:
            columns[field.name] = first
    return columns, without


def _under(batch: pa.RecordBatch, fields: Sequence[pa.Field]) -> pa.RecordBatch:
    """Rows of an older schema under the newest: a column that came later is null, and a type may be wider."""
    columns = [
        batch.column(f.name).cast(f.type)
        if f.name in batch.schema.names
        else pa.nulls(batch.num_rows, f.type)
        for f in fields
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _width(keys: int, rows: int) -> int:
    """The width of slots in which so many keys have a few rows each."""
    slots = min(max(rows // _SLOT_ROWS, 1), _SLOTS_MAX)
    return -(-keys // slots)


def _parts(span: Span, slots: Sequence[int], rows: NDArray[np.int64]) -> Iterator[Part]:
    """Slots together, as many as are read at once; of a hash all, because each read is one of the whole table."""
    if isinstance(span, HashSpan):
        if slots:
            yield Part(span, slots, int(rows[list(slots)].sum()))
        return
    part: list[int] = []
    count = 0
    for slot in slots:
        if part and (len(part) == _PART_SLOTS or count + int(rows[slot]) > _PART_ROWS):
            yield Part(span, part, count)
            part, count = [], 0
        part.append(slot)
        count += int(rows[slot])
    if part:
        yield Part(span, part, count)
