"""Whether the options of a table stop what is to be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.options.refused import REFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.options.refused import Act, Refusal
    from table_core.options.table import TableOptions

__all__ = ["refusal_of"]


def refusal_of(
    options: TableOptions, act: Act, own: Mapping[str, str] | None = None
) -> Refusal | None:
    """The first option that stops ``act``; None: none does.

    ``own``: the ``branch`` and the ``path`` where the table was found, which it may name too.
    """
    for key, value in options.raw.items():
        refused = REFUSED.get(key)
        if refused is None or not refused.asks(value, act):
            continue
        if own is not None and key in own and _place(value) == _place(own[key]):
            continue
        return refused
    return None


def _place(text: str) -> tuple[str, ...]:
    """The last two folders: a store has several names for one place."""
    return tuple(text.strip().rstrip("/").split("/")[-2:])
