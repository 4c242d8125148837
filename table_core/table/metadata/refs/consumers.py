"""Consumers: readers whose next snapshot expiry must keep (format 9.3)."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.consumer import Consumer
from table_core.options.chosen_names import chosen_names
from table_core.options.spark_settings import require_printable
from table_core.position.document import Position
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind
from table_core.position.source import TableId
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.timeline import find_snapshot
from table_core.table.metadata.timestamps import PointInTime, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = [
    "consumers",
    "delete_consumer",
    "held",
    "held_from",
    "idle_consumers",
    "next_snapshot_of",
    "position_of",
    "set_consumer",
]

_PREFIX: Final = "consumer-"
_HELD: Final = re.compile(r"rollback(-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?")
_HELD_MAX_MS: Final = 3_600_000
"""A hold that is older was left by a process that was killed."""
_MARK: Final = "table-core.read"
"""Member of a consumer's document: the snapshot before the next one, and what tells it from others."""
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
        next_snapshot = next_snapshot_of(self.access, id)
        if next_snapshot is None:
            known = sorted(self.list())
            raise NotFoundError(
                f"{self.access.name} has no consumer {id!r}; there are {known}",
                name=id,
                available=known,
            )
        return next_snapshot

    def reset(self, id: str, next_snapshot: int, dry_run: bool = False) -> ResultDocument:
        """Make the consumer ``id`` continue at ``next_snapshot``; it is created if it does not exist.

        Raises:
            NotFoundError: that snapshot has expired, or the table was dropped.
            ArgumentError: it is more than one after the newest, or ``id`` is no name of a consumer.
        """
        access = self.access
        _require_name(id)
        before = next_snapshot_of(access, id)
        newest = access.metadata.head_id() or 0
        if next_snapshot > newest + 1:
            raise ArgumentError(
                f"next_snapshot={next_snapshot} is beyond the newest snapshot, {newest}",
                argument="next_snapshot",
                value=next_snapshot,
            )
        if not dry_run:
            birth = access.metadata.birth()  # first: another table has no such snapshot
            read = SnapshotPlace.of(find_snapshot(access, next_snapshot - 1))
            set_consumer(access, id, next_snapshot, read, birth)
        if not dry_run and not access.metadata.schema_ids():
            delete_consumer(access, id)
            raise access.is_gone()
        # Written before the floor is read; expiry reads consumers after it raised the floor.
        earliest = _earliest_readable(access)
        if next_snapshot < earliest:
            if before is not None and not dry_run:
                set_consumer(access, id, before)
            elif not dry_run:
                delete_consumer(access, id)
            raise NotFoundError(
                f"{access.name}: snapshot {next_snapshot} has expired; the earliest is {earliest}",
                name=str(next_snapshot),
                available=[earliest],
            )
        details = {"consumer": id, "next_snapshot": next_snapshot, "next_snapshot_before": before}
        return unchanged(access, "reset-consumer", details, dry_run=dry_run)

    def delete(self, id: str, if_exists: bool = False, dry_run: bool = False) -> ResultDocument:
        """Delete the consumer ``id``; expiry no longer waits for it.

        Raises:
            NotFoundError: there is no such consumer, and ``if_exists`` is off.
            ArgumentError: a name that no consumer can have.
        """
        there = id in self
        if not there:
            _require_name(id)
        if not there and not if_exists:
            self.get(id)
        return self._forget([id] if there else [], "delete-consumer", dry_run=dry_run)

    def clear(
        self, including: str = ".*", excluding: str = "", dry_run: bool = False
    ) -> ResultDocument:
        """Delete consumers whose ids match ``including`` and not ``excluding``.

        Raises:
            ArgumentError: not a regular expression.
        """
        names = chosen_names(sorted(self.list()), including, excluding)
        return self._forget(names, "clear-consumers", dry_run=dry_run)

    def expire(self, older_than: PointInTime, dry_run: bool = False) -> ResultDocument:
        """Delete consumers that have not moved since ``older_than``."""
        names = idle_consumers(self.access, older_than_ms=epoch_ms("older_than", older_than))
        return self._forget(names, "expire-consumers", dry_run=dry_run)

    def forget(self, names: Names) -> None:
        """Delete the consumers ``names``."""
        for id in names:
            delete_consumer(self.access, id)

    def _forget(self, names: Names, action: str, *, dry_run: bool) -> ResultDocument:
        if not dry_run:
            self.forget(names)
            if names:
                self.access.require_stayed(f"consumers {names} were deleted")
            else:
                self.access.require_same()  # they may have gone along
        return unchanged(self.access, action, {"consumers": names}, dry_run=dry_run)


def _earliest_readable(access: TableAccess) -> int:
    """The oldest snapshot or kept changelog."""
    listed = access.storage.list(layout.changelog_folder(access.branch))
    names = (info.path.rpartition("/")[2] for info in listed)
    kept = [id for name in names if (id := layout.numbered(name, "changelog-")) is not None]
    return min([*kept, access.metadata.floor()])


def consumers(access: TableAccess) -> dict[str, int]:
    """Every consumer, by name, and the next snapshot that it will read; none that goes while they are read."""
    return {id: consumer.next_snapshot for id, consumer in sorted(_all(access), key=_id)}


