"""Text of any length in few characters, for messages, logs and pages."""

from __future__ import annotations

__all__ = ["shortened"]


def shortened(text: str, most: int) -> str:
    """The first ``most`` characters of ``text``; one that is longer ends with "…"."""
    return text if len(text) <= most else f"{text[:most]}…"
