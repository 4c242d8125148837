"""Goal: the docs site builds without a warning, loads nothing from elsewhere, no link of it leads to nothing, and its search finds what people look for.

Method: build it once as ``make docs-site`` does, then read the pages that came out, and ask the script of its search.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.docs.searches import SEARCHES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OUTSIDE = ("http://", "https://", "//", "mailto:")
GENERATED = "generates this page"
"""What a page says that is looked up, not read from top to bottom."""
WORDS_IN_TEN_MINUTES = 2_200


class Page(HTMLParser):
    """The places of a page, its links, and what a browser loads for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in {"script", "img", "iframe", "source"} and "src" in found:
            self.loads.append(found["src"])
        elif tag == "link" and found.get("rel") not in {"canonical", "prev", "next"}:
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {
        path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"
    }


def test_every_page_of_the_folder_is_in_the_menu(site: Path, pages: dict[Path, Page]) -> None:
    (start,) = [page for path, page in pages.items() if path == site / "index.html"]
    menu = {unquote(urldefrag(link)[0]) for link in start.links}
    told = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert told - menu - {"index.html"} == set()
    assert len(told) > 60


def test_language_models_find_every_page(site: Path) -> None:
    text = (site / "llms.txt").read_text()
    told = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert {page for page in told if f"]({page}): " not in text} == set()


def test_no_link_and_no_anchor_leads_to_nothing(pages: dict[Path, Page]) -> None:
    lost = set()
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(OUTSIDE):
                continue
            target, place = urldefrag(link)
            where = (path.parent / unquote(target)).resolve() if target else path
            where = where / "index.html" if where.is_dir() else where
            if not where.is_file() or (
                place and where in pages and unquote(place) not in pages[where].places
            ):
                lost.add(f"{path.name}: {link}")
    assert lost == set()


def test_a_browser_loads_nothing_from_other_hosts(site: Path, pages: dict[Path, Page]) -> None:
    away = {load for page in pages.values() for load in page.loads if load.startswith(OUTSIDE)}
    assert away == set()
    styles = " ".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles)


@pytest.mark.skipif(shutil.which("node") is None, reason="missing: Node.js")
def test_who_searches_finds_the_page_first(site: Path) -> None:
    script = str(Path(__file__).with_name("searching.mjs"))
    done = subprocess.run(
        ["node", script, str(site), *SEARCHES], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    first = {search: next(iter(found[search]), None) for search in SEARCHES}
    assert {search: page for search, page in first.items() if page != SEARCHES[search]} == {}
    assert len(SEARCHES) > 60


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS))
)
def test_a_page_is_read_in_ten_minutes(page: Path) -> None:
    text = page.read_text()
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert GENERATED in text or len(prose.split()) <= WORDS_IN_TEN_MINUTES
