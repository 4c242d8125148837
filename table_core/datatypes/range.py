"""What is known of the values of one column in one file or row group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table_core.datatypes.domain import Value

__all__ = ["Range"]


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds and counts.  None is unknown; a column of NULLs only has no bounds."""

    min: Value = None
    max: Value = None
    null_count: int | None = None
    row_count: int | None = None

    @property
    def may_be_null(self) -> bool:
        """Whether some row may be NULL."""
        return self.null_count is None or self.null_count > 0

    @property
    def only_null(self) -> bool:
        """Whether every row is NULL."""
        return self.null_count is not None and self.null_count == self.row_count
