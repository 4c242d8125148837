"""Records on a terminal: a grid where it fits, else one record below the other.

A command says which of its columns may be left out where the terminal is narrow, in which order, and
which may take several lines.  All other columns are whole: an id that is broken in two is none.  Rows
of a table are nobody's command: each of their columns may be folded, and none is left out.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from table_core.options.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ANY_ROWS", "Layout", "show_grid"]

_WIDE: Final = 100_000
_NARROWEST: Final = 10
"""Characters that a column which may be folded gets at least, where its values are that long."""
_PROSE: Final = 14
_BORDERS: Final = 3
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?( [kMGTP]?B)?|")


@dataclass(frozen=True, slots=True)
class Layout:
    """What becomes of the columns of a command where the terminal is narrow."""

    yields: tuple[str, ...] = ()
    """These are left out one after the other, empty ones first."""
    wraps: tuple[str, ...] | None = ()
    """These take several lines before anything is left out; None: all may."""
    heads: bool = True
    """Off: the columns have no names."""

    def may_wrap(self, name: str) -> bool:
        """Whether the column ``name`` may take several lines."""
        return self.wraps is None or name in self.wraps


ANY_ROWS: Final = Layout(wraps=None)
"""Rows of users: nothing is left out."""


def show_grid(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    out: IO[str],
    layout: Layout = ANY_ROWS,
) -> None:
    """Print ``rows``, each with one text for each of ``names``."""
    console = _console(out)
    columns = {at: [shown(row[at], one_line=False) for row in rows] for at in range(len(names))}
    heads = [shown(name) for name in names]
    left = list(columns)
    while _width(heads, columns, left, layout) > console.width:
        at = _next_to_go(heads, columns, left, layout)
        if at is None:
            _show_records(console, heads, columns, left)
            break
        left.remove(at)
    else:
        _show_whole(console, heads, columns, left, layout)
    gone = [heads[at] for at in columns if at not in left and any(columns[at])]
    if gone:
        console.print(f"not shown here: {', '.join(gone)}; --json has all", style="dim")
    if not rows:
        console.print(f"no rows; columns: {', '.join(heads)}")


def _show_whole(
    console: Console,
    names: Sequence[str],
    columns: dict[int, list[str]],
    left: Sequence[int],
    layout: Layout,
) -> None:
    grid = RichTable(show_header=layout.heads)
    for at in left:
        numbers = bool(columns[at]) and all(_NUMBER.fullmatch(cell) for cell in columns[at])
        grid.add_column(
            names[at],
            overflow="fold",
            no_wrap=not layout.may_wrap(names[at]),
            justify="right" if numbers else "left",
        )
    for row in zip(*(columns[at] for at in left), strict=True):
        grid.add_row(*row)
    console.print(grid)


def _show_records(
    console: Console, names: Sequence[str], columns: dict[int, list[str]], left: Sequence[int]
) -> None:
    for number in range(len(columns[left[0]])):
        record = RichTable(show_header=False, title=f"row {number + 1}", title_justify="left")
        record.add_column(overflow="fold", max_width=console.width // 2)
        record.add_column(overflow="fold")
        for at in left:
            record.add_row(names[at], columns[at][number])
        console.print(record)


def _next_to_go(
    names: Sequence[str], columns: dict[int, list[str]], left: Sequence[int], layout: Layout
) -> int | None:
    """The column that is left out next; None if none may be."""
    yielding = [at for name in layout.yields for at in left if names[at] == name]
    empty = [at for at in yielding if not any(columns[at])]
    return next(iter([*empty, *yielding]), None)


def _width(
    names: Sequence[str], columns: dict[int, list[str]], left: Sequence[int], layout: Layout
) -> int:
    """Characters that a grid of the columns ``left`` needs to be readable."""
    needed = 1
    for at in left:
        longest = max((cell_len(cell) for cell in columns[at]), default=0)
        longest = max(longest, cell_len(names[at]))
        wraps = layout.may_wrap(names[at])
        needed += _BORDERS + (min(longest, _room(layout)) if wraps else longest)
    return needed


def _room(layout: Layout) -> int:
    """A text that a command wraps is read as prose, and wants more room than a value."""
    return _NARROWEST if layout.wraps is None else _PROSE


def _console(out: IO[str]) -> Console:
    """Shows texts as they are; lines are as long as they need to be where nobody looks."""
    wide = None if out.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(file=out, markup=False, emoji=False, highlight=False, width=wide)
