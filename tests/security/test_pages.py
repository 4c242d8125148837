"""Attack: a row, an event's extra, or a user who may not read the Dag.  Goal: markup, another's rows, a broken page."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_provider.operators.report import _Stream
from paimon_provider.pages import reports_folder
from paimon_provider.pages.report import ChangeReport, render
from paimon_provider.pages.reports_folder import (
    clear_reports,
    dag_of_report,
    report_name,
    report_path,
    report_text,
    write_report,
)
from paimon_provider.pages.text import cell_text, number_text, security_headers
from table_core.errors import ArgumentError
from tests.security.evil import EVIL


class Tags(HTMLParser):
    """Names of elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(EVIL)
    | st.just(10**4000) | st.just("x" * 100_000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(st.lists(JSON | st.binary() | st.just(b"x" * 10**6), max_size=80), max_size=5))
def test_whatever_a_row_holds_is_bounded_text(rows: list[list[Any]]) -> None:
    report = ChangeReport(
        table=EVIL, label=EVIL, value="v", after=0, head=1,
        values=[(EVIL, 1.0), ("x" * 10**6, 2.0)], columns=[EVIL, *map(str, range(100))], changes=rows,
    )  # fmt: skip
    page = render(report)
    assert len(page) < 300_000
    assert not Tags(page).tags & {"script", "img"}


def test_a_large_cell_is_cut_before_the_page_is_made() -> None:
    class Scan:
        @staticmethod
        def to_batches() -> Iterator[pa.RecordBatch]:
            big = pa.array(["y" * 20_000_000, "small"])
            kinds = pa.array(["+I", "+I"])
            yield pa.record_batch(
                [big, pa.array([[1] * 100_000, []]), kinds], ["a", "b", "_ROW_KIND"]
            )

    stream = _Stream()
    stream.take(Scan())
    assert stream.total == 2
    assert max(len(cell) for row in stream.first for cell in row) < 200  # type: ignore[arg-type]
    assert stream.first[1][0] == "small"


def test_numbers_and_texts_of_any_size_are_shown_short() -> None:
    assert number_text(1200) == "1,200"
    assert number_text(10**5000) == "a number of 16610 bits"
    assert number_text(True) == "True"
    assert number_text({"a": 1}) == "{a: 1}"
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    assert len(cell_text(nested)) < 50


def test_reports_of_other_tasks_have_other_names() -> None:
    parts = [
        ("sales", "manual-1", "t", -1), ("sales-manual", "1", "t", -1), ("sales", "manual", "1-t", -1),
        ("sales", "manual_1", "t", -1), ("sales", "manual:1", "t", -1), ("sales", "manual/1", "t", -1),
        ("sales", "manual-1", "t", "-1-1"), ("a" * 300, "1", "t", -1), ("a" * 300, "2", "t", -1), ("", "", "", ""),
        ("é", "1", "t", -1), ("è", "1", "t", -1),
    ]  # fmt: skip
    names = [report_name(*one) for one in parts]
    assert len(set(names)) == len(parts)
    assert all(report_path(name).name == name for name in names)
    assert report_name("sales", "manual-1", "t", -1) == names[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "reports"
    monkeypatch.setattr(reports_folder, "reports_folder", lambda: found)
    return found


def test_a_report_is_for_its_owner_alone_and_says_its_dag(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    os.umask(os.umask(0o022))
    for page in ("one", "two \ud800"):
        path = write_report("a-1.html", "dag/é", page)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()] == [0o600, 0o600]
    assert report_text(path.name).startswith("two ")
    assert dag_of_report("a-1.html") == "dag/é"
    for forged in ("[]", "{", '{"dag_id": 5}', '{"dag_id": ""}', "null"):
        (folder / "b.json").write_text(forged)
        assert dag_of_report("b.html") is None


def test_a_link_among_the_reports_is_no_report(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (tmp_path / "secret").write_text("planted")
    (folder / "x.html").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe.html")
    with pytest.raises(ArgumentError):
        report_text("x.html")
    assert report_text("pipe.html") == ""


def test_old_reports_go_and_nothing_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clear_reports(10**15) == 0
    for name in ("old-1.html", "new-1.html"):
        write_report(name, "d", "x")
    for other in ("notes.txt", "x.html.bak", ".hidden"):
        (folder / other).write_text("mine")
    (folder / "sub.html").mkdir()
    day_ms = 86_400_000
    now_ms = 100 * day_ms
    for path in folder.iterdir():
        age = 29 if path.name.startswith("new") else 31
        os.utime(path, ((now_ms - age * day_ms) / 1000,) * 2)
    assert clear_reports(now_ms) == 2
    left = {p.name for p in folder.iterdir()}
    assert left == {"new-1.html", "new-1.json", "notes.txt", "x.html.bak", ".hidden", "sub.html"}
    monkeypatch.setattr(reports_folder.conf, "get", lambda *_, **__: "soon")
    with pytest.raises(ArgumentError, match="reports_kept"):
        clear_reports(now_ms)


def test_pages_allow_their_own_style_and_nothing_else() -> None:
    page = render(ChangeReport(table="t", label="l", value="v", after=0, head=1, values=[]))
    headers = security_headers(page)
    policy = headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "style-src 'sha256-" in policy
    assert "style" not in Tags(page).attributes, "which the policy would not let work"
    assert headers["Cache-Control"] == "no-store, private"
    assert "style-src 'none'" in security_headers("<h1>")["Content-Security-Policy"]
