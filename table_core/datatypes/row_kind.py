"""Row kinds: ``+I -U +U -D``, their bytes in files and their text in results.

Source: ``org.apache.paimon.types.RowKind``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = [
    "KIND_COLUMN",
    "KIND_TEXTS",
    "LEVEL_COLUMN",
    "ROW_KIND_COLUMN",
    "SEQUENCE_COLUMN",
    "RowKind",
]

SEQUENCE_COLUMN: Final = "_SEQUENCE_NUMBER"
"""Column of data files of key tables: BIGINT NOT NULL."""
KIND_COLUMN: Final = "_VALUE_KIND"
"""Column of data files of key tables: TINYINT NOT NULL, a ``RowKind`` byte."""
LEVEL_COLUMN: Final = "_LEVEL"
"""The level of the file that a row was read from; in memory only."""
ROW_KIND_COLUMN: Final = "_ROW_KIND"
"""Column of change results and of rows to write: a STRING from ``KIND_TEXTS``."""


class RowKind(IntEnum):
    """What a row does to its key."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def is_retract(self) -> bool:
        """Whether the row takes a value away."""
        return self in {RowKind.UPDATE_BEFORE, RowKind.DELETE}


KIND_TEXTS: Final = ("+I", "-U", "+U", "-D")
"""Text of each ``RowKind``, by its byte."""
