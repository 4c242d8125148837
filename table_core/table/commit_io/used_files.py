"""What became of files that writers prepared, as far as this process knows: no second commit may name them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FileUse", "remember", "use_of"]


class FileUse(StrEnum):
    """What became of a file."""

    COMMITTED = "was committed by this process before"
    DELETED = "was deleted when a commit of it was refused: write its rows again"


_FILES_MAX: Final = 100_000
_USED: dict[tuple[str, str], FileUse] = {}
"""By table and file, the oldest first."""


def remember(where: str, names: Iterable[str], use: FileUse) -> None:
    """Note the ``use`` of the files ``names`` of the table at ``where``."""
    for name in names:
        _USED[where, name] = use
    while len(_USED) > _FILES_MAX:
        del _USED[next(iter(_USED))]


def use_of(where: str, name: str) -> FileUse | None:
    """What became of that file; None: nothing that is known."""
    return _USED.get((where, name))
