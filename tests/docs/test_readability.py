"""Goal: the pages read like English that a native speaker would say: short sentences.

Method: count the words of every sentence of running prose. Code, tables, headings and lists of options
are left out: they are looked up, not read.
"""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "table_core" / "README.md"])
MEDIAN_WORDS_MAX = 18
SENTENCE_WORDS_MAX = 45
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*(?:[A-Z0-9`…]|$))")
ABBREVIATION = re.compile(r"(?:\be\.g|\bi\.e|\bvs|\betc)\.$")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def paragraphs(text: str) -> list[str]:
    """The running prose of a page: one text for each paragraph and each item of a list."""
    text = re.sub(r"^ *```.*?^ *```", "\n", text, flags=re.DOTALL | re.MULTILINE)
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        kept_out = re.match(r"\s*(?:\||#|<|=== )", line)
        if not line.strip() or kept_out or ITEM.match(line):
            found.append([])
        if line.strip() and not kept_out:
            found[-1].append(ITEM.sub("", line).strip())
    return [" ".join(lines) for lines in found if lines]


def sentences(paragraph: str) -> list[str]:
    """What ends with a full stop, a question or exclamation mark; a run of code or a link is one word."""
    plain = re.sub(r"`[^`]*`", "`code`", paragraph)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    found: list[str] = []
    for part in END.split(plain):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += f" {part}"
        elif part.strip():
            found.append(part.strip())
    return found


def lengths(text: str) -> dict[str, int]:
    """Each sentence of a page and its number of words; a list of code alone is no sentence."""
    return {
        sentence: len(words)
        for paragraph in paragraphs(text)
        for sentence in sentences(paragraph)
        if len(words := re.findall(r"\w(?:[\w'’./-]*\w)?", sentence.replace("`code`", "code"))) > 1
        and words.count("code") * 2 <= len(words)
    }


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_sentence_is_too_long_to_be_said_in_one_breath(page: Path) -> None:
    long = {s: n for s, n in lengths(page.read_text()).items() if n > SENTENCE_WORDS_MAX}
    assert not long, f"over {SENTENCE_WORDS_MAX} words: {long}"


def test_half_of_the_sentences_of_all_pages_are_short() -> None:
    counted = [n for page in PAGES for n in lengths(page.read_text()).values()]
    assert median(counted) <= MEDIAN_WORDS_MAX


def test_what_is_counted_is_prose() -> None:
    text = """\
# A heading that is not counted at all

One `a, b and c` [link with words](to/a/place.md) here. Another
that goes on: version 1.2 is 3 words, e.g. this.

- an item. **It has two.**

| a | table of facts |
|---|---|

```python
print("no prose. At all.")
```

`one`, `two` and `three`.
"""
    assert list(lengths(text).values()) == [6, 11, 2, 3]


def test_a_long_sentence_is_found() -> None:
    (count,) = lengths(" ".join(["word"] * (SENTENCE_WORDS_MAX + 1)) + ".").values()
    assert count > SENTENCE_WORDS_MAX


if __name__ == "__main__":  # the figures of every page, longest sentence last
    for page in PAGES:
        counts = lengths(page.read_text())
        worst = max(counts.values(), default=0)
        print(f"{median(counts.values() or [0]):5} {worst:4} {named(page)}")
        print(*(f"    {n} {s}" for s, n in counts.items() if n > SENTENCE_WORDS_MAX), sep="\n")
