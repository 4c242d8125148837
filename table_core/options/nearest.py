"""One of a few words, or the nearest of them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["meant", "require_one_of"]


def meant(word: str, known: Iterable[str]) -> str:
    """``" (did you mean 'full'?)"``, or nothing where no word is near."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, 1)
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


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
