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
    from collections.abc import Container, Iterable

__all__ = ["require_rows_fit"]

_FEW_ROWS: Final = 64
"""More rows are not looked at: then a column would have gigabytes."""
_WIDTHS: Final = {"BOOLEAN": 0, "INT64": 8, "DOUBLE": 8, "INT96": 8}
_WIDTH: Final = 4


def require_rows_fit(metadata: Any, groups: Iterable[int], names: Container[str]) -> None:
    """Refuse ``groups`` of a file of which a row of the columns ``names`` takes more than the budget.

    Raises:
        pa.ArrowInvalid: one does.
    """
    for number in groups:
        group = metadata.row_group(number)
        if not 0 < group.num_rows <= _FEW_ROWS:
            continue
        size = 0
        for at in range(group.num_columns):
            column = group.column(at)
            if column.path_in_schema.partition(".")[0] in names:
                width = _WIDTHS.get(column.physical_type, _WIDTH)
                size += max(column.total_uncompressed_size, column.num_values * width)
        if size // group.num_rows > ROW_BYTES.most:
            told = f"a row of row group {number} takes {size // group.num_rows:,} bytes or more"
            raise pa.ArrowInvalid(ROW_BYTES.told(told))
