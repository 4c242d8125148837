"""A path without links, opened in one call: ``openat2(RESOLVE_NO_SYMLINKS)``, which Python does not offer."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from typing import Any, Final

__all__ = ["open_without_links"]

_OPENAT2: Final = 437  # on every architecture but Alpha
_RESOLVE_NO_SYMLINKS: Final = 0x04
_AT_FDCWD: Final = -100
_WORDS: Final = ctypes.c_uint64 * 3
"""``struct open_how``: flags, mode, and how names are resolved."""


def open_without_links(path: str, flags: int) -> int | None:
    """The absolute ``path``, opened if no part of it is a link; the system looks at each as it goes.

    None: it has a link, or cannot be opened, or this system has no such call.  Who opens it name by name
    learns which.

    Raises:
        FileNotFoundError: it is not there, and the part of it that is has no link.
    """
    call = _openat2()
    if call is None or "\0" in path:  # where C would end the path
        return None
    number: int = call(_OPENAT2, _AT_FDCWD, os.fsencode(path), _how(flags), ctypes.sizeof(_WORDS))
    if number >= 0:
        return number
    if ctypes.get_errno() == errno.ENOENT:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return None


@functools.cache
def _how(flags: int) -> Any:
    return _WORDS(flags | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)


@functools.cache
def _openat2() -> Any:
    """The system's call; None where a look at the root shows that it is missing or forbidden."""
    if not sys.platform.startswith("linux"):
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = [
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
    ]
    how = _how(os.O_RDONLY | os.O_DIRECTORY)
    number = call(_OPENAT2, _AT_FDCWD, b"/", how, ctypes.sizeof(_WORDS))
    if number < 0:
        return None
    os.close(number)
    return call
