"""Folders and files below a root, opened name by name, so that no link on the way is followed.

Whoever may write into a warehouse may put a link there, to any folder of the machine, and at any moment.  What
is checked by its path and then used by its path can be another file by then.  So each folder is opened below
the one before it, and what is done is done in the folder that is open:

    home /data/wh, path d.db/t/p=a  ->  open /data/wh; in it d.db; in it t; in it p=a; each with O_NOFOLLOW

Where the system does all of that in one call, it is asked first (``no_links``); whatever it refuses is opened
name by name, which tells why.

Only plain files are opened: a FIFO would block, and a device has no end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from table_core.errors import AccessDeniedError
from table_core.storage.stores.no_links import open_without_links

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "DEPTH_MAX",
    "LINK",
    "file_at",
    "file_below",
    "file_in",
    "first_link",
    "folder_below",
    "fsync_folder",
    "is_below",
    "refuse_link",
    "remove_tree",
    "too_deep",
]

LINK: Final = "link"
"""The reason of the error about a link."""
_PATH: Final = getattr(os, "O_PATH", os.O_RDONLY)  # to delete in a folder is no right to read it
_FOLDER: Final = os.O_DIRECTORY | os.O_CLOEXEC
_STEP: Final = _PATH | _FOLDER | os.O_NOFOLLOW
_NOT_FOLLOWED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
"""What systems answer to ``O_NOFOLLOW`` on a link."""
DEPTH_MAX: Final = 100
"""Folders within folders; a table has a handful."""


@contextmanager
def folder_below(
    home: Path, path: str, *, make: bool = False, durable: bool = True, listed: bool = False
) -> Iterator[int]:
    """The folder ``path`` below ``home``, opened; with ``make`` it is made, ``durable`` or not.

    ``listed``: it can be listed and synced, not only worked in.

    Raises:
        AccessDeniedError: a link is on the way.
        OSError: it cannot be opened or made.
    """
    number = _opened(home, path, make, durable, listed)
    try:
        yield number
    finally:
        os.close(number)


def _opened(home: Path, path: str, make: bool, durable: bool, listed: bool) -> int:
    try:
        whole = open_without_links(_whole(home, path), (os.O_RDONLY if listed else _PATH) | _FOLDER)
    except FileNotFoundError:
        if not make:
            raise
        whole = None
    return _walked(home, path, make, durable, listed) if whole is None else whole


def _whole(home: Path, path: str) -> str:
    return f"{home}/{path}" if path else str(home)


def _walked(home: Path, path: str, make: bool, durable: bool, listed: bool) -> int:
    """The folder, opened name by name."""
    number = _home(home, make, durable)
    try:
        where = str(home)
        for name in path.split("/") if path else ():
            where = f"{where}/{name}"
            inner = _step(number, name, where, make, durable)
            os.close(number)
            number = inner
        if listed and _PATH != os.O_RDONLY:
            inner = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=number)
            os.close(number)
            number = inner
    except BaseException:
        os.close(number)
        raise
    return number


def _home(home: Path, make: bool, durable: bool) -> int:
    try:
        return os.open(home, _STEP)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if error.errno in _NOT_FOLLOWED and home.is_symlink():
            raise _link(str(home)) from error
        raise
    _make_home(home, durable)
    return os.open(home, _STEP)


def _make_home(folder: Path, durable: bool) -> None:
    if folder.is_dir():
        return
    _make_home(folder.parent, durable)
    folder.mkdir(exist_ok=True)
    if durable:
        number = os.open(folder.parent, os.O_RDONLY | _FOLDER)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _step(number: int, name: str, where: str, make: bool, durable: bool) -> int:
    """The folder ``name`` of the open folder ``number``."""
    try:
        return os.open(name, _STEP, dir_fd=number)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if error.errno in _NOT_FOLLOWED:
            refuse_link(number, name, where)
        raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=number)
        if durable:
            fsync_folder(number)
    return _step(number, name, where, False, durable)


def fsync_folder(number: int) -> None:
    """Make the names in an open folder durable."""
    readable = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=number)
    try:
        os.fsync(readable)
    finally:
        os.close(readable)


def is_below(home: Path, path: str) -> bool:
    """Whether a file or folder ``path`` is below ``home``.

    Raises:
        AccessDeniedError: it is a link, or a link is on the way.
        OSError: it cannot be seen.
    """
    try:
        whole = open_without_links(_whole(home, path), _PATH)
        if whole is not None:
            os.close(whole)
            return True
        above, _, name = path.rpartition("/")
        with folder_below(home, above) as number:
            refuse_link(number, name, _whole(home, path))
            os.stat(name or ".", dir_fd=number, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def file_below(home: Path, path: str, where: str) -> int:
    """The plain file ``path`` below ``home``, open for reading; errors as of ``file_in``, which call it ``where``."""
    whole = open_without_links(_whole(home, path), os.O_RDONLY | os.O_NONBLOCK)
    if whole is not None:
        return _plain(whole, where)
    above, _, name = path.rpartition("/")
    with folder_below(home, above) as number:
        return file_in(number, name or ".", where)


def file_in(number: int, name: str, where: str, flags: int = os.O_RDONLY) -> int:
    """The plain file ``name`` of the open folder ``number``, opened; it waits for nobody.

    Raises:
        AccessDeniedError: it is a link, a FIFO, a socket or a device.
        IsADirectoryError: it is a folder.
        OSError: it cannot be opened.
    """
    how = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(name, how, 0o666, dir_fd=number)
    except OSError as error:
        if error.errno in _NOT_FOLLOWED:
            refuse_link(number, name, where)
        if error.errno == errno.ENXIO:  # a FIFO without a reader, or a socket
            raise _no_file(where) from error
        raise
    return _plain(opened, where)


def file_at(path: Path) -> int:
    """As ``file_in``, by a path on which links are followed, for reading."""
    return _plain(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), str(path))


def _plain(opened: int, where: str) -> int:
    """``opened``, if it is a plain file; else it is closed."""
    mode = os.fstat(opened).st_mode
    if stat.S_ISREG(mode):
        return opened
    os.close(opened)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), where)
    raise _no_file(where)


def refuse_link(number: int, name: str, where: str) -> None:
    """Refuse ``name`` of the open folder ``number`` if it is a link.

    Raises:
        AccessDeniedError: it is.
    """
    try:
        mode = os.stat(name, dir_fd=number, follow_symlinks=False).st_mode
    except OSError:
        return
    if stat.S_ISLNK(mode):
        raise _link(where)


def remove_tree(number: int, name: str, where: str, links: list[str], depth: int = 0) -> None:
    """Delete the folder ``name`` of the open folder ``number`` and all below it, but no link.

    Links are added to ``links``, and the folders that hold one stay.
    """
    if depth > DEPTH_MAX:
        raise too_deep(where)
    before = len(links)
    try:
        folder = os.open(name, os.O_RDONLY | _FOLDER | os.O_NOFOLLOW, dir_fd=number)
    except OSError as error:
        if error.errno in _NOT_FOLLOWED:
            refuse_link(number, name, where)
        raise
    try:
        with os.scandir(folder) as entries:
            for entry in list(entries):
                inner = f"{where}/{entry.name}"
                if entry.is_symlink():
                    links.append(inner)
                elif entry.is_dir(follow_symlinks=False):
                    with contextlib.suppress(FileNotFoundError):
                        remove_tree(folder, entry.name, inner, links, depth + 1)
                else:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(entry.name, dir_fd=folder)
    finally:
        os.close(folder)
    if len(links) == before:
        os.rmdir(name, dir_fd=number)


def too_deep(where: str) -> AccessDeniedError:
    """The error about folders that no writer of a table makes."""
    return AccessDeniedError(
        f"{where} is more than {DEPTH_MAX} folders deep: no table has that; look at who made it",
        path=where,
        folder=where,
        reason="depth",
    )


def _link(where: str) -> AccessDeniedError:
    return AccessDeniedError(
        f"{where} is a link: below a warehouse no link is followed, and nothing behind it was touched; "
        "remove the link, or put there what it leads to",
        path=where,
        folder=where.rpartition("/")[0],
        reason=LINK,
    )


def first_link(links: list[str]) -> AccessDeniedError:
    """The error about links that were left."""
    return _link(links[0])


def _no_file(where: str) -> AccessDeniedError:
    return AccessDeniedError(
        f"{where} is a FIFO, a socket or a device, and no file: remove it",
        path=where,
        folder=where.rpartition("/")[0],
        reason="no plain file",
    )
