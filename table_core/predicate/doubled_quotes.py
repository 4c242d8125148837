"""``'it''s'``: a quote that is doubled within a text, which sqlglot takes for two texts side by side."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["doubled_quote"]

_DIALECT: Final = Dialect.get_or_raise("spark")


def doubled_quote(text: str, parts: Sequence[str]) -> str | None:
    """The quote that stands twice between ``parts`` wherever they follow one another in ``text``.

    None if they are texts side by side (``'a' 'b'``, ``'a'"b"``), which Spark puts together without one.
    """
    tokens = _DIALECT.tokenize(text)
    quotes: set[str] = set()
    for at in range(len(tokens) - len(parts) + 1):
        window = tokens[at : at + len(parts)]
        if any(token.token_type is not TokenType.STRING for token in window):
            continue
        if [token.text for token in window] != list(parts):
            continue
        for before, after in itertools.pairwise(window):
            if after.start != before.end + 1 or text[after.start] != text[before.end]:
                return None
            quotes.add(text[after.start])
    return quotes.pop() if len(quotes) == 1 else None
