"""A table of a server in ranges of its key, which tasks read at the same time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.server import ServerConnection, ServerSource

__all__ = ["key_ranges", "read_range"]

_WHOLE: Final = re.compile(r"(tiny|small|medium|big)?int(eger)?\b", re.IGNORECASE)
_EMPTY_MAX: Final = 8
"""Gaps may make the ranges so many times as many as the rows would need."""

Range = tuple[int | None, int]


def key_ranges(
    connection: ServerConnection, info: CatalogTable, after: Sequence[str] | None, rows: int
) -> list[Range]:
    """Ranges (behind, up to) of at most ``rows`` keys; none where the key is not one whole number.

    Keys with large gaps have none either: nearly all of their ranges would be empty.
    """
    if len(info.key) != 1 or not _WHOLE.match(info.types[info.key[0]]):
        return []
    first, last = connection.bounds(info, info.key[0])
    if first is None:
        return []
    low = int(first) - 1 if after is None else int(after[0])
    steps = range(low + rows, int(last) + rows, rows)
    if len(steps) > _EMPTY_MAX * ((info.rows_about or 0) // rows + 1):
        return []
    return [(None if step - rows < int(first) else step - rows, step) for step in steps]


def read_range(piece: tuple[ServerSource, CatalogTable, Range]) -> list[tuple[Any, ...]]:
    """The rows of one range, over a connection of its own."""
    source, info, (after, until) = piece
    connection = source.connect()
    try:
        behind = None if after is None else [str(after)]
        return list(connection.chunk(info, behind, None, until=until))
    finally:
        connection.close()
