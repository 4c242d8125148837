"""Parquet data files to and from Arrow.

Written as Paimon's own writer lays them out (format 5.3), except that TIMESTAMP(7..9) is INT64
nanoseconds and not INT96, which has no statistics and is deprecated; Paimon reads both
(format T35).  Read leniently: any physical type that holds the values will do (format T37).
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from table_core.datatypes.arrow import arrow_schema
from table_core.storage.columns.conform import misfit, missing_columns, read_batch
from table_core.storage.columns.data_format import ALL, check_rows, decoding, rows_within
from table_core.storage.columns.stored_schema import asked_paths, leaf_counts, refuse_shredded
from table_core.storage.parquet.batch_sizes import PIECE_BYTES_MIN, batch_budget, groups_by_width
from table_core.storage.parquet.footer import read_chunk_stats
from table_core.storage.parquet.page_room import require_pages_fit
from table_core.storage.parquet.row_ranges import RowRange, find_row_ranges, row_range_batches
from table_core.storage.parquet.row_room import leaves_to_read, require_rows_fit, wide_row_bytes
from table_core.storage.parquet.stats import row_group_ranges
from table_core.storage.parquet.watched import (
    SmallerBatchesError,
    is_local,
    rows_allowed,
    watched,
)
from table_core.storage.parquet.writer import ParquetFileWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ports import Storage
    from table_core.storage.columns.data_format import (
        FileWriter,
        Probe,
        RangeStats,
        Wanted,
        WriterSettings,
    )
    from table_core.storage.parquet.footer import ChunkStats
    from table_core.storage.parquet.row_room import Leaf

__all__ = ["ParquetFormat"]

_PROBED_ROWS_MIN: Final = 1 << 12
_PIECE_BYTES, _PIECE_BYTES_REMOTE = 1 << 18, 1 << 22
"""What is read of a column at a time; of a remote file more, because each piece is a request."""
_INTEGERS: Final = frozenset({"INT32", "INT64"})
_US_MIN: Final = -(2**63) // 1000
_US_MAX: Final = 2**64 // 1000


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Parquet."""

    name: str = "parquet"

    def open_writer(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> FileWriter:
        """A writer of ``path``."""
        return ParquetFileWriter(storage, path, fields, settings)

    def columns(self, storage: Storage, path: str, file_size: int) -> list[str]:
        """Names of the top-level columns of ``path``."""
        with _opened(storage, path, file_size) as (_, file), decoding(storage, path):
            names: list[str] = file.schema_arrow.names
            return names

    def counted(
        self, storage: Storage, path: str, file_size: int
    ) -> list[tuple[int, Mapping[str, RangeStats]]]:
        """By row group: how many rows it has, and what the footer says of its flat columns."""
        with _opened(storage, path, file_size) as (source, file), decoding(storage, path):
            stored, told = file.schema_arrow, read_chunk_stats(source)
            rows = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            return [
                (count, row_group_ranges(chunks, count, stored, stored))
                for count, chunks in zip(rows, told, strict=True)
            ]

    def read(
        self,
        storage: Storage,
        path: str,
        row_count: int | None,
        fields: Sequence[Field],
        *,
        batch_rows: int,
        batch_bytes: int | None = None,
        file_size: int | None = None,
        wanted: Wanted = ALL,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``path``; see ``DataFormat.read``."""
        schema = arrow_schema(fields)
        names = schema.names
        with _opened(storage, path, file_size) as (source, file):
            check_rows(storage, path, file.metadata.num_rows, row_count)
            with decoding(storage, path):
                stored = file.schema_arrow
                missing_columns(stored.names, fields, path=path)
                for field in fields:
                    refuse_shredded(field.type, stored.field(field.name).type, field.name, path)
                groups = list(wanted.part.of(file.num_row_groups))
                chunks = cache(partial(read_chunk_stats, source))
                leaves = leaves_to_read(file.metadata, set(names))
                require_rows_fit(file.metadata, groups, leaves, chunks)
                if wanted.refuse_wide is not None:  # before pages are looked into
                    read = _wanted_groups(file, groups, chunks, stored, schema, wanted)
                    wanted.refuse_wide(wide_row_bytes(file.metadata, read, leaves, chunks))
                most = require_pages_fit(source, file.metadata, groups, leaves, chunks)
                groups = _wanted_groups(file, groups, chunks, stored, schema, wanted)
                allowed = partial(rows_allowed, source, most=most)
                row_ranges = _wanted_row_ranges(
                    file, groups, wanted.probe, len(fields), allowed, path
                )
                if row_ranges is not None:
                    groups = [row_range.group for row_range in row_ranges]
                physical = _physical_types(leaves, stored, names)
                legacy = [field for field in fields if "INT96" in physical[field.name]]
                integers = {name for name, types in physical.items() if types <= _INTEGERS}
            if legacy:
                _check_instants(storage, path, legacy, groups, batch_rows)
            columns = {name: stored.field(name).type for name in names}
            reading = _Reading(
                storage=storage,
                path=path,
                source=source,
                file=file,
                fields=fields,
                columns=columns,
                paths=asked_paths(schema, stored),
                integers=frozenset(integers),
                chunks=chunks,
                allowed=allowed,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                parallel=wanted.parallel,
            )
            for some in groups_by_width(file.metadata, groups):
                yield from reading.rows(some, row_ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A file that is read, and how."""

    storage: Storage
    path: str
    source: Any
    file: Any
    fields: Sequence[Field]
    columns: Mapping[str, pa.DataType]
    """As they are stored."""
    paths: Sequence[str]
    """What of them is read."""
    integers: frozenset[str]
    chunks: Callable[[], list[list[ChunkStats]]]
    allowed: Callable[[int], int]
    """How many of so many rows may be in a batch."""
    batch_rows: int
    batch_bytes: int | None
    parallel: bool

    def rows(
        self, groups: Sequence[int], ranges: Sequence[RowRange] | None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of ``groups``, or those of ``ranges`` in them."""
        yielded = 0
        while True:
            at = 0
            try:
                for rows in self._batches(groups, ranges):
                    before, at = at, at + rows.num_rows
                    if at > yielded:
                        yield rows if before >= yielded else rows.slice(yielded - before)
                        yielded = at
            except SmallerBatchesError:
                continue
            return

    def _batches(
        self, groups: Sequence[int], ranges: Sequence[RowRange] | None
    ) -> Iterator[pa.RecordBatch]:
        storage, path, file = self.storage, self.path, self.file
        schema = arrow_schema(self.fields)
        left, batch_bytes = _rows(file, groups), self.batch_bytes
        with decoding(storage, path):
            budget = batch_budget(
                file, groups, self.columns, self.chunks, self.batch_rows, batch_bytes
            )
        a_column = (batch_bytes or 0) // max(len(self.columns), 1)
        reader = file if budget.holds_groups else _in_pieces(self.source, file, a_column)
        # Arrow makes room for so many at once
        size = self.allowed(min(budget.rows, max(left, 1)))
        if ranges is not None:
            here = [row_range for row_range in ranges if row_range.group in groups]
            batches = row_range_batches(reader, here, self.paths, size, batch_bytes, self.allowed)
        else:
            batches = reader.iter_batches(
                size,
                row_groups=groups,
                columns=self.paths,
                use_threads=reader is file and not self.parallel,
            )
        while True:
            with decoding(storage, path):
                batch = next(batches, None)
                if batch is None:
                    break
                left -= batch.num_rows
                rows = read_batch(batch, self.fields, schema, path=path, integers=self.integers)
            if budget.later is not None and ranges is None:
                size = rows_within(batch_bytes, rows.num_rows, rows.nbytes, budget.later)
                reader.reader.set_batch_size(self.allowed(size))
            yield rows
        if ranges is None and left:  # Arrow ends where the first column does
            check_rows(storage, path, _rows(file, groups) - left, _rows(file, groups))


@contextmanager
def _opened(
    storage: Storage, path: str, size: int | None = None, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """The open file, and Arrow's reader of it."""
    source = watched(storage.open_input(path, size))
    try:
        with decoding(storage, path):
            # Local files are read column chunk by column chunk; remote ones in few large requests.
            file = pq.ParquetFile(
                source,
                pre_buffer=not is_local(source),
                page_checksum_verification=True,
                **options,
            )
        yield source, file
    finally:
        source.close()


def _wanted_groups(
    file: Any,
    groups: list[int],
    chunks: Callable[[], list[list[ChunkStats]]],
    stored: pa.Schema,
    schema: pa.Schema,
    wanted: Wanted,
) -> list[int]:
    """Those of ``groups`` whose statistics allow for matches.

    Of a single one they say what the manifest said, and looking into it takes less than reading them.
    """
    keep = wanted.keep
    if keep is None or not groups or (len(groups) == 1 and wanted.probe is not None):
        return groups
    told = chunks()
    rows = {g: file.metadata.row_group(g).num_rows for g in groups}
    return [g for g in groups if keep(row_group_ranges(told[g], rows[g], stored, schema))]


def _wanted_row_ranges(
    file: Any,
    groups: Sequence[int],
    probe: Probe | None,
    columns: int,
    allowed: Callable[[int], int],
    path: str,
) -> list[RowRange] | None:
    """Where ``probe`` finds matches; None where looking does not pay."""
    rows = _rows(file, groups)
    if probe is None or len(probe.fields) >= columns or rows < _PROBED_ROWS_MIN:
        return None
    row_ranges = _again(lambda: find_row_ranges(file, groups, probe, allowed, path=path))
    return (
        row_ranges
        if sum(row_range.stop - row_range.first for row_range in row_ranges) < rows // 2
        else None
    )


def _again(read: Callable[[], list[RowRange]]) -> list[RowRange]:
    """What ``read`` gives; it is asked again where batches are too large."""
    while True:
        with suppress(SmallerBatchesError):
            return read()


def _rows(file: Any, groups: Sequence[int]) -> int:
    return sum(file.metadata.row_group(group).num_rows for group in groups)


def _in_pieces(source: Any, file: Any, share: int) -> Any:
    """``file`` as a reader that never holds a whole column chunk; a column has ``share`` bytes for its piece.

    What is read ahead would hold the chunks after all, so nothing is.
    """
    most = _PIECE_BYTES if is_local(source) else _PIECE_BYTES_REMOTE
    return pq.ParquetFile(
        source,
        metadata=file.metadata,
        buffer_size=min(max(share, PIECE_BYTES_MIN), most),
        pre_buffer=False,
        page_checksum_verification=True,
    )


def _physical_types(
    leaves: Sequence[Leaf], stored: pa.Schema, names: Collection[str]
) -> dict[str, set[str]]:
    """How each of the columns ``names`` is stored, or all its members, which are among ``leaves``."""
    physical = {leaf.number: leaf.physical_type for leaf in leaves}
    types, wanted = {}, frozenset(names)
    at = 0
    for name, count in zip(stored.names, leaf_counts(stored), strict=True):
        if name in wanted:
            types[name] = {physical[number] for number in range(at, at + count)}
        at += count
    return types


def _check_instants(
    storage: Storage, path: str, fields: Sequence[Field], groups: list[int], batch_rows: int
) -> None:
    """Refuse INT96 instants that nanoseconds cannot express: Arrow would wrap them silently.

    Microseconds can express them, so a second look with that unit tells.  Java stores instants
    before 1970 with a negative time of day, which Arrow takes for one of 2**64 nanoseconds more.
    """
    names = [field.name for field in fields]
    with _opened(storage, path, coerce_int96_timestamp_unit="us") as (source, file):
        chunks = cache(partial(read_chunk_stats, source))
        with decoding(storage, path):
            leaves = leaves_to_read(file.metadata, set(names))
            require_pages_fit(source, file.metadata, groups, leaves, chunks)
        batches = file.iter_batches(batch_rows, row_groups=groups, columns=names)
        while True:
            with decoding(storage, path):
                batch = next(batches, None)
                if batch is None:
                    return
            for field in fields:
                column = batch.column(batch.schema.get_field_index(field.name))
                bounds = pc.min_max(_instants(column)).as_py()
                low, high = bounds["min"], bounds["max"]
                if low is not None and not (low >= _US_MIN and high <= _US_MAX):
                    raise misfit(field, pa.ArrowInvalid("out of bounds timestamp"), path=path)


def _instants(column: Any) -> Any:
    """All timestamps in ``column``, however nested, as microseconds."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    if pa.types.is_struct(column.type):
        parts = [_instants(part) for part in column.flatten()]
    elif pa.types.is_map(column.type):
        parts = [_instants(column.keys), _instants(column.items)]
    elif pa.types.is_list(column.type):
        parts = [_instants(column.flatten())]
    else:
        parts = []
    return pa.concat_arrays([pa.array([], pa.int64()), *parts])
