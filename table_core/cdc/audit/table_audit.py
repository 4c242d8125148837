"""A table beside its source tables, both as they were at one place of the source's log.

The server and we count rows and sum their checksums by parts of the table; parts that differ are divided
until they have few rows, and those are read on both sides.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.cdc.audit.spans import HashSpan, KeySpan, rows_in
from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from table_core.cdc.audit.canonical import Canonical
    from table_core.cdc.audit.dialect import Dialect
    from table_core.cdc.audit.spans import Span
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.server import ServerConnection
    from table_core.table.api.table import Table

    Sides: TypeAlias = tuple[list[pa.RecordBatch], list[tuple[CatalogTable, tuple[Any, ...]]]]
    """Rows of the table here, and those of its sources."""

__all__ = ["Part", "SharedColumns", "TableAudit", "shared_columns"]

_SLOT_ROWS: Final = 500
_SLOTS_MAX: Final = 1 << 16
_PART_ROWS: Final = 20_000
_PART_SLOTS: Final = 50
_PART_BYTES: Final = 1 << 25
"""Of rows of one side that are compared at once."""
_BATCH_ROWS: Final = 1 << 16
_BATCH_BYTES: Final = 1 << 25
"""Of rows whose texts are made at once: those of bytes are twice as long."""
_FAR: Final = 1 << 62
_WHOLE: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})


@dataclass(frozen=True, slots=True)
class Part:
    """Slots of a span that differ, and how many rows they have at most."""

    span: Span
    slots: Sequence[int]
    rows: int

    def divided(self, pieces: int) -> tuple[Part, ...]:
        """The part in about so many, at least two; () if it cannot be divided."""
        if len(self.slots) > 1:
            step = max(len(self.slots) // max(pieces, 2), 1)
            starts = range(0, len(self.slots), step)
            return tuple(Part(self.span, self.slots[at : at + step], self.rows) for at in starts)
        halves = self.span.halves(self.slots[0])
        if halves is None:
            return ()
        span, slots = halves
        return tuple(Part(span, [slot], self.rows) for slot in slots)


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
        for info in self.sources:
            self.connection.hold(info)
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
        here = 0 if self.snapshot is None else self.table.snapshot(self.snapshot).total_record_count
        rows = max(sum(info.rows_about or 0 for info in self.sources), here)
        if self._is_numbered:
            bounds = [self.connection.bounds(info, self.key[0]) for info in self.sources]
            numbers = [int(n) for pair in bounds for n in pair if n is not None] or [0]
            low, high = min(numbers), max(numbers)
            if high - low < _FAR:
                width = high - low + 1
                return KeySpan(self.key[0], low, high, _width(width, rows or width))
        slots = 1 << min(rows // _SLOT_ROWS, _SLOTS_MAX - 1).bit_length()
        return HashSpan(self._keys, slots)

    @property
    def _keys(self) -> dict[str, Canonical]:
        """What tells rows apart."""
        return {name: self.columns[name] for name in self.key or self.columns}

    @property
    def _is_numbered(self) -> bool:
        """Whether the key is one whole number."""
        if len(self.key) != 1:
            return False
        type_ = next(f.type for f in self.table.definition.fields if f.name == self.key[0])
        return isinstance(type_, Atomic) and type_.root in _WHOLE

    def _sums_there(self, span: Span) -> _Sums:
        quoted, sums = self.connection.quoted, _Sums.none(span.slots)
        texts = {quoted(name): one for name, one in self.columns.items()}
        key = {quoted(name): one for name, one in self._keys.items()}
        summed = self.dialect.summed(texts, key)
        slots = range(span.slots)
        where = "" if span.condition(slots) is None else span.where(slots, self.dialect, quoted)
        for info in self.sources:
            sql = (
                f"SELECT {span.slot(self.dialect, quoted)}, COUNT(*), SUM({summed}) "
                f"FROM {self.connection.relation(info)}{f' WHERE {where}' if where else ''} GROUP BY 1"
            )
            for slot, count, total in self.connection.rows(sql):
                sums.counts[int(slot)] += int(count)
                # no total: all rows are longer than max_allowed_packet
                sums.totals[int(slot)] += np.uint64(int(total or 0) % (1 << 64))
        return sums

    def _sums_here(self, span: Span) -> _Sums:
        sums = _Sums.none(span.slots)
        names = list(dict.fromkeys([*self.columns, *span.columns]))
        for batch in self._batches(names, span, range(span.slots)):
            slots = span.slots_of(self.dialect, batch)
            hashes = self.dialect.summed_here(batch, self.columns, self._keys)
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
            for part in _light(batch):
                yield _under(part, fields)

    # --------------------------------------------------------------------------------- rows
    def pieces(self, part: Part) -> Iterator[Sides]:
        """The rows of a part on both sides, in pieces of few bytes: one that has more is divided, as far as it can be."""
        left = [part]
        while left:
            piece = left.pop()
            most = _PART_BYTES if piece.divided(2) else _FAR
            here, size = self._rows_here(piece, most)
            there: list[tuple[CatalogTable, tuple[Any, ...]]] = []
            if size <= most:
                there, size = self._rows_there(piece, most)
            if size > most:
                left += reversed(piece.divided(size // most + 1))
            else:
                yield here, there

    def _rows_there(
        self, part: Part, most: int
    ) -> tuple[list[tuple[CatalogTable, tuple[Any, ...]]], int]:
        """The rows of the source tables that are in a part, and their bytes: none where there are more than ``most``."""
        where = part.span.where(part.slots, self.dialect, self.connection.quoted)
        rows: list[tuple[CatalogTable, tuple[Any, ...]]] = []
        size = 0
        for info in self.sources:
            for row in self.connection.chunk(info, None, None, where=where):
                size += sum(len(v) for v in row if isinstance(v, str | bytes | bytearray))
                rows.append((info, row[: len(info.columns)]))
                if size > most:
                    rows.clear()
        return rows, size

    def _rows_here(self, part: Part, most: int) -> tuple[list[pa.RecordBatch], int]:
        """The rows of the table that are in a part, with all columns, and their bytes: as ``_rows_there``."""
        batches: list[pa.RecordBatch] = []
        size = 0
        for batch in self._batches(None, part.span, part.slots):
            batches.append(rows_in(part.span, part.slots, self.dialect, batch))
            size += batches[-1].nbytes
            if size > most:
                batches.clear()
        return batches, size


@dataclass(frozen=True, slots=True)
class SharedColumns:
    """The columns that a table and its sources have."""

    texts: Mapping[str, Canonical]
    """Those that are compared by checksum."""
    without: Sequence[str]
    """Those that have no canonical text."""
    of_some: Sequence[str]
    """Those that not all of the sources have."""


def shared_columns(
    dialect: Dialect, table: Table, sources: Sequence[CatalogTable]
) -> SharedColumns:
    """The columns of a table that its sources have too."""
    columns: dict[str, Canonical] = {}
    without: list[str] = []
    of_some: list[str] = []
    for field in table.definition.fields:
        types = [info.types.get(field.name) for info in sources]
        if None in types:
            of_some += [field.name] if set(types) > {None} else []
            continue
        texts = {dialect.canonical(str(type_), field.type) for type_ in types}
        first = texts.pop()
        if first is None or texts:
            without.append(field.name)
        else:
            columns[field.name] = first
    return SharedColumns(columns, without, of_some)


def _light(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in parts whose texts fit into memory, and into an array."""
    is_light = batch.num_rows <= _BATCH_ROWS and batch.nbytes <= _BATCH_BYTES
    if is_light or batch.num_rows < 2:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _light(batch.slice(0, half))
    yield from _light(batch.slice(half))


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
