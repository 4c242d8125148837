"""How many rows the batches of a Parquet file may have, as far as its footer tells.

Source: parquet-format ``Encodings.md``: which of them may write a long value many times over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.arrow import is_varied
from table_core.storage.data_format import row_bits, rows_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.storage.parquet_footer import ChunkStats

__all__ = ["BatchRoom", "batch_room"]

_FIRST_ROWS: Final = 1 << 14
"""Dictionaries may stand for far longer values than the sizes in the footer tell."""
_TEXT_BITS: Final = 33
"""Of an offset, and of the mark that there is a value."""
_AS_LONG_AS_THEY_ARE: Final = frozenset({"PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY"})
"""Encodings of texts, and of where they are null, that write every byte of every value."""


@dataclass(frozen=True, slots=True)
class BatchRoom:
    """What a reader of a file has to heed."""

    rows: int
    """Of the first batch."""
    adapts: bool
    """Whether later ones must have as many as the bytes of those before tell."""
    group_bytes: int
    """Of the columns to read of the largest row group, before compression."""


def batch_room(
    file: Any,
    groups: Sequence[int],
    columns: Mapping[str, tuple[pa.DataType, int]],
    chunks: Callable[[], list[list[ChunkStats]]],
    batch_rows: int,
    batch_bytes: int,
) -> BatchRoom:
    """Batches of ``groups`` of ``file`` with ``batch_rows`` or less, and about ``batch_bytes``.

    ``columns``: type and first leaf by name; ``chunks``: what the footer says of them.
    """
    sizes = _stored_sizes(file, groups, frozenset(columns), chunks, batch_bytes)
    rows, stored_bytes = sum(rows for rows, _ in sizes), sum(size for _, size in sizes)
    largest = max((size for _, size in sizes), default=0)
    texts = [leaf for type_, leaf in columns.values() if is_varied(type_)]
    others = [(name, type_) for name, (type_, _) in columns.items() if not is_varied(type_)]
    bits = row_bits(pa.schema(others))
    if bits is not None and not texts:
        return BatchRoom(rows_within(batch_bytes, 8, bits, batch_rows), False, largest)
    if bits is not None:
        many = min(rows, batch_rows)
        most = _most_bytes(file, groups, texts, many)
        if most + many * (bits + _TEXT_BITS * len(texts)) // 8 <= batch_bytes:
            return BatchRoom(batch_rows, False, largest)
    first = rows_within(batch_bytes, rows, stored_bytes, min(batch_rows, _FIRST_ROWS))
    return BatchRoom(first, True, largest)


def _most_bytes(file: Any, groups: Sequence[int], texts: Sequence[int], rows: int) -> int:
    """Bytes that the texts of so many ``rows`` may have at most, wherever they are."""
    most = 0
    for group in groups:
        for leaf in texts:
            chunk = file.metadata.row_group(group).column(leaf)
            repeats = 1 if _AS_LONG_AS_THEY_ARE.issuperset(chunk.encodings) else rows
            most += int(chunk.total_uncompressed_size) * repeats
    return most


def _stored_sizes(
    file: Any,
    groups: Sequence[int],
    names: frozenset[str],
    chunks: Callable[[], list[list[ChunkStats]]],
    enough: int,
) -> list[tuple[int, int]]:
    """Rows of each of ``groups``, and bytes of their columns ``names`` before compression.

    The bytes of all columns will do where they are at most ``enough``.
    """
    found = [file.metadata.row_group(number) for number in groups]
    sizes = [(group.num_rows, group.total_byte_size) for group in found]
    if all(size <= enough for _, size in sizes):
        return sizes
    told = chunks()
    return [
        (group.num_rows, sum(c.stored_bytes for c in told[number] if c.column in names))
        for number, group in zip(groups, found, strict=True)
    ]
