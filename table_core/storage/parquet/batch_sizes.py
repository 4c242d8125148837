"""How many rows the batches of a Parquet file may have, as far as its footer tells.

Source: parquet-format ``Encodings.md``: which of them may write a long value many times over; and
``parquet.thrift`` ``SizeStatistics``.

A column of 1,000,000 rows takes 290 kB: a dictionary of four texts of 10 kB each, and two bits a row.  A
batch of 65,536 rows of it is 655 MB once each row has its text.  So stored bytes bound a batch only where each
text is written out; elsewhere the reader begins with few rows and goes by what they took.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.arrow import is_varied
from table_core.storage.columns.data_format import row_bits, rows_within

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from table_core.storage.parquet.footer import ChunkStats

__all__ = ["BatchBudget", "batch_budget"]

_FIRST_ROWS: Final = 1 << 14
"""Dictionaries may stand for far longer values than the sizes in the footer tell."""
_USUAL_ROWS: Final = 1 << 16
"""Where it is not sure that more fit: the next rows may be far longer than those before."""
_TEXT_BITS: Final = 33
"""Of an offset, and of the mark that there is a value."""
_CHUNKS_MAX: Final = 256
"""Longer footers take longer to read than it takes to begin with few rows."""
_SPELLED_OUT: Final = frozenset({0, 3, 4, 6})
"""PLAIN and DELTA_LENGTH_BYTE_ARRAY write every byte of every text; RLE and BIT_PACKED where nulls are."""
_COUNTED: Final = _SPELLED_OUT | {2, 8}
"""And dictionaries.  Of DELTA_BYTE_ARRAY Arrow 26 counts only what it stores of each text."""


@dataclass(frozen=True, slots=True)
class BatchBudget:
    """What a reader of a file has to heed."""

    rows: int
    """Of the first batch."""
    later: int | None
    """Of the others at most, as many as the bytes of those before tell; None: as many as the first."""
    holds_groups: bool
    """Whether a batch may take as much as the columns to read of any row group."""


def batch_budget(
    file: Any,
    groups: Sequence[int],
    columns: Mapping[str, pa.DataType],
    chunks: Callable[[], list[list[ChunkStats]]],
    batch_rows: int,
    batch_bytes: int | None,
) -> BatchBudget:
    """Batches of ``groups`` of ``file`` with ``batch_rows`` or less, and about ``batch_bytes`` if any.

    ``columns``: those to read; ``chunks``: what the footer says of them, asked for where it is short.
    """
    if batch_bytes is None:
        return BatchBudget(batch_rows, later=None, holds_groups=True)
    sizes = _stored_sizes(file, groups, columns, chunks, batch_bytes)
    rows, holds = sum(rows for rows, _ in sizes), all(size <= batch_bytes for _, size in sizes)
    texts = frozenset(name for name, type_ in columns.items() if is_varied(type_))
    bits = row_bits(pa.schema([(n, type_) for n, type_ in columns.items() if n not in texts]))
    if bits is not None and not texts:
        return BatchBudget(rows_within(batch_bytes, 8, bits, batch_rows), None, holds)
    short = file.num_row_groups * file.metadata.num_columns <= _CHUNKS_MAX
    if bits is not None and rows > _FIRST_ROWS and short:
        by_group = chunks()
        of_texts = [c for g in groups for c in by_group[g] if c.column in texts]
        for most in (batch_rows, _USUAL_ROWS):
            many = min(rows, most)
            text_bytes = sum(_most_bytes(chunk, many) for chunk in of_texts)
            if text_bytes + many * (bits + _TEXT_BITS * len(texts)) // 8 <= batch_bytes:
                return BatchBudget(min(batch_rows, most), None, holds)
    stored_bytes = sum(size for _, size in sizes)
    first = rows_within(batch_bytes, rows, stored_bytes, min(batch_rows, _FIRST_ROWS))
    return BatchBudget(first, min(batch_rows, _USUAL_ROWS), holds)


def _most_bytes(chunk: ChunkStats, rows: int) -> int:
    """Bytes that so many texts of ``chunk`` may have at most.

    All of them written out: what is stored.  Counted by the writer: that.  Else each row might be the one
    long text of a dictionary, which is no longer than all that is stored.
    """
    if _SPELLED_OUT.issuperset(chunk.encodings):
        return chunk.stored_bytes
    if chunk.text_bytes is not None and _COUNTED.issuperset(chunk.encodings):
        return chunk.text_bytes
    return chunk.stored_bytes * rows


def _stored_sizes(
    file: Any,
    groups: Sequence[int],
    names: Container[str],
    chunks: Callable[[], list[list[ChunkStats]]],
    enough: int,
) -> list[tuple[int, int]]:
    """Rows of each of ``groups``, and bytes of their columns ``names`` before compression.

    The bytes of all columns will do where they are at most ``enough``.
    """
    metadata = [file.metadata.row_group(number) for number in groups]
    sizes = [(group.num_rows, group.total_byte_size) for group in metadata]
    if all(size <= enough for _, size in sizes):
        return sizes
    by_group = chunks()
    return [
        (group.num_rows, sum(c.stored_bytes for c in by_group[number] if c.column in names))
        for number, group in zip(groups, metadata, strict=True)
    ]
