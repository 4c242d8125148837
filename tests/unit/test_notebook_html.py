"""Goal: tables, scans and results look like what they are in a notebook, cost little, and run no script of anyone."""

from __future__ import annotations

from html.parser import HTMLParser

import pyarrow as pa
import pytest

import table_core as tc
from table_core.table.metadata.as_html import facts_html, rows_html
from tests.tables import write_rows

EVIL = "<script>alert('x')</script>"


class Cells(HTMLParser):
    """The texts of cells row by row, and every tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in {"tr", "caption"}:
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows[-1]:
            self.rows[-1][-1] += data
        else:
            self.rows[-1].append(data)


HARMLESS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


@pytest.fixture
def table() -> tc.Table:
    catalog = tc.open_catalog("memory://notebook")
    catalog.create_database("shop", if_not_exists=True)
    catalog.drop_table("shop.orders", if_exists=True)
    return catalog.create_table(
        "shop.orders",
        pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("note", pa.string())]),
        primary_key=["id"],
        options={"bucket": "1"},
        comment=EVIL,
    )


def put(table: tc.Table, rows: int) -> tc.Commit:
    return write_rows(table, pa.table({"id": range(rows), "note": [EVIL, *[None] * (rows - 1)]}))


def test_a_table_shows_its_columns_and_reads_nothing(table: tc.Table) -> None:
    put(table, 1)
    tc.open_catalog("memory://notebook").drop_table("shop.orders")
    shown = Cells(table._repr_html_())
    assert shown.tags <= HARMLESS
    assert ["comment", EVIL] in shown.rows
    assert ["0", "id", "BIGINT NOT NULL", "key", ""] in shown.rows
    assert ["1", "note", "STRING", "", ""] in shown.rows


def test_a_scan_shows_its_first_rows_and_no_more(table: tc.Table) -> None:
    put(table, 50)
    shown = Cells(table.read()._repr_html_())
    assert shown.tags <= HARMLESS
    assert shown.rows[0] == ["First 10 rows of the first of 1 splits"]
    assert shown.rows[1:4] == [["id", "note"], ["0", EVIL], ["1", "–"]]
    assert len(shown.rows) == 2 + 10
    assert len(Cells(table.read(limit=3)._repr_html_()).rows) == 2 + 3
    assert len(Cells(table.read(where="id > 47")._repr_html_()).rows) == 2 + 2


def test_a_look_at_a_scan_reads_one_split(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = tc.open_catalog("memory://notebook")
    catalog.create_database("shop", if_not_exists=True)
    catalog.drop_table("shop.many", if_exists=True)
    many = catalog.create_table(
        "shop.many", pa.schema([("p", pa.int64()), ("n", pa.int64())]), partition_by=["p"]
    )
    write_rows(many, pa.table({"p": range(5), "n": range(5)}))
    scan, read = many.read(), []
    whole = type(scan).read_split
    monkeypatch.setattr(
        type(scan), "read_split", lambda self, split: read.append(split) or whole(self, split)
    )
    assert "First 1 rows of the first of 5 splits" in scan._repr_html_()
    assert len(read) == 1


def test_results_show_their_numbers(table: tc.Table) -> None:
    commit = put(table, 4)
    rows = Cells(commit._repr_html_()).rows
    assert ["rows_added", "4"] in rows
    assert ["snapshots", "1"] in rows
    done = table.expire_snapshots(retain_max=1, retain_min=1, dry_run=True)
    rows = Cells(done._repr_html_()).rows
    assert rows[0] == ["expire-snapshots shop.orders"]
    assert ["dry_run", "True"] in rows


def test_sizes_are_bounded() -> None:
    wide = [f"c{at}" for at in range(40)]
    shown = Cells(rows_html("t", wide, ([at] * 40 for at in range(1_000))))
    assert shown.rows[1][-1] == "and 10 more columns"
    assert len(shown.rows[1]) == 31
    assert len(shown.rows) == 2 + 200
    ((_,), (name, value)) = Cells(facts_html("t", {"a": "x" * 1_000})).rows
    assert (name, len(value), value[-1]) == ("a", 120, "…")
