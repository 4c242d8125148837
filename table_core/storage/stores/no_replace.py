"""Rename that never replaces: ``renameat2(RENAME_NOREPLACE)``, which Python does not offer."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["rename_no_replace"]

_AT_FDCWD: Final = -100
_RENAME_NOREPLACE: Final = 1
_UNABLE: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


def rename_no_replace(
    source: Path | str, target: Path | str, start: int = _AT_FDCWD, end: int = _AT_FDCWD
) -> bool:
    """Rename ``source`` to ``target``; False if this system or file system cannot do it.

    ``start`` and ``end``: the open folders that the two names are in.

    Raises:
        FileExistsError: ``target`` is there; nothing happened.
        OSError: the rename failed otherwise.
    """
    call = _renameat2()
    if call is None:
        return False
    failed = call(start, os.fsencode(source), end, os.fsencode(target), _RENAME_NOREPLACE)
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _UNABLE:
        return False
    raise OSError(code, os.strerror(code), str(target))


@functools.cache
def _renameat2() -> Any:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = [
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        ]
    return call
