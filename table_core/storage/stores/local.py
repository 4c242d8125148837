"""Storage on a POSIX file system, safe for many processes on one machine.

A metadata file appears whole or not at all.  ``create`` writes and syncs a draft beside the target
and then links it to the final name: ``link`` fails if the name is taken, ``rename`` would replace
it, and ``O_EXCL`` on the final name would leave half a snapshot after a kill, which blocks the
table.  Drafts are named as Java names them (``.<name>.<uuid>.tmp``), so its orphan cleaning finds
those of killed processes too.  Source: format 1.1 and 10.2.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from table_core.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from table_core.ports import FileInfo
from table_core.storage.stores.links import LINK, own_folder, refuse_links
from table_core.storage.stores.no_replace import rename_no_replace
from table_core.storage.stores.os_errors import NO_HARD_LINKS, explained
from table_core.storage.stores.paths import inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["LocalStorage"]

T = TypeVar("T")
_REMOVALS_MAX: Final = 10
_REMOVAL_PAUSE_S: Final = 0.02
_ATTEMPTS: Final = 100
_STEP_S: Final = 0.001
_SYNCS_AT_ONCE: Final = 8
"""A disk takes several for hardly more than the time of one."""


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """Files under the absolute folder ``root``."""

    root: Path

    @property
    def uri(self) -> str:
        """The root as ``file://`` URI, unescaped as Paimon writes its paths."""
        return f"file://{self.root}"

    def within(self, path: str) -> LocalStorage:
        """The same file system with the folder ``path`` as root."""
        return LocalStorage(self._at(path))

    def create(self, path: str, body: bytes) -> bool:
        """Write ``path`` whole and durably, only if absent; False if the name is taken.

        Raises:
            OutcomeUnknownError: the file is there and may be lost if the machine fails now.
            UnsupportedFeatureError: the file system can neither link nor rename without replacing.
        """
        target = self._at(path)
        with explained(self.uri, path, "create"):
            draft = self._draft(target, body)
            try:
                won = _linked(draft, target)
            finally:
                draft.unlink(missing_ok=True)
        if won:
            self._settle(target, path)
        return won

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:
        """Write ``path`` whole; readers see the old bytes or the new ones."""
        target = self._at(path)
        with explained(self.uri, path, "write"):
            draft = self._draft(target, body, durable=durable)
            try:
                os.replace(draft, target)
            except OSError:
                draft.unlink(missing_ok=True)
                raise
        if durable:
            self._settle(target, path)

    def read(self, path: str) -> bytes:
        """The bytes at ``path``."""
        with explained(self.uri, path, "read"):
            return self._at(path).read_bytes()

    def exists(self, path: str) -> bool:
        """Whether a file or folder is at ``path``; a refusal is no 'no'."""
        try:
            with explained(self.uri, path, "read"):
                self._at(path).stat()
        except NotFoundError:
            return False
        return True

    def list(self, folder: str) -> Iterator[FileInfo]:
        """Entries of ``folder``; those that vanish meanwhile are left out."""
        prefix = inside(folder)
        try:
            with explained(self.uri, folder, "list"):
                entries = os.scandir(self._at(folder))
        except NotFoundError:
            return
        with entries:
            for entry in entries:
                if (info := self._info(entry, prefix)) is not None:
                    yield info

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """Every file below ``folder``.  Links to folders are not followed, nor told as files."""
        for info in self.list(folder):
            if not info.is_dir:
                yield info
            elif not self._at(info.path).is_symlink():
                yield from self.walk(info.path)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files; returns how many were there.

        Raises:
            AccessDeniedError: a link leads out of the root; all others are deleted.
        """
        deleted = 0
        refused: list[AccessDeniedError] = []
        for folder, group in groupby(map(self._at, paths), lambda target: target.parent):
            targets = list(group)
            path = str(targets[0].relative_to(self.root))
            try:
                with explained(self.uri, path, "delete"), own_folder(self.root, folder) as number:
                    deleted += sum(_unlinked(target, number) for target in targets)
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

        Who deletes the same tree, or still writes into it, leaves something: it goes too.  A link
        goes, and never what it leads to.

        Raises:
            AccessDeniedError: a link leads out of the root.
            StorageUnavailableError: others write faster.
        """
        target = self._at(folder)
        if target != self.root:
            refuse_links(self.root, target.parent)
            if target.is_symlink():
                self.delete([folder])
                return
        for attempt in range(_REMOVALS_MAX):
            try:
                with explained(self.uri, folder, "delete"):
                    shutil.rmtree(target)
            except (NotFoundError, StorageUnavailableError) as error:
                if not target.exists():
                    return
                full = getattr(error.__cause__, "errno", None) == errno.ENOTEMPTY
                if attempt == _REMOVALS_MAX - 1 or not (full or isinstance(error, NotFoundError)):
                    raise
                time.sleep(_REMOVAL_PAUSE_S * attempt)

    def delete_empty_folder(self, folder: str) -> bool:
        """Delete ``folder`` if nothing is in it."""
        target = self._at(folder)
        try:
            with explained(self.uri, folder, "delete"), own_folder(self.root, target.parent) as at:
                try:
                    os.rmdir(target.name, dir_fd=at)
                except OSError as error:
                    if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                        return False
                    raise
        except NotFoundError:
            return False
        return True

    def make_folder(self, folder: str) -> None:
        """Make ``folder`` and its parents, durably; no error if it is there."""
        with explained(self.uri, folder, "create"):
            _make_folder(self._at(folder))

    def move(self, source: str, target: str) -> None:
        """Rename ``source`` to the absent ``target``.

        Raises:
            AlreadyExistsError: ``target`` is there.
        """
        start, end = self._at(source), self._at(target)
        with explained(self.uri, source, "move"):
            _make_folder(end.parent)
            try:
                if not rename_no_replace(start, end):
                    if end.exists():
                        raise FileExistsError
                    start.rename(end)
            except FileExistsError as error:
                raise AlreadyExistsError(
                    f"cannot move {source} to {target}: it exists already", name=target
                ) from error
            _fsync(end.parent)
            _fsync(start.parent)

    def refuse_links(self, path: str) -> None:
        """Refuse a path that a link leads out of the root.

        Raises:
            AccessDeniedError: it does.
        """
        refuse_links(self.root, self._at(path))

    def open_input(self, path: str, size: int | None = None) -> Any:  # noqa: ARG002
        """An Arrow file for reading ``path``."""
        target = self._at(path)
        with explained(self.uri, path, "read"):
            try:
                return pa.OSFile(str(target), "rb")
            except OSError as error:
                if error.errno is None and target.is_dir():  # Arrow has its own words for it
                    raise IsADirectoryError(errno.EISDIR, str(error)) from error
                raise

    def open_output(self, path: str) -> Any:
        """An Arrow file for writing ``path``; durable after ``sync``."""
        target = self._at(path)
        with explained(self.uri, path, "create"):
            return _in_folder(
                lambda: target.parent.mkdir(parents=True, exist_ok=True),
                lambda: pa.OSFile(str(target), "wb"),
            )

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable, and the folders that name them up to the root."""
        files = [self._at(path) for path in paths]
        folders = {folder for file in files for folder in self._above(file)}
        with ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
            for targets in (files, folders):  # a name lasts only after what it names
                for _ in pool.map(self._sync, targets):
                    pass

    def _above(self, file: Path) -> Iterator[Path]:
        """The folders that lead to ``file``, up to the root."""
        for folder in file.parents:
            yield folder
            if folder == self.root:
                return

    def _sync(self, target: Path) -> None:
        with explained(self.uri, str(target.relative_to(self.root)), "write"):
            _fsync(target)

    def _at(self, path: str) -> Path:
        clean = inside(path)
        return self.root / clean if clean else self.root

    def _draft(self, target: Path, body: bytes, *, durable: bool = True) -> Path:
        """A file beside ``target`` that holds ``body``."""
        draft = target.with_name(f".{target.name}.{uuid.uuid4()}.tmp")
        begun = _in_folder(lambda: _make_folder(target.parent), lambda: draft.open("xb"))
        try:
            with begun as file:
                file.write(body)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        return draft

    def _settle(self, target: Path, path: str) -> None:
        """Make the name of ``target`` durable."""
        try:
            _fsync(target.parent)
        except OSError as error:
            raise OutcomeUnknownError(
                f"{self.uri}/{path} is written, but syncing its folder failed ({error}): "
                "read it back before doing anything else",
                path=path,
                reason=str(error),
            ) from error

    def _info(self, entry: os.DirEntry[str], prefix: str) -> FileInfo | None:
        try:
            stat = entry.stat()
            is_dir = entry.is_dir()
        except FileNotFoundError:
            return None
        return FileInfo(
            path=f"{prefix}/{entry.name}" if prefix else entry.name,
            size=0 if is_dir else stat.st_size,
            modified_ms=stat.st_mtime_ns // 1_000_000,
            is_dir=is_dir,
            tag=str(stat.st_mtime_ns),
        )


def _unlinked(target: Path, folder: int) -> bool:
    """Whether the file was there; a link itself goes, never what it leads to."""
    try:
        os.unlink(target.name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _linked(draft: Path, target: Path) -> bool:
    """Give the draft its final name; False if it is taken."""
    try:
        os.link(draft, target)
    except OSError as error:
        # A network file system may answer a repeated request: the link count tells what happened.
        if draft.stat().st_nlink > 1:
            return True
        if error.errno == errno.EEXIST:
            return False
        if error.errno not in NO_HARD_LINKS:
            raise
        try:
            renamed = rename_no_replace(draft, target)
        except FileExistsError:
            return False
        if not renamed:
            raise UnsupportedFeatureError(
                f"the file system of {target.parent} has neither hard links nor a rename that "
                "does not replace: two writers could both win. Move the warehouse to another file "
                "system, or use a catalog with a lock",
                feature="atomic create",
            ) from error
    return True


def _in_folder(make: Callable[[], None], begin: Callable[[], T]) -> T:
    """``begin`` a file in the folder of ``make``; whoever clears empty ones may take it meanwhile."""
    for attempt in range(_ATTEMPTS - 1):
        # ``mkdir`` says that it exists where it did and has gone since.
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            make()
            return begin()
        # Two that keep step would meet for ever.
        time.sleep(random.uniform(0, _STEP_S * attempt))
    make()
    return begin()


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _fsync(folder.parent)


def _fsync(path: Path) -> None:
    """Make a file or a folder durable."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
