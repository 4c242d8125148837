"""Goal: each picture is what its program draws, can be read in light and in dark, and is on a page.

Method: draw them again; compute the contrast of words on each ground as WCAG does; look for them in the pages.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
PICTURES = sorted(FOLDER.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
CONTRAST_MIN = 4.5
"""WCAG 2.2, level AA, for text of this size."""
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import canvas, draw
print(json.dumps([draw.drawn(), canvas.LIGHT, canvas.DARK, draw.FIGURES]))
"""


@pytest.fixture(scope="module")
def drawn() -> list[Any]:
    import json

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FOLDER)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_pictures_are_what_the_program_draws(drawn: list[Any]) -> None:
    assert {path.name: path.read_text() for path in PICTURES} == drawn[0], "run make pages"


def test_words_are_told_from_every_ground(drawn: list[Any]) -> None:
    for colours in drawn[1:3]:
        for ground in ("paper", "plain", "data", "good", "warn"):
            for words in ("ink", "soft"):
                assert contrast(colours[words], colours[ground]) >= CONTRAST_MIN, (words, ground)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_has_words_that_replace_it_and_stays_inside(path: Path) -> None:
    root = ET.parse(path).getroot()
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text.endswith(".")
    width, height = int(root.get("width")), int(root.get("height"))
    for text in root.iter(f"{SVG}text"):
        size = 7.6 * len(text.text)
        left = float(text.get("x")) - (size / 2 if text.get("text-anchor") == "middle" else 0)
        assert 0 <= left <= left + size <= width, text.text
        assert 0 < float(text.get("y")) < height, text.text
    assert "href" not in path.read_text()


def test_each_picture_is_on_a_page() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    text = "".join(page.read_text() for page in pages)
    assert [path.name for path in PICTURES if f"pictures/{path.name}" not in text] == []


def test_the_chart_shows_the_figures_of_its_page(drawn: list[Any]) -> None:
    page = (ROOT / "docs" / "speed.md").read_text()
    for name, seconds in drawn[3]:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")][:1]
        told = [cell.strip() for cell in row.strip("|").split("|")[1:]]
        assert [None if cell == "cannot" else float(cell) for cell in told] == seconds
