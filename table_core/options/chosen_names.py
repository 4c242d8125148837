"""Which names two regular expressions choose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["chosen_names"]


def chosen_names(names: Iterable[str], including: str, excluding: str) -> list[str]:
    """Those of ``names`` that match ``including`` whole, and not ``excluding``, in their order.

    Raises:
        ArgumentError: no regular expression.
    """
    try:
        wanted, unwanted = re.compile(including), re.compile(excluding)
    except re.error as error:
        raise ArgumentError(
            f"including={including!r}, excluding={excluding!r}: {error}", argument="including"
        ) from error
    return [
        name
        for name in names
        if wanted.fullmatch(name) and not (excluding and unwanted.fullmatch(name))
    ]
