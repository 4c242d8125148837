"""The page that lists tables by what Airflow knows of them: events.  Pure; no warehouse is asked."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from paimon_provider.pages.text import cell_text, number_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

__all__ = ["LIMIT", "TableEvents", "render"]

LIMIT: Final = 500
"""So many tables on one page; the search finds the others."""
_PAIRS_MAX: Final = 20
_URI_MAX: Final = 600
_COLUMNS: Final = (
    "table",
    "last event",
    "by",
    "snapshot",
    "kinds",
    "rows",
    "last action",
    "result",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEvents:
    """A table's asset and the newest event of it."""

    uri: str
    at: datetime | None = None
    by: str = ""
    """``dag.task``, or ``watcher``."""
    extra: Mapping[str, Any] | None = None
    """The event document."""


def render(tables: Sequence[TableEvents], *, search: str = "", total: int | None = None) -> str:
    """The page; ``total`` is how many there are if not all are shown."""
    count = len(tables) if total is None else total
    shown = f"{count:,} tables" if count == len(tables) else f"{len(tables):,} of {count:,} tables"
    body = "".join(_row(table) for table in tables)
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Paimon tables</title><style>{_STYLE}</style></head><body><main>"
        "<h1>Paimon tables</h1>"
        '<form method="get" role="search"><label>Search <input type="search" name="search" '
        f'value="{escape(cell_text(search, _URI_MAX), quote=True)}"></label></form>'
        f"<p>{shown}</p>{table if tables else '<p>No table has been announced or watched yet.</p>'}"
        "</main></body></html>\n"
    )


def _row(table: TableEvents) -> str:
    extra = _members(table.extra)
    document = _members(extra.get("payload")) or extra
    result = _members(document.get("result"))
    when = "" if table.at is None else table.at.strftime("%Y-%m-%d %H:%M:%S UTC")
    cells = (
        cell_text(unquote(table.uri.removeprefix("paimon://")), _URI_MAX),
        when,
        cell_text(table.by, _URI_MAX),
        cell_text(document.get("snapshot_id")),
        _pairs(document.get("kinds")),
        _pairs(document.get("rows")),
        cell_text(result.get("action")),
        _result(result),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _members(given: object) -> Mapping[str, Any]:
    """``given`` if it is what an event has there: it may be from anybody."""
    return given if isinstance(given, dict) else {}


def _pairs(given: object) -> str:
    shown = [(name, value) for name, value in list(_members(given).items())[:_PAIRS_MAX] if value]
    return ", ".join(f"{cell_text(name).lower()} {number_text(value)}" for name, value in shown)


def _result(result: Mapping[str, Any]) -> str:
    if not result:
        return ""
    before, after, rows = (
        number_text(result[name]) if name in result else "?"  # nobody can know
        for name in ("files_before", "files_after", "rows_written")
    )
    return f"{rows} rows, files {before} → {after}, {cell_text(result.get('seconds', 0))} s"


_STYLE: Final = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:0}main{margin:1.5rem auto;padding:0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.25rem .7rem;border-bottom:1px solid #8884;text-align:left;vertical-align:top}
input{font:inherit;padding:.2rem .5rem}
"""
