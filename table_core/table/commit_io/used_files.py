"""What became of files that writers prepared, as far as this process knows: no second commit may name them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Fate", "fate_of", "remember"]


class Fate(StrEnum):
    """What became of a file."""

    COMMITTED = "was committed by this process before"
    DELETED = "was deleted when a commit of it was refused: write its rows again"


_FILES_MAX: Final = 100_000
_FATES: dict[tuple[str, str], Fate] = {}
"""By table and file, the oldest first."""


def remember(where: str, names: Iterable[str], fate: Fate) -> None:
    """Note the ``fate`` of the files ``names`` of the table at ``where``."""
    for name in names:
        _FATES[where, name] = fate
    while len(_FATES) > _FILES_MAX:
        del _FATES[next(iter(_FATES))]


def fate_of(where: str, name: str) -> Fate | None:
    """What became of that file; None: nothing that is known."""
    return _FATES.get((where, name))
