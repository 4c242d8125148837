"""The page about changes is a page: well-formed, complete, and what is data stays data."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from paimon_provider.pages.report import ChangeReport, SnapshotChanges, render

FULL = ChangeReport(
    table="default.country_sales",
    label="country",
    value="revenue",
    after=3,
    head=9,
    values=[("Germany", 1234.5), ("<script>alert(1)</script>", 10.0), ("Malta", 0.0)],
    others=4,
    history=[
        SnapshotChanges(snapshot_id=5, time_millis=1_767_225_600_000, rows={"+I": 3}),
        SnapshotChanges(snapshot_id=9, time_millis=1_767_225_660_000, rows={"-U": 1, "+U": 1, "-D": 2}),
    ],
    columns=["country", "_ROW_KIND"],
    changes=[["Malta", "-D"], [None, "+I"]],
    changes_total=500,
    warning="Snapshots 1 to 2 expired before they were read.",
)  # fmt: skip


def parsed(report: ChangeReport) -> ET.Element:
    """As XML, which is stricter than HTML: only the void ``meta`` and the doctype are not."""
    text = render(report).replace("<!doctype html>", "")
    for meta in ('<meta charset="utf-8">', '<meta name="viewport" content="width=device-width, initial-scale=1">'):  # fmt: skip
        text = text.replace(meta, "")
    return ET.fromstring(text)


def test_it_says_all_there_is_to_say() -> None:
    page = parsed(FULL)
    text = " ".join(page.itertext())
    for word in ("Snapshot 9; 500 changed rows", "1,234.50", "4 smaller rows", "and 498 more", "expired before"):  # fmt: skip
        assert word in text
    charts = page.findall(".//svg")
    assert [c.get("aria-label") for c in charts] == [
        "revenue by country",
        "changed rows by snapshot",
    ]
    bars = charts[0].findall("rect")
    assert [float(bar.get("width", "")) for bar in bars] == [440.0, 3.6, 0.0]


def test_data_never_becomes_markup() -> None:
    assert "<script>" not in render(FULL)
    assert parsed(FULL).findall(".//script") == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = render(FULL)
    assert not [
        word for word in ("http:", "https:", "src=", "href=", "url(", "@import") if word in page
    ]


@pytest.mark.parametrize(
    ("report", "word"),
    [
        (replace(FULL, head=None, values=[], history=[], changes=[]), "no snapshot yet"),
        (replace(FULL, changes=[]), "None."),
        (replace(FULL, values=[]), "The table is empty."),
    ],
)  # fmt: skip
def test_empty_states(report: ChangeReport, word: str) -> None:
    assert word in " ".join(parsed(report).itertext())
