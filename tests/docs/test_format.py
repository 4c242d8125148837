"""Goal: what the code cites of the format is written down, and each section says what shows it.

Method: every comment, docstring and text that cites a section, against the numbered sections of
``docs/format``; every class and test that a section names, against Paimon's packages and the tests.
"""

from __future__ import annotations

import re
import tokenize
from collections import Counter
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "format.md"
PAGES = sorted((ROOT / "docs" / "format").glob("*.md"))
SOURCES = sorted(
    path for root in ("table_core", "provider", "tests") for path in (ROOT / root).rglob("*.py")
)
NUMBER = r"(?:\d{1,2}(?:\.\d{1,2})?|T\d{1,2})(?![\w.]\d)"
CITED = re.compile(rf"\bformat ({NUMBER}(?:(?:,|,? and| to)\s+{NUMBER})*)(?!\w)")
TRAP = re.compile(r"\bT\d{1,2}\b(?![:-])")
OLD = re.compile(rf"\bspec,?\s+(?:sections?\s+)?(?:traps?\s+)?{NUMBER}", re.IGNORECASE)
HINT = re.compile(rf"\bformat\W+(?:# *)?{NUMBER}|\bspec\b|\bT\d", re.IGNORECASE)
"""Files without any of it need no tokens."""
HEADING = re.compile(r"^##+ (\d[\d.]*) (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| (T\d+) \|(.+)$", re.MULTILINE)
CLASS = re.compile(r"`org\.apache\.paimon\.(?:[a-z0-9]+\.)*[A-Z]\w+`")
TEST = re.compile(r"\[`((?:test_|Test)\w+)`\]\(\.\./\.\./(tests/[\w/]+\.py)\)")
WORDS_IN_TEN_MINUTES = 2_200


def sections() -> dict[str, str]:
    """What is written under each number."""
    found: dict[str, str] = {}
    for page in PAGES:
        text = page.read_text()
        heads = list(HEADING.finditer(text))
        for head, after in zip_longest(heads, heads[1:]):
            assert head[1] not in found, f"{head[1]} is there twice"
            found[head[1]] = text[head.end() : after.start() if after else len(text)]
        for number, row in ROW.findall(text):
            assert number not in found, f"{number} is there twice"
            found[number] = row
    return found


SECTIONS = sections()


@cache
def prose(path: Path) -> str:
    """The comments and texts of a file, docstrings among them; lines of comments are joined."""
    if not HINT.search(path.read_text()):
        return ""
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    kinds = {tokenize.COMMENT, tokenize.STRING}
    parts = [token.string.lstrip("# ") for token in tokens if token.type in kinds]
    return re.sub(r"\s+", " ", " ".join(parts))


def cited(text: str) -> set[str]:
    """The numbers that ``text`` cites; those between the two ends of a range count."""
    numbers: set[str] = set()
    for citation in CITED.findall(text):
        numbers.update(re.findall(NUMBER, citation))
        for first, last in re.findall(rf"({NUMBER}) to ({NUMBER})", citation):
            names = list(SECTIONS)
            if first in names and last in names:
                numbers.update(names[names.index(first) : names.index(last) + 1])
    return numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("as in format 7.6", {"7.6"}),
        ("format 4.8, T13): deletes", {"4.8", "T13"}),
        ("format 2.5, T40, T41.", {"2.5", "T40", "T41"}),
        ("format 8 and 9.", {"8", "9"}),
        ("format 9.9", {"9.9"}),
        ("format T20 to T22", {"T20", "T21", "T22"}),
        ("format version 3, a format 300", set()),
    ],
)
def test_citations_are_seen(text: str, numbers: set[str]) -> None:
    assert cited(text) == numbers


def test_every_citation_finds_its_section() -> None:
    lost = {
        f"{path.relative_to(ROOT)}: format {number}"
        for path in SOURCES
        if path != Path(__file__)
        for number in cited(prose(path)) - set(SECTIONS)
    }
    assert lost == set()
    everything = Counter(
        number for path in SOURCES for number in cited(prose(path)) if path != Path(__file__)
    )
    assert len(everything) > 60, "the search finds what it is for"


def test_a_trap_is_cited_by_its_document() -> None:
    bare = {
        f"{path.relative_to(ROOT)}: {number}"
        for path in SOURCES
        if path != Path(__file__) and path.parts[len(ROOT.parts)] == "table_core"
        for number in TRAP.findall(CITED.sub("", prose(path)))
    }
    assert bare == set()


def test_nothing_cites_a_document_that_is_not_here() -> None:
    old = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in [*SOURCES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        if path != Path(__file__)
        for text in OLD.findall(prose(path) if path.suffix == ".py" else path.read_text())
    }
    assert old == set()


@pytest.mark.parametrize("number", SECTIONS)
def test_a_section_says_what_shows_it_and_that_is_there(number: str) -> None:
    text = SECTIONS[number]
    tests = TEST.findall(text)
    assert tests or CLASS.search(text), "neither a class of Paimon's nor a test"
    if not number.startswith("T"):
        assert re.match(r"\s+Java: `org\.apache\.paimon", text), "does not begin with its classes"
    for name, path in tests:
        source = (ROOT / path).read_text()
        assert re.search(rf"^(?:\s*def|class) {name}\b", source, re.MULTILINE), f"{path}::{name}"
    assert text.count("](../../tests/") == len(tests), "a link to tests that names none"


def test_the_index_has_every_section_and_every_page() -> None:
    index = INDEX.read_text()
    for page in PAGES:
        assert f"](format/{page.name})" in index
        for number, title in HEADING.findall(page.read_text()):
            place = re.sub(r"[^\w\- ]", "", f"{number} {title}".lower()).replace(" ", "-")
            assert f"](format/{page.name}#{place})" in index, (number, title)
    traps = [int(number[1:]) for number in SECTIONS if number.startswith("T")]
    assert traps == list(range(1, len(traps) + 1))
    assert f"T{len(traps)}]" not in index
    assert f"to T{len(traps)} |" in index


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_read_in_ten_minutes(page: Path) -> None:
    assert len(page.read_text().split()) <= WORDS_IN_TEN_MINUTES
