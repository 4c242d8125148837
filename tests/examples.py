"""The Python in the documents."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = [
    (path, number, code)
    for path in DOCUMENTS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]
"""Each with its page and its place there."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PRINTS = re.compile(r"prints:\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def printed(path: Path) -> list[str]:
    """What a page says that its Python prints: a ``text`` that comes next after a ``print``, or after "prints:"."""
    page = path.read_text()
    blocks = _BLOCK.findall(page)
    found = [
        text
        for (before, code), (kind, text) in pairwise(blocks)
        if before == "python" and kind == "text" and "print(" in code
    ]
    return [*found, *_PRINTS.findall(page)]


def named(path: Path) -> str:
    """A page, as tests are called after it."""
    return str(path.relative_to(ROOT))
