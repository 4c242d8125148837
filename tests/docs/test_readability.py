"""Goal: pages, docstrings and errors read like English that a native speaker would say: short sentences.

Method: count the words of every sentence of running prose: of the pages, of the docstrings of public names, and of the
messages of errors. Code, tables, headings and lists of options are left out: they are looked up, not read. Phrases that
tired readers once are looked for by name.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "table_core" / "README.md"])
MEDIAN_WORDS_MAX = 18
SENTENCE_WORDS_MAX = 45
MESSAGE_WORDS_MAX = 40
SOURCES = sorted([*ROOT.glob("table_core/**/*.py"), *ROOT.glob("provider/paimon_provider/**/*.py")])
PART = re.compile(
    r"\n\s*\n|\n(?=\s*(?:Args|Raises|Returns|Shape|Source|Facts)\b|\s*:param|\s+\w+: )"
)
TIRING = (
    "so it is of",
    "may stand in",
    "what is there then",
    "as few as may be",
    "must be there",
    "from where on",
    "at most so many",
    "for so long",
    "take whole partitions out",
    "let main go on",
    "is as good as not given",
    "and besides",
    "is told in [",
)
"""Turns of phrase that are no English of the field, each was ours once."""
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


class Said(NamedTuple):
    """A docstring or a message, and where it is."""

    where: str
    text: str


def exported(tree: ast.Module) -> set[str]:
    """The names in ``__all__``."""
    return {
        one.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id == "__all__"
        for one in node.value.elts
        if isinstance(one, ast.Constant)
    }


def public(tree: ast.Module) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """What a module exports, and the public methods of it."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    known = exported(tree)
    tops = [node for node in tree.body if isinstance(node, kinds) and node.name in known]
    inside = [node for top in tops if isinstance(top, ast.ClassDef) for node in top.body]
    return [*tops, *(n for n in inside if isinstance(n, kinds) and not n.name.startswith("_"))]


def message(node: ast.AST) -> str | None:
    """The text of an error that is made here; what is put in counts as one word."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    first = node.args[0]
    if not name.endswith("Error"):
        return None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    if isinstance(first, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "`code`" for v in first.values)
    return None


@cache
def docstrings() -> list[Said]:
    found = []
    for path in SOURCES:
        for node in public(ast.parse(path.read_text())):
            if text := ast.get_docstring(node):
                plain = re.sub(r":\w+:`[^`]*`", "`code`", text.replace("``", "`"))
                found.append(Said(f"{named(path)}:{node.lineno}", plain))
    return found


@cache
def messages() -> list[Said]:
    return [
        Said(f"{named(path)}:{node.lineno}", text)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and (text := message(node)) is not None
    ]


def counted(said: list[Said]) -> dict[str, int]:
    """Each sentence with its place, and its number of words; code blocks are left out."""
    return {
        f"{one.where} {sentence}": count
        for one in said
        for part in PART.split(re.sub(r"::\n\n(?:    .*\n|\n)+", ".\n\n", one.text + "\n"))
        if not part.strip().startswith((">>>", "|"))
        for sentence, count in lengths(" ".join(part.split())).items()
    }


def test_half_of_the_sentences_of_public_docstrings_are_short() -> None:
    counts = counted(docstrings()).values()
    assert len(counts) > 2_000, "the search finds what it is for"
    assert median(counts) <= MEDIAN_WORDS_MAX


def test_half_of_the_sentences_of_errors_are_short_and_none_is_long() -> None:
    counts = counted(messages())
    assert len(counts) > 500, "the search finds what it is for"
    assert median(counts.values()) <= MEDIAN_WORDS_MAX
    assert {s: n for s, n in counts.items() if n > MESSAGE_WORDS_MAX} == {}


@pytest.mark.parametrize("phrase", TIRING)
def test_no_page_docstring_or_error_has_a_phrase_that_tires(phrase: str) -> None:
    texts = [Said(named(page), page.read_text()) for page in PAGES]
    found = [
        one.where
        for one in (*texts, *docstrings(), *messages())
        if phrase in " ".join(one.text.split()).lower()
    ]
    assert found == []


def test_a_message_is_found_with_what_is_put_in() -> None:
    tree = ast.parse('raise ArgumentError(f"{name} is wrong: use {other}", argument=name)')
    (found,) = [text for node in ast.walk(tree) if (text := message(node))]
    assert found == "`code` is wrong: use `code`"


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
