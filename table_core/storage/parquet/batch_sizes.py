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
from table_core.storage.columns.data_format import ALONE_BYTES, row_bits, rows_within

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from table_core.storage.parquet.footer import ChunkStats

__all__ = ["PIECE_BYTES_MIN", "BatchBudget", "batch_budget", "groups_by_width"]

_FIRST_ROWS: Final = 1 << 14
"""Dictionaries may stand for far longer values than the sizes in the footer tell."""
_UNTOLD_ROWS: Final = 1 << 11
"""Where nothing says how long the values of dictionaries are."""
_USUAL_ROWS: Final = 1 << 16
"""Where it is not sure that more fit: the next rows may be far longer than those before."""
_TEXT_BITS: Final = 33
"""Of an offset, and of the mark that there is a value."""
PIECE_BYTES_MIN: Final = 1 << 14
"""Of a column that is read in pieces."""
_CHUNKS_MAX: Final = 256
"""Longer footers take longer to read than it takes to begin with few rows."""
_SPELLED_OUT: Final = frozenset({0, 3, 4, 6})
"""PLAIN and DELTA_LENGTH_BYTE_ARRAY write every byte of every text; RLE and BIT_PACKED where nulls are."""
_BYTE_ARRAY: Final = 6
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


def groups_by_width(metadata: Any, groups: Sequence[int]) -> list[list[int]]:
    """``groups`` in order, those of wide rows apart from those of others: each has its own budget.

    A row of 50 MB among 20,000 small ones, which lie in groups 0 and 2::

        [0, 1, 2] -> [0], [1], [2]
    """
    parts: list[tuple[bool, list[int]]] = []
    for number in groups:
        group = metadata.row_group(number)
        is_wide = group.total_byte_size // max(group.num_rows, 1) > ALONE_BYTES
        if not parts or parts[-1][0] != is_wide:
            parts.append((is_wide, []))
        parts[-1][1].append(number)
    return [numbers for _, numbers in parts]


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
    texts = frozenset(name for name, type_ in columns.items() if is_varied(type_))
    bits = row_bits(pa.schema([(n, type_) for n, type_ in columns.items() if n not in texts]))
    rows = sum(file.metadata.row_group(number).num_rows for number in groups)
    short = file.num_row_groups * file.metadata.num_columns <= _CHUNKS_MAX
    looks = short and rows > _UNTOLD_ROWS and (texts or bits is None)
    told = _told(chunks, groups, columns) if looks else None
    sizes = _sizes(file, groups, columns, chunks, told, batch_bytes)
    pieces = len(columns) * PIECE_BYTES_MIN  # of thousands of columns they take more than a group
    holds = all(size.stored <= max(batch_bytes, pieces) for size in sizes)
    if bits is not None and not texts:
        return BatchBudget(rows_within(batch_bytes, 8, bits, batch_rows), None, holds)
    if bits is not None and rows > _FIRST_ROWS and told is not None:
        of_texts = [c for chunks_of in told for c in chunks_of if c.column in texts]
        for most in (batch_rows, _USUAL_ROWS):
            many = min(rows, most)
            text_bytes = sum(_most_bytes(chunk, many) for chunk in of_texts)
            if text_bytes + many * (bits + _TEXT_BITS * len(texts)) // 8 <= batch_bytes:
                return BatchBudget(min(batch_rows, most), None, holds)
    # A batch may go from one group to the next, whose rows may be far wider.
    most = min(
        (rows_within(batch_bytes, s.rows, s.decoded, batch_rows) for s in sizes), default=batch_rows
    )
    first = _FIRST_ROWS if all(size.counted for size in sizes) else _UNTOLD_ROWS
    return BatchBudget(min(most, first), min(most, _USUAL_ROWS), holds)


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


@dataclass(frozen=True, slots=True)
class _GroupSize:
    """A row group: the columns to read of it."""

    rows: int
    stored: int
    """Bytes before compression."""
    decoded: int
    """Bytes in memory, as far as it is told."""
    counted: bool
    """Whether it is told for each text."""


def _is_counted(chunk: ChunkStats) -> bool:
    """Whether it is told how long the values of ``chunk`` are."""
    if chunk.physical_type != _BYTE_ARRAY or _SPELLED_OUT.issuperset(chunk.encodings):
        return True
    return chunk.text_bytes is not None and _COUNTED.issuperset(chunk.encodings)


def _told(
    chunks: Callable[[], list[list[ChunkStats]]], groups: Sequence[int], names: Container[str]
) -> list[list[ChunkStats]]:
    by_group = chunks()
    return [[c for c in by_group[number] if c.column in names] for number in groups]


def _sizes(
    file: Any,
    groups: Sequence[int],
    names: Container[str],
    chunks: Callable[[], list[list[ChunkStats]]],
    told: list[list[ChunkStats]] | None,
    enough: int,
) -> list[_GroupSize]:
    """How large each of ``groups`` is.

    The bytes of all columns will do where they are at most ``enough``, and nobody has ``told`` more.
    """
    metadata = [file.metadata.row_group(number) for number in groups]
    if told is None and all(group.total_byte_size <= enough for group in metadata):
        return [
            _GroupSize(g.num_rows, g.total_byte_size, g.total_byte_size, False) for g in metadata
        ]
    told = told if told is not None else _told(chunks, groups, names)
    return [
        _GroupSize(
            group.num_rows,
            sum(c.stored_bytes for c in chunks_of),
            sum(max(c.stored_bytes, c.text_bytes or 0) for c in chunks_of),
            all(_is_counted(chunk) for chunk in chunks_of),
        )
        for group, chunks_of in zip(metadata, told, strict=True)
    ]
