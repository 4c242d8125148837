"""Storage on a POSIX file system, safe for many processes on one machine.

A metadata file appears whole or not at all.  ``create`` writes and syncs a draft beside the target
and then links it to the final name: ``link`` fails if the name is taken, ``rename`` would replace
it, and ``O_EXCL`` on the final name would leave half a snapshot after a kill, which blocks the
table.  Drafts are named as Java names them (``.<name>.<uuid>.tmp``), so its orphan cleaning finds
those of killed processes too.  Source: format 1.1 and 10.2.

Links are not followed, see ``beneath``; what is opened is a plain file.
"""

from __future__ import annotations

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    StorageUnavailableError,
)
from table_core.storage.stores.beneath import (
    DEPTH_MAX,
    LINK,
    file_at,
    file_below,
    file_in,
    first_link,
    folder_below,
    fsync_folder,
    is_below,
    refuse_link,
    remove_tree,
    too_deep,
)
from table_core.storage.stores.new_files import (
    NEW,
    arrow_file,
    drafted,
    dropped,
    in_folder,
    info_of,
    linked,
    moved,
)
from table_core.storage.stores.os_errors import explained, misplaced, table_error
from table_core.storage.stores.paths import inside, joined
from table_core.storage.stores.whole_file import whole_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from table_core.ports import FileInfo

__all__ = ["LocalStorage"]

