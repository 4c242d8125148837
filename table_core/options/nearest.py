"""One of a few words, or the nearest of them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["hint", "meant", "nearest", "require_one_of"]


def meant(word: str, known: Iterable[str]) -> str:
    """``" (did you mean 'full'?)"``, or nothing where no word is near."""
    near = nearest(word, known)
    return "" if near is None else f" (did you mean {near!r}?)"


def hint(word: str, known: Iterable[str]) -> str:
    """``"did you mean 'full'?"``, or what there is where no word is near."""
    known = list(known)
    near = nearest(word, known)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"known: {', '.join(known)}" if known else "there is none"


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The one of ``known`` that is spelled most like ``word``; None if none has a likeness of ``cutoff``, at most 1."""
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    near = difflib.get_close_matches(word.casefold(), folded, 1, cutoff)
    return folded[near[0]] if near else None


def require_one_of(argument: str, value: object, known: Sequence[str]) -> None:
    """Refuse a value that is none of ``known``.

    Raises:
        ArgumentError: names the argument, the value, what there is and what may have been meant.
    """
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(
            f"{argument}={value!r} is none of {', '.join(known)}{meant(str(value), known)}",
            argument=argument,
            value=value,
        )
