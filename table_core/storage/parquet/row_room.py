"""How much memory the widest row of a row group takes at least, before Arrow reads it: a batch has no less than a row.

A footer says how many values a column has, and how long it is before compression.  Where few rows share many::

    1 row, 200,000,000 values of INT in its list    ->  552 bytes in the file, 800 MB a row
    2 rows, a text of 1 GB                          ->  33 kB in the file, 500 MB a row or more
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from table_core.options.budgets import ROW_BYTES
from table_core.storage.columns.data_format import ALONE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from table_core.storage.parquet.footer import ChunkStats

__all__ = ["Leaf", "chunk_of", "leaves_to_read", "require_rows_fit", "wide_row_bytes"]

_FEW_ROWS: Final = 64
"""More rows are not looked at: then a column would have gigabytes."""
_WIDTHS: Final = {"BOOLEAN": 0, "INT64": 8, "DOUBLE": 8, "INT96": 8}
_WIDTH: Final = 4


class Leaf(NamedTuple):
    """A column as Parquet has it: a member of a column has one of its own."""

    number: int
    path: str
    physical_type: str
    repetition_level: int
    definition_level: int


def leaves_to_read(metadata: Any, names: Container[str]) -> list[Leaf]:
    """Those of a file that Arrow reads when it is asked for the columns ``names``: of ``a`` also a column ``a.b``."""
    schema = metadata.schema
    leaves = []
    for number in range(metadata.num_columns):
        column = schema.column(number)
        path = column.path
        if _is_read(path, names):
            levels = column.max_repetition_level, column.max_definition_level
            leaves.append(Leaf(number, path, column.physical_type, *levels))
    return leaves


def _is_read(path: str, names: Container[str]) -> bool:
    if path in names:
        return True
    at = path.find(".")
    while at >= 0:
        if path[:at] in names:
            return True
        at = path.find(".", at + 1)
    return False


def require_rows_fit(
    metadata: Any,
    groups: Iterable[int],
    leaves: Iterable[Leaf],
    chunks: Callable[[], list[list[ChunkStats]]],
) -> None:
    """Refuse ``groups`` of a file of which a row of the columns ``leaves`` takes more than the budget.

    ``chunks``: what the footer says of them.  Arrow would end the process where it is damaged.

    Raises:
        pa.ArrowInvalid: a row takes more, or the footer is damaged.
    """
    for number in groups:
        rows = metadata.row_group(number).num_rows
        if not 0 < rows <= _FEW_ROWS:
            continue
        size = 0
        for leaf in leaves:
            chunk = chunk_of(leaf, chunks()[number])
            width = _WIDTHS.get(leaf.physical_type, _WIDTH)
            size += max(chunk.stored_bytes, chunk.values * width)
        if size // rows > ROW_BYTES.most:
            problem = f"a row of row group {number} takes {size // rows:,} bytes or more"
            raise pa.ArrowInvalid(ROW_BYTES.told(problem))


def wide_row_bytes(
    metadata: Any,
    groups: Iterable[int],
    leaves: Sequence[Leaf],
    chunks: Callable[[], list[list[ChunkStats]]],
) -> int:
    """How many bytes the widest row of ``groups`` takes at least; 0 where none can be said to be wide.

    The mean of a group, which a wide row of ours has for itself.

    Raises:
        pa.ArrowInvalid: the footer is damaged.
    """
    widest = 0
    for number in groups:
        group = metadata.row_group(number)
        if group.total_byte_size // max(group.num_rows, 1) <= ALONE_BYTES:
            continue
        stored = (chunk_of(leaf, chunks()[number]).stored_bytes for leaf in leaves)
        widest = max(widest, sum(stored) // max(group.num_rows, 1))
    return widest


def chunk_of(leaf: Leaf, chunks: Sequence[ChunkStats]) -> ChunkStats:
    """What the footer says of ``leaf`` in a row group.

    Raises:
        pa.ArrowInvalid: nothing.
    """
    if leaf.number >= len(chunks):
        raise pa.ArrowInvalid(f"damaged footer: a row group has no chunk of {leaf.path}")
    return chunks[leaf.number]