_REMOVALS_MAX: Final = 10
_REMOVAL_PAUSE_S: Final = 0.02
_SYNCS_AT_ONCE: Final = 8
"""A disk takes several for hardly more than the time of one."""


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """Files under the folder ``below`` of the absolute folder ``opened``.

    ``opened`` may be a link, or be reached by one: that is looked at once, here.  Below it links are refused.
    ``follows``: those who read follow links, for folders of sources, which belong to who names them.
    """

    opened: Path
    below: str = ""
    follows: bool = False
    home: Path = field(init=False, compare=False, repr=False)
    """Where ``opened`` really is."""
    root: Path = field(init=False, compare=False, repr=False)
    """The folder as it was named."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", Path(os.path.realpath(self.opened)))
        object.__setattr__(self, "root", self.opened / self.below if self.below else self.opened)

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalStorage, (
            self.opened,
            self.below,
            self.follows,
        )  # elsewhere a link may lead elsewhere

    @property
    def uri(self) -> str:
        """The root as ``file://`` URI, unescaped as Paimon writes its paths."""
        return f"file://{self.root}"

    def within(self, path: str) -> LocalStorage:
        """The same file system with the folder ``path`` as root."""
        inner = LocalStorage(self.opened, joined(self.below, path), self.follows)
        object.__setattr__(inner, "home", self.home)
        return inner

    def create(self, path: str, body: bytes) -> bool:
        """Write ``path`` whole and durably, only if absent; False if the name is taken.

        Raises:
            OutcomeUnknownError: the file is there and may be lost if the machine fails now.
            UnsupportedFeatureError: the file system can neither link nor rename without replacing.
        """
        folder = partial(self._folder_of, path, make=True)
        with (
            explained(self.uri, path, "create"),
            drafted(folder, body, durable=True) as (number, name, draft),
        ):
            won = linked(number, draft, name, self.root)
            dropped(number, draft)
            if won:
                self._settle(number, path)
            else:
                refuse_link(number, name, self._shown(path))
            return won

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:
        """Write ``path`` whole; readers see the old bytes or the new ones."""
        folder = partial(self._folder_of, path, make=True)
        with (
            explained(self.uri, path, "write"),
            drafted(folder, body, durable=durable) as (number, name, draft),
        ):
            refuse_link(number, name, self._shown(path))
            os.replace(draft, name, src_dir_fd=number, dst_dir_fd=number)
            if durable:
                self._settle(number, path)

    def read(self, path: str) -> bytes:
        """The bytes at ``path``.

        Raises:
            CorruptFileError: a folder is there, or a file on the way to it.
        """
        with self._found(path, "read"):
            return whole_body(self._opened(path), self._shown(path))

    def exists(self, path: str) -> bool:
        """Whether a file or folder is at ``path``; a refusal is no 'no'."""
        try:
            with explained(self.uri, path, "read"):
                if self.follows:
                    return self._at(path).exists()
                return is_below(self.home, joined(self.below, path))
        except NotFoundError:
            return False

    def list(self, folder: str) -> Iterator[FileInfo]:
        """Entries of ``folder``; those that vanish meanwhile are left out, and links are told as such.

        Raises:
            CorruptFileError: a file is there, or on the way to it.
        """
        prefix = inside(folder)
        try:
            with (
                self._found(folder, "list"),
                self._folder(folder, listed=True) as number,
                os.scandir(number) as entries,
            ):
                infos = (info_of(entry, prefix, follows=self.follows) for entry in entries)
                yield from (info for info in infos if info is not None)
        except NotFoundError:
            return

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """Every file below ``folder``; a link is refused, or left alone in a folder of sources."""
        yield from self._walked(inside(folder), 0)

    def _walked(self, folder: str, depth: int) -> Iterator[FileInfo]:
        if depth > DEPTH_MAX:
            raise too_deep(self._shown(folder))
        for info in self.list(folder):
            if info.is_link and not self.follows:
                self.refuse_links(info.path)
            elif not info.is_dir:
                yield info
            elif not info.is_link:
                yield from self._walked(info.path, depth + 1)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files; returns how many were there.

        Raises:
            AccessDeniedError: one is a link, or a link is on the way to it; all others are deleted.
        """
        deleted = 0
        refused: list[AccessDeniedError] = []
        clean = (inside(path).rpartition("/") for path in paths)
        for folder, group in groupby(clean, lambda parts: parts[0]):
            names = [name for _, _, name in group]
            try:
                with (
                    explained(self.uri, joined(folder, names[0]), "delete"),
                    self._folder(folder) as number,
                ):
                    for name in names:
                        try:
                            refuse_link(number, name, self._shown(joined(folder, name)))
                            deleted += dropped(number, name)
                        except AccessDeniedError as error:
                            refused.append(error)
            except NotFoundError:
                continue
            except AccessDeniedError as error:
                if error.facts.get("reason") != LINK:
                    raise
                refused.append(error)
        if refused:
            raise refused[0]
        return deleted

    def delete_tree(self, folder: str) -> None:
        """Delete ``folder`` and all below it, others' new files included.

        Who deletes the same tree, or still writes into it, leaves something: it goes too.

        Raises:
            AccessDeniedError: it is a link, or one is on the way or in it; all else in it is deleted.
            StorageUnavailableError: others write faster.
        """
        for attempt in range(_REMOVALS_MAX):
            links: list[str] = []
            try:
                with explained(self.uri, folder, "delete"), self._parent(folder) as (number, name):
                    remove_tree(number, name, self._shown(folder), links)
                if links:
                    raise first_link(links)
            except (NotFoundError, StorageUnavailableError) as error:
                if isinstance(error, NotFoundError) and not self._at(folder).exists():
                    return
                full = getattr(error.__cause__, "errno", None) == errno.ENOTEMPTY
                if attempt == _REMOVALS_MAX - 1 or not (full or isinstance(error, NotFoundError)):
                    raise
                time.sleep(_REMOVAL_PAUSE_S * attempt)
            else:
                return

    def delete_empty_folder(self, folder: str) -> bool:
        """Delete ``folder`` if nothing is in it."""
        try:
            with explained(self.uri, folder, "delete"), self._parent(folder) as (number, name):
                refuse_link(number, name, self._shown(folder))
                try:
                    os.rmdir(name, dir_fd=number)
                except OSError as error:
                    if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                        return False
                    raise
        except NotFoundError:
            return False
        return True

    def make_folder(self, folder: str) -> None:
        """Make ``folder`` and its parents, durably; no error if it is there."""
        with explained(self.uri, folder, "create"), self._folder(folder, make=True):
            pass

    def move(self, source: str, target: str) -> None:
        """Rename ``source`` to the absent ``target``.

        Raises:
            AlreadyExistsError: ``target`` is there.
        """
        with (
            explained(self.uri, source, "move"),
            self._folder_of(source) as (start, name),
            self._folder_of(target, make=True) as (end, new),
        ):
            refuse_link(start, name, self._shown(source))
            try:
                moved(start, name, end, new)
            except FileExistsError as error:
                raise AlreadyExistsError(
                    f"cannot move {source} to {target}: it exists already", name=target
                ) from error

    def refuse_links(self, path: str) -> None:
        """Refuse a path that is a link, or has one on the way.

        Raises:
            AccessDeniedError: it is.
        """
        try:
            with explained(self.uri, path, "read"), self._folder_of(path) as (number, name):
                refuse_link(number, name, self._shown(path))
        except NotFoundError:
            return

    def open_input(self, path: str, size: int | None = None) -> Any:  # noqa: ARG002
        """An Arrow file for reading ``path``; errors as of ``read``."""
        with self._found(path, "read"):
            return arrow_file(self._opened(path), self._at(path), "rb")

    def open_output(self, path: str) -> Any:
        """An Arrow file for writing ``path``; durable after ``sync``."""

        def begun() -> Any:
            with self._folder_of(path, make=True, durable=False) as (number, name):
                opened = file_in(number, name, self._shown(path), NEW)
                return arrow_file(opened, self._at(path), "wb")

        with explained(self.uri, path, "create"):
            return in_folder(begun)

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable, and the folders that name them up to the root."""
        files = [inside(path) for path in paths]
        folders = {folder for file in files for folder in _above(file)}
        if len(files) == 1:  # its thread would cost more than its turn
            self._sync(files.pop())
        with ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
            for act, targets in ((self._sync, files), (self._sync_folder, folders)):
                for _ in pool.map(act, targets):  # a name lasts only after what it names
                    pass

    def _sync(self, path: str) -> None:
        with explained(self.uri, path, "write"):
            number = self._opened(path)
            try:
                os.fsync(number)
            finally:
                os.close(number)

    def _sync_folder(self, folder: str) -> None:
        with explained(self.uri, folder, "write"), self._folder(folder, listed=True) as number:
            os.fsync(number)

    @contextmanager
    def _found(self, path: str, action: str) -> Iterator[None]:
        """As ``explained``; below a warehouse, a file in place of a folder is not taken for nothing."""
        try:
            yield
        except OSError as error:
            wrong = None if self.follows else misplaced(error, self._at(path))
            raise wrong or table_error(error, root=self.uri, path=path, action=action) from error

    def _at(self, path: str) -> Path:
        """The path, to be shown, and to be used where links are followed."""
        clean = inside(path)
        return self.root / clean if clean else self.root

    def _shown(self, path: str) -> str:
        clean = inside(path)
        return f"{self.root}/{clean}" if clean else str(self.root)

    def _folder(self, folder: str, **how: bool) -> AbstractContextManager[int]:
        """The folder, opened; ``how`` as ``folder_below`` takes it."""
        if self.follows:
            return folder_below(Path(os.path.realpath(self._at(folder))), "", **how)
        return folder_below(self.home, joined(self.below, folder), **how)

    @contextmanager
    def _folder_of(self, path: str, **how: bool) -> Iterator[tuple[int, str]]:
        """The folder that names ``path``, opened, and the name."""
        folder, _, name = inside(path).rpartition("/")
        if not name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with self._folder(folder, **how) as number:
            yield number, name

    @contextmanager
    def _parent(self, folder: str) -> Iterator[tuple[int, str]]:
        """The folder above ``folder``, which may be above this root, opened, and the name."""
        whole = joined(self.below, folder)
        home, whole = (self.home, whole) if whole else (self.home.parent, self.home.name)
        above, _, name = whole.rpartition("/")
        with folder_below(home, above) as number:
            yield number, name

    def _opened(self, path: str) -> int:
        """The plain file, open for reading."""
        if self.follows:
            return file_at(self._at(path))
        return file_below(self.home, joined(self.below, path), self._shown(path))

    def _settle(self, number: int, path: str) -> None:
        """Make a new name in an open folder durable."""
        try:
            fsync_folder(number)
        except OSError as error:
            raise OutcomeUnknownError(
                f"{self.uri}/{path} is written, but syncing its folder failed ({error}): "
                "read it back before doing anything else",
                path=path,
                reason=str(error),
            ) from error


def _above(file: str) -> Iterator[str]:
    """The folders that lead to ``file``, up to the root."""
    folder = file
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder
