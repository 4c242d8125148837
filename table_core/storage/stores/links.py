"""Links of a POSIX file system: a path below a root that a link leads out of it is not the root's.

Whoever may write into a table's folder may make a link there to any folder of the machine.  Deleting by
name would then delete what is not the table's, with the rights of who deletes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from table_core.errors import AccessDeniedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LINK", "own_folder", "refuse_links"]

LINK: Final = "link"
"""The reason of the error."""
_OPEN: Final = "/proc/self/fd"


def refuse_links(root: Path, target: Path) -> None:
    """Refuse ``target`` if it is, really, not below ``root``.

    Raises:
        AccessDeniedError: names both.
    """
    _require_below(root, os.path.realpath(target), target)


@contextmanager
def own_folder(root: Path, folder: Path) -> Iterator[int]:
    """``folder``, opened; nobody can put a link in its place while it is used.

    Raises:
        AccessDeniedError: it is, really, not below ``root``.
        OSError: it cannot be opened.
    """
    how = getattr(os, "O_PATH", os.O_RDONLY)  # to delete in a folder is no right to read it
    number = os.open(folder, how | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        there = f"{_OPEN}/{number}"
        real = os.readlink(there) if os.path.lexists(there) else os.path.realpath(folder)
        _require_below(root, real, folder)
        yield number
    finally:
        os.close(number)


def _require_below(root: Path, real: str, target: Path) -> None:
    home = os.path.realpath(root)
    if real != home and not real.startswith(home.rstrip("/") + "/"):
        raise AccessDeniedError(
            f"{target} is {real}, outside of {home}: a link leads there. Nothing behind it was touched; "
            "remove the link, or put the files where it is",
            path=str(target),
            folder=str(target.parent),
            reason=LINK,
        )
