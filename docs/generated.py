"""The last line of a page that a program writes."""

from __future__ import annotations

__all__ = ["foot"]


def foot(program: str, source: str) -> str:
    """Which program of this folder writes the page, and from what."""
    return f"\n---\n\n`docs/{program}` generates this page from {source}.\n"
