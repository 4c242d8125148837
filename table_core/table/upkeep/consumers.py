"""Consumers: readers whose next snapshot expiry must keep (spec 9.3)."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.consumer import Consumer
from table_core.table.times import PointInTime, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.table.access import TableAccess

__all__ = [
    "consumers",
    "delete_consumer",
    "expire_consumers",
    "held",
    "next_snapshot_of",
    "set_consumer",
]

_PREFIX: Final = "consumer-"
_HOLDER: Final = "rollback"
Names: TypeAlias = "list[str]"
"""``list`` is a verb here."""


@dataclass(frozen=True, slots=True)
class Consumers:
    """The consumers of one table handle."""

    access: TableAccess

    def list(self) -> dict[str, int]:
        """Every consumer and the next snapshot that it will read."""
        return consumers(self.access)

    def __contains__(self, id: object) -> bool:
        return id in self.list()

    def get(self, id: str) -> int:
        """The next snapshot of ``id``.

        Raises:
            NotFoundError: there is no such consumer.
        """
        found = next_snapshot_of(self.access, id)
        if found is None:
            known = sorted(self.list())
            raise NotFoundError(
                f"{self.access.name} has no consumer {id!r}; there are {known}",
                name=id,
                available=known,
            )
        return found

    def reset(self, id: str, next_snapshot: int) -> None:
        """Let ``id`` go on at ``next_snapshot``; a consumer that is not there is made.

        Raises:
            NotFoundError: that snapshot has expired.
            ArgumentError: it is more than one after the newest.
        """
        metadata = self.access.metadata
        before = next_snapshot_of(self.access, id)
        newest = metadata.head_id() or 0
        if next_snapshot > newest + 1:
            raise ArgumentError(
                f"next_snapshot={next_snapshot} is beyond the newest snapshot, {newest}",
                argument="next_snapshot",
                value=next_snapshot,
            )
        set_consumer(self.access, id, next_snapshot)
        # Written before the floor is read; expiry reads consumers after it raised the floor.
        earliest = _earliest_readable(self.access)
        if next_snapshot < earliest:
            if before is None:
                delete_consumer(self.access, id)
            else:
                set_consumer(self.access, id, before)
            raise NotFoundError(
                f"{self.access.name}: snapshot {next_snapshot} has expired; the earliest is "
                f"{earliest}",
                name=str(next_snapshot),
                available=[earliest],
            )

    def delete(self, id: str, if_exists: bool = False) -> None:
        """Forget ``id``; expiry no longer waits for it.

        Raises:
            NotFoundError: there is no such consumer, and ``if_exists`` is off.
        """
        if not if_exists:
            self.get(id)
        delete_consumer(self.access, id)

    def clear(self, including: str = ".*", excluding: str = "", dry_run: bool = False) -> Names:
        """Forget consumers whose ids match ``including`` and not ``excluding``; which."""
        names = [
            id
            for id in sorted(self.list())
            if re.fullmatch(including, id) and not (excluding and re.fullmatch(excluding, id))
        ]
        for id in names if not dry_run else ():
            delete_consumer(self.access, id)
        return names

    def expire(self, older_than: PointInTime) -> Names:
        """Forget consumers that have not moved since ``older_than``; which."""
        return expire_consumers(self.access, older_than_ms=epoch_ms("older_than", older_than))


def _earliest_readable(access: TableAccess) -> int:
    """The oldest snapshot or kept changelog."""
    listed = access.storage.list(layout.changelog_folder(access.branch))
    names = (info.path.rpartition("/")[2] for info in listed)
    kept = [id for name in names if (id := layout.numbered(name, "changelog-")) is not None]
    return min([*kept, access.metadata.floor()])


def consumers(access: TableAccess) -> dict[str, int]:
    """Every consumer and the next snapshot that it will read."""
    found = {}
    for info in access.storage.list(layout.consumer_folder(access.branch)):
        name = info.path.rpartition("/")[2]
        if name.startswith(_PREFIX):
            path = info.path
            consumer = Consumer.from_json(access.storage.read(path), path=path)
            found[name.removeprefix(_PREFIX)] = consumer.next_snapshot
    return found


def next_snapshot_of(access: TableAccess, id: str) -> int | None:
    """The next snapshot of consumer ``id``; None if there is no such consumer."""
    path = layout.consumer_path(id, access.branch)
    try:
        return Consumer.from_json(access.storage.read(path), path=path).next_snapshot
    except NotFoundError:
        return None


def set_consumer(access: TableAccess, id: str, next_snapshot: int) -> None:
    """Say that ``id`` has read everything before ``next_snapshot``."""
    if not id or "/" in id:
        raise ArgumentError(f"{id!r} cannot name a consumer", argument="consumer", value=id)
    path = layout.consumer_path(id, access.branch)
    access.storage.write(path, Consumer(next_snapshot).to_json())


def expire_consumers(access: TableAccess, *, older_than_ms: int) -> list[str]:
    """Forget consumers that have not moved since ``older_than_ms``; their names."""
    gone = []
    for info in access.storage.list(layout.consumer_folder(access.branch)):
        name = info.path.rpartition("/")[2]
        if name.startswith(_PREFIX) and 0 < info.modified_ms < older_than_ms:
            access.storage.delete([info.path])
            gone.append(name.removeprefix(_PREFIX))
    return sorted(gone)


@contextmanager
def held(access: TableAccess, id: int) -> Iterator[None]:
    """Nothing from snapshot ``id`` on expires meanwhile, unless that was promised before."""
    set_consumer(access, _HOLDER, id)
    try:
        yield
    finally:
        delete_consumer(access, _HOLDER)


def delete_consumer(access: TableAccess, id: str) -> None:
    """Forget ``id``; expiry no longer waits for it."""
    access.storage.delete([layout.consumer_path(id, access.branch)])
