"""What somebody may have meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hint"]


def hint(word: str, known: Iterable[str]) -> str:
    """What may have been meant, or what there is."""
    known = list(known)
    folded = {name.casefold(): name for name in reversed(known)}
    near = difflib.get_close_matches(word.casefold(), folded, 1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return f"known: {', '.join(known)}" if known else "there is none"
