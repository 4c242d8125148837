"""Consumers: readers whose next snapshot expiry must keep (spec 9.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.consumer import Consumer

if TYPE_CHECKING:
    from table_core.table.access import TableAccess

__all__ = ["consumers", "delete_consumer", "expire_consumers", "next_snapshot_of", "set_consumer"]

_PREFIX = "consumer-"


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


def delete_consumer(access: TableAccess, id: str) -> None:
    """Forget ``id``; expiry no longer waits for it."""
    access.storage.delete([layout.consumer_path(id, access.branch)])
