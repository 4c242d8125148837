"""The Python in the documents."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = [
    (path, number, code)
    for path in DOCUMENTS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]
"""Each with its page and its place there."""


def named(path: Path) -> str:
    """A page, as tests are called after it."""
    return str(path.relative_to(ROOT))
