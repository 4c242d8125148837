"""Errors of the operating system, told as ours: what to do next is in the class."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from table_core.errors import (
    AccessDeniedError,
    ArgumentError,
    CorruptFileError,
    NotFoundError,
    StorageUnavailableError,
)
from table_core.validation_errors import way_out

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from table_core.errors import TableError

__all__ = ["NO_HARD_LINKS", "REFUSALS", "explained", "in_place_of", "misplaced", "table_error"]

REFUSALS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Errors that only somebody with more rights can cure."""
NO_HARD_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
)
"""What ``link`` answers on file systems without hard links."""
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
_ADVICE: Final = {
    errno.ENOSPC: "the disk is full: free space, or expire snapshots and remove orphan files",
    errno.EDQUOT: "the quota is used up: free space or raise the quota",
    errno.EIO: "the device failed: look at the system log",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n)",
    errno.ESTALE: "the network file system lost the file: try again",
}


def table_error(error: OSError, *, root: str, path: str, action: str) -> TableError:
    """The error that tells what ``error`` means for ``action`` on ``path`` below ``root``."""
    where = f"{root}/{path}" if path else root
    code = error.errno
    reason = os.strerror(code) if code else str(error) or type(error).__name__
    if code == errno.ENOTDIR and action == "create":
        return StorageUnavailableError(
            f"cannot create {where}: on the way to it is a file where a folder should be: move that file away",
            path=where,
            reason=reason,
        )
    if code in _MISSING or isinstance(error, FileNotFoundError):
        return NotFoundError(
            f"cannot {action} {where}: there is no such file", name=where, path=path, available=[]
        )
    if code in REFUSALS or isinstance(error, PermissionError):
        folder = where if action in {"list", "walk"} else where.rpartition("/")[0]
        cure = (
            "the file system is mounted read-only: mount it for writing"
            if code == errno.EROFS
            else f"give this user the right to {action} files in the folder {folder}"
        )
        return AccessDeniedError(
            f"may not {action} {where}: {reason}; {cure}", path=where, folder=folder, reason=reason
        )
    if code == errno.ENAMETOOLONG:
        return ArgumentError(
            f"cannot {action} {where}: {reason}; most file systems take 255 bytes for one name, and 4095 "
            "for a path",
            argument="name",
            value=path,
        )
    advice = _ADVICE.get(code or 0, "try again")
    return StorageUnavailableError(
        f"cannot {action} {where}: {reason}; {advice}", path=where, reason=reason
    )


def misplaced(error: OSError, path: Path) -> CorruptFileError | None:
    """The error about a folder at ``path`` in place of a file, or a file at it or on the way to it in place of a folder.

    ``error`` is what the system said; None: it is about something else.  "Nothing is there" would be a wrong answer:
    a table whose folder ``snapshot`` is a file would have no rows.
    """
    if error.errno == errno.EISDIR:
        return in_place_of(str(path), "folder", "file")
    if error.errno == errno.ENOTDIR:
        file = next((part for part in (path, *path.parents) if part.is_file()), path)
        return in_place_of(str(file), "file", "folder")
    return None


def in_place_of(path: str, there: str, due: str) -> CorruptFileError:
    """The error about a file or folder ``there`` at ``path``, where the other one is ``due``."""
    problem = f"a {there} is there, and a {due} is due"
    return CorruptFileError(
        f"{path}: {problem}: move the {there} away, and put the {due} back{way_out(path)}",
        path=path,
        problems=[problem],
    )


@contextmanager
def explained(root: str, path: str, action: str) -> Iterator[None]:
    """Raise ``OSError`` of the body as the error it means."""
    try:
        yield
    except OSError as error:
        raise table_error(error, root=root, path=path, action=action) from error
