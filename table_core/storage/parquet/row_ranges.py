"""Spans of rows of a Parquet file that may match: found in a few columns, then read in all.

A row group is sorted by key in key tables, so the rows of a wanted key stand together, and what is
behind them is not decoded.

A group of 1,000,000 rows, key = 5: only the key column is read, hits are rows 40,000 to 40,002.  Then all
columns are decoded up to row 40,002, and three rows of them handed on; 959,997 are not touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.storage.columns.conform import missing_columns, read_batch
from table_core.storage.columns.data_format import row_bits, rows_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.storage.columns.data_format import Probe

__all__ = ["RowRange", "find_row_ranges", "row_range_batches"]

_PROBED_ROWS: Final = 1 << 16
_PROBED_ROWS_PLAIN: Final = 1 << 18
"""Of columns whose values are all of one size."""
_READ_ROWS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows ``first`` to ``stop - 1`` of one row group."""

    group: int
    first: int
    stop: int


def find_row_ranges(
    file: Any, groups: Sequence[int], probe: Probe, allowed: Callable[[int], int], *, path: str
) -> list[RowRange]:
    """The narrowest span of each of ``groups`` that holds all its matches; none where none is.

    ``allowed``: how many of so many rows a batch may have.

    Raises:
        CorruptFileError: a stored value does not fit its column.
    """
    schema = arrow_schema(probe.fields)
    size = _PROBED_ROWS if row_bits(schema) is None else _PROBED_ROWS_PLAIN
    missing_columns(file.schema_arrow.names, probe.fields, path=path)
    row_ranges = []
    size = allowed(size)
    for group in groups:
        first = stop = at = 0
        for batch in file.iter_batches(size, row_groups=[group], columns=schema.names):
            rows = read_batch(batch, probe.fields, schema, path=path)
            hits = np.flatnonzero(probe.matches(rows).to_numpy(zero_copy_only=False))
            if len(hits):
                first = first if stop else at + int(hits[0])
                stop = at + int(hits[-1]) + 1
            at += rows.num_rows
        _complete(at, file.metadata.row_group(group).num_rows)
        if stop:
            row_ranges.append(RowRange(group, first, stop))
    return row_ranges


def row_range_batches(
    file: Any,
    row_ranges: Sequence[RowRange],
    names: Sequence[str],
    first_rows: int,
    most_bytes: int | None,
    allowed: Callable[[int], int],
) -> Iterator[pa.RecordBatch]:
    """The columns ``names`` of the rows of ``row_ranges``, as stored.

    Of each span ``first_rows`` are decoded, then as many at a time as have ``most_bytes``; what is
    behind it is not.  What lies before it is: Arrow cannot begin within a row group.
    """
    for row_range in row_ranges:
        at = 0
        size = allowed(min(first_rows, row_range.stop))
        for batch in file.iter_batches(size, row_groups=[row_range.group], columns=names):
            low, high = max(row_range.first - at, 0), min(row_range.stop - at, batch.num_rows)
            at += batch.num_rows
            size = rows_within(most_bytes, batch.num_rows, batch.nbytes, _READ_ROWS)
            file.reader.set_batch_size(allowed(max(1, min(size, row_range.stop - at))))
            if low < high:
                yield batch.slice(low, high - low)
            if at >= row_range.stop:
                break
        _complete(min(at, row_range.stop), row_range.stop)


def _complete(actual: int, expected: int) -> None:
    """Refuse a column that ends early, as damage makes it: Arrow does not tell."""
    if actual != expected:
        raise pa.ArrowInvalid(f"{actual} rows instead of {expected}")
