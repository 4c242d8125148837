"""Which of the rows of a split a reader gives, and how."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["RowForm"]


class RowForm(StrEnum):
    """What rows a reader gives."""

    STATE = "state"
    """The rows that are there."""
    INSERTS = "inserts"
    """The same, each with ``_ROW_KIND`` ``+I``: the beginning of a stream."""
    AUDIT = "audit"
    """One row a key, retracts too, with the ``_ROW_KIND`` that merging left."""
    CHANGES = "changes"
    """Rows as stored, with their ``_ROW_KIND``."""
    ADDS = "adds"
    """Rows as stored, without kinds and without those that retract."""

    @property
    def with_kind(self) -> bool:
        """Whether rows begin with ``_ROW_KIND``."""
        return self in {RowForm.INSERTS, RowForm.AUDIT, RowForm.CHANGES}
