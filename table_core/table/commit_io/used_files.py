"""What became of files that writers prepared, as far as this process knows: no second commit may name them."""

from __future__ import annotations

import threading
from enum import StrEnum
from itertools import islice
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
_LOCK: Final = threading.Lock()
"""Threads commit at once, and none may see another forget a file."""


def remember(where: str, names: Iterable[str], use: FileUse) -> None:
    """Note the ``use`` of the files ``names`` of the table at ``where``."""
    with _LOCK:
        _USED.update(((where, name), use) for name in names)
        for oldest in list(islice(_USED, max(0, len(_USED) - _FILES_MAX))):
            del _USED[oldest]


def use_of(where: str, name: str) -> FileUse | None:
    """What became of that file; None: nothing that is known."""
    return _USED.get((where, name))
