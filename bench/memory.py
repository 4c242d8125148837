"""What the kernel does about memory, for this process and all that it starts."""

from __future__ import annotations

import ctypes
import os
from typing import Final

__all__ = ["without_huge_pages"]

_PR_SET_THP_DISABLE: Final = 41
"""``linux/prctl.h``; children inherit it, programs that they execute too."""


def without_huge_pages() -> None:
    """Have memory given in pages of 4 KiB.

    Raises:
        OSError: the kernel does not know how.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"huge pages stay on: {os.strerror(number)}; try --huge-pages")
