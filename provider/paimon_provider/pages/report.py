"""A page about what changed in a table: charts as SVG, no script, nothing loaded from elsewhere.

Pure: data in, HTML out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from paimon_provider.pages.text import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["COLUMNS_MAX", "KINDS", "ChangeReport", "SnapshotChanges", "render"]

KINDS: Final[Mapping[str, str]] = {
    "+I": "inserted",
    "-U": "before update",
    "+U": "updated",
    "-D": "deleted",
}
_DRAWN: Final = ("+I", "+U", "-D")  # -U is the other half of +U
_ROW: Final = 26
_WIDTH: Final = 720
_LABEL: Final = 150
_LABEL_MAX: Final = 60
COLUMNS_MAX: Final = 60
"""So many columns of a row on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChanges:
    """How many rows of each kind one snapshot delivered."""

    snapshot_id: int
    time_millis: int
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """What the page says."""

    table: str
    label: str
    value: str
    after: int
    head: int | None
    values: Sequence[tuple[str, float]]
    """Label and value of the rows of today, largest first."""
    others: int = 0
    """Rows that ``values`` leaves out."""
    differences: Sequence[tuple[str, float]] = ()
    """Label, and by how much its value has changed since the last report; the largest first."""
    history: Sequence[SnapshotChanges] = ()
    columns: Sequence[str] = ()
    changes: Sequence[Sequence[object]] = ()
    """The first rows of the change stream since ``after``."""
    changes_total: int = 0
    warning: str = ""


def render(report: ChangeReport) -> str:
    """The page."""
    parts = [
        f"<h1>{escape(report.table)}</h1>",
        f"<p>{_summary(report)}</p>",
        f'<p class="warning">{escape(report.warning)}</p>' if report.warning else "",
        f"<h2>{escape(report.value)} by {escape(report.label)}</h2>",
        _bars(report),
        _differences(report),
        "<h2>Changes over time</h2>",
        _history(report.history),
        "<h2>Changes since the last report</h2>",
        _changes(report),
    ]
    title = escape(f"Changes of {report.table}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _summary(report: ChangeReport) -> str:
    if report.head is None:
        return "The table has no snapshot yet."
    return (
        f"Snapshot {report.head}; {report.changes_total:,} changed rows "
        f"in the snapshots after {report.after}."
    )


def _bars(report: ChangeReport) -> str:
    if not report.values:
        return "<p>The table is empty.</p>"
    top = max(abs(value) for _, value in report.values) or 1.0
    lines = []
    for index, (full, value) in enumerate(report.values):
        label = cell_text(full, _LABEL_MAX)
        y = index * _ROW
        length = round((_WIDTH - _LABEL - 130) * abs(value) / top, 1)
        lines.append(
            f'<text x="{_LABEL - 8}" y="{y + 17}" class="end">{escape(label)}</text>'
            f'<rect x="{_LABEL}" y="{y + 4}" width="{length}" height="{_ROW - 8}" rx="3" '
            f'class="bar"><title>{escape(label)}: {_number(value)}</title></rect>'
            f'<text x="{_LABEL + length + 6}" y="{y + 17}">{_number(value)}</text>'
        )
    chart = _svg(f"{report.value} by {report.label}", len(report.values) * _ROW, lines)
    rest = f"<p>{report.others:,} smaller rows are not drawn.</p>" if report.others else ""
    return chart + rest


def _differences(report: ChangeReport) -> str:
    if not report.differences:
        return ""
    rows = [
        (label, f"+{_number(by)}" if by > 0 else _number(by)) for label, by in report.differences
    ]
    heading = f"<h2>{escape(report.value)} since the last report</h2>"
    return heading + _table((report.label, "difference"), rows)


def _history(history: Sequence[SnapshotChanges]) -> str:
    if not history:
        return "<p>No snapshot that is still there delivered changes.</p>"
    height, step = 180, min(60, (_WIDTH - 20) // len(history))
    top = max(sum(s.rows.get(kind, 0) for kind in _DRAWN) for s in history) or 1
    bars = []
    for index, snapshot in enumerate(history):
        y = float(height)
        for kind in _DRAWN:
            count = snapshot.rows.get(kind, 0)
            size = (height - 20) * count / top
            y -= size
            bars.append(
                f'<rect x="{10 + index * step}" y="{y:.1f}" width="{max(step - 6, 2)}" '
                f'height="{size:.1f}" class="k{kind[1]}"><title>snapshot {snapshot.snapshot_id}, '
                f"{_moment(snapshot.time_millis)}: {count:,} {KINDS[kind]}</title></rect>"
            )
        bars.append(
            f'<text x="{10 + index * step}" y="{height + 15}">{snapshot.snapshot_id}</text>'
        )
    legend = " ".join(f'<span class="k{kind[1]}">{KINDS[kind]}</span>' for kind in _DRAWN)
    rows = [
        [s.snapshot_id, _moment(s.time_millis), *(s.rows.get(kind, 0) for kind in KINDS)]
        for s in history
    ]
    numbers = _table(("snapshot", "time", *KINDS.values()), rows)
    return (
        f'<p class="legend">{legend}</p>'
        + _svg("changed rows by snapshot", height + 20, bars)
        + f"<details><summary>The numbers</summary>{numbers}</details>"
    )


def _changes(report: ChangeReport) -> str:
    if not report.changes:
        return "<p>None.</p>"
    more = report.changes_total - len(report.changes)
    rest = f"<p>and {more:,} more.</p>" if more > 0 else ""
    return _table(report.columns, report.changes) + rest


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    shown = list(columns)[:COLUMNS_MAX]
    head = "".join(f'<th scope="col">{escape(cell_text(column))}</th>' for column in shown)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(cell_text(cell))}</td>" for cell in row[:COLUMNS_MAX])
        + "</tr>"
        for row in rows
    )
    left = len(columns) - len(shown)
    if left > 0:
        body += f"<tr><td>and {left:,} more columns</td></tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def _number(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


def _moment(time_millis: int) -> str:
    return datetime.fromtimestamp(time_millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


_STYLE: Final = """
:root{color-scheme:light dark;--i:#2e7d32;--u:#1565c0;--d:#c62828}
body{font:15px/1.5 system-ui,sans-serif;margin:0}
main{max-width:860px;margin:2rem auto;padding:0 1rem}
svg{width:100%;height:auto}
text{font-size:13px;fill:currentColor}.end{text-anchor:end}
.bar{fill:#1976d2}.kI{fill:var(--i);color:var(--i)}.kU{fill:var(--u);color:var(--u)}
.kD{fill:var(--d);color:var(--d)}.legend span{margin-right:1rem}.legend span::before{content:"■ "}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;border-bottom:1px solid #8884;text-align:left}
@media (max-width:600px){main{margin:1rem auto}text{font-size:18px}table{display:block;overflow-x:auto}}
@media print{main{max-width:none;margin:0}details{display:block}h2{break-after:avoid}svg,tr{break-inside:avoid}}
.warning{border-left:4px solid #f9a825;padding-left:.8rem}
"""