def _id(entry: tuple[str, Consumer]) -> str:
    return entry[0]


def held_from(access: TableAccess) -> int | None:
    """The first snapshot that a consumer needs; None if there is none.

    A reader of ours needs the one that it has read last, too: while that is there, nobody can put another in
    its place unseen.
    """
    return min((_needs(consumer) for _, consumer in _all(access)), default=None)


def _needs(consumer: Consumer) -> int:
    mark = consumer.extra.get(_MARK)
    is_read = isinstance(mark, dict) and mark.get("keep") is True
    return consumer.next_snapshot - (1 if is_read and consumer.next_snapshot > 1 else 0)


def _all(access: TableAccess) -> Iterator[tuple[str, Consumer]]:
    for info in access.storage.list(layout.consumer_folder(access.branch)):
        name = info.path.rpartition("/")[2]
        if name.startswith(_PREFIX):
            with suppress(NotFoundError):
                body = access.storage.read(info.path)
                yield name.removeprefix(_PREFIX), Consumer.from_json(body, path=info.path)


def next_snapshot_of(access: TableAccess, id: str) -> int | None:
    """The next snapshot of consumer ``id``; None if there is no such consumer."""
    consumer = _stored(access, id)
    return None if consumer is None else consumer.next_snapshot


def position_of(access: TableAccess, id: str) -> Position | None:
    """What consumer ``id`` has read; None if there is no such consumer.

    Other programs keep the number alone: then what would tell its snapshot from others is not there.
    """
    consumer = _stored(access, id)
    if consumer is None:
        return None
    place = SnapshotPlace(id=max(consumer.next_snapshot - 1, 0))
    birth = ""
    mark = consumer.extra.get(_MARK)
    if isinstance(mark, dict) and mark.get("id") == place.id:  # else somebody else moved it on
        birth = str(mark.get("birth", ""))
        place = SnapshotPlace(
            id=place.id, mark=str(mark.get("mark", "")), time_ms=int(mark.get("time_ms", 0))
        )
    source = TableId(location=access.storage.uri, birth=birth, branch=access.branch)
    return Position(Reader(ReaderKind.CONSUMER, id, explicit=True), source, place)


def _stored(access: TableAccess, id: str) -> Consumer | None:
    path = layout.consumer_path(id, access.branch)
    try:
        return Consumer.from_json(access.storage.read(path), path=path)
    except NotFoundError:
        return None


def set_consumer(
    access: TableAccess,
    id: str,
    next_snapshot: int,
    read: SnapshotPlace | None = None,
    birth: str = "",
    *,
    keep: bool = False,
) -> None:
    """Say that ``id`` has read everything before ``next_snapshot``.

    ``read`` is where that ends, in the table of that ``birth``: what tells it from others of its number is
    kept beside it, in a member that Paimon does not look at.  With ``keep`` our expiry keeps ``read`` too.
    """
    _require_name(id)
    path = layout.consumer_path(id, access.branch)
    extra: dict[str, object] = {}
    if read is not None and read.mark and read.id == next_snapshot - 1:
        members = {"id": read.id, "mark": read.mark, "time_ms": read.time_ms, "birth": birth}
        extra = {_MARK: {**members, "keep": True} if keep else members}
    access.storage.write(path, Consumer(next_snapshot, extra).to_json())


def _require_name(id: str) -> None:
    """Refuse what is no name of a consumer.

    Raises:
        ArgumentError: blank, with a slash, or one that a rollback would take for its own.
    """
    require_printable(id, "consumer")
    if not id.strip() or "/" in id or "\\" in id:
        raise ArgumentError(f"{id!r} cannot name a consumer", argument="consumer", value=id)
    if _HELD.fullmatch(id):
        raise ArgumentError(
            f"{id!r} cannot name a consumer: a rollback would delete it as the hold of another rollback",
            argument="consumer",
            value=id,
        )


def idle_consumers(access: TableAccess, *, older_than_ms: int) -> list[str]:
    """Consumers that have not moved since ``older_than_ms``."""
    listed = access.storage.list(layout.consumer_folder(access.branch))
    idle = (info for info in listed if 0 < info.modified_ms < older_than_ms)
    names = (info.path.rpartition("/")[2] for info in idle)
    return sorted(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


@contextmanager
def held(access: TableAccess, id: int) -> Iterator[None]:
    """Nothing from snapshot ``id`` on expires meanwhile, unless that was promised before."""
    for name in idle_consumers(access, older_than_ms=access.clock.now_ms() - _HELD_MAX_MS):
        if _HELD.fullmatch(name):
            delete_consumer(access, name)
    mine = f"rollback-{access.ids.uuid()}"
    path = layout.consumer_path(mine, access.branch)
    access.storage.write(path, Consumer(id, {}).to_json())
    try:
        yield
    finally:
        delete_consumer(access, mine)


def delete_consumer(access: TableAccess, id: str) -> None:
    """Forget ``id``; expiry no longer waits for it."""
    access.storage.delete([layout.consumer_path(id, access.branch)])
