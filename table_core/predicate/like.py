"""Patterns of LIKE as regular expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from table_core.errors import PredicateError

if TYPE_CHECKING:
    from table_core.predicate.expression import Like

__all__ = ["regex_of"]


def regex_of(node: Like) -> tuple[str, str]:
    """The pattern as a regular expression, and the text before its first wildcard.

    Raises:
        PredicateError: an escape before what needs none.
    """
    regex, prefix, plain = "", "", True
    letters = iter(node.pattern)
    for letter in letters:
        if letter == node.escape:
            letter = next(letters, "")  # noqa: PLW2901  # the escaped one takes its place
            if letter not in {"%", "_", node.escape}:
                raise PredicateError(
                    f"in a pattern, {node.escape!r} may only come before %, _ or itself",
                    where=repr(node),
                )
        elif letter in "%_":
            regex, plain = regex + (".*" if letter == "%" else "."), False
            continue
        regex += re.escape(letter)
        prefix += letter if plain else ""
    return regex, prefix
