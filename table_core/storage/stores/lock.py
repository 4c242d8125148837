"""Locks that keep writers of one table apart, and a store that creates under one.

A store with a conditional put needs no lock among writers that use it.  A lock is for the others:
Paimon's Java writers check and then move on most stores, and some stores have nothing better.
Both sides must take the same lock for the same table.  Source:
``org.apache.paimon.operation.Lock``, ``org.apache.paimon.catalog.RenamingSnapshotCommit``.
"""

from __future__ import annotations

import fcntl
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from table_core.errors import StorageUnavailableError
from table_core.storage.stores.os_errors import explained
from table_core.storage.stores.wrapped import WrappedStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from table_core.ports import Storage

__all__ = ["FileLock", "LockedStorage", "TableLock", "locked", "wait_for"]

_FIRST_SLEEP_MS: Final = 50
_BRANCH: Final = re.compile(r"branch/branch-([^/]+)/")
"""Java takes a branch's commits for those of another table."""
_UNSAFE: Final = re.compile(r"[^\w.=$-]")


class TableLock(Protocol):
    """Mutual exclusion by the name of a table."""

    def held(self, table: str) -> AbstractContextManager[None]:
        """Hold the lock of ``table`` (``database.table``).

        Raises:
            StorageUnavailableError: it could not be had in time; nothing happened.
        """
        ...


def wait_for(
    take: Callable[[], bool], *, what: str, sleep_max_ms: int, timeout_ms: int, first_ms: int
) -> None:
    """Try ``take`` until it succeeds, pausing ever longer, as Paimon's lock does.

    Raises:
        StorageUnavailableError: the time is up.
    """
    started = time.monotonic()
    pause_ms = first_ms
    while not take():
        waited_ms = int((time.monotonic() - started) * 1000)
        if waited_ms >= timeout_ms:
            raise StorageUnavailableError(
                f"{what} was not to be had within {timeout_ms} ms: another writer holds it. Try "
                "again, or raise lock-acquire-timeout",
                path=what,
                reason="lock is held",
            )
        time.sleep(min(pause_ms, timeout_ms - waited_ms) / 1000)
        pause_ms = min(pause_ms * 2, sleep_max_ms)


@dataclass(frozen=True, slots=True)
class FileLock:
    """``flock`` on a file for each table in ``folder``: for writers on one machine.

    On a network file system it holds between machines only where that supports ``flock``.  The
    lock of a process that dies is free at once.  Java knows nothing of it.
    """

    folder: str
    sleep_max_ms: int
    timeout_ms: int

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        """See ``TableLock``."""
        path = Path(self.folder).absolute() / f"{_UNSAFE.sub('_', table)}.lock"
        with explained(f"file://{path.parent}", path.name, "lock"):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        with file:

            def take() -> bool:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
                return True

            with explained(f"file://{path.parent}", path.name, "lock"):
                wait_for(
                    take,
                    what=f"lock file {path}",
                    sleep_max_ms=min(self.sleep_max_ms, _FIRST_SLEEP_MS),
                    timeout_ms=self.timeout_ms,
                    first_ms=1,
                )
            yield


@dataclass(frozen=True)
class LockedStorage(WrappedStorage):
    """The store ``inner``, whose ``create`` holds the lock of ``table`` meanwhile.

    Snapshots and schemas come into being by ``create`` alone, on Java's side too.
    """

    lock: TableLock
    table: str

    def within(self, path: str) -> LockedStorage:
        """The folder ``path`` of the same table."""
        return LockedStorage(self.inner.within(path), self.lock, self.table)

    def create(self, path: str, body: bytes) -> bool:
        """As the store within, while no other writer of the table creates anything."""
        branch = _BRANCH.match(path)
        table = f"{self.table}$branch_{branch[1]}" if branch else self.table
        with self.lock.held(table):
            return self.inner.create(path, body)


def locked(storage: Storage, lock: TableLock | None, table: str) -> Storage:
    """``storage``, what is created in it under ``lock``, if there is one."""
    return storage if lock is None else LockedStorage(storage, lock, table)
