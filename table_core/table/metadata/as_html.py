"""Small HTML tables for notebooks.  Pure; every text is escaped, and every size is bounded."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["COLUMNS_MAX", "facts_html", "rows_html", "text_html"]

COLUMNS_MAX: Final = 30
"""Of more columns the rest is counted."""
_ROWS_MAX: Final = 200
_TEXT_MAX: Final = 120


def text_html(value: object) -> str:
    """A value as escaped text of about 120 characters at most; None is a dash."""
    if value is None:
        return "–"
    return escape(shortened(str(value), _TEXT_MAX - 1))


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """A title, and below it one line for each fact."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{text_html(name)}</th>"
        f"<td style='text-align:left'>{text_html(value)}</td></tr>"
        for name, value in list(facts.items())[:_ROWS_MAX]
    )
    return f"<table><caption>{text_html(title)}</caption><tbody>{rows}</tbody></table>"


def rows_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title, a head, and the first 200 of ``rows``; columns beyond the thirtieth are counted."""
    shown = columns[:COLUMNS_MAX]
    more = len(columns) - len(shown)
    head = "".join(f"<th>{text_html(name)}</th>" for name in shown)
    head += f"<th>and {more} more columns</th>" if more else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{text_html(value)}</td>' for value in row[:COLUMNS_MAX])}</tr>"
        for _, row in zip(range(_ROWS_MAX), rows, strict=False)
    )
    return (
        f"<table><caption>{text_html(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
