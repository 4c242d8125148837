"""Where the source emptied its table: blocks are cut there, so a truncate always comes first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from table_core.cdc.model.changes import Changes, RowImages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


__all__ = ["chosen", "cuts", "within"]


def cuts(changes: Iterable[Changes]) -> list[int]:
    """Every event that says that its table was emptied, in order."""
    return sorted({int(line) for one in changes for line in _truncates(one)})


def within(changes: Sequence[Changes], first: int, end: int) -> list[Changes]:
    """The events with numbers ``first`` to ``end - 1``."""
    return [
        part
        for one in changes
        if (part := chosen(one, (one.lines >= first) & (one.lines < end))) is not None
    ]


def chosen(changes: Changes, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> Changes | None:
    """The events for which ``mask`` holds; None if there are none."""
    kept = np.flatnonzero(mask)
    if len(kept) == len(changes.lines):
        return changes
    return _taken(changes, kept) if len(kept) else None


def _truncates(changes: Changes) -> np.ndarray[Any, np.dtype[np.int64]]:
    lines: np.ndarray[Any, np.dtype[np.int64]] = changes.lines[
        np.asarray(pc.equal(changes.ops, "t"))
    ]
    return lines


def _taken(changes: Changes, kept: np.ndarray[Any, np.dtype[np.int64]]) -> Changes:
    return replace(
        changes,
        lines=changes.lines[kept],
        ops=changes.ops.take(kept),
        before=_rows(changes.before, kept),
        after=_rows(changes.after, kept),
        times_ms=None if changes.times_ms is None else changes.times_ms.take(kept),
    )


def _rows(images: RowImages, kept: np.ndarray[Any, np.dtype[np.int64]]) -> RowImages:
    columns = {name: column.take(kept) for name, column in images.columns.items()}
    unavailable = {name: mask[kept] for name, mask in images.unavailable.items()}
    return RowImages(images.there.take(kept), columns, unavailable)
