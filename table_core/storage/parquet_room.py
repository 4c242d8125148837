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
    from collections.abc import Sequence

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
    columns: Sequence[tuple[pa.DataType, range]],
    batch_rows: int,
    batch_bytes: int,
) -> BatchRoom:
    """Batches of ``groups`` of ``file`` with ``batch_rows`` or less, and about ``batch_bytes``.

    ``columns``: types of those to read, and their leaves in the file.
    """
    found = [file.metadata.row_group(number) for number in groups]
    sizes = [_stored_bytes(group, columns, batch_bytes) for group in found]
    rows, largest = sum(group.num_rows for group in found), max(sizes, default=0)
    texts = [leaves.start for type_, leaves in columns if is_varied(type_)]
    others = pa.schema([("", type_) for type_, _ in columns if not is_varied(type_)])
    bits = row_bits(others)
    if bits is not None and not texts:
        return BatchRoom(rows_within(batch_bytes, 8, bits, batch_rows), False, largest)
    if bits is not None:
        many = min(rows, batch_rows)
        most = sum(_most_bytes(group, texts, many) for group in found)
        if most + many * (bits + _TEXT_BITS * len(texts)) // 8 <= batch_bytes:
            return BatchRoom(batch_rows, False, largest)
    first = rows_within(batch_bytes, rows, sum(sizes), min(batch_rows, _FIRST_ROWS))
    return BatchRoom(first, True, largest)


def _most_bytes(group: Any, texts: Sequence[int], rows: int) -> int:
    """Bytes that the ``texts`` of so many ``rows`` of a row group may have at most."""
    most = 0
    for leaf in texts:
        chunk = group.column(leaf)
        repeats = 1 if _AS_LONG_AS_THEY_ARE.issuperset(chunk.encodings) else rows
        most += int(chunk.total_uncompressed_size) * repeats
    return most


def _stored_bytes(group: Any, columns: Sequence[tuple[pa.DataType, range]], enough: int) -> int:
    """Bytes of ``columns`` of a row group before compression; of all, where that is ``enough``."""
    whole = int(group.total_byte_size)
    if whole <= enough:
        return whole
    return sum(group.column(leaf).total_uncompressed_size for _, of in columns for leaf in of)
