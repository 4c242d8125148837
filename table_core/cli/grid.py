"""Records on a terminal: a grid where it fits, else one record below the other.

A grid of 27 columns on 80 characters would have no room for a single value.  So a grid is drawn only
where each column gets the width of its name and of its shortest word, up to a limit; what does not fit
in a cell is folded, never cut.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from table_core.options.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["show_grid"]

_WIDE: Final = 100_000
_NARROWEST: Final = 10
"""Characters that a column gets at least, where its values are that long."""
_BORDERS: Final = 3


def show_grid(names: Sequence[str], rows: Sequence[Sequence[str]], out: IO[str]) -> None:
    """Print ``rows``, each with one text for each of ``names``."""
    console = _console(out)
    names = [shown(name) for name in names]
    rows = [[shown(cell) for cell in row] for row in rows]
    if _width(names, rows) <= console.width:
        grid = RichTable()
        for name in names:
            grid.add_column(name, overflow="fold")
        for row in rows:
            grid.add_row(*row)
        console.print(grid)
        return
    for number, row in enumerate(rows, start=1):
        record = RichTable(show_header=False, title=f"row {number}", title_justify="left")
        record.add_column(overflow="fold", max_width=console.width // 2)
        record.add_column(overflow="fold")
        for name, cell in zip(names, row, strict=True):
            record.add_row(name, cell)
        console.print(record)
    if not rows:
        console.print(f"no rows; columns: {', '.join(names)}")


def _width(names: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Characters that a grid needs for its columns to be readable."""
    needed = 1
    for at, name in enumerate(names):
        longest = max((cell_len(row[at]) for row in rows), default=0)
        needed += _BORDERS + min(max(longest, cell_len(name)), _NARROWEST)
    return needed


def _console(out: IO[str]) -> Console:
    """Shows texts as they are; lines are as long as they need to be where nobody looks."""
    wide = None if out.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(file=out, markup=False, emoji=False, highlight=False, width=wide)
