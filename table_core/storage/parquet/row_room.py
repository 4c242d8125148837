"""How much memory the widest row of a row group takes at least, before Arrow reads it: a batch has no less than a row.

A footer says how many values a column has, and how long it is before compression.  Where few rows share many::

    1 row, 200,000,000 values of INT in its list    ->  552 bytes in the file, 800 MB a row
    2 rows, a text of 1 GB                          ->  33 kB in the file, 500 MB a row or more
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.options.budgets import ROW_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from table_core.storage.parquet.footer import ChunkStats

__all__ = ["require_rows_fit"]

_FEW_ROWS: Final = 64
"""More rows are not looked at: then a column would have gigabytes."""
_WIDTHS: Final = {"BOOLEAN": 0, "INT64": 8, "DOUBLE": 8, "INT96": 8}
_WIDTH: Final = 4


def require_rows_fit(
    metadata: Any,
    groups: Iterable[int],
    names: Container[str],
    chunks: Callable[[], list[list[ChunkStats]]] | None = None,
) -> None:
    """Refuse ``groups`` of a file of which a row of the columns ``names`` takes more than the budget.

    ``chunks``: what the footer of a foreign file says of them.  Arrow is faster to ask, and ends the process where their
    statistics are damaged.

    Raises:
        pa.ArrowInvalid: a row takes more, or the footer is damaged.
    """
    for number in groups:
        group = metadata.row_group(number)
        if not 0 < group.num_rows <= _FEW_ROWS:
            continue
        columns = _as_arrow_says(group) if chunks is None else _as_read(metadata, chunks()[number])
        size = sum(
            max(stored, values * _WIDTHS.get(type, _WIDTH))
            for name, type, stored, values in columns
            if name in names
        )
        if size // group.num_rows > ROW_BYTES.most:
            problem = f"a row of row group {number} takes {size // group.num_rows:,} bytes or more"
            raise pa.ArrowInvalid(ROW_BYTES.told(problem))


_Leaf = tuple[str, str, int, int]
"""A leaf's top-level column, its physical type, its bytes before compression, and its values."""


def _as_arrow_says(group: Any) -> Iterator[_Leaf]:
    for column in map(group.column, range(group.num_columns)):
        name = column.path_in_schema.partition(".")[0]
        yield name, column.physical_type, column.total_uncompressed_size, column.num_values


def _as_read(metadata: Any, chunks: Iterable[ChunkStats]) -> Iterator[_Leaf]:
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    for leaf, chunk in zip(leaves, chunks, strict=False):
        yield leaf.path.partition(".")[0], leaf.physical_type, chunk.stored_bytes, chunk.values
