"""What is told when a verb over many tables fails for some: the others are done, and each failed one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["failed_of"]

_TOLD_MAX: Final = 50
_TEXT_MAX: Final = 300


def failed_of(what: str, failed: Mapping[str, Exception], done: Collection[str]) -> Exception:
    """The error to raise: that of the first table, with notes on which failed and why, and which are done.

    ``compact-database shop: failed for ['a'], done for ['b', 'c']``, then ``a: corrupt: …``.
    """
    first = next(iter(failed.values()))
    first.add_note(f"{what}: failed for {[*failed]}, done for {[*done]}")
    for name, error in list(failed.items())[:_TOLD_MAX]:
        kind = error.kind if isinstance(error, TableError) else type(error).__name__
        first.add_note(f"{name!r}: {kind}: {str(error)[:_TEXT_MAX]}")
    return first
