"""Places in PostgreSQL's log."""

from __future__ import annotations

__all__ = ["lsn_number"]


def lsn_number(text: str) -> int:
    """The number that ``16/B374D848`` is."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)
