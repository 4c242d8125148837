"""New files of a POSIX file system: drafts in an open folder, and their final names."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import stat
import time
import uuid
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from table_core.errors import UnsupportedFeatureError
from table_core.ports import FileInfo
from table_core.storage.stores.beneath import fsync_folder
from table_core.storage.stores.no_replace import rename_no_replace
from table_core.storage.stores.os_errors import NO_HARD_LINKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = [
    "NEW",
    "arrow_file",
    "drafted",
    "dropped",
    "in_folder",
    "info_of",
    "is_there",
    "linked",
    "moved",
]

T = TypeVar("T")
NEW: Final = os.O_WRONLY | os.O_CREAT
"""How a file is opened that may be new."""
_ATTEMPTS: Final = 100
_STEP_S: Final = 0.001
_OPEN_FILES: Final = "/proc/self/fd"
_HAS_OPEN_FILES: Final = os.path.exists(_OPEN_FILES)


def arrow_file(opened: int, path: Path, mode: str) -> Any:
    """Arrow's file on the one that is open, which it is given by the system's name for it; ``opened`` is closed."""
    try:
        return pa.OSFile(f"{_OPEN_FILES}/{opened}" if _HAS_OPEN_FILES else str(path), mode)
    finally:
        os.close(opened)


@contextmanager
def drafted(
    folder: Callable[[], AbstractContextManager[tuple[int, str]]], body: bytes, *, durable: bool
) -> Iterator[tuple[int, str, str]]:
    """A file beside a name that holds ``body``: the open folder, the name, and that of the draft.

    ``folder`` opens or makes the folder, as often as others clear it.
    """

    def begun() -> tuple[ExitStack, int, str, str, int]:
        with ExitStack() as stack:
            number, name = stack.enter_context(folder())
            draft = f".{name}.{uuid.uuid4()}.tmp"
            how = NEW | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = os.open(draft, how, 0o666, dir_fd=number)
            return stack.pop_all(), number, name, draft, opened

    stack, number, name, draft, opened = in_folder(begun)
    with stack:
        try:
            _fill(opened, body, durable)
            yield number, name, draft
        except BaseException:
            dropped(number, draft)
            raise


def _fill(opened: int, body: bytes, durable: bool) -> None:
    """Write ``body`` to the open file, and close it."""
    try:
        left = memoryview(body)
        while left:
            left = left[os.write(opened, left) :]
        if durable:
            os.fsync(opened)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error says more
            os.close(opened)
        raise
    os.close(opened)  # where a network file system may say that it kept less


def dropped(number: int, name: str) -> bool:
    """Delete ``name`` of an open folder; whether it was there."""
    try:
        os.unlink(name, dir_fd=number)
    except FileNotFoundError:
        return False
    return True


def moved(start: int, name: str, end: int, new: str) -> None:
    """Rename ``name`` of the open folder ``start`` to the absent ``new`` of ``end``, durably.

    Raises:
        FileExistsError: ``new`` is there.
    """
    if not rename_no_replace(name, new, start, end):
        if is_there(end, new):
            raise FileExistsError
        os.rename(name, new, src_dir_fd=start, dst_dir_fd=end)
    fsync_folder(end)
    fsync_folder(start)


def is_there(number: int, name: str) -> bool:
    """Whether an open folder has an entry ``name``."""
    try:
        os.stat(name, dir_fd=number, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def linked(number: int, draft: str, name: str, root: Path) -> bool:
    """Give the draft its final name; False if it is taken."""
    try:
        os.link(draft, name, src_dir_fd=number, dst_dir_fd=number, follow_symlinks=False)
    except OSError as error:
        # A network file system may answer a repeated request: the link count tells what happened.
        if os.stat(draft, dir_fd=number, follow_symlinks=False).st_nlink > 1:
            return True
        if error.errno == errno.EEXIST:
            return False
        if error.errno not in NO_HARD_LINKS:
            raise
        try:
            renamed = rename_no_replace(draft, name, number, number)
        except FileExistsError:
            return False
        if not renamed:
            raise UnsupportedFeatureError(
                f"the file system of {root} has neither hard links nor a rename that "
                "does not replace: two writers could both win. Move the warehouse to another file "
                "system, or use a catalog with a lock",
                feature="atomic create",
            ) from error
    return True


def in_folder(begin: Callable[[], T]) -> T:
    """``begin`` a file in a folder that it makes; whoever clears empty ones may take it meanwhile."""
    for attempt in range(_ATTEMPTS - 1):
        # ``mkdir`` says that it exists where it did and has gone since.
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            return begin()
        # Two that keep step would meet for ever.
        time.sleep(random.uniform(0, _STEP_S * attempt))
    return begin()


def info_of(entry: os.DirEntry[str], prefix: str, *, follows: bool) -> FileInfo | None:
    """What an entry of a listing is; None of one that has vanished."""
    try:
        told = entry.stat(follow_symlinks=follows)
    except FileNotFoundError:
        return None
    is_dir = stat.S_ISDIR(told.st_mode)
    return FileInfo(
        path=f"{prefix}/{entry.name}" if prefix else entry.name,
        size=0 if is_dir else told.st_size,
        modified_ms=told.st_mtime_ns // 1_000_000,
        is_dir=is_dir,
        is_link=entry.is_symlink(),
        tag=str(told.st_mtime_ns),
    )
